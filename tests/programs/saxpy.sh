#!/bin/sh
# saxpy.sh SAXPY: the example of farfault.h ends well, verifies its result, and needs more memory
# than its device has.
set -eu
output=$("$(dirname "$0")/verified.sh" "$1")
printf '%s\n' "$output"
evicted=$(printf '%s\n' "$output" | sed -n 's/.* faults, .* in, \([0-9]*\) MB out$/\1/p')
[ "${evicted:-0}" -gt 0 ] || { echo "saxpy evicted nothing" >&2; exit 1; }
