#!/bin/sh
# Ranks of mpirun share the runs of an experiment: the results are the bytes of one process,
# whatever rank dies in the middle.
. "$(dirname "$0")/common.sh"
cp "$8" farfault-mpi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # in a container
export OMPI_MCA_btl=self,tcp OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
mpirun='timeout 120 mpirun'

# ranks STATUS COUNT ARGUMENT...: on so many ranks, with its output in out and err.
ranks() {
    expected=$1 count=$2
    shift 2
    $mpirun -n "$count" "$farfault" "$@" >out 2>err </dev/null
    got=$?
    [ "$got" -eq "$expected" ] ||
        fail "$count ranks, farfault $*: status $got, not $expected: $(cat err)"
}

# ---- the same bytes ----

matrix='sim stream:size=1M,hotspot:size=1M,phase:size=2M --systems demand,nvidia,keep
    --memory 50%,75% --gpu gtx1080ti,v100-16g'
status 0 $matrix
cp out whole
status 0 $matrix --json=whole.json
ranks 0 2 $matrix --study kept.study
cmp -s out whole || fail "on 2 ranks it differs: $(diff out whole)"
ranks 0 4 $matrix --jobs 2 --json=ranks.json
cmp -s ranks.json whole.json || fail "on 4 ranks its JSON differs: $(diff ranks.json whole.json)"
status 0 study list kept.study --json # rank 0 has kept all runs
json out 33 builds 0 runs
ranks 0 2 $matrix --study kept.study
cmp -s out whole || fail "what it has kept differs: $(diff out whole)"

# Runs that fail, curves, and one that writes a file, which rank 0 makes.
for unusual in 'cifarnet --systems demand,belady --memory 50%' \
    'zipf:size=1M,stream:size=1M --curve'; do
    "$farfault" sim $unusual --json=unusual.json >whole 2>err
    expected=$?
    ranks $expected 3 sim $unusual --json=ranks.json
    cmp -s ranks.json unusual.json || fail "its JSON differs: $(diff ranks.json unusual.json)"
done
ranks 0 2 sim zipf:size=1M --systems demand --memory 50% --trace zipf.trace
[ -s zipf.trace ] || fail 'no trace'

# A paper, and a comparison.
cat >mine.json <<END
{"name": "mine",
 "defaults": {"set": "all", "gpu": "v100-16g", "percent": 150, "baseline": "demand"},
 "sets": {"all": [{"program": "HS", "workload": "hotspot:size=4M"},
                  {"program": "ST", "workload": "stream:size=4M"}]},
 "tables": [{"id": "gain", "what": "Gain", "paper": 2, "system": "nvidia-1"}]}
END
status 0 repro mine.json --fresh --json=paper.json
ranks 0 3 repro mine.json --fresh --json=ranks.json --plot figures
cmp -s ranks.json paper.json || fail "the paper differs: $(diff ranks.json paper.json)"
ranks 0 3 compare --gpu v100-16g --memory 50% zipf:size=1M --json=ranks.json
status 0 compare --gpu v100-16g --memory 50% zipf:size=1M --json=modelled.json
cmp -s ranks.json modelled.json || fail "compare differs: $(diff ranks.json modelled.json)"

# Of one experiment after the other they take cells.
$mpirun -n 2 "${10}" ./farfault-mpi >out 2>err || fail "two experiments: $(cat err)"
printf '0 helped\n1 helped\n' | cmp -s - out || fail "two experiments: $(cat out err)"

# ---- ranks that die ----

long="sim zipf:size=$9,phase:size=$9,ra:size=$9 --gpu gtx1080ti --systems demand,nvidia,keep
    --memory 50%,55%,60%,65%,70%,75%,80%,85%"
status 0 $long
cp out whole

# processes RANK: of the rank, in the order of their start.
processes() {
    for each in $(pgrep -P "$1" farfault); do
        echo "$each"
        processes "$each"
    done
}
of_rank() {
    for each in $(processes "$mpi"); do
        grep -qzx "OMPI_COMM_WORLD_RANK=$1" "/proc/$each/environ" 2>/dev/null && echo "$each"
    done
}

# begin OPTION...: on three ranks, in the background, until runs are under way.
begin() {
    rm -f long.study
    mpirun -n 3 "$@" "$farfault" $long --study long.study >out 2>err </dev/null &
    mpi=$!
    tries=0
    until [ "$("$farfault" study show long.study --csv 2>/dev/null | wc -l)" -gt 1 ] ||
        [ $tries -gt 200 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
}

# strike WHICH RANK: kills `all` processes of the rank, or the `last`, which does its work. Rank 0
# stands still meanwhile, so that the work does not end.
strike() {
    leader=$(of_rank 0)
    kill -STOP "$leader" || fail 'the work has ended too early'
    case $1 in
    all) kill -9 $(of_rank "$2") ;;
    last) kill -9 "$(of_rank "$2" | tail -1)" ;;
    esac || fail "rank $2 was not there"
    kill -CONT "$leader"
}

# What a cell has brought down begins again; its rank lives on.
begin
strike last 1
strike last 2
wait $mpi || fail "status $?: $(cat err)"
cmp -s out whole || fail "after deaths it differs: $(diff out whole)"
[ "$(grep -c 'rank [12] has died of signal 9, and begins again' err)" -eq 2 ] ||
    fail "not two deaths: $(cat err)"

# A whole rank, where mpirun goes on.
begin --enable-recovery
strike all 2
wait $mpi || fail "status $?: $(cat err)"
cmp -s out whole || fail "without rank 2 it differs: $(diff out whole)"

# Rank 0: the same command goes on.
begin
kill -9 $(of_rank 0)
! wait $mpi || fail 'without rank 0 it was done'
[ "$("$farfault" study show long.study --csv | wc -l)" -gt 1 ] || fail 'nothing was kept'
status 0 $long --study long.study
cmp -s out whole || fail "without rank 0 it differs: $(diff out whole)"

# ---- mistakes ----

cp farfault other
echo >>other # another build
$mpirun -n 1 "$farfault" $matrix --json=ranks.json : -n 1 ./other $matrix --json=none.json \
    >out 2>err </dev/null || fail "with another build: $(cat err)"
cmp -s ranks.json whole.json || fail "with another build its JSON differs"
has err 'farfault sim: rank 1 takes no part: there, farfault, its data or a file it reads'
[ ! -e none.json ] || fail 'rank 1 has written results'
ranks 2 3 sim nonesuch
[ "$(grep -c '^farfault sim: .*nonesuch' err)" -eq 1 ] || fail "not one line: $(cat err)"
ranks 2 2 compare atax
has err 'programs are compared on one machine'
rm farfault-mpi
ranks 1 2 $matrix
has err 'the program farfault-mpi is neither beside farfault in'
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=3 "$farfault" list systems >out || fail 'list needs MPI'
cp "$8" farfault-mpi
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=3 mistake 1 \
    'farfault sim: started as one of 3 processes, but MPI knows 1: *' $matrix
finish
