#!/bin/sh
# test_races.sh FOLDER FARFAULT LIBRARIES: `farfault run --races` names the kernels whose results
# depend on the order of their threads, and no others. Status 77: there is no clang.
set -eu
folder=$1 farfault=$2 libraries=$3
source=$(cd "$(dirname "$0")" && pwd)
command -v clang >/dev/null || exit 77
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
export LD_LIBRARY_PATH="$libraries"

"$farfault" cuda compile "$source/race.cu" -o race -Wall -Wextra -Werror
"$farfault" run --races --memory 6M ./race 2>err
[ "$(grep -c '^farfault: kernel .*last.* depend on the order of its threads' err)" = 1 ] &&
    ! grep -q 'kernel .*own' err || { echo "FAILED: races: $(cat err)"; exit 1; }
