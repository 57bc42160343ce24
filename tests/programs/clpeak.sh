#!/bin/sh
# clpeak on a device with less memory than its buffers reports the same figures as plainly: bandwidths and latency; with
# `all`, which takes PoCL 8 minutes or more to compile, also what it computes. Usage: clpeak.sh FARFAULT [all]
set -eu
farfault=$1
command -v clpeak >/dev/null || { echo 'no clpeak'; exit 77; }

# A buffer of clpeak is half as large as the device allows. On a device that shows 4 GiB it reads 1 TiB; let it be 65
# GiB.
export FARFAULT_ADDRESS_SPACE=256M

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
    "$farfault" run --system "$system" --memory "$memory" --json summary -- clpeak "$@" >managed || bad=1
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
compare nvidia-1 96M --global-bandwidth
compare nvidia-1 96M --transfer-bandwidth --kernel-latency
if [ "${2:-}" = all ]; then
    for what in sp integer intfast; do
        compare nvidia 4M --compute-$what
    done
    evictions=0 # its buffer has 2 MiB, and there is no smaller device
    compare nvidia 4M --compute-dp
fi
exit $bad
