#!/bin/sh
# clpeak on a device with less memory than its buffers reports the same figures as plainly: bandwidths and latency; with
# `all`, which takes PoCL 8 minutes or more to compile, also what it computes. Usage: clpeak.sh FARFAULT [all]
set -eu
farfault=$1
command -v clpeak >/dev/null || { echo 'no clpeak'; exit 77; }

# The smaller a device says that it is, the less clpeak reads: hundreds of GiB where it sees the memory of this machine.
export FARFAULT_ADDRESS_SPACE=128M # under farfault
export POCL_MEMORY_LIMIT=1         # GiB, plainly

# the names of the figures after those of their tests: "Transfer bandwidth (GBPS): enqueueReadBuffer"
figures() {
    awk -F ' *: *' '{ sub(/^ +/, "") }
        /\((GBPS|GFLOPS|GIOPS)\)$/ { test = $0 }
        test && $2 ~ /^[0-9.]+( us)?$/ && $2 + 0 > 0 { print test ": " $1 }' "$1"
}

number() { sed -n "s/^ *\"$1\": \([0-9]*\).*/\1/p" summary; }

# compare SYSTEM MEMORY OPTION...
bad=0
compare() {
    system=$1 memory=$2
    shift 2
    clpeak "$@" >plain
    "$farfault" run --system "$system" --memory "$memory" --json=summary -- clpeak "$@" >managed || bad=1
    figures plain >expected
    figures managed >got
    echo "clpeak $*, $system: $(wc -l <got) figures, plainly $(wc -l <expected)," \
        "$(number footprint) bytes of buffers on $memory, $(number evictions) evictions, $(number seconds) s"
    sed '1,/Clock frequency/d' managed
    [ -s expected ] && cmp expected got && [ "$(number evictions)" -ge "$evictions" ] || bad=1
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
evictions=1
compare nvidia-1 48M --global-bandwidth
compare nvidia-1 48M --transfer-bandwidth --kernel-latency
if [ "${2:-}" = all ]; then
    for what in sp integer intfast; do
        compare nvidia 4M --compute-$what
    done
    evictions=0 # its buffer has 2 MiB, and there is no smaller device
    compare nvidia 4M --compute-dp
fi
exit $bad
