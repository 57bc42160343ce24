/* Launches from kernels. They are declared for libraries that have them in functions that are never
 * called: a kernel that does call one is refused. */
#ifndef FF_CUDA_DEVICE_RUNTIME_API_H
#define FF_CUDA_DEVICE_RUNTIME_API_H

#include "cuda_runtime_api.h"

#if defined __CUDA__ && defined __cplusplus
extern "C" {
__device__ void *cudaGetParameterBuffer(size_t alignment, size_t size);
__device__ cudaError_t cudaLaunchDevice(void *kernel, void *parameters, dim3 grid, dim3 block,
                                        unsigned shared, cudaStream_t stream);
}
#endif

#endif
