#!/bin/sh
# test_compile.sh FOLDER FARFAULT LIBRARIES: `farfault cuda compile`, and the C programs of the
# documents. Status 77: there is no clang, or none that can make PTX.
set -eu
folder=$1 farfault=$2 libraries=$3
source=$(cd "$(dirname "$0")/../.." && pwd)
echo '__attribute__((device)) void f() {}' |
    clang -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-path=/nonexistent \
        --cuda-gpu-arch=sm_70 -S - -o /dev/null 2>/dev/null || exit 77
rm -rf "$folder"
mkdir -p "$folder/temporary"
cd "$folder"
export TMPDIR="$folder/temporary" LD_LIBRARY_PATH="$libraries"

fail() {
    echo "FAILED: $*"
    exit 1
}

compile() {
    "$farfault" cuda compile "$@" || fail "farfault cuda compile $*"
}

# says STATUS TEXT WORD...: compile ends so, with the text in its last line
says() {
    status=$1 text=$2 got=0
    shift 2
    "$farfault" cuda "$@" >out 2>&1 || got=$?
    [ "$got" = "$status" ] || fail "$*: status $got, not $status: $(cat out)"
    case $(tail -n 1 out) in
    "farfault cuda: "*"$text"*) ;;
    *) fail "$*: not '$text' but: $(tail -n 1 out)" ;;
    esac
}

# ---- what there is, and what a program needs

"$farfault" cuda >out || fail "cuda"
grep -q 'libcudart.so.12' out && grep -q '^GPU driver' out || fail "cuda: $(cat out)"
says 1 '/nonexistent: no such file' /nonexistent
says 2 "there is no command 'compil'; the nearest is compile" compil

# ---- programs

compile "$source/tests/cuda/groups.cu" -o groups -Wall -Wextra -Werror
./groups || fail "groups"
compile "$source/tests/cuda/textures.cu" -o textures -Wall -Wextra -Werror
./textures || fail "textures"
compile "$source/tests/cuda/functions.cu" -o functions -Wall -Wextra -Werror
./functions || fail "functions"
compile "$source/tests/cuda/accuracy.cu" -o accuracy -Wall -Wextra -Werror
./accuracy || fail "accuracy"
compile "$source/tests/cuda/forms.cu" -o forms -Wall -Wextra -Werror
compile --ptx "$source/tests/cuda/forms.cu" -o forms.ptx
./forms forms.ptx || fail "forms"
compile "$source/tests/cuda/barriers.cu" -o barriers -Wall -Wextra -Werror
./barriers || fail "barriers"
compile "$source/tests/cuda/rounded.cu" -ffp-contract=off -o rounded -Wall -Wextra -Werror
./rounded || fail "roundings"
compile "$source/tests/cuda/heap.cu" -o heap -Wall -Wextra -Werror
./heap || fail "new and delete in kernels"
compile --cuda 13 "$source/tests/cuda/forms_13.cu" -lcuda -lcublas -o forms_13 -Wall -Werror
./forms_13 || fail "forms of CUDA 13"
for library in libcudart libcublas; do
    readelf -d forms_13 | grep -q "NEEDED.*$library.so.13" || fail "forms_13 without $library.so.13"
done
"$farfault" cuda ./groups >out || fail "cuda ./groups"
grep -q "^libcudart.so.12 *farfault's" out && grep -q 'device code' out || fail "needs: $(cat out)"

# a variable that would be another one on the device
echo '__device__ __managed__ int both; int main() { return both; }' >managed.cu
! "$farfault" cuda compile managed.cu -o managed 2>out || fail "a managed variable"
grep -q 'error: there are no __managed__ variables here' out || fail "managed: $(cat out)"

# assert() is there without asking
echo '__global__ void f(int *p) { assert(p); } int main() {}' >asserts.cu
compile asserts.cu -o asserts

cat >kernel.cu <<'END'
#include "size.h"
__global__ void fill(int *out) { out[threadIdx.x] = SIZE * VALUE + (int)threadIdx.x; }
extern "C" int run(int *out) {
    fill<<<1, SIZE>>>(out);
    return cudaDeviceSynchronize();
}
END
cat >main.cu <<'END'
#include "size.h"
#include <math.h>
extern "C" int run(int *out);
int main() {
    int *numbers, wrong = 0;
    if (cudaMallocManaged(&numbers, SIZE * sizeof *numbers) || run(numbers))
        return 1;
    for (int i = 0; i < SIZE; i++)
        wrong += numbers[i] != SIZE * VALUE + i;
    return wrong || cudaFree(numbers) || cos(0.0) != 1;
}
END
cat >product.cu <<'END'
#include <cublas_api.h>
#include <cuda_fp16.h>
__global__ void fill(__half *a) { a[threadIdx.x] = __half(2.0f); }
int main() {
    cublasHandle_t handle;
    __half one = 1.0f, zero = 0.0f, *a;
    if (cudaMallocManaged(&a, 8 * sizeof *a) || cublasCreate(&handle))
        return 1;
    fill<<<1, 4>>>(a);
    if (cublasHgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 2, &one, a, 2, a, 2, &zero, a + 4, 2))
        return 1;
    if (cudaDeviceSynchronize() || (float)a[7] != 8)
        return 1;
    if (cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_R_16F, 1, a,
                     CUDA_R_16F, 1, &one, a + 7, CUDA_R_16F, 1, CUDA_R_16F, CUBLAS_GEMM_DEFAULT))
        return 1;
    return cudaDeviceSynchronize() || (float)a[7] != 12 || cublasDestroy(handle) || cudaFree(a);
}
END
compile product.cu -lcublas -Wall -Wextra -Werror -o product
./product || fail "a product"

