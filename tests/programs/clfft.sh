#!/bin/sh
# clFFT's client transforms arrays that need more memory than the device has, and checks the results
# itself; plainly and under farfault all checks pass. Usage: clfft.sh FARFAULT
set -eu
. "$(dirname "$0")/third_party.sh"
needs clFFT-client

passes() { grep -o 'Internal Client Test \*\*\*\*\*PASS\*\*\*\*\*' "$1" || true; }

# transform WHAT OPTION...
transform() {
    echo "$1:"
    shift
    plain clFFT-client "$@"
    managed '--system nvidia-1 --memory 6M' clFFT-client "$@"
    same passes
}

transform 'two dimensions' -x 1024 -y 1024
transform 'many rows, out of place' -x 1024 -b 2048 -o
transform 'double precision' -x 512 -b 1024 --double
transform 'real to complex' -x 1024 -b 4096 -o --inLayout 5 --outLayout 3
exit $bad
