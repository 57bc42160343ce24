/* Contexts, and the one that a thread has. */
#include "cuda/driver/graph.h"

#include "preload/preload.h"
#include "ptx/heap.h"

#include <stdlib.h>

#define MOST_PUSHED 64u

/* The current one is the last. */
static _Thread_local struct {
    CUcontext contexts[MOST_PUSHED];
    uint32_t count;
} stack;

CUcontext ff__cuda_contexts;

bool ff__cuda_is_destroyed(CUcontext context) {
    return __atomic_load_n(&context->destroyed, __ATOMIC_ACQUIRE);
}

CUcontext ff__cuda_current(void) {
    return stack.count == 0 ? NULL : stack.contexts[stack.count - 1];
}

/* ---- making and ending ---- */

static void set_limits(CUcontext context) {
    context->limits[CU_LIMIT_STACK_SIZE] = 1024;
    context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
    context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
    context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
}

CUcontext ff__cuda_context_make(CUdevice device, unsigned flags, bool is_primary) {
    static uint64_t made; /* atomic */
    CUcontext context = calloc(1, sizeof *context);
    if (context == NULL)
        return NULL;
    context->device = device;
    context->flags = flags;
    context->is_primary = is_primary;
    context->id = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
    set_limits(context);
    if (ff__cuda_stream_make(context, CU_STREAM_DEFAULT, 0, &context->legacy) != CUDA_SUCCESS) {
        free(context);
        return NULL;
    }
    ff__lock_acquire(&ff__cuda_lock);
    context->next = ff__cuda_contexts;
    ff__cuda_contexts = context;
    ff__lock_release(&ff__cuda_lock);
    return context;
}

CUresult ff__cuda_context_wait(CUcontext context) {
    ff__lock_acquire(&ff__cuda_lock);
    for (CUstream stream = context->streams; stream != NULL; stream = stream->next)
        ff__cuda_stream_wait(stream);
    ff__cuda_streams_sweep(context);
    ff__lock_release(&ff__cuda_lock);
    ff__clock_stop();
    return ff__cuda_module_errors(context);
}

/* The handle stays, because threads may still have it as their current one. */
void ff__cuda_context_end(CUcontext context) {
    ff__lock_acquire(&ff__cuda_lock);
    __atomic_store_n(&context->destroyed, true, __ATOMIC_RELEASE);
    for (CUstream stream = context->streams; stream != NULL; stream = stream->next) {
        ff__cuda_capture_drop(stream);
        stream->is_ended = true;
    }
    ff__lock_release(&ff__cuda_lock);
    ff__cuda_context_wait(context);
    while (context->modules != NULL)
        ff__cuda_module_end(context->modules);
    ff__cuda_free_all(context);
    ff__ptx_heap_free(context->heap);
    context->heap = NULL;
}

