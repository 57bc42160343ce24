#!/bin/sh
# A first look, in about two minutes: real OpenCL programs that need 1.5 times the memory of their device.
set -eu
cd "$(dirname "$0")/.."

# Left out are bfs and ra, whose random accesses thrash under every one of these systems, bfs for minutes, and lm, for
# whose first run the kernels of CLBlast are compiled: half a minute.
programs=2dconv,addvectors,atax,backprop,bicg,cg,hotspot,jacobi,mvt,nw,pagerank,pathfinder,srad,streamtriad

echo "Runs 14 OpenCL programs of 96 MiB each on a device with 64 MiB of memory, under three systems; JSON in build/run.json."
exec build/farfault compare --programs "$programs" --size 96M --memory 66.7% --runs 1 \
    --systems demand,nvidia,nvidia-1 --timeout 60s --json build/run.json
