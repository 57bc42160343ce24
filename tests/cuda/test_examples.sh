#!/bin/sh
# test_examples.sh FOLDER FARFAULT LIBRARIES: examples/cuda, compiled by `farfault cuda compile`,
# are right with all memory and on devices too small for them. Status 77: there is no clang.
set -eu
folder=$1 farfault=$2 libraries=$3
source=$(cd "$(dirname "$0")/../.." && pwd)/examples/cuda
command -v clang >/dev/null || exit 77
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
export LD_LIBRARY_PATH="$libraries"

check() { # WORD...: the program says that its results are right
    "$@" >out 2>err || { echo "FAILED: $*: $(cat out err)"; exit 1; }
    grep -qx 'verified: yes' out || { echo "FAILED: $*: $(cat out)"; exit 1; }
}

for file in "$source"/*.cu; do
    program=$(basename "$file" .cu)
    "$farfault" cuda compile "$file" -o "$program" -Wall -Wextra -Werror
    check env FARFAULT_MODE=passive "./$program" 8
    check "$farfault" run --memory 6M "./$program" 8
    [ "$(sed -n 's/.* evictions *//p' err)" != 0 ] || { echo "FAILED: no evictions"; exit 1; }
    sed -n '/by kernel/,/the worst/p' err >tables
    grep -q '^    [a-z_]*[ <]' tables && ! grep _Z tables || { echo "FAILED: $(cat err)"; exit 1; }
    check env FARFAULT_CUDA_ALLOC=spill "$farfault" run --system nvidia --memory 8M "./$program" 8
done

# ---- kernels whose results depend on the order of threads

"$farfault" cuda compile "$source/../../tests/cuda/race.cu" -o race
"$farfault" run --races --memory 6M ./race 2>err
[ "$(grep -c '^farfault: kernel .*last.* depend on the order of its threads' err)" = 1 ] &&
    ! grep -q 'kernel .*own' err || { echo "FAILED: races: $(cat err)"; exit 1; }

# ---- a size that is none

status=0
"./$program" -1 2>err || status=$?
[ $status = 2 ] && grep -q '^usage: ' err
