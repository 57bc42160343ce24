#!/bin/sh
# test_gpu.sh FOLDER FARFAULT LIBRARIES PROGRAM NO_GPU: farfault run --device. A copy of farfault's
# driver stands in for that of a GPU, and NO_GPU for one without any.
set -eu
folder=$1 farfault=$2 libraries=$3 program=$4 no_gpu=$5
rm -rf "$folder"
mkdir -p "$folder/gpu" "$folder/idle" "$folder/none"
cd "$folder"
cp "$libraries/libcuda.so.1" gpu/
cp "$no_gpu" idle/libcuda.so.1
export FARFAULT_MEMORY=6M # of the copy, too
: >none/libcuda.so.1 # no library: the loader looks no further

fail() {
    echo "FAILED: $*"
    exit 1
}

on() { # STATUS DRIVER WORD...: farfault run where this folder has the driver
    wanted=$1 got=0
    LD_LIBRARY_PATH=$folder/$2
    export LD_LIBRARY_PATH
    shift 2
    env -u FARFAULT_SUMMARY "$farfault" run "$@" >out 2>err || got=$?
    [ $got = "$wanted" ] || fail "$*: status $got: $(cat out err)"
}

says() { # TEXT: the one line on stderr begins with it
    case $(cat err) in
    "farfault run: $1"*) ;;
    *) fail "no line '$1': $(cat err)" ;;
    esac
    [ "$(wc -l <err)" = 1 ] || fail "more than one line: $(cat err)"
}

managed="farfault: the GPU's driver managed at most 12.0 MiB at a time that the program has \
allocated as device memory"

# ---- the GPU's driver, whose memory is smaller than what the program has

on 7 gpu --device gpu "$program" 7
grep -qx "$folder/gpu/libcuda.so.1" out || fail "another driver: $(cat out)"
grep -qx "$managed" err || fail "not said: $(cat err)"
on 7 gpu --device gpu --quiet "$program" 7
[ ! -s err ] || fail "not quiet: $(cat err)"
FARFAULT_DEVICE=gpu
export FARFAULT_DEVICE
on 7 gpu sh -c "$program 7; exit \$?"
[ "$(grep -cx "$managed" err)" = 1 ] || fail "in a child: $(cat err)"
unset FARFAULT_DEVICE
on 127 gpu --device gpu ./missing
says './missing: no such program'

# ---- the software device, whatever there is

for device in '' '--device soft'; do
    # shellcheck disable=SC2086
    on 7 gpu $device --memory 6M "$program" 7
    grep -q "^$libraries/libcuda.so.1" out || fail "another driver: $(cat out)"
    grep -q '^  evictions  [1-9]' err && ! grep -q "GPU's" err || fail "summary: $(cat err)"
done

# ---- what cannot be

on 1 none --device gpu "$program" 7
says '--device gpu: this machine has no CUDA driver (libcuda.so.1); without --device, '
on 1 idle --device gpu "$program" 7
says "--device gpu: the CUDA driver $folder/idle/libcuda.so.1 finds no GPU that it can use"
on 2 gpu --device gpu --memory 6M "$program" 7
says "--memory is the software device's: leave it out, or --device gpu"
on 2 gpu --device gpu
says 'no program to run'
on 2 gpu --device cpu "$program" 7
says '--device cpu: must be soft or gpu'
