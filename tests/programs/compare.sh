#!/bin/sh
# compare.sh FARFAULT JSON_GET PROGRAM: `farfault compare` runs the bundled program without
# farfault, with all memory, and with two thirds of it; its results are right under every system.
set -eu
farfault=$1 json_get=$2 program=$3
results=$(mktemp)
trap 'rm -f "$results"' EXIT
fail() { echo "$*" >&2; cat "$results" >&2; exit 1; }
field() { "$json_get" "$results" "$@"; }

"$farfault" compare --memory 66.7% --size 12M --runs 1 --systems demand,nvidia-1,auto \
    --json="$results" "$program" || fail "status $?"
for run in 0 1 2 3 4; do
    [ "$(field runs $run verified)" = true ] || fail "run $run: not verified"
done
for run in 2 3 4; do
    [ "$(field runs $run summary evictions)" -gt 0 ] || fail "run $run: no evictions"
done
