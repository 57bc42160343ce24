/* libcudart: the CUDA runtime API over the driver API and nothing else, so that it runs on any
 * driver. Names that programs see are in cuda_runtime_api.h; what compilers call to register their
 * code is in registration.c. */
#ifndef FF_CUDA_RUNTIME_INTERNAL_H
#define FF_CUDA_RUNTIME_INTERNAL_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>

/* ---- errors ---- */

/* Every function ends with one of these, which keep an error for cudaGetLastError(). Results of the
 * driver have the same numbers as those of the runtime. */
cudaError_t ff__rt_fail(cudaError_t error);
static inline cudaError_t ff__rt_end(CUresult result) {
    return result ? ff__rt_fail((cudaError_t)result) : cudaSuccess;
}

/* ---- contexts ---- */

/* Contexts whose modules and symbols are known, by the order of their first use. */
#define FF__RT_CONTEXTS 16u

/* Makes sure that the thread has a current context: that of its device is retained, and is current
 * from then on, if there is none. */
CUresult ff__rt_enter(void);

/* Makes sure that the driver is initialized. */
CUresult ff__rt_initialize(void);

/* The device of the thread's context, or else the one that cudaSetDevice() chose. */
CUresult ff__rt_device(CUdevice *device);

/* A device's primary context, which is retained once. */
CUresult ff__rt_primary(CUdevice device, CUcontext *context);

/* ---- what programs register ---- */

/* The kernel that a host function stands for, and the variable that a host variable does, in the
 * current context. Loads its module at first. */
cudaError_t ff__rt_host_kernel(const void *host, CUfunction *function);
cudaError_t ff__rt_variable(const void *host, CUdeviceptr *address, size_t *size);

/* The host function of a kernel that ff__rt_host_kernel() has found; NULL: there is none. */
const void *ff__rt_host_of(CUfunction function);

/* Forgets what is loaded into a context, which is about to go. */
void ff__rt_forget(CUcontext context);

/* ---- what programs launch ---- */

/* The function, in the current context, of a host function or of a handle of a kernel. */
cudaError_t ff__rt_kernel(const void *kernel, CUfunction *function);

/* What ff__rt_kernel() has found it for; NULL: there is none. */
const void *ff__rt_name_of(CUfunction function);

/* ---- streams ---- */

/* Whether the thread is in a flavour of a function whose default stream is the thread's own. */
extern _Thread_local bool ff__rt_own_stream;

static inline CUstream ff__rt_stream(cudaStream_t stream) {
    return stream == NULL && ff__rt_own_stream ? CU_STREAM_PER_THREAD : stream;
}

/* A function of the driver on the default stream: the legacy one, or the thread's own. */
#define FF_RT_DEFAULT(name)    (ff__rt_own_stream ? FF_RT_FLAVOUR(name) : name)
#define FF_RT_FLAVOUR(name)    FF_RT_FLAVOUR_OF(name)
#define FF_RT_FLAVOUR_OF(name) name##_ptds

/* Defines a flavour: a function whose default stream is the thread's own. */
#define FF_RT_OWN(flavour, parameters, call)                                                       \
    cudaError_t flavour parameters;                                                                \
    cudaError_t flavour parameters {                                                               \
        ff__rt_own_stream = true;                                                                  \
        cudaError_t own_error = call;                                                              \
        ff__rt_own_stream = false;                                                                 \
        return own_error;                                                                          \
    }

/* Defines a function that only calls one of the driver, with a context. */
#define FF_RT_FORWARD(name, parameters, call)                                                      \
    cudaError_t name parameters {                                                                  \
        CUresult result = ff__rt_enter();                                                          \
        return ff__rt_end(result ? result : call);                                                 \
    }

/* ---- copies ---- */

static inline CUdeviceptr ff__rt_address(const void *p) {
    return (CUdeviceptr)(uintptr_t)p;
}

/* The driver's description of a copy. */
cudaError_t ff__rt_copy_3d(const struct cudaMemcpy3DParms *from, CUDA_MEMCPY3D *to);

/* ---- what differs by version ---- */

extern const int ff__rt_version; /* 1000 x major + 10 x minor */

/* All but what a version has alone. */
cudaError_t ff__rt_properties(struct cudaDeviceProp *properties, int device);

cudaError_t ff__rt_entry_point(const char *symbol, void **function, unsigned version,
                               unsigned long long flags,
                               enum cudaDriverEntryPointQueryResult *status);
cudaError_t ff__rt_advise(const void *address, size_t count, enum cudaMemoryAdvise advice,
                          int device);
cudaError_t ff__rt_prefetch(const void *address, size_t count, int device, cudaStream_t stream);

/* Declares and begins a function of the runtime whose form is not that of cuda_runtime_api.h. */
#define FF_RT_FORM(name, symbol, parameters)                                                       \
    cudaError_t name parameters __asm__(#symbol);                                                  \
    cudaError_t name parameters

#endif
