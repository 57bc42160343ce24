/* CUDA C and C++ without an SDK: the runtime API, vector types and, for clang in its CUDA mode,
 * what device code needs: qualifiers, built-in variables, warp and atomic functions, mathematics.
 * Interfaces are those of the CUDA C++ Programming Guide. `farfault cuda compile` compiles with it.
 *
 *     clang -x cuda --cuda-device-only --cuda-gpu-arch=sm_75 -nocudainc -nocudalib
 *           -Wno-unknown-cuda-version -Xclang -target-feature -Xclang +ptx70
 *           -I FOLDER -O3 -S FILE.cu
 *
 * Only headers are needed, no device library: functions of math.h are inline functions here. */
#ifndef FF_CUDA_RUNTIME_H
#define FF_CUDA_RUNTIME_H

/* By which programs see that it was included */
#define __CUDA_RUNTIME_H__

#include "cuda_runtime_api.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include "farfault/host.h"
#endif

#ifdef __CUDA__
/* Of a heap of cudaLimitMallocHeapSize bytes; before <new>, which calls them. */
extern "C" {
__device__ void *malloc(size_t size) noexcept;
__device__ void free(void *memory) noexcept;
}

/* What programs have from this header without asking */
#include <assert.h>
#include <math.h>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utility>

#include "cuda.h" /* also which version of CUDA this is */
#include "cuda_device_runtime_api.h"

#include "farfault/atomics.h"
#include "farfault/bits.h"
#include "farfault/elementary.h"
#include "farfault/functions.h"
#include "farfault/mixed.h"
#include "farfault/rounded.h"
#include "farfault/textures.h"
#include "farfault/threads.h"
#include "farfault/warps.h"
#endif

#endif
