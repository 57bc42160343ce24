#!/bin/sh
# test_every_call.sh SOURCE: each function of driver.def, in each flavour, is called by one of these
# tests. Of a flavour the tests may call ALIKE(name, flavour, ...) as well.
set -eu
cd "$1"
calls=$(cat tests/cuda/test_driver_*.c tests/cuda/driver.h)
symbols=$(tr -d '\n' <data/cuda/include/farfault/driver.def |
    sed 's/FF_CUDA/\nFF_CUDA/g' |
    sed -nE 's/^FF_CUDA\((cu[A-Za-z0-9]+), *([_a-z0-9]*),.*/\1\2/p
             s/^FF_CUDA_STREAM\((cu[A-Za-z0-9]+), *([_a-z0-9]*), [0-9]+, ([a-z]+),.*/\1\2\n\1\2_\3/p')
count=0 missing=
for symbol in $symbols; do
    count=$((count + 1))
    case $calls in
    *"($symbol("* | *" $symbol("* | *"
$symbol("*) ;;
    *) missing="$missing $symbol" ;;
    esac
done
[ "$count" -gt 250 ] || { echo "only $count functions in driver.def?" >&2; exit 1; }
[ -z "$missing" ] || { echo "not called by a test:$missing" >&2; exit 1; }
