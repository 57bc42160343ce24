#!/bin/sh
# clpeak measures transfers and latency on a device with less memory than its buffers. Usage: clpeak.sh FARFAULT
set -eu
command -v clpeak >/dev/null || { echo 'no clpeak'; exit 77; }

"$1" run --quiet --memory 32M --system nvidia-1 -- \
    clpeak --transfer-bandwidth --kernel-latency | tee clpeak.out
for figure in 'enqueueWriteBuffer' 'enqueueReadBuffer' 'memcpy from mapped ptr' 'Kernel launch latency'; do
    grep -q "$figure *:" clpeak.out || { echo "no figure for $figure"; exit 1; }
done
