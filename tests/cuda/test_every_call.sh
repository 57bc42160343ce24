#!/bin/sh
# test_every_call.sh SOURCE CUBLAS: each function of driver.def, in each flavour, each of
# runtime.def, whose tests are built for both flavours, and each that the library CUBLAS exports is
# called by a test.
set -eu
cublas=$(realpath "$2")
cd "$1"
include=data/cuda/include/farfault
names=$(mktemp)
trap 'rm -f "$names" "$names.c"' EXIT

# rows FILE: a row a line
rows() {
    tr -d '\n' <"$1" | sed 's/FF_CUDA/\nFF_CUDA/g'
}

# called LEAST FILE...: all of $names are called there
called() {
    least=$1
    shift
    count=$(sort -u "$names" | wc -l)
    [ "$count" -ge "$least" ] || { echo "only $count functions?" >&2; exit 1; }
    # ALIKE(name, flavour, ...) calls both
    missing=$(sed -E 's/ALIKE\((\w+), (\w+),/\1(\1_\2(/' "$@" | grep -oE '\w+\(' | tr -d '(' |
        sort -u | comm -13 - "$names" | tr '\n' ' ')
    [ -z "$missing" ] || { echo "not called by a test: $missing" >&2; exit 1; }
}

rows $include/driver.def |
    sed -nE 's/^FF_CUDA(_REFUSED)?\((cu[A-Za-z0-9]+), *([_a-z0-9]*),.*/\2\3/p
             s/^FF_CUDA_STREAM\((cu\w+), *(\w*), [0-9]+, (\w+),.*/\1\2\n\1\2_\3/p' |
    sort -u >"$names"
called 250 tests/cuda/test_driver_*.c tests/cuda/driver.h
rows $include/runtime.def |
    sed -nE 's/^FF_CUDART(_STREAM|_FORM|_STREAM_FORM)?\((_*cuda[A-Za-z0-9]+),.*/\2/p' |
    sort -u >"$names"
called 150 tests/cuda/test_runtime*.c

# tests call _v2 by the name without it, and paste names
nm -D --defined-only "$cublas" | sed -nE 's/.* T (cublas\w+)@.*/\1/p' | sed 's/_v2//' |
    sort -u >"$names"
for file in tests/cuda/test_blas*.c; do
    cc -E -P -I tests -I src -I include -I data/cuda/include "$file" |
        sed 's/^cublasStatus_t cublas.*;$//'
done >"$names.c"
called 70 "$names.c"
