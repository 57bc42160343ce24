#!/bin/sh
# managed.sh FARFAULT JSON_GET OPTION... -- PROGRAM [ARGUMENT...]: under `farfault run OPTION...`
# the program ends well and says that its results are right; and farfault managed what it allocated,
# on a device with less memory than that.
set -eu
farfault=$1 json_get=$2
shift 2
summary=$(mktemp)
trap 'rm -f "$summary"' EXIT
fail() { echo "$*:" >&2; cat "$summary" >&2; exit 1; }
field() { "$json_get" "$summary" runs 0 "$@" || fail "no $* in the summary"; }

# The status of a program that farfault ran is farfault's; 77 from here would count as a skip.
"$(dirname "$0")/verified.sh" "$farfault" run --json="$summary" "$@" || fail "farfault run $*"
[ "$(field mode)" = managed ] || fail "the memory was not managed"
[ "$(field footprint)" -gt "$(field memory)" ] || fail "everything fitted"
[ "$(field faults)" -gt 0 ] || fail "no faults"
[ "$(field evictions)" -gt 0 ] || fail "no evictions"
[ "$(field fallbacks)" = "{0}" ] || fail "calls that farfault left to the real OpenCL"
