/* Handles: the stream and the modes of a program's calls. */
#include "cuda/blas/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- results ---- */

static const struct {
    cublasStatus_t status;
    const char *name, *text;
} statuses[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "the operation has been done or begun"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "there is no valid handle"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "out of memory"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE", "a wrong value or parameter"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH", "the device lacks a feature"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "memory cannot be accessed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "a kernel failed"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "the library has failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "the library does not do this"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "there is no licence"},
};

static const char *describe(cublasStatus_t status, bool by_name) {
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].status == status)
            return by_name ? statuses[i].name : statuses[i].text;
    return "an unknown status";
}

const char *cublasGetStatusName(cublasStatus_t status) {
    return describe(status, true);
}

const char *cublasGetStatusString(cublasStatus_t status) {
    return describe(status, false);
}

cublasStatus_t ff__blas_status(CUresult result) {
    switch (result) {
    case CUDA_SUCCESS:
        return CUBLAS_STATUS_SUCCESS;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_CONTEXT:
        return CUBLAS_STATUS_NOT_INITIALIZED;
    case CUDA_ERROR_OUT_OF_MEMORY:
        return CUBLAS_STATUS_ALLOC_FAILED;
    default:
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
}

/* ---- creating and destroying ---- */

/* The thread's context, or the first device's primary one, which is the thread's from then on. */
static CUresult enter(cublasHandle_t handle) {
    CUresult result = cuInit(0);
    if (result == CUDA_SUCCESS)
        result = cuCtxGetCurrent(&handle->context);
    if (result == CUDA_SUCCESS && handle->context == NULL) {
        result = cuDevicePrimaryCtxRetain(&handle->context, 0);
        handle->is_retained = result == CUDA_SUCCESS;
        if (result == CUDA_SUCCESS)
            result = cuCtxSetCurrent(handle->context);
    }
    return result == CUDA_SUCCESS ? cuCtxGetDevice(&handle->device) : result;
}

/* Another driver has no such table: its devices would not run our kernels. */
static cublasStatus_t find_driver(cublasHandle_t handle) {
    static const CUuuid name = FF_CUDA_NATIVE_TABLE;
    const void *table = NULL;
    if (cuGetExportTable(&table, &name) != CUDA_SUCCESS || table == NULL)
        return CUBLAS_STATUS_ARCH_MISMATCH;
    handle->driver = table;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *out) {
    if (out == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    cublasHandle_t handle = calloc(1, sizeof *handle);
    if (handle == NULL)
        return CUBLAS_STATUS_ALLOC_FAILED;
    cublasStatus_t status = ff__blas_status(enter(handle));
    if (status == CUBLAS_STATUS_SUCCESS)
        status = find_driver(handle);
    if (status == CUBLAS_STATUS_SUCCESS)
        *out = handle;
    else
        cublasDestroy_v2(handle);
    return status;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (handle->is_retained)
        cuDevicePrimaryCtxRelease(handle->device);
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- what a handle keeps ---- */

#define KEEP(name, version, type, member)                                                          \
    cublasStatus_t cublasGet##name##version(cublasHandle_t handle, type *out) {                    \
        if (handle == NULL)                                                                        \
            return CUBLAS_STATUS_NOT_INITIALIZED;                                                  \
        if (out == NULL)                                                                           \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        *out = handle->member;                                                                     \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }                                                                                              \
    static bool is_##member(type value);                                                           \
    cublasStatus_t cublasSet##name##version(cublasHandle_t handle, type value) {                   \
        if (handle == NULL)                                                                        \
            return CUBLAS_STATUS_NOT_INITIALIZED;                                                  \
        if (!is_##member(value))                                                                   \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        handle->member = value;                                                                    \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }                                                                                              \
    static bool is_##member(type value)

KEEP(Stream, _v2, cudaStream_t, stream) {
    (void)value;
    return true;
}
KEEP(PointerMode, _v2, cublasPointerMode_t, pointer_mode) {
    return (unsigned)value <= CUBLAS_POINTER_MODE_DEVICE;
}
KEEP(AtomicsMode, , cublasAtomicsMode_t, atomics) {
    return (unsigned)value <= CUBLAS_ATOMICS_ALLOWED;
}
/* All are computed alike. */
KEEP(MathMode, , cublasMath_t, math) {
    return ((unsigned)value & ~(unsigned)CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) <=
           CUBLAS_FP32_EMULATED_BF16X9_MATH;
}
KEEP(SmCountTarget, , int, processors) {
    return value >= 0;
}

/* None is needed. */
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t size) {
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    return workspace == NULL && size != 0 ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

/* ---- logs: nothing is logged ---- */

static cublasLogCallback callback; /* atomic */

cublasStatus_t cublasLoggerConfigure(int is_on, int to_stdout, int to_stderr, const char *file) {
    (void)is_on, (void)to_stdout, (void)to_stderr, (void)file;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetLoggerCallback(cublasLogCallback function) {
    __atomic_store_n(&callback, function, __ATOMIC_RELAXED);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetLoggerCallback(cublasLogCallback *function) {
    if (function == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    *function = __atomic_load_n(&callback, __ATOMIC_RELAXED);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- for all calls ---- */

cublasStatus_t ff__blas_scalar(cublasHandle_t handle, enum ff__blas_type type, const void *at,
                               struct ff__blas_scalar *out) {
    *out = (struct ff__blas_scalar){.type = type};
    if (at == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE)
        out->device = at;
    else
        memcpy(out->value, at, ff__blas_size(type));
    return CUBLAS_STATUS_SUCCESS;
}

/* A thread without a context has the handle's from its first call on. */
static CUresult join(cublasHandle_t handle) {
    CUcontext current = NULL;
    CUresult result = cuCtxGetCurrent(&current);
    return result != CUDA_SUCCESS || current != NULL ? result : cuCtxSetCurrent(handle->context);
}

cublasStatus_t ff__blas_launch(cublasHandle_t handle, const char *name, int (*run)(void *argument),
                               const void *argument, size_t size) {
    const struct ff__cuda_native kernel = {name, run, argument, size};
    CUresult result = join(handle);
    return ff__blas_status(
        result != CUDA_SUCCESS ? result : handle->driver->launch(handle->stream, &kernel));
}
