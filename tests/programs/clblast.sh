#!/bin/sh
# CLBlast's own test programs, plainly and under farfault with the smallest device there is: the
# same passes, no failures. Their sizes are fixed, and most are too small for evictions. Usage:
# clblast.sh FARFAULT [PROGRAM...]. Without programs: those whose kernels PoCL compiles in seconds.
# They read and write vectors, reduce them, and write a matrix. The others are for long runs (make
# stress).
set -eu
. "$(dirname "$0")/third_party.sh"
shift
needs clblast_test_xaxpy

# "36 test(s) passed" of every precision, added up; colours removed
count() { sed 's/\x1b\[[0-9;]*m//g' "$2" | awk -v what="$1" \
    '/test\(s\)/ && index($0, what) { n += $1 } END { print n + 0 }'; }

for name in ${*:-xaxpy xdot}; do
    plain "clblast_test_$name"
    "$farfault" run --quiet --memory 4M --system nvidia -- "clblast_test_$name" >managed ||
        wrong managed "$name: status $?"
    passed=$(count passed managed) failed=$(count failed managed)
    echo "$name: $passed passed, $failed failed; plain OpenCL: $(count passed plain) passed"
    [ "$passed" = "$(count passed plain)" ] && [ "$failed" = 0 ] && [ "$passed" -gt 0 ] || bad=1
done
exit $bad
