#!/bin/sh
# A first look, in about two minutes: real OpenCL programs that need 1.5 times the memory of their device.
set -eu
cd "$(dirname "$0")/.."

# Left out are bfs, integral, particles and wave, which thrash for minutes under most of these systems; bicgstab and gmres,
# which are much like cg; and lm, for whose first run the kernels of CLBlast are compiled: half a minute.
programs=2dconv,addvectors,atax,backprop,bicg,cg,hotspot,jacobi,mvt,nw,pagerank,pathfinder,ra,srad,streamtriad

cat <<END
Runs 15 OpenCL programs of 64 MiB each on a software device with 42 MiB of memory, under nine systems. Each runs once
beforehand, unmeasured, to have its kernels compiled. All results are checked; JSON is in build/run.json.

END
exec build/farfault compare --programs "$programs" --size 64M --memory 66.7% --runs 1 \
    --systems demand,nvidia,nvidia-1,nvidia-random,keep,deepum-plus,deepum-far,specforest-plus,auto \
    --timeout 60s --json=build/run.json
