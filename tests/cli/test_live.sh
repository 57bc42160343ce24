#!/bin/sh
# farfault run with the real preload and a client that does one thing at a time: summaries after
# every kind of end, what is said where nothing or too little is managed, broken invariants,
# footprints, kinds of devices.
. "$(dirname "$0")/common.sh"
cp "$8" client
mkdir broken
cp "$9" broken/libfarfault-opencl.so
cp "${10}" broken-farfault
cp farfault broken
preload=$scratch/libfarfault-opencl.so
need_userfaultfd

summaries() {
    [ "$(grep -c '^farfault: [a-z]* on' err)" -eq "$1" ] || fail "not $1 summaries: $(cat err)"
}

# a program of which nobody hears for a while; waited for at the end
"$farfault" run -- sleep 11 2>idle &
idle=$!

# ---- a summary after every end

status 0 run --memory 16M -- ./client buffer
summaries 1
has err 'at most 4 MiB of buffers at a time'
has err 'summed over threads'
status 3 run --memory 16M -- ./client fail
summaries 1
status 0 run --system demand --memory 16M -- ./client buffer # 1024 pages, 1024 faults
has err 'hit rate   none: launches named 4 MiB, and faulted 1.0 times on each page'

status 0 run --memory 16M --json=moved.json -- ./client turns
json moved.json add runs 0 kernels 0 name
json moved.json 10 runs 0 kernels 0 launches
json moved.json 4194304 runs 0 kernels 0 operand_bytes
json moved.json '[10]' runs 0 buffers
json moved.json add runs 0 buffers 9 first_kernel
json moved.json 4194304 runs 0 buffers 9 size
json moved.json 4194304 runs 0 buffers 9 touched_bytes
json moved.json 1 runs 0 buffers 9 launches
json moved.json null runs 0 tip
status 0 run --memory 16M -- ./client turns
has err '    add                           10     4 MiB '
has err '    5 more                    20 MiB    20 MiB '

status 0 run --system specforest --explain --memory 16M -- ./client buffer
has err '  found      1 ranges of launches: profiled 0, declared by sources 1'
status 0 run --system specforest --explain --memory 16M --json=found.json -- ./client buffer
json found.json add runs 0 findings 0 kernel
json found.json 'buffer 0' runs 0 findings 0 range
json found.json null runs 0 findings 1 kernel
json found.json '1 ranges of launches: profiled 0, declared by sources 1' runs 0 findings 1 text
status 0 run --system nvidia --explain --memory 16M -- ./client buffer
! grep -q '  found  ' err || fail "found without being asked: $(cat err)"

# signal NAME STATUS WHAT OPTION...: what a program that waits leaves when farfault gets the signal
signal() {
    name=$1 expected=$2 what=$3
    shift 3
    : >out
    env --default-signal="$name" "$farfault" run --memory 16M "$@" -- ./client "$what" >out 2>err &
    wait_for out
    sleep 0.3 # what moved may be 50 ms old in the summary of a killed program
    kill "-$name" $!
    wait $!
    got=$?
    [ $got -eq "$expected" ] || fail "SIG$name, $what: status $got, not $expected"
}

signal TERM 143 wait
has err 'was killed by signal 15'
summaries 1
has err 'in 1 launches'
signal INT 130 wait
has err 'was killed by signal 2'
summaries 1
signal TERM 7 handler
summaries 1
signal TERM 143 wait --quiet
[ "$(wc -l <err)" -eq 1 ] || fail "not quiet: $(cat err)"
signal TERM 143 wait --json=killed.json
json killed.json auto runs 0 system
json killed.json 1 runs 0 launches
json killed.json 4194304 runs 0 footprint
json killed.json add runs 0 kernels 0 name
status 137 run --memory 16M --json=crash.json -- ./client crash
json crash.json 4194304 runs 0 footprint
[ "$("$json_get" crash.json runs 0 faults)" -gt 0 ] || fail "no faults: $(cat crash.json)"
status 0 run --memory 16M -- sh -c './client crash; ./client buffer'
summaries 2
# results are those of the process that ended last, or of one that could not say so
status 0 run --memory 16M --json=two.json -- sh -c './client turns; ./client buffer'
json two.json 1 runs 0 launches
status 0 run --memory 16M --json=two.json -- sh -c './client buffer; ./client turns'
json two.json 10 runs 0 launches
status 0 run --memory 16M --json=two.json -- sh -c './client crash; ./client turns'
json two.json 1 runs 0 launches
status 0 run --memory 16M --json=fork.json -- ./client fork
json fork.json '{0}' runs 0 fallbacks