mkdir include
echo '#define SIZE 64' >include/size.h
compile -I include -DVALUE=3 -O1 main.cu kernel.cu -lm -o two
./two || fail "two files"
compile -Iinclude -D VALUE=3 -c kernel.cu
compile -Iinclude -D VALUE=3 --arch=sm_75 -c main.cu -o first.o
compile -Iinclude -DVALUE=3 main.cu kernel.o
./a.out || fail "an object"
c++ first.o kernel.o -L"$libraries" -lcudart -Wl,-rpath-link,"$libraries" -o linked
./linked || fail "linked by another compiler"
"$farfault" ptx first.o >/dev/null 2>&1 && fail "a file without kernels has some"
"$farfault" ptx kernel.o | grep -q fill || fail "the kernel is not in kernel.o"
compile -Iinclude -DVALUE=3 --arch sm_80 --ptx kernel.cu main.cu
grep -q '^\.target sm_80' kernel.ptx && "$farfault" ptx kernel.ptx | grep -q fill || fail "PTX"
[ -s main.ptx ] || fail "the other file's PTX"
readelf -d two | grep -q 'NEEDED.*libcudart.so.12' || fail "two needs no libcudart.so.12"

# ---- nvcc's options

compile -Iinclude -DVALUE=3 -gencode arch=compute_75,code=sm_75 -gencode \
    arch=compute_80,code=[sm_80,compute_80] -ptx kernel.cu -o old.ptx
grep -q '^\.target sm_75' old.ptx || fail "-gencode: $(grep target old.ptx)"
for arch in -arch=sm_80 '-arch compute_80' --gpu-architecture=compute_80; do
    compile -Iinclude -DVALUE=3 $arch --ptx kernel.cu -o new.ptx
    grep -q '^\.target sm_80' new.ptx || fail "$arch: $(grep target new.ptx)"
done
compile -Iinclude -arch=native -lineinfo -G -use_fast_math --extended-lambda -rdc=false -Xptxas -v \
    --expt-relaxed-constexpr -maxrregcount=32 -cudart shared -Xcompiler -DVALUE=3,-fopenmp \
    main.cu kernel.cu -o as_nvcc
./as_nvcc || fail "nvcc's options"
says 2 '-dc: device code of several files cannot be linked' compile -dc kernel.cu
says 2 '-rdc=true: device code' compile -rdc=true kernel.cu

# ---- C programs of the documents

awk '/^```c$/ { n++; out = "page" n ".c"; next } /^```/ { out = "" } out { print > out }' \
    "$source/docs/cuda.md"
include=$source/data/cuda/include
cc -Wall -Wextra -Werror page1.c -I "$include" -L "$libraries" -lcudart \
    -Wl,-rpath-link,"$libraries" -o runtime
cc -Wall -Wextra -Werror page2.c -I "$include" -L "$libraries" -lcuda -o driver
./runtime | grep -q ': there and back$' || fail "the runtime API"
./driver | grep -q '^7 x 7 = 49$' || fail "the driver API"

# ---- mistakes

echo 'int main() { return undeclared; }' >bad.cu
echo '__global__ void f(int *p) { *p = host(); }  int host(); int main() {}' >wrong.cu
says 1 'bad.cu: compiling it for the device failed' compile bad.cu
says 1 'wrong.cu: compiling it for the device failed' compile wrong.cu
says 1 'linking it failed' compile -Iinclude -DVALUE=3 main.cu -o missing
says 1 'none.cu: No such file' compile none.cu
says 2 'no file in CUDA C++' compile
says 2 'no file in CUDA C++' compile main.o
says 2 '-c and -o one.o: several files' compile -c main.cu kernel.cu -o one.o
says 2 '--ptx and -o one.ptx: several files' compile --ptx main.cu kernel.cu -o one.ptx
says 2 '-c: other.c is not in CUDA C++' compile -c main.cu other.c
says 2 '--ptx: kernel.o is not in CUDA C++' compile --ptx main.cu kernel.o
says 2 'must be an architecture' compile --arch compute_70 main.cu
says 2 '--cuda 14: must be 12 or 13' compile --cuda 14 main.cu
says 2 "there is no command 'compiel'" compiel
got=0
PATH=/nonexistent "$farfault" cuda compile main.cu >out 2>&1 || got=$?
[ $got = 1 ] && grep -q 'no clang in PATH' out || fail "without clang: $(cat out)"
TMPDIR=/nonexistent says 1 'cannot make a folder' compile main.cu
[ -z "$(ls temporary)" ] || fail "left behind: $(ls temporary)"
