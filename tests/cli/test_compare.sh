#!/bin/sh
# farfault compare, on programs that only pretend: what is run how, tables, JSON, failures.
. "$(dirname "$0")/common.sh"
need_userfaultfd
export STUB_LOG="$scratch/log"

# ---- everything is well. The footprint is 100 MiB; plain and nvidia-1 take 1 s, nvidia 2 s, demand
# 4 s.

status 0 compare --size 1M --memory 50% --runs 2 --json=all.json --devices 2 atax
cat >expected <<END
passive|-|-|pthread pthread| --size 1048576 --check
passive|-|-|pthread pthread| --size 1048576 --check
-|nvidia-1|163577856|pthread pthread| --size 1048576 --check
-|demand|52428800|pthread pthread| --size 1048576 --check
-|nvidia|52428800|pthread pthread| --size 1048576 --check
-|nvidia-1|52428800|pthread pthread| --size 1048576 --check
-|nvidia-random|52428800|pthread pthread| --size 1048576 --check
-|keep|52428800|pthread pthread| --size 1048576 --check
-|specforest-plus|52428800|pthread pthread| --size 1048576 --check
-|deepum-far|52428800|pthread pthread| --size 1048576 --check
-|auto|52428800|pthread pthread| --size 1048576 --check
passive|-|-|pthread pthread| --size 1048576 --check
-|nvidia-1|163577856|pthread pthread| --size 1048576 --check
-|demand|52428800|pthread pthread| --size 1048576 --check
-|nvidia|52428800|pthread pthread| --size 1048576 --check
-|nvidia-1|52428800|pthread pthread| --size 1048576 --check
-|nvidia-random|52428800|pthread pthread| --size 1048576 --check
-|keep|52428800|pthread pthread| --size 1048576 --check
-|specforest-plus|52428800|pthread pthread| --size 1048576 --check
-|deepum-far|52428800|pthread pthread| --size 1048576 --check
-|auto|52428800|pthread pthread| --size 1048576 --check
END
cmp -s log expected || fail "not run as it should be: $(diff log expected)"
sed -n 1,6p out >table
cat >expected <<END
atax, footprint 100 MiB
  system            memory  seconds      min-max  x in-memory  faults  MiB in  MiB out  hit rate\
  verified
  plain                  -    1.000  1.000-1.000        1.00x       -       -        -         -\
  yes
  in-memory        156 MiB    1.000  1.000-1.000        1.00x    1000     2.0      1.0    50.0 %\
  yes
  demand            50 MiB    4.000  4.000-4.000        4.00x    1000     2.0      1.0    50.0 %\
  yes
  nvidia            50 MiB    2.000  2.000-2.000        2.00x    1000     2.0      1.0    50.0 %\
  yes
END
cmp -s table expected || fail "another table: $(diff table expected)"
has out 'atax, footprint 100 MiB'
has out 'in-memory        156 MiB'
has out '4.000-4.000'
has out '4.00x'
has out '50.0 %'
has out 'geometric means'
has out \
    "nvidia              50%               2.00x                     50 %  3 MiB    1 of 1  the \
NVIDIA driver: "
[ ! -s err ] || fail "progress in a pipe: $(cat err)"

json all.json '[10]' runs
for name in cpu cpus memory kernel architecture os; do
    "$json_get" all.json machine $name >/dev/null || fail "machine has no $name"
done
for name in farfault command opencl; do
    "$json_get" all.json $name >/dev/null || fail "no $name: $(cat all.json)"
done
json all.json plain runs 0 system
json all.json null runs 0 memory
json all.json null runs 0 hit_rate
json all.json in-memory runs 1 system
json all.json 163577856 runs 1 memory
json all.json atax runs 3 subject
json all.json nvidia runs 3 system
json all.json 52428800 runs 3 memory
json all.json 50% runs 3 share
json all.json 2 runs 3 seconds
json all.json 2 runs 3 min
json all.json 2 runs 3 slowdown
json all.json 1000 runs 3 faults
json all.json 2097152 runs 3 bytes_in
json all.json 1048576 runs 3 bytes_out
json all.json 0.5 runs 3 hit_rate
json all.json true runs 3 verified
json all.json '[8]' means
json all.json demand means 0 system
json all.json 1 means 0 faster
json all.json 4 means 0 slowdown
json all.json 2 means 1 faster
json all.json 4 means 2 faster

# ---- sweeps, systems with parameters, several programs, JSON alone

status 0 compare --runs 1 --memory 50%,64M --systems nvidia:threshold=25,thrashing=0,demand \
    --programs atax,srad --json "$scratch/programs/hotspot --own"
