#!/bin/sh
# two_devices.sh FARFAULT JSON_GET: under `farfault compare --devices 2` the two halves of the
# program `mixed` run on a device each, both with less memory than they need, and the results are
# right under every system.
set -eu
farfault=$1 json_get=$2
results=$(mktemp)
trap 'rm -f "$results"' EXIT
fail() { echo "$*" >&2; cat "$results" >&2; exit 1; }
field() { "$json_get" "$results" "$@"; }

"$farfault" compare --devices 2 --memory 25% --size 24M --runs 1 --systems \
    nvidia-1,memharvester,auto --json="$results" mixed ||
    fail "status $?"
for run in 2 3 4; do
    system=$(field runs $run system) memory=$(field runs $run memory)
    [ "$(field runs $run verified)" = true ] || fail "$system: not verified"
    [ "$(field runs $run summary evictions)" -gt 0 ] || fail "$system: no evictions"
    [ "$(field runs $run summary resident_peak)" -gt "$memory" ] ||
        fail "$system: one device had everything"
done
