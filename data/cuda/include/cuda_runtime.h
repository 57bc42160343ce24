/* CUDA C++ device code for clang, without an SDK: qualifiers, vector types, built-in variables,
 * warp and atomic functions, mathematics. Interfaces are those of the CUDA C++ Programming Guide.
 *
 *     clang -x cuda --cuda-device-only --cuda-gpu-arch=sm_75 -nocudainc -nocudalib
 *           -Wno-unknown-cuda-version -Xclang -target-feature -Xclang +ptx70
 *           -I FOLDER -O3 -S FILE.cu
 *
 * Only the header is needed, no device library: functions of math.h are inline functions here. */
#ifndef FF_CUDA_RUNTIME_H
#define FF_CUDA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#define __global__             __attribute__((global))
#define __device__             __attribute__((device))
#define __host__               __attribute__((host))
#define __shared__             __attribute__((shared))
#define __constant__           __attribute__((constant))
#define __managed__            __attribute__((managed))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__        inline __attribute__((always_inline))
#define __noinline__           __attribute__((noinline))
#define __align__(n)           __attribute__((aligned(n)))

#define FF_CUDA_BOTH   static inline __host__ __device__
#define FF_CUDA_DEVICE static inline __device__

#include "farfault/vectors.h"
#include "farfault/threads.h"
#include "farfault/atomics.h"
#include "farfault/bits.h"
#include "farfault/warps.h"
#include "farfault/functions.h"

#endif
