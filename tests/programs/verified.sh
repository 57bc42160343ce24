#!/bin/sh
# verified.sh PROGRAM [ARGUMENT...]: the program ends well and says that its results are right.
set -eu
output=$("$@") || { status=$?; printf '%s\n' "$output"; echo "$1: status $status" >&2; exit 1; }
printf '%s\n' "$output"
printf '%s\n' "$output" | grep -qx 'verified: yes' ||
    { echo "$1: nothing was verified" >&2; exit 1; }
