#!/bin/sh
# Programs whose malloc() is another than the C library's: jemalloc, mimalloc. Usage: allocators.sh
# FARFAULT
set -eu
. "$(dirname "$0")/third_party.sh"
programs=$(dirname "$farfault")/programs
libraries=$(dirname "$(gcc -print-file-name=libc.so.6)")
for library in libjemalloc.so.2 libmimalloc.so.2; do
    [ -e "$libraries/$library" ] || { echo "no $library"; exit 77; }
    for program in jacobi bfs mixed phases pagerank; do
        LD_PRELOAD=$libraries/$library managed '--quiet --check --memory 16M' "$programs/$program" \
            --size 24M --check
        grep -q '^verified: yes' managed || wrong managed "$program with $library: not verified"
    done
done
exit $bad
