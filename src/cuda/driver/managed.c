/* What programs say of managed memory, and what they ask of addresses. */
#include "cuda/driver/internal.h"

#include <stdlib.h>
#include <string.h>

/* Locations as CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION has them: a device, CU_DEVICE_CPU, or
 * CU_DEVICE_INVALID. */

static void *pointer(CUdeviceptr address) {
    return (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

static CUresult read_location(const CUmemLocation *location, int *out) {
    switch (location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        *out = location->id;
        return ff__cuda_device_check(location->id);
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        *out = CU_DEVICE_CPU;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUmemLocation location_of(CUdevice device) {
    return (CUmemLocation){device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST
                                                   : CU_MEM_LOCATION_TYPE_DEVICE,
                           device == CU_DEVICE_CPU ? 0 : device};
}

/* The managed allocation that has all of the range; the lock is held. */
static struct ff__cuda_allocation *find_managed(CUdeviceptr address, size_t size) {
    struct ff__cuda_allocation *found = ff__cuda_find(address);
    if (found == NULL || found->memory != FF_CUDA_MANAGED || size == 0 ||
        size > found->size - (address - found->address))
        return NULL;
    return found;
}

/* ---- advice: kept to be asked for; where kernels will use memory is a hint ---- */

static CUresult keep_advice(struct ff__cuda_allocation *of, CUmem_advise advice, int where) {
    uint32_t bit = where < 0 ? 1u << 31 : 1u << where;
    switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        of->read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
        return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        of->preferred = where;
        return CUDA_SUCCESS;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        of->preferred = CU_DEVICE_INVALID;
        return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
        of->accessed_by |= bit;
        return CUDA_SUCCESS;
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
        of->accessed_by &= ~bit;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static bool needs_location(CUmem_advise advice) {
    return advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
           advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t size, CUmem_advise advice,
                        CUmemLocation location) {
    CUcontext context;
    int where = CU_DEVICE_CPU;
    CUresult result = ff__cuda_enter(&context);
    if (result == CUDA_SUCCESS && needs_location(advice))
        result = read_location(&location, &where);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    struct ff__cuda_allocation *found = find_managed(address, size);
    result = found == NULL ? CUDA_ERROR_INVALID_VALUE : keep_advice(found, advice, where);
    ff__lock_release(&ff__cuda_lock);
    if (result == CUDA_SUCCESS && advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION && where >= 0)
        ff_mem_hint(ff__cuda_farfault(), pointer(address), size, FF_HINT_HOME, (uint32_t)where);
    return result;
}

CUresult cuMemAdvise(CUdeviceptr address, size_t size, CUmem_advise advice, CUdevice device) {
    return cuMemAdvise_v2(address, size, advice, location_of(device));
}

/* ---- prefetching and discarding, in the order of a stream ---- */

struct memory_order {
    void *address;
    size_t size;
    int where; /* of a prefetch; CU_DEVICE_INVALID: none */
    bool discards;
};

/* A worker need not wait for it. */
static void carry_out(CUstream stream, void *user) {
    struct memory_order *order = user;
    struct ff_context *context = ff__cuda_farfault();
    (void)stream;
    if (order->discards)
        ff_mem_hint(context, order->address, order->size, FF_HINT_DISCARD, 0);
    if (order->where >= 0)
        ff_mem_prefetch(context, order->address, order->size, (uint32_t)order->where);
    else if (order->where == CU_DEVICE_CPU)
        ff_mem_hint(context, order->address, order->size, FF_HINT_EVICT, 0);
    free(order);
}

static CUresult check_order(CUdeviceptr address, size_t size, int where) {
    ff__lock_acquire(&ff__cuda_lock);
    struct ff__cuda_allocation *found = find_managed(address, size);
    if (found != NULL && where != CU_DEVICE_INVALID)
        found->prefetched = where;
    ff__lock_release(&ff__cuda_lock);
    return found == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult give_order(CUdeviceptr address, size_t size, int where, bool discards,
                           CUstream stream) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result == CUDA_SUCCESS)
        result = check_order(address, size, where);
    if (result != CUDA_SUCCESS || ff__cuda_is_passive())
        return result;
    struct memory_order *order = malloc(sizeof *order);
    if (order == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *order = (struct memory_order){pointer(address), size, where, discards};
    struct ff__cuda_command command = {.kind = FF_CUDA_CALL,
                                       .call = {.call = carry_out, .user = order}};
    result = ff__cuda_enqueue(stream, &command);
    if (result != CUDA_SUCCESS)
        free(order);
    return result;
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t size, CUmemLocation location,
                               unsigned flags, CUstream stream) {
    int where;
    CUresult result = ff__cuda_started();
    if (result == CUDA_SUCCESS)
        result = flags != 0 ? CUDA_ERROR_INVALID_VALUE : read_location(&location, &where);
    return result == CUDA_SUCCESS ? give_order(address, size, where, false, stream) : result;
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t size, CUdevice device, CUstream stream) {
    return cuMemPrefetchAsync_v2(address, size, location_of(device), 0, stream);
}

struct order_batch {
    const CUdeviceptr *addresses;
    const size_t *sizes;
    size_t count;
    const CUmemLocation *locations; /* of prefetches; NULL: none */
    const size_t *indices;          /* at which each location begins */
    size_t location_count;
};

static CUresult check_batch(const struct order_batch *batch, unsigned long long flags,
                            CUstream stream) {
    if (batch->addresses == NULL || batch->sizes == NULL || batch->count == 0 || flags != 0 ||
        stream == NULL || stream == CU_STREAM_LEGACY)
        return CUDA_ERROR_INVALID_VALUE;
    if (batch->locations == NULL)
        return CUDA_SUCCESS;
    if (batch->indices == NULL || batch->location_count == 0 ||
        batch->location_count > batch->count || batch->indices[0] != 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 1; i < batch->location_count; i++)
        if (batch->indices[i] <= batch->indices[i - 1] || batch->indices[i] >= batch->count)
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult give_orders(const struct order_batch *batch, bool discards,
                            unsigned long long flags, CUstream stream) {
    CUresult result = check_batch(batch, flags, stream);
    size_t location = 0;
    for (size_t i = 0; i < batch->count && result == CUDA_SUCCESS; i++) {
        int where = CU_DEVICE_INVALID;
        while (location + 1 < batch->location_count && batch->indices[location + 1] <= i)
            location++;
        if (batch->locations != NULL)
            result = read_location(&batch->locations[location], &where);
        if (result == CUDA_SUCCESS)
            result = give_order(batch->addresses[i], batch->sizes[i], where, discards, stream);
    }
    return result;
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t count,
                                 CUmemLocation *locations, size_t *indices, size_t location_count,
                                 unsigned long long flags, CUstream stream) {
    const struct order_batch batch = {addresses, sizes, count, locations, indices, location_count};
    return locations == NULL ? CUDA_ERROR_INVALID_VALUE : give_orders(&batch, false, flags, stream);
}

CUresult cuMemDiscardBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t count,
                                unsigned long long flags, CUstream stream) {
    const struct order_batch batch = {addresses, sizes, count, NULL, NULL, 0};
    return give_orders(&batch, true, flags, stream);
}

CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t count,
                                           CUmemLocation *locations, size_t *indices,
                                           size_t location_count, unsigned long long flags,
                                           CUstream stream) {
    const struct order_batch batch = {addresses, sizes, count, locations, indices, location_count};
    return locations == NULL ? CUDA_ERROR_INVALID_VALUE : give_orders(&batch, true, flags, stream);
}

/* ---- attributes of ranges ---- */

static int type_of(int where) {
    return where == CU_DEVICE_INVALID ? CU_MEM_LOCATION_TYPE_INVALID
           : where == CU_DEVICE_CPU   ? CU_MEM_LOCATION_TYPE_HOST
                                      : CU_MEM_LOCATION_TYPE_DEVICE;
}

/* As many devices as fit; the rest of the places say that there is none. */
static void list_devices(uint32_t bits, int *out, size_t count) {
    size_t used = 0;
    for (int i = 0; i < 31 && used < count; i++)
        if (bits >> i & 1)
            out[used++] = i;
    if (bits >> 31 && used < count)
        out[used++] = CU_DEVICE_CPU;
    while (used < count)
        out[used++] = CU_DEVICE_INVALID;
}

static CUresult range_attribute(const struct ff__cuda_allocation *of, void *data, size_t size,
                                CUmem_range_attribute attribute) {
    int *value = data;
    if (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY && size >= sizeof(int) &&
        size % sizeof(int) == 0) {
        list_devices(of->accessed_by, value, size / sizeof(int));
        return CUDA_SUCCESS;
    }
    if (size != sizeof(int))
        return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        *value = of->read_mostly;
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
        *value = of->preferred;
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        *value = of->prefetched;
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
        *value = type_of(of->preferred);
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
        *value = of->preferred < 0 ? 0 : of->preferred;
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
        *value = type_of(of->prefetched);
        return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
        *value = of->prefetched < 0 ? 0 : of->prefetched;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuMemRangeGetAttribute(void *data, size_t size, CUmem_range_attribute attribute,
                                CUdeviceptr address, size_t count) {
    CUcontext context;
    CUresult result = ff__cuda_enter_with(data, &context);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    const struct ff__cuda_allocation *found = find_managed(address, count);
    result =
        found == NULL ? CUDA_ERROR_INVALID_VALUE : range_attribute(found, data, size, attribute);
    ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuMemRangeGetAttributes(void **data, size_t *sizes, CUmem_range_attribute *attributes,
                                 size_t count, CUdeviceptr address, size_t size) {
    CUresult result = CUDA_SUCCESS;
    if (data == NULL || sizes == NULL || attributes == NULL || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = cuMemRangeGetAttribute(data[i], sizes[i], attributes[i], address, size);
    return result;
}

/* ---- attributes of pointers ---- */

/* Of an address that nothing is known of: what is asked has no answer. */
static const struct ff__cuda_allocation nothing;

static CUresult pointer_attribute(const struct ff__cuda_allocation *of, void *data,
                                  CUpointer_attribute attribute, CUdeviceptr address) {
    bool is_known = of != &nothing;
    bool is_device = is_known && (of->memory == FF_CUDA_PLAIN || of->memory == FF_CUDA_MANAGED);
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data = of->context;
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data = is_device ? CU_MEMORYTYPE_DEVICE : is_known ? CU_MEMORYTYPE_HOST : 0;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = is_known ? address : 0;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (is_known && of->memory == FF_CUDA_PLAIN)
            return CUDA_ERROR_INVALID_VALUE;
        *(void **)data = is_known ? pointer(address) : NULL;
        break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        *(unsigned char *)data = 0;
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)data = of->id;
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned char *)data = is_known && of->memory == FF_CUDA_MANAGED;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = is_known ? of->context->device : CU_DEVICE_INVALID;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(CUdeviceptr *)data = of->address;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *(size_t *)data = of->size;
        break;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned char *)data = is_known;
        break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)data = 0;
        break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(unsigned *)data = is_known ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : 0;
        break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(CUmemoryPool *)data = of->pool;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return is_known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address) {
    CUresult result = ff__cuda_started_with(data);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    const struct ff__cuda_allocation *found = ff__cuda_find(address);
    result = pointer_attribute(found != NULL ? found : &nothing, data, attribute, address);
    ff__lock_release(&ff__cuda_lock);
    return result;
}

/* This form has no error for an address that is not known: attributes are then 0. */
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data,
                                CUdeviceptr address) {
    CUresult result = ff__cuda_started();
    if (attributes == NULL || data == NULL || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++) {
        if ((unsigned)attributes[i] > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE)
            return CUDA_ERROR_INVALID_VALUE;
        cuPointerGetAttribute(data[i], attributes[i], address);
    }
    return result;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                               CUdeviceptr address) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (value == NULL || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return CUDA_ERROR_INVALID_VALUE;
    ff__lock_acquire(&ff__cuda_lock);
    const struct ff__cuda_allocation *found = ff__cuda_find(address);
    ff__lock_release(&ff__cuda_lock);
    return found == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* ---- between processes: refused, as for managed memory on a real device ---- */

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address) {
    CUresult result = ff__cuda_started();
    (void)address;
    if (handle == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : result;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned flags) {
    CUresult result = ff__cuda_started();
    (void)handle, (void)flags;
    if (address == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : result;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
    CUresult result = ff__cuda_started();
    (void)address;
    return result == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : result;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event) {
    CUresult result = ff__cuda_started();
    if (handle == NULL || event == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : result;
}

CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle) {
    CUresult result = ff__cuda_started();
    (void)handle;
    if (event == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return result == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : result;
}
