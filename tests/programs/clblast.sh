#!/bin/sh
# CLBlast's own test programs, plainly and under farfault with the smallest device there is: the same passes, no
# failures. Usage: clblast.sh FARFAULT [PROGRAM...]. Without programs: those whose kernels PoCL compiles in seconds. They
# read and write vectors, reduce them, and write a matrix. The others are for long runs (make stress).
set -eu
farfault=$1
shift
command -v clblast_test_xaxpy >/dev/null || { echo 'no clblast-tests'; exit 77; }

# "36 test(s) passed" of every precision, added up; colours removed
count() { sed 's/\x1b\[[0-9;]*m//g' | awk -v what="$1" '/test\(s\)/ && index($0, what) { n += $1 } END { print n + 0 }'; }

bad=0
for name in ${*:-xaxpy xdot xger}; do
    plain=$("clblast_test_$name" | count passed)
    output=$("$farfault" run --quiet --memory 4M --system nvidia -- "clblast_test_$name")
    passed=$(printf '%s\n' "$output" | count passed)
    failed=$(printf '%s\n' "$output" | count failed)
    echo "$name: $passed passed, $failed failed; plain OpenCL: $plain passed"
    [ "$passed" = "$plain" ] && [ "$failed" = 0 ] && [ "$passed" -gt 0 ] || bad=1
done
exit $bad
