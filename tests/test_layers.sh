#!/bin/sh
# test_layers.sh SRC: folders include each other as layers.tsv says, a folder's internal.h is its
# own, policies start no threads and read no clock, and the runtime does not know how a backend
# works.
set -eu
table=$(cd "$(dirname "$0")" && pwd)/layers.tsv
cd "$1"
failed=0
find . -name '*.[ch]' -exec awk '
function fail(what) { print what; failed = 1 }
function folder_of(path) { sub(/\/[^\/]*$/, "", path); return path }
NR == FNR && /^#/ { next }
NR == FNR {
    split($0, row, "\t")
    rows[row[1]] = 1
    count = split(row[2], allowed, " ")
    for (i = 1; i <= count; i++) {
        may[row[1], allowed[i]] = 1
        outer = index(row[1], allowed[i] "/") == 1 || allowed[i] ~ /^examples$/
        if (!(allowed[i] in rows) && !outer)
            fail("layers.tsv: " row[1] " may include " allowed[i] ", which has no row above it")
    }
    next
}
FNR == 1 {
    file = substr(FILENAME, 3)
    folder = folder_of(file)
    if (!(folder in rows))
        fail("layers.tsv: " folder " has no row")
}
/^[ \t]*#[ \t]*include "/ {
    split($0, quoted, "\"")
    if (quoted[2] !~ /\//) # a generated file
        next
    included = folder_of(quoted[2])
    if (included == folder)
        next
    used[folder, included] = 1
    if (!((folder, included) in may))
        fail(file ":" FNR ": " folder " may not include " included)
    if (quoted[2] ~ /internal\.h$/)
        fail(file ":" FNR ": " quoted[2] " is for " included " alone")
}
END {
    for (pair in may)
        if (!(pair in used)) {
            split(pair, names, SUBSEP)
            fail("layers.tsv: " names[1] " includes nothing of " names[2])
        }
    exit failed
}' "$table" {} + || failed=1
! grep -rniE 'uffd|userfault' runtime || failed=1
# threads and clocks of policies are the engine's: struct ff_background
! grep -rnE '#include ("base/(thread|clock)\.h"|<(pthread|semaphore|threads|time)\.h>)' \
    policy learn || failed=1
[ "$failed" = 0 ] || { echo 'a folder knows something that it should not' >&2; exit 1; }
