/* Libraries, and handles of kernels: a program gets them from libraries and for host functions, and
 * may launch what they stand for as it launches a host function. */
#include "cuda/runtime/internal.h"

#include "base/grow.h"
#include "base/map.h"

#include <pthread.h>

struct handle {
    cudaKernel_t kernel;
    cudaLibrary_t library; /* NULL: it stands for the host function */
    const void *host;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ff__map numbers; /* of handles, by kernel */
static struct handle *handles;
static uint32_t handle_count;

/* ---- handles ---- */

/* A handle that comes again is another kernel's now: what it stood for is gone. */
static cudaError_t keep(const struct handle *handle) {
    cudaError_t error = cudaSuccess;
    uint32_t at;
    pthread_mutex_lock(&lock);
    if (ff__map_get(&numbers, (uintptr_t)handle->kernel, &at))
        handles[at] = *handle;
    else if (ff__grow(&handles, handle_count, sizeof *handles) ||
             ff__map_put(&numbers, (uintptr_t)handle->kernel, handle_count))
        error = cudaErrorMemoryAllocation;
    else
        handles[handle_count++] = *handle;
    pthread_mutex_unlock(&lock);
    return error;
}

static bool find(const void *kernel, struct handle *out) {
    uint32_t at;
    pthread_mutex_lock(&lock);
    bool is_found = ff__map_get(&numbers, (uintptr_t)kernel, &at);
    if (is_found)
        *out = handles[at];
    pthread_mutex_unlock(&lock);
    return is_found;
}

static void forget(cudaLibrary_t library) {
    uint32_t kept = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < handle_count; i++) {
        ff__map_remove(&numbers, (uintptr_t)handles[i].kernel);
        if (handles[i].library == library)
            continue;
        ff__map_put(&numbers, (uintptr_t)handles[i].kernel, kept); /* there was room for it */
        handles[kept++] = handles[i];
    }
    handle_count = kept;
    pthread_mutex_unlock(&lock);
}

cudaError_t ff__rt_kernel(const void *kernel, CUfunction *function) {
    struct handle handle;
    cudaError_t error = ff__rt_host_kernel(kernel, function);
    if (error != cudaErrorInvalidDeviceFunction || !find(kernel, &handle))
        return error;
    return handle.library ? (cudaError_t)cuKernelGetFunction(function, handle.kernel)
                          : ff__rt_host_kernel(handle.host, function);
}

const void *ff__rt_name_of(CUfunction function) {
    const void *name = ff__rt_host_of(function);
    CUfunction same;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < handle_count && !name; i++)
        if (handles[i].library && !cuKernelGetFunction(&same, handles[i].kernel) &&
            same == function)
            name = handles[i].kernel;
    pthread_mutex_unlock(&lock);
    return name;
}

/* The driver's functions take it for a CUkernel, as they may: a function of the current context. */
cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *host) {
    CUfunction function;
    cudaError_t error = kernel ? ff__rt_host_kernel(host, &function) : cudaErrorInvalidValue;
    if (!error)
        error = keep(&(struct handle){.kernel = (cudaKernel_t)function, .host = host});
    if (error)
        return ff__rt_fail(error);
    *kernel = (cudaKernel_t)function;
    return cudaSuccess;
}

/* ---- libraries ---- */

FF_RT_FORWARD(cudaLibraryLoadData,
              (cudaLibrary_t * library, const void *code, enum cudaJitOption *options,
               void **values, unsigned count, enum cudaLibraryOption *library_options,
               void **library_values, unsigned library_count),
              cuLibraryLoadData(library, code, (CUjit_option *)options, values, count,
                                (CUlibraryOption *)library_options, library_values, library_count))