/* ---- the API ---- */

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device) {
    CUresult result = ff__cuda_device_check(device);
    if (result != CUDA_SUCCESS)
        return result;
    if (context == NULL || (flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (stack.count == MOST_PUSHED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUcontext made = ff__cuda_context_make(device, flags, false);
    if (made == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *context = made;
    return cuCtxPushCurrent_v2(made);
}

CUresult cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *params, int count, unsigned flags,
                        CUdevice device) {
    return params != NULL || count != 0 ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
                                        : cuCtxCreate_v2(context, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned flags,
                        CUdevice device) {
    static const CUctxCreateParams none;
    const CUctxCreateParams *of = params != NULL ? params : &none;
    return of->cigParams != NULL ? CUDA_ERROR_NOT_SUPPORTED
                                 : cuCtxCreate_v3(context, of->execAffinityParams,
                                                  of->numExecAffinityParams, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext context) {
    CUresult result = ff__cuda_started_with(context);
    if (result != CUDA_SUCCESS)
        return result;
    if (context->is_primary || ff__cuda_is_destroyed(context))
        return context->is_primary ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    ff__cuda_context_end(context);
    if (ff__cuda_current() == context)
        stack.count--;
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (context == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (stack.count == MOST_PUSHED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stack.contexts[stack.count++] = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (stack.count == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    stack.count--;
    if (context != NULL)
        *context = stack.contexts[stack.count];
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (stack.count != 0)
        stack.count--;
    return context == NULL ? CUDA_SUCCESS : cuCtxPushCurrent_v2(context);
}

CUresult cuCtxGetCurrent(CUcontext *context) {
    CUresult result = ff__cuda_started_with(context);
    if (result == CUDA_SUCCESS)
        *context = ff__cuda_current();
    return result;
}

/* A context that is named, or else the thread's. */
static CUresult named_or_current(CUcontext *context) {
    if (*context == NULL)
        return ff__cuda_enter(context);
    CUresult result = ff__cuda_started();
    return result == CUDA_SUCCESS && ff__cuda_is_destroyed(*context)
               ? CUDA_ERROR_CONTEXT_IS_DESTROYED
               : result;
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext context) {
    if (device == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = named_or_current(&context);
    if (result == CUDA_SUCCESS)
        *device = context->device;
    return result;
}

CUresult cuCtxGetDevice(CUdevice *device) {
    return cuCtxGetDevice_v2(device, NULL);
}

CUresult cuCtxGetFlags(unsigned *flags) {
    CUcontext context;
    CUresult result = ff__cuda_enter_with(flags, &context);
    if (result == CUDA_SUCCESS)
        *flags = context->flags;
    return result;
}

CUresult cuCtxSetFlags(unsigned flags) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    context->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *id) {
    if (id == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = named_or_current(&context);
    if (result == CUDA_SUCCESS)
        *id = context->id;
    return result;
}

CUresult cuCtxSynchronize_v2(CUcontext context) {
    CUcontext current;
    CUresult result = context == NULL ? ff__cuda_enter_unsafe(&current) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = named_or_current(&context);
    return result == CUDA_SUCCESS ? ff__cuda_context_wait(context) : result;
}

CUresult cuCtxSynchronize(void) {
    return cuCtxSynchronize_v2(NULL);
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version) {
    if (version == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = named_or_current(&context);
    if (result == CUDA_SUCCESS)
        *version = 3020;
    return result;
}

/* ---- what a program may set, and what it gets back ---- */

static bool is_limit(CUlimit limit) {
    return (unsigned)limit <= CU_LIMIT_PERSISTING_L2_CACHE_SIZE;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!is_limit(limit))
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    ff__lock_acquire(&ff__cuda_lock);
    if (limit == CU_LIMIT_MALLOC_HEAP_SIZE && context->heap != NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    else
        context->limits[limit] = value;
    ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit) {
    CUcontext context;
    CUresult result = ff__cuda_enter_with(value, &context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!is_limit(limit))
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = context->limits[limit];
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *config) {
    CUcontext context;
    CUresult result = ff__cuda_enter_with(config, &context);
    if (result == CUDA_SUCCESS)
        *config = context->cache_config;
    return result;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return CUDA_ERROR_INVALID_VALUE;
    context->cache_config = config;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config) {
    CUcontext context;
    CUresult result = ff__cuda_enter_with(config, &context);
    if (result == CUDA_SUCCESS)
        *config = context->shared_config;
    return result;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return CUDA_ERROR_INVALID_VALUE;
    context->shared_config = config;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result == CUDA_SUCCESS && least != NULL)
        *least = 0;
    if (result == CUDA_SUCCESS && greatest != NULL)
        *greatest = -5;
    return result;
}

CUresult cuCtxResetPersistingL2Cache(void) {
    CUcontext context;
    return ff__cuda_enter(&context);
}

/* ---- peers ---- */

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (peer == NULL || flags != 0)
        return peer == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    if (peer->device == context->device)
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    uint32_t bit = 1u << peer->device;
    if (__atomic_fetch_or(&context->peers, bit, __ATOMIC_RELAXED) & bit)
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    return CUDA_SUCCESS;
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (peer == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    uint32_t bit = 1u << peer->device;
    if ((__atomic_fetch_and(&context->peers, ~bit, __ATOMIC_RELAXED) & bit) == 0)
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    return CUDA_SUCCESS;
}

/* ---- primary contexts: one for each device, that run times share ---- */

static bool is_active(const struct ff__cuda_device *device) {
    return device->primary != NULL && !ff__cuda_is_destroyed(device->primary);
}

static CUresult retain(struct ff__cuda_device *device, CUdevice number) {
    if (!is_active(device))
        device->primary = ff__cuda_context_make(number, device->primary_flags, true);
    if (device->primary == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    device->primary_users++;
    return CUDA_SUCCESS;
}

/* Contexts are made and ended with the other lock free. */
static pthread_mutex_t primaries = PTHREAD_MUTEX_INITIALIZER;

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    CUresult result = ff__cuda_device_check_with(context, device);
    if (result != CUDA_SUCCESS)
        return result;
    pthread_mutex_lock(&primaries);
    result = retain(&ff__cuda_devices[device], device);
    *context = ff__cuda_devices[device].primary;
    pthread_mutex_unlock(&primaries);
    return result;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    CUresult result = ff__cuda_device_check(device);
    if (result != CUDA_SUCCESS)
        return result;
    pthread_mutex_lock(&primaries);
    struct ff__cuda_device *of = &ff__cuda_devices[device];
    if (of->primary_users == 0)
        result = CUDA_ERROR_INVALID_CONTEXT;
    else if (--of->primary_users == 0 && is_active(of))
        ff__cuda_context_end(of->primary);
    pthread_mutex_unlock(&primaries);
    return result;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    return cuDevicePrimaryCtxRelease_v2(device);
}

/* Those that have retained it have yet to release it. */
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    CUresult result = ff__cuda_device_check(device);
    if (result != CUDA_SUCCESS)
        return result;
    pthread_mutex_lock(&primaries);
    struct ff__cuda_device *of = &ff__cuda_devices[device];
    if (is_active(of))
        ff__cuda_context_end(of->primary);
    pthread_mutex_unlock(&primaries);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    return cuDevicePrimaryCtxReset_v2(device);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
    CUresult result = ff__cuda_device_check(device);
    if (result != CUDA_SUCCESS)
        return result;
    if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&primaries);
    struct ff__cuda_device *of = &ff__cuda_devices[device];
    of->primary_flags = flags;
    if (is_active(of))
        of->primary->flags = flags;
    pthread_mutex_unlock(&primaries);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
    return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    CUresult result = ff__cuda_device_check(device);
    if (result != CUDA_SUCCESS)
        return result;
    if (flags == NULL || active == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&primaries);
    *flags = ff__cuda_devices[device].primary_flags;
    *active = is_active(&ff__cuda_devices[device]);
    pthread_mutex_unlock(&primaries);
    return CUDA_SUCCESS;
}
