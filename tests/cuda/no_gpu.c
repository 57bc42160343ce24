/* A CUDA driver on a machine that has none of its GPUs. */
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

CUresult cuInit(unsigned flags) {
    return flags == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_ERROR_INVALID_VALUE;
}

/* What an error leaves behind means nothing. */
CUresult cuDeviceGetCount(int *count) {
    *count = 1;
    return CUDA_ERROR_NOT_INITIALIZED;
}
