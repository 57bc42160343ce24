#!/bin/sh
# test_docs.sh FOLDER FARFAULT BUILD CMAKE GENERATOR: the programs of docs/cuda.md, compiled by the
# commands of the page, and its lines for CMake.
set -eu
folder=$1 farfault=$2 build=$3 cmake=$4 generator=$5
source=$(cd "$(dirname "$0")/../.." && pwd)
page=$source/docs/cuda.md
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

fail() {
    echo "FAILED: $*"
    exit 1
}

block() { # LANGUAGE NUMBER: a block of the page
    awk -v fence="\`\`\`$1" -v wanted="$2" '
        /^```$/ { inside = 0 }
        inside && count == wanted { print }
        $0 == fence { count++; inside = 1 }' "$page"
}

# ---- in C, with our headers alone

block c 1 >runtime.c
block c 2 >driver.c
sed -n 's/^    \$ \(cc .* -o [a-z]*\)$/\1/p' "$page" |
    sed -e "s,data/cuda/include,$source/&,g" -e "s,BUILD,$build,g" >commands
[ "$(wc -l <commands)" = 2 ] || fail "not two commands: $(cat commands)"
sed 's/^cc /cc -std=c11 -Wall -Wextra -Werror /' commands | sh -e
for program in runtime driver; do
    for how in "" "$farfault run --quiet --memory 6M"; do
        # shellcheck disable=SC2086
        LD_LIBRARY_PATH=$build/cuda FARFAULT_SUMMARY=none $how "./$program" >out 2>err ||
            fail "$how $program: $(cat out err)"
        case $program$(cat out) in
        "runtimefarfault software device"*': there and back' | 'driver7 x 7 = 49') ;;
        *) fail "$program: $(cat out err)" ;;
        esac
    done
done

# ---- CMake, around kernels that clang compiles

command -v clang >/dev/null || exit 77
cat >kernels.cu <<'END'
#include <cuda_runtime.h>

__global__ static void square(unsigned *out) {
    out[threadIdx.x] = threadIdx.x * threadIdx.x;
}

unsigned seventh() {
    unsigned *out = nullptr, values[8] = {};
    cudaMalloc(&out, sizeof values);
    square<<<1, 8>>>(out);
    cudaMemcpy(values, out, sizeof values, cudaMemcpyDeviceToHost);
    cudaFree(out);
    return values[7];
}
END
cat >main.cpp <<'END'
unsigned seventh();

int main() {
    return seventh() != 49;
}
END
{
    printf 'cmake_minimum_required(VERSION 3.18)\nproject(page CXX)\n'
    block cmake 1 | sed "s,/usr/lib/farfault/cuda,$build/cuda,"
} >CMakeLists.txt
"$cmake" -G "$generator" -S . -B made -D "FARFAULT=$farfault" >log 2>&1 &&
    "$cmake" --build made >>log 2>&1 || fail "CMake: $(cat log)"
"$farfault" run --quiet made/program || fail "the program that CMake has made"
