#!/bin/sh
# A first look, in about three minutes: real programs that need 1.5 times the memory of their
# device, all of them in OpenCL and one in CUDA, too.
set -eu
cd "$(dirname "$0")/.."

# Left out are integral, particles and wave, which thrash for minutes under most of these systems,
# as bfs does; bicgstab and gmres, which are much like cg; and lm, for whose first run the kernels
# of CLBlast are compiled: half a minute.
programs=2dconv,addvectors,atax,backprop,bicg,cg,hotspot,jacobi,mvt,nw,pagerank,pathfinder,ra
programs=$programs,srad,streamtriad
own=specforest-plus,auto

cat <<END
Runs programs of 64 MiB each on a software device with 42 MiB of memory. Each runs once
beforehand, unmeasured, to have its kernels compiled. All results are checked; of the last,
build/run.json has all figures and build/run.html is a page with charts.

First bfs, whose accesses are random: most systems are stopped after 15 seconds.

END
build/farfault compare --programs bfs --size 64M --memory 66.7% --runs 1 --systems \
    nvidia-1,specforest-plus,keep,auto \
    --timeout 15s | sed '/^geometric means/,$d'

echo "Then one program in OpenCL and in CUDA."
echo
build/farfault compare --programs jacobi,jacobi-cuda --size 64M --memory 66.7% --runs 1 --systems \
    nvidia-1,keep,auto --timeout 60s | sed '/^geometric means/,$d'

echo "Then 15 programs in OpenCL under nine systems."
echo
build/farfault compare --programs "$programs" --size 64M --memory 66.7% --runs 1 \
    --systems "demand,nvidia,nvidia-1,nvidia-random,keep,deepum-plus,deepum-far,$own" \
    --timeout 60s --json=build/run.json
build/farfault report build/run.json --output build/run.html
echo
echo "With charts: build/run.html"