if unshare -r true 2>/dev/null; then
    status 0 run --memory 16M -- unshare -r ./client buffer
    summaries 1
    has err 'farfault run learns nothing of this process'
else
    echo 'not tested: a user namespace (no right to make one)'
fi

# ---- nothing managed

mistake 0 \
    'farfault run: nothing was managed: ./client looked at devices, but made no buffers' \
    run -- ./client devices
mistake 0 \
    "farfault run: nothing was managed: ./client used only what farfault does not manage: \
clCreateImage (1 call)" \
    run -- ./client image
mistake 0 \
    "farfault run: nothing was managed: ./client made no buffers; its 1 launches used \
memory of their own, *" \
    run -- ./client malloc
mistake 0 'farfault run: nothing was managed: ./client looked *' run --quiet -- ./client devices
LD_PRELOAD=$preload ./client devices 2>err
has err 'farfault: nothing was managed: this program looked at devices'
FARFAULT_MEMROY=4M LD_PRELOAD=$preload ./client devices 2>err
has err \
    "farfault: the environment has FARFAULT_MEMROY, which is not a setting; the nearest is \
FARFAULT_MEMORY"

# ---- too little of something

for limit in '-v 4000000' '-n 6'; do
    printf '#!/bin/sh\nexec 3>&- 4>&- 5>&-\nulimit %s\nexec %s "$@"\n' "$limit" \
        "$scratch/farfault" >"limited$limit"
    chmod +x "limited$limit"
done
farfault="$scratch/limited-v 4000000"
mistake 1 'farfault run: cannot reserve 549755813888 bytes of managed addresses: *(ulimit -v)*' \
    run -- true
farfault="$scratch/limited-n 6"
mistake 1 'farfault run: cannot set up the software device: Too many open files' run -- true
farfault=$scratch/farfault
FARFAULT_ADDRESS_SPACE=16M
export FARFAULT_ADDRESS_SPACE
status 1 run --memory 4M -- ./client buffer 32 # more than the device says that it has
has err 'clCreateBuffer: -61'
mistake 1 'farfault: no managed memory for 9437184 bytes: FARFAULT_ADDRESS_SPACE is used up' run \
    --memory 4M -- ./client turns 9
LD_PRELOAD=$preload ./client turns 9 2>err || fail "unmanaged: status $?"
has err 'farfault: no managed memory for 9437184 bytes'
has err '  not all    no managed memory for 9437184 bytes'
unset FARFAULT_ADDRESS_SPACE
mkdir disk
if unshare -rm mount -t tmpfs none disk 2>/dev/null; then
    unshare -rm sh -c \
        "mount -t tmpfs -o size=8M none disk &&
        exec $farfault run --memory 4M --host disk/x -- ./client buffer 32" \
        >out 2>err
    got=$?
    [ $got -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] || fail "full disk: status $got: $(cat err)"
    has err 'farfault: no managed memory for 33554432 bytes: the host file has no room left'
    says 1 '*No space left on device*no trace was written to *disk/t' unshare -rm sh -c \
        "mount -t tmpfs -o size=8k none disk && exec $farfault record --quiet --touches \
        --memory 16M --output disk/t -- ./client buffer 32"
else
    echo 'not tested: a full disk (no right to mount one)'
fi

# ---- broken invariants

status 3 run --memory 16M --check -- ./client fail
farfault=$scratch/broken/farfault
for what in buffer fail crash; do
    status 1 run --memory 16M --check -- ./client $what
    has err 'farfault run: an invariant broke in process '