FF_RT_FORWARD(cudaLibraryLoadFromFile,
              (cudaLibrary_t * library, const char *path, enum cudaJitOption *options,
               void **values, unsigned count, enum cudaLibraryOption *library_options,
               void **library_values, unsigned library_count),
              cuLibraryLoadFromFile(library, path, (CUjit_option *)options, values, count,
                                    (CUlibraryOption *)library_options, library_values,
                                    library_count))

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
    if (!library)
        return ff__rt_fail(cudaErrorInvalidValue);
    CUresult result = ff__rt_enter();
    if (!result) {
        forget(library);
        result = cuLibraryUnload(library);
    }
    return ff__rt_end(result);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name) {
    CUresult result = ff__rt_enter();
    if (!result)
        result = cuLibraryGetKernel(kernel, library, name);
    if (result)
        return ff__rt_end(result);
    cudaError_t error = keep(&(struct handle){.kernel = *kernel, .library = library});
    return error ? ff__rt_fail(error) : cudaSuccess;
}

/* What is asked of a variable: one of its place and its size at least. */
static CUresult check_variable(const void *address, const size_t *size, cudaLibrary_t library) {
    if (!address && !size)
        return CUDA_ERROR_INVALID_VALUE;
    return library ? ff__rt_enter() : CUDA_ERROR_INVALID_HANDLE;
}

cudaError_t cudaLibraryGetGlobal(void **address, size_t *size, cudaLibrary_t library,
                                 const char *name) {
    CUresult result = check_variable(address, size, library);
    return ff__rt_end(result ? result
                             : cuLibraryGetGlobal((CUdeviceptr *)address, size, library, name));
}

cudaError_t cudaLibraryGetManaged(void **address, size_t *size, cudaLibrary_t library,
                                  const char *name) {
    CUresult result = check_variable(address, size, library);
    return ff__rt_end(result ? result
                             : cuLibraryGetManaged((CUdeviceptr *)address, size, library, name));
}

cudaError_t cudaLibraryGetKernelCount(unsigned *count, cudaLibrary_t library) {
    CUresult result = library ? ff__rt_enter() : CUDA_ERROR_INVALID_HANDLE;
    return ff__rt_end(result ? result : cuLibraryGetKernelCount(count, library));
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned count,
                                        cudaLibrary_t library) {
    unsigned all = 0;
    CUresult result = library ? ff__rt_enter() : CUDA_ERROR_INVALID_HANDLE;
    if (!result)
        result = cuLibraryGetKernelCount(&all, library);
    if (!result)
        result = cuLibraryEnumerateKernels(kernels, count, library);
    cudaError_t error = (cudaError_t)result;
    for (unsigned i = 0; i < count && i < all && !error; i++)
        error = keep(&(struct handle){.kernel = kernels[i], .library = library});
    return error ? ff__rt_fail(error) : cudaSuccess;
}

/* ---- attributes ---- */

/* Of a host function's kernel, which each device's primary context has for itself. */
static cudaError_t set_attribute(const void *host, enum cudaFuncAttribute attribute, int value,
                                 int device) {
    CUcontext context;
    CUfunction function;
    CUresult result = ff__rt_primary(device, &context);
    if (!result)
        result = cuCtxPushCurrent(context);
    if (result)
        return (cudaError_t)result;
    cudaError_t error = ff__rt_host_kernel(host, &function);
    if (!error)
        error = (cudaError_t)cuFuncSetAttribute(function, (CUfunction_attribute)attribute, value);
    cuCtxPopCurrent(&context);
    return error;
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute,
                                            int value, int device) {
    struct handle handle;
    cudaError_t error = (cudaError_t)ff__rt_enter();
    if (!error && !find(kernel, &handle))
        error = cudaErrorInvalidDeviceFunction;
    if (error)
        return ff__rt_fail(error);
    if (!handle.library)
        error = set_attribute(handle.host, attribute, value, device);
    else
        error = (cudaError_t)cuKernelSetAttribute((CUfunction_attribute)attribute, value, kernel,
                                                  device);
    return error ? ff__rt_fail(error) : cudaSuccess;
}
