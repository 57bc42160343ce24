#!/bin/sh
# Modelled runs, whole: tables, JSON, and the same results with any number of threads.
. "$(dirname "$0")/common.sh"

small=hotspot:n=256

status 0 sim $small --memory 50%
has out 'modelled on 1 x v100-16g'
has out 'modelled ms'
has out 'in-memory'
has out 'geometric means of modelled times'
[ ! -s err ] || fail "sim wrote to standard error: $(cat err)"

for jobs in 1 3; do
    status 0 sim "$small,$small,steps=2" --systems demand,nvidia:threshold=25,quirk=0,nvidia-1 \
        --gpu gtx1080ti,v100-16g --memory 50% --oversubscribe 110% --jobs $jobs --json
    mv out jobs$jobs
done
cmp jobs1 jobs3 || fail 'not the same with three threads'
json jobs1 sim command
json jobs1 1 seed
json jobs1 '[28]' runs
json jobs1 $small runs 0 subject
json jobs1 gtx1080ti runs 0 device
json jobs1 in-memory runs 0 system
json jobs1 null runs 0 memory
json jobs1 1 runs 0 slowdown
json jobs1 nvidia:threshold=25,quirk=0 runs 2 system
json jobs1 50% runs 2 share
json jobs1 '110% over' runs 4 share
json jobs1 true runs 27 good
json jobs1 '[12]' means
json jobs1 2 means 0 subjects
json jobs1 null runs 0 share
json jobs1 null runs 0 verified
json jobs1 null runs 0 reason

status 0 sim $small --systems demand --json=default.json
json default.json 66% runs 1 share
status 0 sim $small --systems demand --memory 50% --csv --json=all.json
[ "$(wc -l <out)" -eq 3 ] || fail "CSV: $(cat out)"
case $(head -n 1 out) in
subject,system,device,memory,share,footprint,good,reason,verified,seconds,slowdown,faults,\
bytes_in,bytes_out,hit_rate,time_ns,*) ;;
*) fail "CSV: $(head -n 1 out)" ;;
esac
has out "$small,demand,v100-16g,$("$json_get" all.json runs 1 memory),50%,"
says 2 'farfault sim: --json and --csv cannot both go to standard output: *' "$farfault" sim \
    $small --json --csv
mv out both.json
json both.json false good
printf '#!/bin/sh\nulimit -f 1\nexec %s "$@"\n' "$scratch/farfault" >limited
chmod +x limited
says 1 '*cannot write big.json: File too large' ./limited sim $small --systems demand \
    --json=big.json
says 1 '' ./limited sim $small --systems demand --memory 50% --trace big.trace
has out 'big.trace: File too large'
status 0 sim $small --systems demand --memory 50% --json=out.json
has out 'in-memory'
json out.json '[2]' runs

status 0 compare --gpu v100-32g --systems nvidia --json $small
json out 66% runs 1 share
status 0 compare --modelled --systems nvidia --json $small
json out v100-16g runs 1 device

# ---- the same bytes for any number of threads, with and without time

for untimed in '' --untimed; do
    for jobs in 1 4; do
        status 0 sim "$small,hotspot:n=128" --systems demand,nvidia,oracle \
            --gpu gtx1080ti,v100-16g --memory 50%,75% --seed 7 --jobs $jobs $untimed --json=all.json
        cat out all.json >bytes$jobs
    done
    cmp bytes1 bytes4 || fail "not the same with four threads $untimed"
done

status 0 sim zipf:pages=2000,accesses=9000 --untimed --gpu gtx1080ti --memory 25% \
    --systems demand:evict=lru-4k,belady --json=out.json
has out 'untimed on 1 x gtx1080ti'
has out 'accesses'
json out.json true untimed
json out.json 9000 runs 1 accesses
json out.json null runs 1 time_ns
json out.json null runs 1 slowdown
json all.json "[28]" runs
mistake 2 'farfault sim: --trace t: a trace has times: leave out --untimed' \
    sim $small --systems nvidia --untimed --trace t

# ---- miss-ratio curves: as runs of each size miss; the same bytes for any number of threads

zipf=zipf:pages=2000,accesses=9000
status 0 sim $zipf --untimed --gpu v100-16g:granule=4K --memory 1M \
    --systems demand:evict=lru-4k,belady --json=runs.json
for jobs in 1 4; do
    status 0 sim $zipf,cyclic:pages=300,passes=2 --curve --memory 1M,100% --jobs $jobs \
        --json=curve.json \
        --csv=curve.csv
    cat out curve.json curve.csv >bytes$jobs
