#!/bin/sh
# farfault run: what the program gets, what comes back, and mistakes that need a device to show.
. "$(dirname "$0")/common.sh"
need_userfaultfd

# ---- the program's own status

status 0 run -- true
status 42 run -- sh -c 'exit 42'
status 42 run sh -c 'exit 42'
status 0 run env printf %s --memory # what follows the program is its own
[ "$(cat out)" = --memory ] || fail "the program got: $(cat out)"
status 127 run --json missing-program
mv out missing.json
json missing.json false good
json missing.json 'missing-program: no such program; give its path, or a name that is in PATH' \
    runs 0 reason
mistake 127 'farfault run: missing-program: no such program; *' run -- missing-program
mistake 127 'farfault run: ./missing: no such program; *' run -- ./missing
mistake 127 'farfault run: jacobi: no such program in PATH; the bundled one is */programs/jacobi' \
    run -- jacobi
mistake 126 'farfault run: ./out cannot be executed: Permission denied' run -- ./out
mistake 139 'farfault run: sh was killed by signal 11 (Segmentation fault*' run -- sh -c \
    'kill -SEGV $$'

"$farfault" run -- sh -c 'echo yes >started && exec sleep 100' 2>err &
wait_for started
kill -TERM $!
wait $!
got=$?
[ $got -eq 143 ] || fail "after SIGTERM: status $got"
has err 'farfault run: sh was killed by signal 15'

# Killed, it takes the program along, also one without the preload. Nobody may have waited for it:
# then it is a zombie.
ended() {
    state=$(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null)
    [ -z "$state" ] || [ "$state" = Z ]
}
cp "$static_stub" nw # which waits for ever
for program in 'sleep 100' ./nw; do
    rm -f program
    "$farfault" run -- sh -c 'echo $$ >program && exec '"$program" 2>err &
    wait_for program
    kill -KILL $!
    wait $!
    tries=0
    until ended "$(cat program)" || [ $tries -ge 100 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    ended "$(cat program)" || fail "$program runs on without farfault"
    kill -KILL "$(cat program)" 2>/dev/null
done

# ---- the program's environment

LD_PRELOAD=$scratch/programs/../libfarfault-opencl.so
ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 # farfault itself meets this LD_PRELOAD too
export LD_PRELOAD ASAN_OPTIONS
status 0 run --system nvidia:threshold=25 --memory 5M --devices 3 --mechanism copy --handler sleep \
    --link host=1GB/s,1us --spin 1us --seed 7 --check --quiet -- env
unset LD_PRELOAD
for text in "LD_PRELOAD=$scratch/libfarfault-opencl.so:$scratch/programs/../libfarfault-opencl.so" \
    FARFAULT_SYSTEM=nvidia:threshold=25 FARFAULT_MEMORY=5242880 FARFAULT_DEVICES=3 \
        FARFAULT_MECHANISM=copy \
    FARFAULT_HANDLER=sleep FARFAULT_LINK=host=1GB/s,1us FARFAULT_SPIN=1us FARFAULT_SEED=7 \
        FARFAULT_CHECK=on \
    FARFAULT_REQUIRE=1 FARFAULT_SUMMARY=none 'POCL_DEVICES=pthread pthread pthread'; do
    has out "$text"
done
status 0 run -- env
for text in FARFAULT_SYSTEM=auto FARFAULT_MEMORY=268435456 FARFAULT_SUMMARY=text \
    POCL_DEVICES=pthread; do
    has out "$text"
done
FARFAULT_SYSTEM=demand FARFAULT_MEMORY=8M FARFAULT_SEED=3
export FARFAULT_SYSTEM FARFAULT_MEMORY FARFAULT_SEED
status 0 run --seed 4 -- env
for text in FARFAULT_SYSTEM=demand FARFAULT_MEMORY=8388608 FARFAULT_SEED=4; do
    has out "$text"
done
unset FARFAULT_SYSTEM FARFAULT_MEMORY FARFAULT_SEED

# ---- the summary

status 0 run -- programs/atax
has err "the stub's summary: auto"
status 0 run --quiet -- programs/atax
[ ! -s err ] || fail "not quiet: $(cat err)"
status 0 run --json=run.json -- sh -c 'cd / && exec "$0"' "$scratch/programs/atax"
json run.json run command
json run.json auto runs 0 system
json run.json sh runs 0 subject
json run.json true runs 0 good
status 0 run --json --csv=run.csv -- sh -c 'echo its output && exec programs/atax'
mv out printed.json # the object alone; what the program prints is on standard error
json printed.json 1000 runs 0 faults
json printed.json true good
has err 'its output'
status 0 run --json=run.json sh -c 'echo its output && exec programs/atax'
has out 'its output'
[ "$(wc -l <run.csv)" -eq 2 ] || fail "CSV: $(cat run.csv)"
has run.csv 'sh,auto,,'
mistake 0 'farfault run: nothing was managed: true called no OpenCL or CUDA function *' run \
    --json=none.json -- true
json none.json false good
json none.json false runs 0 good
json none.json null runs 0 seconds
case $("$json_get" none.json reason) in
'nothing was managed: true '*) ;;
*) fail "why not: $(cat none.json)" ;;
esac

