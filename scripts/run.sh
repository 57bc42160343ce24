#!/bin/sh
# A first look, in less than two minutes: real OpenCL programs that need 1.5 times the memory of their device.
set -eu
cd "$(dirname "$0")/.."

# Left out are atax, bfs, bicg and mvt: on a CPU their kernels walk over everything once per work
# item, and with too little memory that takes many minutes.
programs=2dconv,addvectors,backprop,cg,hotspot,jacobi,nw,pagerank,pathfinder,srad,streamtriad

echo "Runs 11 OpenCL programs of 96 MiB each on a device with 64 MiB of memory, under three systems; JSON in build/run.json."
exec build/farfault compare --programs "$programs" --size 96M --memory 66.7% --runs 1 \
    --systems demand,nvidia,nvidia-1 --timeout 60s --json build/run.json
