#!/bin/sh
# Thrust and CUB, compiled by `farfault cuda compile`, on a device with half of the memory that they
# need; and examples of their package, which print what they do with Thrust's back end for C++.
# Usage: thrust.sh FARFAULT [EXAMPLE...]
set -eu
. "$(dirname "$0")/third_party.sh"
shift
[ -e /usr/include/thrust/sort.h ] || { echo "no libthrust-dev"; exit 77; }
needs clang
export FARFAULT_PTX_CACHE="$scratch/ptx"

"$farfault" cuda compile -O1 "$here/../cuda/thrust.cu" -o thrust
managed '--system nvidia --memory 6M' ./thrust 1048576
grep -qx 'verified: yes' managed || wrong managed 'not verified'

for name in ${*:-sort scan_by_key run_length_encoding stream_compaction word_count}; do
    file=/usr/share/doc/libthrust-dev/examples/$name.cu
    "$farfault" cuda compile -O1 "$file" -o "$name"
    c++ -O1 -x c++ -D THRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP "$file" -o "$name-plain"
    plain "./$name-plain"
    "$farfault" run --quiet --memory 4M "./$name" >managed || wrong managed "$name: status $?"
    same cat
done
exit $bad
