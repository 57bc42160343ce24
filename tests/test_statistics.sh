#!/bin/sh
# test_statistics.sh ROOT: some test shows that each count of a public statistic can be other than
# zero: it says "stats.faults > 0", or compares it with a constant that is not 0.
set -eu
cd "$1"
failed=0
# shellcheck disable=SC2046 # no name of a file has a space
code=$(grep -hE 'stats|worst|rest' $(find tests -name '*.[ch]'))

# members STRUCT: its counts.
members() {
    sed -n "/^struct $1 {/,/^}/p" include/farfault/farfault.h |
        awk '{ all = all " " $0 }
             END {
                 gsub(/\/\*([^*]|\*[^\/])*\*\//, "", all)
                 for (n = split(all, parts, ";"); n > 0; n--)
                     if (sub(/.*uint64_t /, "", parts[n])) {
                         gsub(/\[[^]]*\]|,/, " ", parts[n])
                         print parts[n]
                     }
             }'
}

# check STRUCT VARIABLE COUNT: it has at least so many; what holds such a struct ends in the
# variable.
check() {
    names=$(members "$1")
    # shellcheck disable=SC2086 # one word a name
    set -- "$1" "$2" "$3" $names
    [ $(($# - 3)) -ge "$3" ] || { echo "only $(($# - 3)) counts were found in $1" >&2; failed=1; }
    struct=$1 variable=$2
    shift 3
    for name; do
        echo "$code" | grep -qE \
            "$variable(\.|->)$name(\[[a-zA-Z_]+\])?( > 0| >= [1-9A-Z]|, [1-9A-Z])" ||
            { echo "$struct.$name: no test shows that it can be other than 0" >&2; failed=1; }
    done
}

check ff_stats stats 36
check ff_moved '(worst\[[0-9]\]|rest)' 9
exit "$failed"