json out '[18]' runs
json out nvidia:threshold=25,thrashing=0 runs 2 system
json out 67108864 runs 4 memory
json out srad runs 6 subject
json out "$scratch/programs/hotspot --own" runs 12 subject
json out true runs 6 verified
json out null runs 12 verified
json out true runs 12 good
json out nvidia:threshold=25,thrashing=0 means 0 system
json out 4 means 0 faster
json out 64M means 3 share
json out 1 means 3 faster
has log "demand|67108864|pthread| --own"
status 0 compare --runs 1 --systems demand --memory 64M atax,srad bicg
for name in atax srad bicg; do has out "$name, footprint"; done
status 0 compare --runs 1 --systems demand --memory 64M atax "$scratch/programs/hotspot --own"
[ "$(grep -c '  yes$' out)" -eq 3 ] && [ "$(grep -c '  exit 0$' out)" -eq 3 ] ||
    fail "verdicts: $(cat out)"
status 0 compare --runs 1 --systems demand --memory 64M --same-output --json=same.json atax \
    "$scratch/programs/hotspot --own"
[ "$(grep -c '  yes$' out)" -eq 3 ] && [ "$(grep -c '  same output$' out)" -eq 3 ] ||
    fail "verdicts: $(cat out)"
json same.json true runs 5 verified
status 1 compare --runs 1 --systems demand --memory 64M --same-output \
    "$scratch/programs/hotspot; echo \${FARFAULT_SYSTEM:-plain}"
[ "$(grep -c '  same output$' out)" -eq 1 ] || fail "verdicts: $(cat out)"
has out 'no: its output differs from that of the first run in line 3'

status 0 compare --runs 2 --systems demand --host tier atax
[ ! -e tier ] || fail 'the host file was left behind'

# ---- pairs of the same turn, from five runs on

status 0 compare --runs 5 --systems demand,nvidia,auto --memory 64M --json=pairs.json atax,srad
has out 'x demand (95 %)'
[ "$(grep -c '0.500 (0.500-0.500)' out)" -eq 3 ] ||
    fail "not two programs and their mean: $(cat out)"
json pairs.json demand runs 3 paired to
json pairs.json 0.25 runs 4 paired ratio
json pairs.json null runs 2 paired
json pairs.json 0.5 means 1 paired high
json pairs.json 5 means 1 paired pairs
json all.json null means 1 paired

# Each turn takes twice as long as the last, which pairs do not see; nor do they see that compare
# was killed within the third turn and went on.
pairs() {
    compared=$1
    shift
    "$farfault" compare --runs 5 --systems demand,nvidia --memory 64M --json="$compared" "$@" \
        atax >out 2>err </dev/null
}
: >log
export STUB_TURN=4
pairs turns.json || fail "turns: $(cat err)"
json turns.json 64 runs 2 max
for bound in low high; do json turns.json 0.5 runs 3 paired $bound; done
: >log
! STUB_KILL=11 pairs killed.json --study turns.study || fail 'it was not killed'
[ "$(wc -l <log)" -eq 11 ] || fail "not killed after 11 runs: $(cat log)"
pairs killed.json --study turns.study || fail "it does not go on: $(cat err)"
cmp -s killed.json turns.json || fail "after a kill it differs: $(diff killed.json turns.json)"
pairs killed.json --study turns.study
cmp -s killed.json turns.json || fail "what was kept differs: $(diff killed.json turns.json)"
unset STUB_TURN

# ---- lower bounds, from a recording: 8 MiB that are fetched once; a run of the stub takes 1 s at
# least

"$farfault" sim hotspot:size=12M,steps=4 --systems demand --memory 100% --trace touches.trace >out \
    2>err || fail "$(cat err)"
export STUB_TRACE="$scratch/touches.trace"
status 0 compare --bound --runs 1 --systems demand,nvidia --memory 5M,6M --json=bound.json atax
[ "$(grep -c "demand|4194304|" log)" -eq 2 ] ||
    fail "not recorded with the least memory: $(cat log)"
has out \
    "note: demand at 5M, nvidia at 5M, demand at 6M, nvidia at 6M moved less than the lower bound, \
which is wrong"
has out 'x bound'
json bound.json '[4]' bounds
json bound.json 'lower bound' bounds 0 kind
json bound.json reference bounds 1 kind
json bound.json 5M bounds 0 share
json bound.json 1 bounds 0 seconds
json bound.json 'in-memory time' bounds 0 why
json bound.json '[2]' bounds 0 moved_less
json bound.json '[0]' bounds 0 took_less
json bound.json 4 means 0 above_bound
json bound.json 2 means 1 above_bound
status 0 compare --bound --runs 1 --systems demand --memory 64M --link host=1MB/s \
    --json=bound.json atax
