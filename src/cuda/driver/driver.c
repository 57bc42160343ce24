/* Start of the driver, results and what every call begins with. */
#include "cuda/driver/internal.h"

#include "preload/preload.h"

#include <errno.h>

struct ff__lock ff__cuda_lock;
static pthread_once_t initialised = PTHREAD_ONCE_INIT;
static bool started; /* atomic */

static void initialise(void) {
    ff__lock_init(&ff__cuda_lock);
}

__attribute__((constructor)) static void prepare(void) {
    pthread_once(&initialised, initialise);
}

CUresult cuInit(unsigned flags) {
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = ff__cuda_open();
    if (result == CUDA_SUCCESS)
        __atomic_store_n(&started, true, __ATOMIC_RELEASE);
    return result;
}

CUresult ff__cuda_started(void) {
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE) || ff__in_child())
        return CUDA_ERROR_NOT_INITIALIZED;
    return ff__cuda_is_calling ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

CUresult ff__cuda_enter(CUcontext *out) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    *out = ff__cuda_current();
    if (*out == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (ff__cuda_is_destroyed(*out))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return __atomic_load_n(&(*out)->error, __ATOMIC_RELAXED);
}

static CUresult with(const void *needed, CUresult result) {
    return result == CUDA_SUCCESS && needed == NULL ? CUDA_ERROR_INVALID_VALUE : result;
}

CUresult ff__cuda_started_with(const void *needed) {
    return with(needed, ff__cuda_started());
}

CUresult ff__cuda_enter_with(const void *needed, CUcontext *context) {
    return with(needed, ff__cuda_enter(context));
}

CUresult ff__cuda_device_check_with(const void *needed, CUdevice device) {
    return with(needed, ff__cuda_device_check(device));
}

CUresult cuDriverGetVersion(int *version) {
    if (version == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *version = FF_CUDA_VERSION_OF_DRIVER;
    return CUDA_SUCCESS;
}

/* ---- results ---- */

static const struct cuda_result {
    CUresult value;
    const char *name, *text;
} results[] = {
#define FF_CUDA_ERROR(name, value, text) {name, #name, text},
#include <farfault/errors.def>
#undef FF_CUDA_ERROR
};

static const struct cuda_result *find_result(CUresult value) {
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].value == value)
            return &results[i];
    return NULL;
}

static CUresult describe(CUresult value, bool by_name, const char **text) {
    const struct cuda_result *result = find_result(value);
    if (text == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *text = result == NULL ? NULL : by_name ? result->name : result->text;
    return result == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **text) {
    return describe(error, true, text);
}

CUresult cuGetErrorString(CUresult error, const char **text) {
    return describe(error, false, text);
}

static CUresult result_of(int code) {
    switch (code) {
    case 0:
        return CUDA_SUCCESS;
    case -ENOMEM:
    case -ENOSPC:
        return CUDA_ERROR_OUT_OF_MEMORY;
    case -ENOENT:
        return CUDA_ERROR_NOT_FOUND;
    case -ENOTSUP:
        return CUDA_ERROR_NOT_SUPPORTED;
    case -ENOEXEC:
        return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    case -E2BIG:
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    case -EFAULT:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case -ECANCELED:
        return CUDA_ERROR_ASSERT;
    case -EDEADLK:
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    case -ENOTRECOVERABLE:
        return CUDA_ERROR_LAUNCH_FAILED;
    case -EACCES:
    case -EPERM:
        return CUDA_ERROR_OPERATING_SYSTEM;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* A program that tries again and again gets one line. */
CUresult ff__cuda_result(int code, const struct ff_error *error) {
    static uint32_t said; /* atomic: bits of the kinds of errors */
    CUresult result = result_of(code);
    uint32_t bit = 1u << ((unsigned)-code & 31);
    if (result != CUDA_SUCCESS && error != NULL &&
        (__atomic_fetch_or(&said, bit, __ATOMIC_RELAXED) & bit) == 0)
        ff__say("%s", error->message);
    return result;
}

/* ---- what this driver has no use for ---- */

CUresult cuProfilerStart(void) {
    CUcontext context;
    return ff__cuda_enter(&context);
}

CUresult cuProfilerStop(void) {
    CUcontext context;
    return ff__cuda_enter(&context);
}