done
cmp bytes1 bytes4 || fail 'curves are not the same with four threads'
has out 'zipf:pages=2000,accesses=9000, footprint 7.8 MiB, pages of 4 KiB on 1 x v100-16g'
has out '600 accesses to 300 pages, 300 cold misses'
has out 'LRU misses'
json curve.json '[4]' runs
json curve.json 1M runs 0 share
json curve.json "$("$json_get" runs.json runs 1 faults)" runs 0 faults
json curve.json "$("$json_get" runs.json runs 2 faults)" runs 0 belady
json curve.json 9000 runs 1 accesses
json curve.json "$("$json_get" curve.json runs 1 cold)" runs 1 faults
json curve.json "$("$json_get" curve.json runs 1 cold)" runs 1 belady
json curve.json 300 runs 3 pages
json curve.json 0.5 runs 3 miss_ratio
json curve.json '[2]' curves
json curve.json '[2]' curves 1 points
json curve.json 600 curves 1 points 0 1
json curve.json 300 curves 1 points 1 0
json curve.json 300 curves 1 points 1 1
case $(head -n 1 curve.csv) in
subject,*,accesses,pages,cold,miss_ratio,belady,belady_miss_ratio) ;;
*) fail "CSV of curves: $(head -n 1 curve.csv)" ;;
esac
status 0 sim $zipf --curve
[ "$(grep -c ' %' out)" -eq 13 ] || fail "sizes of a curve: $(cat out)"
status 0 sim $zipf --systems demand --memory 4M --trace curve.trace
status 0 replay curve.trace --curve --memory 2M --json=replayed.json
json replayed.json 9000 runs 0 accesses
status 1 sim pagerank:size=4M,iterations=1,chunk=1024 --curve --json=failed.json
has out 'failed: analytical kernels have no single accesses, and no miss-ratio curve'
json failed.json false good
json failed.json '[0]' curves 0 points
for option in '--systems nvidia' '--trace t' '--beside idle' '--devices 2' '--machine p3.8xlarge' \
    --settle --explain --check; do
    mistake 2 "farfault sim: $option*: a curve counts misses on one device, and runs no system: *" \
        sim $small --curve $option
done
mistake 2 'farfault sim: --memory 4000: 4000: must be 4096 to *' sim $small --curve --memory 4000

FARFAULT_GPU=a100-40g FARFAULT_MEMORY=50%
export FARFAULT_GPU FARFAULT_MEMORY
status 0 sim $small --systems nvidia --json
json out a100-40g runs 1 device
json out 50% runs 1 share
unset FARFAULT_GPU FARFAULT_MEMORY

cp "$source/data/gpus/v100-16g.json" own.json
sed -i 's/"name": "v100-16g"/"name": "own"/' own.json
status 0 sim $small --systems nvidia --gpu own.json --json
json out own runs 1 device

# ---- the bound: the oracle moves no more than the others, misses less and takes no longer

at_most() { # WHAT FILE LINE OTHER-LINE
    mine=$("$json_get" "$2" runs "$3" "$1") others=$("$json_get" "$2" runs "$4" "$1")
    [ "$mine" -le "$others" ] || fail "$2: $1 of the oracle is $mine, of line $4 $others"
}
bound() { # FILE, whose runs are in-memory, demand, nvidia, oracle
    for line in 1 2; do
        for what in bytes_in faults time_ns; do at_most $what "$1" 3 $line; done
    done
}
for work in hotspot:n=768,gtx1080ti pathfinder:columns=20000,gtx1080ti hotspot:size=8M,v100-16g; do
    status 0 sim "${work%,*}" --systems demand,nvidia,oracle --memory 66% --gpu "${work##*,}" \
        --json=bound.json
    bound bound.json
done

# ---- what a system cannot run is no failure of those who did not ask for it

bulk=pagerank:size=4M,iterations=1,chunk=1024
status 0 sim $bulk --gpu v100-16g
has out 'cannot run'
has out 'analytical kernels have no accesses to record'
status 1 sim $bulk --gpu v100-16g --systems demand,oracle
status 0 sim $bulk --gpu v100-16g --json=cannot.json
json cannot.json true good
json cannot.json null runs 6 good
json cannot.json 'analytical kernels have no accesses to record' runs 6 reason

status 0 compare --modelled hotspot:n=256
for system in in-memory demand nvidia nvidia-1 oracle; do has out "  $system "; done

# ---- a trace of a run, and the run again

status 0 sim $small --systems nvidia --memory 50% --trace run.trace --json=run.json
status 0 replay run.trace --systems nvidia --memory 50% --json=replay.json
# a trace has the accesses but not how wide they are, so that times differ a little
for name in accesses demanded pages_in; do
    json replay.json "$("$json_get" run.json runs 1 $name)" runs 1 $name
done
status 0 replay run.trace --systems demand,nvidia,oracle --memory 50% --gpu gtx1080ti \
    --json=bound.json
