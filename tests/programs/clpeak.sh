#!/bin/sh
# clpeak on a device with less memory than its buffers reports the same figures as plainly:
# bandwidths and latency. (Its compute tests have buffers of 4 MiB, as the smallest device has.)
# Usage: clpeak.sh FARFAULT
set -eu
. "$(dirname "$0")/third_party.sh"
needs clpeak

# The smaller a device says that it is, the less clpeak reads: hundreds of GiB where it sees the
# memory of this machine.
export FARFAULT_ADDRESS_SPACE=128M # under farfault
export POCL_MEMORY_LIMIT=1         # GiB, plainly

# the names of the figures after those of their tests: "Transfer bandwidth (GBPS):
# enqueueReadBuffer"
figures() {
    awk -F ' *: *' '{ sub(/^ +/, "") }
        /\((GBPS|GFLOPS|GIOPS)\)$/ { test = $0 }
        test && $2 ~ /^[0-9.]+( us)?$/ && $2 + 0 > 0 { print test ": " $1 }' "$1"
}

# compare OPTION...
compare() {
    plain clpeak "$@"
    managed '--system nvidia-1 --memory 48M' clpeak "$@"
    sed '1,/Clock frequency/d' managed
    same figures
}

compare --global-bandwidth
compare --transfer-bandwidth --kernel-latency
exit $bad
