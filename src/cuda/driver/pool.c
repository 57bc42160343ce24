/* Stream-ordered allocation. Memory is allocated at once and freed in the order of the stream;
 * nothing is kept for reuse, so that a pool is its attributes and what it has given out. */
#include "cuda/driver/graph.h"

#include <stdlib.h>

struct CUmemPoolHandle_st {
    CUdevice device;
    bool is_managed, is_default;
    uint64_t values[CU_MEMPOOL_ATTR_USED_MEM_HIGH + 1]; /* by CUmemPool_attribute */
};

static CUresult make_pool(CUdevice device, bool is_managed, CUmemoryPool *out) {
    CUmemoryPool pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pool->device = device;
    pool->is_managed = is_managed;
    for (int i = CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;
         i <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES; i++)
        pool->values[i] = 1;
    *out = pool;
    return CUDA_SUCCESS;
}

/* The lock is held. */
static CUresult default_pool(CUdevice device, CUmemoryPool *out) {
    struct ff__cuda_device *of = &ff__cuda_devices[device];
    CUresult result = CUDA_SUCCESS;
    if (of->default_pool == NULL)
        result = make_pool(device, false, &of->default_pool);
    if (result != CUDA_SUCCESS)
        return result;
    of->default_pool->is_default = true;
    if (of->pool == NULL)
        of->pool = of->default_pool;
    *out = of->default_pool;
    return CUDA_SUCCESS;
}

static CUresult device_pool(CUmemoryPool *pool, CUdevice device, bool is_default) {
    CUresult result = ff__cuda_device_check_with(pool, device);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    result = default_pool(device, pool);
    if (result == CUDA_SUCCESS && !is_default)
        *pool = ff__cuda_devices[device].pool;
    ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
    return device_pool(pool, device, true);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) {
    return device_pool(pool, device, false);
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    CUresult result = ff__cuda_device_check(device);
    if (result != CUDA_SUCCESS)
        return result;
    if (pool == NULL || pool->device != device)
        return CUDA_ERROR_INVALID_VALUE;
    ff__lock_acquire(&ff__cuda_lock);
    ff__cuda_devices[device].pool = pool;
    ff__lock_release(&ff__cuda_lock);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (pool == NULL || properties == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED &&
        properties->allocType != CU_MEM_ALLOCATION_TYPE_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    result = ff__cuda_device_check(properties->location.id);
    return result == CUDA_SUCCESS
               ? make_pool(properties->location.id,
                           properties->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED, pool)
               : result;
}

/* What it has given out stays: only its counts end. */
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    CUresult result = ff__cuda_started_with(pool);
    if (result != CUDA_SUCCESS)
        return result;
    if (pool->is_default)
        return CUDA_ERROR_NOT_PERMITTED;
    ff__lock_acquire(&ff__cuda_lock);
    if (ff__cuda_devices[pool->device].pool == pool)
        ff__cuda_devices[pool->device].pool = ff__cuda_devices[pool->device].default_pool;
    ff__cuda_pool_forget(pool);
    ff__lock_release(&ff__cuda_lock);
    free(pool);
    return CUDA_SUCCESS;
}

