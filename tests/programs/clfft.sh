#!/bin/sh
# clFFT's client transforms arrays that need more memory than the device has, and checks the results itself; plainly and
# under farfault all checks pass. Usage: clfft.sh FARFAULT
set -eu
farfault=$1
command -v clFFT-client >/dev/null || { echo 'no clfft-client'; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

number() { sed -n "s/^ *\"$1\": \([0-9]*\).*/\1/p" summary; }
passes() { grep -q 'Internal Client Test \*\*\*\*\*PASS\*\*\*\*\*' "$1"; }

# transform WHAT OPTION...
bad=0
transform() {
    what=$1
    shift
    clFFT-client "$@" >plain 2>/dev/null && passes plain || { echo "$what: fails without farfault" >&2; bad=1; }
    "$farfault" run --system nvidia-1 --memory 6M --json summary -- clFFT-client "$@" >managed 2>errors &&
        passes managed || { cat managed errors >&2; bad=1; }
    echo "$what: $(number footprint) bytes of buffers on $(number memory), $(number evictions) evictions"
    [ "$(number footprint)" -gt "$(number memory)" ] && [ "$(number evictions)" -gt 0 ] || bad=1
}

transform 'two dimensions' -x 1024 -y 1024
transform 'many rows, out of place' -x 1024 -b 2048 -o
transform 'double precision' -x 512 -b 1024 --double
transform 'real to complex' -x 1024 -b 4096 -o --inLayout 5 --outLayout 3
exit $bad
