/* A library with functions of the driver's names, and of the preload's, that are others. */
#pragma GCC visibility push(default)
#define FF_CUDA_EXACT_NAMES
#include <cuda.h>

#include <dlfcn.h>
#include <stddef.h>

CUresult find_own(void);
#pragma GCC visibility pop

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
    return address || size ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_SYSTEM_NOT_READY;
}

/* As a wrapper finds what it has itself, by a handle of its own. */
CUresult find_own(void) {
    Dl_info here, found;
    if (!dladdr((void *)find_own, &here))
        return CUDA_ERROR_UNKNOWN;
    void *self = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    void *own = self ? dlsym(self, "cuMemAlloc_v2") : NULL;
    return own && dladdr(own, &found) && found.dli_fbase == here.dli_fbase ? CUDA_SUCCESS
                                                                           : CUDA_ERROR_NOT_FOUND;
}