static CUresult check_attribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                const void *value) {
    CUresult result = ff__cuda_started();
    if (pool == NULL || value == NULL ||
        attribute < CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES ||
        attribute > CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        return CUDA_ERROR_INVALID_VALUE;
    return result;
}

static bool is_word(CUmemPool_attribute attribute) {
    return attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

/* Of the counts only the peaks can be set, to 0. */
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
    CUresult result = check_attribute(pool, attribute, value);
    if (result != CUDA_SUCCESS)
        return result;
    bool is_count = attribute > CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    bool is_peak = attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ||
                   attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH;
    uint64_t wanted = is_word(attribute) ? *(unsigned *)value != 0 : *(cuuint64_t *)value;
    if (is_count && (!is_peak || wanted != 0))
        return CUDA_ERROR_INVALID_VALUE;
    ff__lock_acquire(&ff__cuda_lock);
    pool->values[attribute] = is_peak ? pool->values[attribute - 1] : wanted;
    ff__lock_release(&ff__cuda_lock);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
    CUresult result = check_attribute(pool, attribute, value);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    if (is_word(attribute))
        *(int *)value = (int)pool->values[attribute];
    else
        *(cuuint64_t *)value = pool->values[attribute];
    ff__lock_release(&ff__cuda_lock);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    CUresult result = ff__cuda_started();
    (void)keep;
    return pool == NULL ? CUDA_ERROR_INVALID_VALUE : result;
}

/* Every device has access to all memory. */
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count) {
    CUresult result = ff__cuda_started();
    if (pool == NULL || (map == NULL && count != 0))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE
                     ? ff__cuda_device_check(map[i].location.id)
                     : CUDA_ERROR_INVALID_VALUE;
    return result;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (flags == NULL || pool == NULL || location == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
}

/* ---- allocating and freeing ---- */

/* Of what is reserved and of what is used: the same, because nothing is kept. */
void ff__cuda_pool_count(CUmemoryPool pool, int64_t bytes) {
    for (int i = CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT; i < CU_MEMPOOL_ATTR_USED_MEM_HIGH; i += 2) {
        pool->values[i] += (uint64_t)bytes;
        if (pool->values[i + 1] < pool->values[i])
            pool->values[i + 1] = pool->values[i];
    }
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t size, CUmemoryPool pool,
                                 CUstream name) {
    CUcontext context;
    CUstream stream;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (address == NULL || pool == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    ff__lock_acquire(&ff__cuda_lock);
    result = ff__cuda_stream(context, name, &stream);
    bool is_captured = result == CUDA_SUCCESS && stream->capture != NULL;
    ff__lock_release(&ff__cuda_lock);
    if (is_captured)
        return ff__cuda_capture_alloc(context, name, size, pool->is_managed, address);
    if (result == CUDA_SUCCESS)
        result = ff__cuda_alloc(context, size, pool->is_managed ? FF_CUDA_MANAGED : FF_CUDA_PLAIN,
                                CU_MEM_ATTACH_GLOBAL, address);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    ff__cuda_find(*address)->pool = pool;
    ff__cuda_pool_count(pool, (int64_t)size);
    ff__lock_release(&ff__cuda_lock);
    return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream) {
    CUcontext context;
    CUmemoryPool pool;
    CUresult result = ff__cuda_enter(&context);
    if (result == CUDA_SUCCESS)
        result = cuDeviceGetMemPool(&pool, context->device);
    return result == CUDA_SUCCESS ? cuMemAllocFromPoolAsync(address, size, pool, stream) : result;
}

static void free_now(CUstream stream, void *user) {
    (void)stream;
    ff__cuda_free((uintptr_t)user);
}

/* False: no allocation begins there that the program may free. */
static bool mark_freed(CUdeviceptr address, bool is_freed) {
    ff__lock_acquire(&ff__cuda_lock);
    struct ff__cuda_allocation *found = ff__cuda_find(address);
    bool can_free = found != NULL && found->address == address && found->is_freed != is_freed &&
                    found->graph == NULL &&
                    (found->memory == FF_CUDA_PLAIN || found->memory == FF_CUDA_MANAGED);
    if (can_free)
        found->is_freed = is_freed;
    ff__lock_release(&ff__cuda_lock);
    return can_free;
}

/* Memory of a graph is freed by a node of a captured stream's graph, or for now, as the graph keeps
 * it. False: it is of none. */
static bool free_of_graph(CUdeviceptr address, CUstream name, CUresult *result) {
    CUstream stream;
    *result = ff__cuda_stream_enter(name, &stream);
    if (*result != CUDA_SUCCESS)
        return true;
    struct ff__cuda_allocation *found = ff__cuda_find(address);
    bool is_one = found != NULL && found->address == address && found->graph != NULL;
    if (is_one && stream->capture != NULL)
        *result = ff__cuda_capture_memory(stream, CU_GRAPH_NODE_TYPE_MEM_FREE, address);
    else if (is_one && !ff__cuda_graph_memory_free(found->graph))
        *result = CUDA_ERROR_INVALID_VALUE;
    ff__lock_release(&ff__cuda_lock);
    return is_one;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    CUcontext context;
    struct ff__cuda_command command = {
        .kind = FF_CUDA_CALL,
        .call = {.call = free_now,
                 .user = (void *)(uintptr_t)address}}; // NOLINT(performance-no-int-to-ptr)
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS || address == 0)
        return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE;
    if (free_of_graph(address, stream, &result))
        return result;
    if (!mark_freed(address, true))
        return CUDA_ERROR_INVALID_VALUE;
    result = ff__cuda_enqueue(stream, &command);
    if (result != CUDA_SUCCESS)
        mark_freed(address, false);
    return result;
}