done
status 0 run --memory 16M -- ./client buffer # nobody looks
status 1 compare --runs 1 --systems nvidia --memory 16M --check "$scratch/client buffer"
has out 'no: an invariant broke: '
farfault=$scratch/farfault
broken=$scratch/broken/libfarfault-opencl.so
FARFAULT_CHECK=on FARFAULT_SUMMARY=none LD_PRELOAD=$broken ./client buffer 2>err
has err 'farfault: an invariant broke: '
[ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
status 0 sim --check stream:size=4M
farfault=$scratch/broken-farfault
status 1 sim --check stream:size=4M
has out 'bytes are counted'
farfault=$scratch/farfault

# ---- the footprint

status 0 run --memory 16M --json=turns.json -- ./client turns
json turns.json 4194304 runs 0 footprint
for kept in references parts; do
    status 0 run --memory 16M --json=kept.json -- ./client $kept
    json kept.json 41943040 runs 0 footprint
    FARFAULT_MODE=passive FARFAULT_SUMMARY=kept.json LD_PRELOAD=$preload ./client $kept
    json kept.json 41943040 footprint
done
status 0 run --memory 200% -- ./client turns
has err 'footprint 4 MiB, memory 8 MiB'

# ---- touches: all that a launch uses faults; replayed with this machine's costs

status 0 record --touches --quiet --memory 16M --output touches.trace -- ./client buffer
status 0 probe --output soft.json
has out '2048 KiB'
status 0 replay touches.trace --gpu soft.json --systems demand,nvidia-1 --memory 16M \
    --json=touches.json
has out 'recorded: what each launch touched first, and again after 16 MiB of other pages'
json touches.json soft runs 1 device
json touches.json 1024 runs 1 faults
cp touches.trace older.trace
says 1 '*nothing was managed: *no trace was written to *older.trace' "$farfault" record --output \
    older.trace -- true
cmp touches.trace older.trace || fail "a trace was lost to a program without one"
FARFAULT_TOUCHES=on
export FARFAULT_TOUCHES
mistake 2 'farfault run: touches=on: *' run --memory 16M -- ./client buffer
unset FARFAULT_TOUCHES

# ---- what the program could not write

full='strace -f -q -o calls -e trace=fsync -e inject=fsync:error=ENOSPC'
echo earlier >lost.trace
status 1 record --quiet --memory 16M --output lost.trace -- $full ./client buffer
has err 'no trace was written to '
status 0 run --memory 16M --json=kept.json -- $full ./client buffer # which writes no file
json kept.json true good

# ---- kinds of devices

status 0 run --quiet -- ./client kind
has out 'a GPU, found as a GPU'
status 0 run --quiet --device-type cpu -- ./client kind
has out 'a CPU, not found as a GPU'
LD_PRELOAD=$preload FARFAULT_DEVICE_TYPE=cpu ./client kind >out 2>err
has out 'a CPU, not found as a GPU'
LD_PRELOAD=$preload FARFAULT_DEVICE_TYPE=sheep ./client kind >out 2>err
has err 'farfault: FARFAULT_DEVICE_TYPE=sheep: must be gpu or cpu'
mistake 2 'farfault run: --device-type sheep: must be gpu or cpu' run --device-type sheep -- true
status 0 compare --runs 1 --systems nvidia --memory 16M --device-type cpu "$scratch/client buffer"

# ---- a lower bound, from a recording: of a buffer that fits

status 0 compare --bound --runs 1 --systems demand,nvidia-1 --memory 8M --json=bound.json \
    "$scratch/client buffer"
json bound.json 'lower bound' bounds 0 kind
json bound.json 0 bounds 0 bytes_in

# ---- kernels are compiled once: what a run without management has PoCL compile serves managed ones

export POCL_CACHE_DIR="$scratch/kernels"
mkdir kernels
FARFAULT_MODE=passive LD_PRELOAD=$preload ./client buffer 2>err
find kernels -name '*.so' | sort >compiled
[ -s compiled ] || fail 'no compiled kernel in the cache'
status 0 run --memory 16M -- ./client buffer
find kernels -name '*.so' | sort | cmp - compiled || fail 'compiled again'

# ---- not only at the end

wait $idle
[ "$(wc -l <idle)" -eq 2 ] || fail "not two lines: $(cat idle)"
has idle 'farfault run: sleep has called no OpenCL or CUDA function so far: nothing is managed yet'
has idle \
    'farfault run: nothing was managed: sleep called no OpenCL or CUDA function'

finish
