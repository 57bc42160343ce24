#!/bin/sh
# test_extents.sh FOLDER FARFAULT LIBRARIES: with FARFAULT_EXTENTS=on, a program whose kernels use
# slices of one allocation computes the same and faults much less. Status 77: there is no clang.
set -eu
folder=$1 farfault=$2 libraries=$3
source=$(cd "$(dirname "$0")" && pwd)
command -v clang >/dev/null || exit 77
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
export LD_LIBRARY_PATH="$libraries"

"$farfault" cuda compile "$source/slices.cu" -o slices -Wall -Wextra -Werror
for extents in off on; do
    FARFAULT_EXTENTS=$extents "$farfault" run --system auto --memory 32M --json=$extents.json \
        ./slices 80 >$extents.txt
done
cmp off.txt on.txt
faults() {
    tr ',' '\n' <"$1" | sed -n 's/.*"faults": *\([0-9][0-9]*\)$/\1/p' | head -n 1
}
off=$(faults off.json) on=$(faults on.json)
tr -d ' \n' <on.json |
    grep -q '"kernel":"combine","launches":80,"known":80,.*"faults_outside":0,"brought' || {
    echo "FAILED: what the launches access is not known, or not all"
    exit 1
}
[ "$((on * 3))" -lt "$((off * 2))" ] || { echo "FAILED: $on faults instead of $off"; exit 1; }