json bound.json 8.388608 bounds 0 seconds
json bound.json fetching bounds 0 why
unset STUB_TRACE
status 0 compare --bound --runs 1 --systems demand --memory 64M --json=bound.json atax
has out 'note: no lower bound: '
json bound.json '[0]' bounds
mistake 2 'farfault compare: --bound on: is for one device' compare --bound --devices 2 atax

# ---- failures do not stop it, and are told

status 1 compare --runs 1 --json=bad.json bicg bfs cg mvt "$scratch/missing x" 'true /' atax
has out 'no: wrong results: verified: no (max error 1 at 2)'
has out 'no: killed by signal 9'
has out 'cg: failed: status 3: something broke'
has out 'mvt: failed: did not say whether its results are right'
has out 'missing x: failed: status 127: '
has out 'true /: failed: left no measurements'
has out 'atax, footprint'
json bad.json false runs 3 verified
json bad.json null runs 3 seconds
json bad.json 'wrong results: verified: no (max error 1 at 2)' runs 3 reason
json bad.json true runs 2 verified
json bad.json nvidia means 1 system
json bad.json 2 means 1 faster
: >log
status 1 compare --runs 3 --systems demand,nvidia --memory 64M bfs
[ "$(grep -c '|nvidia|' log)" -eq 1 ] || fail "a line that has failed went on: $(cat log)"
[ "$(grep -c '|demand|' log)" -eq 3 ] || fail "a line ended with another: $(cat log)"
status 1 compare --runs 1 --timeout 300ms nw
has out 'nw: failed: ran longer than 0.3 s'

# ---- calls that fell back

export STUB_FALLBACKS=3
status 0 compare --runs 1 --systems demand atax
has out 'note: under demand 3 calls were not managed: {"clSomething":3}'
unset STUB_FALLBACKS

# ---- sets of programs: nothing is in both, a program in CUDA is where that in OpenCL is

report() { # some of them fail, or do not end
    status 1 compare --runs 1 --systems demand --memory 64M --timeout 1s --json=set.json "$@"
    sed -n 's/^.*"subject": "\(.*\)",$/\1/p' set.json | sort -u
}
report >reported
report --set choose >chosen
report --set all >all
sort reported chosen | cmp -s - all || fail 'the two sets are not all programs'
for name in addvectors bfs nw ra wave; do
    grep -qx $name reported || fail "$name is not reported"
done
for name in 2dconv atax jacobi gmres; do
    grep -qx $name chosen || fail "constants are not chosen on $name"
done
for set in reported chosen; do
    grep -- '-cuda$' $set | sed 's/-cuda$//' | grep -vxE 'dot|streams' | grep -vxf $set &&
        fail "in $set is only one of two"
done
status 0 list --json=list.json programs
[ "$(grep -c '"set": "report"' list.json)" -eq "$(wc -l <reported)" ] || fail 'list programs'
[ "$(grep -c '"used_before_sets": false' list.json)" -eq 12 ] || fail 'programs used before'

# ---- defaults from the environment, a signal

# ---- with a file of runs, only what it lacks is run

# kept RUNS OPTION...: compares so, and the stub has then logged so many runs.
kept() {
    runs=$1
    shift
    status 0 compare --size 1M --memory 50% --systems demand,nvidia --study kept.study \
        --json=kept.json "$@" atax
    [ "$(wc -l <log)" -eq "$runs" ] || fail "$*: $(wc -l <log) runs, not $runs"
}
: >log
kept 9 --runs 2
mv kept.json first.json
kept 9 --runs 2
cmp -s kept.json first.json || fail "what was kept differs: $(diff kept.json first.json)"
kept 13 --runs 3
kept 18 --runs 1 --granule 64K
kept 18 --runs 1 --granule 64K
kept 23 --runs 1 --fresh
rm kept.study
kept 28 --runs 1
mistake 2 'farfault compare: --part is for modelled runs: *' compare --part 1/2 atax

FARFAULT_SYSTEMS=demand FARFAULT_RUNS=1 FARFAULT_PROGRAMS=atax FARFAULT_MEMORY=25%
export FARFAULT_SYSTEMS FARFAULT_RUNS FARFAULT_PROGRAMS FARFAULT_MEMORY
status 0 compare --json=env.json
json env.json '[3]' runs
json env.json 27262976 runs 2 memory
: >log
"$farfault" compare --programs nw >out 2>err &
wait_for log
kill -TERM $!
wait $!
got=$?
[ $got -eq 143 ] && has err 'farfault compare: stopped by signal 15' ||
    fail "after SIGTERM: status $got"

finish