bound bound.json
status 0 export run.trace --output run-perfetto.json
"$json_get" run-perfetto.json >out || fail 'the export is not JSON'
mistake 1 "farfault replay: *run.json*" replay run.json

status 0 export run.trace --format batches --output batches.csv
[ "$(wc -l <batches.csv)" -eq "$(($("$json_get" run.json runs 1 batches) + 1))" ] ||
    fail "not all batches: $(cat batches.csv)"

# ---- the faults of one run rank no systems

cp "$source/tests/fuzz/corpus/trace/faults" faults.trace
mistake 2 \
    "farfault replay: faults.trace: has only the faults of a run under one system, which are no \
curve *" \
    replay faults.trace --curve
mistake 2 \
    "farfault replay: faults.trace: has only the faults of a run under one system, and cannot rank \
systems: *" \
    replay faults.trace
mistake 2 'farfault replay: faults.trace: has only the faults *' replay run.trace faults.trace
status 0 replay faults.trace --systems nvidia
has out 'recorded: the faults of one run'
status 0 replay faults.trace --systems demand,nvidia --anyway --json=out.json
json out.json '[3]' runs
mistake 2 "farfault import: unknown format 'x'; *" import x run.json --output t
head -c 500 run.trace >cut.trace
mistake 1 'farfault replay: *cut.trace*' replay cut.trace
status 1 sim $small --systems nvidia --memory 50% --trace missing/run.trace
has out 'missing/run.trace'

# ---- programs beside each other

work=pagerank:size=48M,iterations=4,chunk=4096
for beside in idle wcc:size=8M,iterations=2; do
    status 0 sim $work --machine p3.8xlarge --memory 32M --beside $beside,idle --systems \
        nvidia,memharvester --json=beside.json
    json beside.json '[2]' runs 2 beside
    [ "$("$json_get" beside.json runs 2 bytes_peer)" -gt 0 ] ||
        fail "nothing was lent beside $beside"
    json beside.json 0 runs 1 bytes_peer
done
[ "$("$json_get" beside.json runs 2 beside 0 repetitions)" -gt 0 ] ||
    fail 'the neighbour did nothing'
json beside.json idle runs 2 beside 1 subject
has out 'beside: wcc:size=8M,iterations=2 '
mistake 2 "farfault sim: --beside *" sim $work --beside none
mistake 2 "farfault sim: --beside *8 devices*" sim $work --devices 8 --beside idle
mistake 2 "farfault sim: --beside *--untimed*" sim $work --beside idle --untimed
mistake 2 "farfault sim: --machine *--gpu*" sim $work --machine p3.8xlarge --gpu h100-80g
mistake 2 "farfault sim: --machine *" sim $work --machine none

# ---- a predictor, trained and at work

status 0 train hotspot:n=256 --distance 4 --steps 20 --output little.model
status 0 sim hotspot:n=128 --gpu gtx1080ti --systems \
    hlsh:model=little.model,hlsh-tree:model=little.model --json=learned.json
for line in 1 2; do
    [ "$("$json_get" learned.json runs $line prefetched)" -gt 0 ] || fail 'nothing was prefetched'
done
status 0 sim hotspot:n=128 --gpu gtx1080ti --systems \
    hlsh:model=little.model,hlsh-tree:model=little.model --json=again.json
cmp learned.json again.json || fail 'not the same twice'
head -c 3000 little.model >cut.model
for file in missing.model cut.model learned.json; do
    status 1 sim hotspot:n=256 --gpu gtx1080ti --systems hlsh:model=$file
    has out "policy 'learned' could not start: $file: "
done
# the paper's delta, without a model
status 0 sim mvt:n=320 --gpu gtx1080ti --systems \
    hlsh:tune=300000,distance=4,hlsh:tune=300000,distance=4,delta=1 --json=deltas.json
[ "$("$json_get" deltas.json runs 1 prefetched)" != "$("$json_get" deltas.json runs 2 prefetched)" \
    ] || fail 'delta=1 is delta=0'
status 1 sim hotspot:n=256 --gpu gtx1080ti --systems hlsh:model=little.model,delta=1
has out "policy 'learned' could not start: delta=1 needs a predictor that learns from the run"

# ---- what policies have found

status 0 sim addvectors:size=6M --systems demand,forest --gpu gtx1080ti --memory 66% --explain
has out 'forest, 4.0 MiB:'
has out ': linear; launches: profiled 1 (1 rounds)'
status 0 sim addvectors:size=6M --systems forest --gpu gtx1080ti --memory 66% --explain \
    --json=found.json
json found.json '[0]' runs 0 findings
kernel=$("$json_get" found.json runs 1 findings 0 kernel)
range=$("$json_get" found.json runs 1 findings 0 range)
has out "  $kernel $range: $("$json_get" found.json runs 1 findings 0 text)"
json found.json null runs 1 findings 2 kernel

finish