# ---- programs that farfault has no part in

mistake 0 'farfault run: nothing was managed: true called no OpenCL or CUDA function *' run -- true
mistake 0 'farfault run: nothing was managed: true *' run --quiet -- true
mistake 42 'farfault run: nothing was managed: sh *' run -- sh -c 'exit 42'
cp "$static_stub" static
status 0 run -- ./static
has err 'farfault run: nothing was managed: ./static called no OpenCL or CUDA function'
[ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
cp "$static_stub" cg
status 3 run --quiet -- ./cg
has err 'farfault run: nothing was managed: ./cg called no OpenCL or CUDA function'
# what a program did is read from memory, so that there is no file between it and farfault
export TMPDIR="$scratch/missing"
status 0 run --json=memory.json -- programs/atax
status 0 run --memory 50% --quiet -- programs/atax
unset TMPDIR

# ---- a share of the footprint, which is 100 MiB

export STUB_LOG="$scratch/log"
status 0 run --memory 25% -- programs/atax --size 1
has err 'running programs/atax once without limits'
has err 'footprint 100 MiB, memory 26 MiB'
printf '%s\n' 'passive|-|-|pthread| --size 1' '-|auto|27262976|pthread| --size 1' >expected
cmp -s log expected || fail "not run as it should be: $(cat log)"
status 2 run --memory 1% -- programs/atax
has err 'farfault run: --memory 1%: a device needs'
status 1 run --memory 50% -- true
has err 'cannot learn the footprint of true: left no measurements'
status 127 run --memory 50% -- missing-program
has err 'missing-program: no such program'

# ---- the host's file

mistake 2 'farfault run: *missing/x: No such file or directory' run --host missing/x -- true
: >there
mistake 2 'farfault run: *there: File exists; name one that does not exist' run --host there -- true
status 0 run --host tier -- sh -c 'test ! -e tier && env'
has out "FARFAULT_HOST=$scratch/tier"
status 0 run --host tier --memory 50% -- programs/atax
[ ! -e tier ] || fail 'the host file was left behind'
mkdir full
if unshare -rm sh -c "mount -t tmpfs -o size=1M none full" 2>/dev/null; then
    unshare -rm sh -c \
        "mount -t tmpfs -o size=1M none full && exec $farfault run --host full/x -- true" 2>err
    got=$?
    [ $got -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] || fail "full disk: status $got"
    has err 'No space left on device'
else
    echo 'not tested: a full disk (no right to mount one)'
fi

# ---- a limit of files' sizes (ulimit -f): an error, and none of the program's business

printf '#!/bin/sh\nulimit -f 100000\nexec %s "$@"\n' "$scratch/farfault" >limited
chmod +x limited
farfault=./limited
mistake 2 'farfault run: host file *(ulimit -f)*' run --host tier -- true
status 0 run -- sh -c 'grep SigIgn: /proc/self/status'
# the program has the signal as ever: bit 24 is that of SIGXFSZ
[ "$((0x$(sed -n 's/^SigIgn:[[:space:]]*//p' out) & 0x1000000))" -eq 0 ] ||
    fail "SIGXFSZ is ignored: $(cat out)"
sed -i 's/100000/1000/' limited
mistake 1 'farfault run: cannot make a file of * bytes in memory: File too large (ulimit -f)' run \
    -- true
farfault=$scratch/farfault

# ---- no OpenCL, no preload

OCL_ICD_VENDORS=$scratch/missing
export OCL_ICD_VENDORS
mistake 1 \
    "farfault run: there is no OpenCL runtime with a PoCL platform *; install the package \
pocl-opencl-icd" \
    run -- true
unset OCL_ICD_VENDORS
mkdir 'a space'
cp farfault libfarfault-opencl.so 'a space'
farfault="$scratch/a space/farfault"
mistake 1 'farfault run: the path * has a space or a colon, which LD_PRELOAD cannot have; *' run \
    -- true
farfault=$scratch/farfault
rm libfarfault-opencl.so
mistake 1 'farfault run: the library libfarfault-opencl.so is neither *' run -- true

finish
