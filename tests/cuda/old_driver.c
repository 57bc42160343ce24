/* A CUDA driver from before managed memory and cuGetProcAddress_v2(): it gives out one address. */
#pragma GCC visibility push(default)
#define FF_CUDA_EXACT_NAMES
#include <cuda.h>
#pragma GCC visibility pop

#include <stddef.h>
#include <string.h>

#define ADDRESS 0x7000u

CUresult cuInit(unsigned flags) {
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
    *address = ADDRESS;
    return size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    return address == ADDRESS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags) {
    *function =
        version && !flags && strcmp(symbol, "cuMemAlloc") == 0 ? (void *)cuMemAlloc_v2 : NULL;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
