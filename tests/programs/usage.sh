#!/bin/sh
# The bundled programs' own command line, plainly: bad usage is one line and status 2, --times shows
# every iteration.
set -eu
programs=$1
fail() { echo "$*" >&2; exit 1; }

# WHAT IS SAID, PROGRAM AND ITS ARGUMENTS
refused() {
    said=$1
    shift
    status=0
    output=$("$programs/$@" 2>&1) || status=$?
    [ "$status" = 2 ] || fail "$*: status $status instead of 2"
    [ "$output" = "$said" ] || fail "$*: says '$output' instead of '$said'"
}

refused "lm: --layers and --width go together" lm --layers 2
refused "lm: --heads needs --layers and --width" lm --heads 2
refused "lm: --heads: a width of 10 does not divide into 3 heads" lm --layers 2 --width 10 --heads 3
refused "lm: --size: '64K' is too small for 2 x 32 positions; give at least 706K" lm --size 64K
refused "lm: --context: '5000' is not a whole number from 1 to 1024" lm --context 5000
refused "lm: --steps: '0' is not a whole number from 1 up" lm --steps 0
refused "jacobi: --iterations: 'many' is not a whole number from 1 up" jacobi --iterations many

refused "jacobi-cuda: --size: 'much' is not a size; give bytes, or a number with K, M or G, as in \
256M" jacobi-cuda --size much

for program in jacobi jacobi-cuda cg pagerank mixed phases matrices; do
    lines=$("$programs/$program" --size 1M --iterations 3 --times |
        grep -c '^iteration [123]: [0-9.]* s$')
    [ "$lines" = 3 ] || fail "$program --times shows $lines of 3 iterations"
done
[ "$("$programs/jacobi" --size 1M --iterations 3 | grep -c '^iteration')" = 0 ] ||
    fail "times without --times"
