#!/bin/sh
# test_commands.sh FOLDER FARFAULT FARFAULTD JSON_GET LIBRARIES PROGRAM: what farfault does with
# programs, done with one in CUDA: run, compare, record, replay, and two that share devices. There
# is no OpenCL runtime.
set -eu
folder=$1 farfault=$2 farfaultd=$3 json_get=$4 libraries=$5 program=$6
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
unset FARFAULT_SUMMARY FARFAULT_MEMORY LD_LIBRARY_PATH
export OCL_ICD_VENDORS="$folder/none"

fail() {
    echo "FAILED: $*: $(cat out err)"
    exit 1
}

does() { # STATUS WORD...: farfault
    wanted=$1 got=0
    shift
    "$farfault" "$@" >out 2>err || got=$?
    [ $got = "$wanted" ] || fail "farfault $*: status $got"
}

json() { # FILE EXPECTED PATH...
    file=$1 expected=$2
    shift 2
    got=$("$json_get" "$file" "$@")
    [ "$got" = "$expected" ] || fail "$file: $*: $got, not $expected"
}

# ---- run: by kernel and by buffer, for people and as JSON

does 7 run --memory 6M --system nvidia "$program" 7
grep -qE '^    increase +18 +2 MiB ' err || fail 'no such kernel'
grep -qE '^    buffer [0-5] +2 MiB +2 MiB .*  increase$' err || fail 'no such buffer'
[ "$(grep -cE '^    (buffer|1 more)' err)" = 6 ] || fail 'not six buffers'
grep -q 'verified: yes' out || fail 'wrong'
does 0 run --memory 64M "$program" 0
grep -qE '^  moved +0 B in,' err || fail 'what is uploaded does not lie on the device'
does 0 run --memory 50% --json=run.json "$program" 0
json run.json increase runs 0 kernels 0 name
json run.json 18 runs 0 kernels 0 launches
json run.json increase runs 0 buffers 5 first_kernel
json run.json 12582912 runs 0 footprint
json run.json 6291456 runs 0 memory

# ---- memory that is plain is not said to be none

plain='used plain device memory, at most 12 MiB at a time: farfault run makes it managed'
LD_LIBRARY_PATH="$libraries" "$program" 0 >out 2>err || fail 'plain'
grep -q "^farfault: nothing was managed: this program $plain" err || fail 'plain, not said'
FARFAULT_CUDA_ALLOC=plain
export FARFAULT_CUDA_ALLOC
does 0 run "$program" 0
grep -q "^farfault run: nothing was managed: $program $plain, unless FARFAULT_CUDA_ALLOC" err ||
    fail 'plain, not said'
unset FARFAULT_CUDA_ALLOC

# ---- compare

does 0 compare --memory 50% --runs 1 --systems demand,nvidia --bound --same-output \
    --json=compare.json "$program 0"
json compare.json null opencl
json compare.json plain runs 0 system
json compare.json unmanaged runs 0 summary description
json compare.json nvidia runs 3 system
json compare.json true runs 3 verified
json compare.json increase runs 3 summary kernels 0 name
json compare.json 'lower bound' bounds 0 kind
does 1 compare --memory 50% --runs 1 --systems demand "sh -c $program"
grep -q 'install the package pocl-opencl-icd' err || fail 'what may need OpenCL'

# ---- record and replay: first touches, and every access

for what in touches accesses; do
    does 0 record --$what --memory 6M --output $what.trace "$program" 0
    does 0 replay $what.trace --systems demand,nvidia --memory 50% --json=$what.json
    json $what.json 12582912 runs 0 footprint
done

# ---- two programs at a time, each on a device of its own, lend memory to each other

"$farfaultd" --socket "$folder/s" --device gpu0:6M --device gpu1:6M 2>daemon &
daemon=$!
trap 'kill $daemon 2>/dev/null || true' EXIT
until [ -e s ]; do sleep 0.02; done
for number in 1 2; do
    "$farfault" run --share "$folder/s" --memory 6M --system memharvester --check \
        --json=share$number.json "$program" 0 "$folder/go" 2>err &
    eval "program$number=$!"
done
until "$farfault" top --socket "$folder/s" --json=top.json &&
    "$json_get" top.json programs 1 pid >pid 2>err; do
    sleep 0.05
done
: >go
wait "$program1" || fail 'the first program'
wait "$program2" || fail 'the second program'
for number in 1 2; do
    json share$number.json true runs 0 good
    json share$number.json 18 runs 0 launches
done
