/* Allocations: plain device memory, managed memory, and memory of the host that a program has made
 * known. */
#include "cuda/driver/internal.h"

#include "preload/preload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define UNIT ((uint64_t)2 << 20) /* in which a device's memory is given out */
/* What is left for managed memory, whatever a program allocates */
#define LEAST UNIT

/* By address; guarded by the lock. */
static struct ff__cuda_allocation *table;
static size_t count, room;

/* ---- the table ---- */

/* The number of allocations at lower addresses, or at this one. */
static size_t place_behind(uintptr_t address) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct ff__cuda_allocation *ff__cuda_find(CUdeviceptr address) {
    size_t place = place_behind(address);
    if (place == 0 || address - table[place - 1].address >= table[place - 1].size)
        return NULL;
    return &table[place - 1];
}

static bool is_mapped(uintptr_t address) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char resident;
    void *at = (void *)(address / page * page); // NOLINT(performance-no-int-to-ptr)
    return mincore(at, 1, &resident) == 0;
}

/* Of memory that the driver does not know, such as variables of modules, both ends are looked at.
 */
bool ff__cuda_is_beyond(CUdeviceptr address, size_t size) {
    ff__lock_acquire(&ff__cuda_lock);
    const struct ff__cuda_allocation *found = ff__cuda_find(address);
    bool is_known = found != NULL && found->memory != FF_CUDA_REGISTERED;
    bool is_beyond = is_known && size > found->size - (address - found->address);
    ff__lock_release(&ff__cuda_lock);
    return is_known || size == 0 ? is_beyond
                                 : !is_mapped(address) || !is_mapped(address + size - 1);
}

static CUresult make_room(void) {
    if (count < room)
        return CUDA_SUCCESS;
    size_t more = room != 0 ? 2 * room : 64;
    struct ff__cuda_allocation *grown = realloc(table, more * sizeof *grown);
    if (grown == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    table = grown;
    room = more;
    return CUDA_SUCCESS;
}

static CUresult insert(const struct ff__cuda_allocation *allocation) {
    static uint64_t made;
    CUresult result = make_room();
    if (result != CUDA_SUCCESS)
        return result;
    size_t place = place_behind(allocation->address);
    memmove(&table[place + 1], &table[place], (count - place) * sizeof *table);
    table[place] = *allocation;
    table[place].id = ++made;
    count++;
    return CUDA_SUCCESS;
}

static struct ff__cuda_allocation take(struct ff__cuda_allocation *at) {
    struct ff__cuda_allocation taken = *at;
    if (taken.pool != NULL)
        ff__cuda_pool_count(taken.pool, -(int64_t)taken.size);
    size_t place = (size_t)(at - table);
    memmove(at, at + 1, (count - place - 1) * sizeof *table);
    count--;
    return taken;
}

/* ---- plain memory, which counts against the device's ---- */

static size_t page_rounded(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

static void *map(size_t size) {
    if (size > SIZE_MAX / 2)
        return NULL;
    void *memory = mmap(NULL, page_rounded(size), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Bytes that managed memory may have beside them; small allocations share units. */
static void limit_managed(CUdevice device) {
    uint64_t plain = (ff__cuda_devices[device].plain + UNIT - 1) / UNIT * UNIT;
    if (!ff__cuda_is_passive())
        ff_memory_limit(ff__cuda_farfault(), (uint32_t)device, ff__cuda_device_memory() - plain);
}

/* A passive run has as much as it wants. */
static bool reserve(CUdevice device, size_t size) {
    struct ff__cuda_device *of = &ff__cuda_devices[device];
    if (!ff__cuda_is_passive() && (size > ff__cuda_device_memory() - LEAST ||
                                   of->plain > ff__cuda_device_memory() - LEAST - size))
        return false;
    of->plain += size;
    limit_managed(device);
    return true;
}

static void unreserve(CUdevice device, size_t size) {
    ff__cuda_devices[device].plain -= size;
    limit_managed(device);
}

static CUresult allocate_plain(CUdevice device, size_t size, void **out) {
    if (size > SIZE_MAX / 2 || !reserve(device, page_rounded(size)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = map(size);
    if (*out == NULL)
        unreserve(device, page_rounded(size));
    return *out == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* ---- allocating and freeing ---- */

/* The lock is free: this may take long. */
static CUresult allocate_managed(size_t size, bool for_kernels, void **out) {
    struct ff_context *context = ff__cuda_farfault();
    int status = for_kernels ? ff_mem_alloc_for_kernels(context, size, out)
                             : ff_mem_alloc(context, size, out);
    if (status != 0)
        ff__no_memory(size, status);
    else
        ff__note_managed(*out, size);
    ff__mark_managed();
    return ff__cuda_result(status, NULL);
}

/* What is managed in a run with management is plain, without a limit, in one without. */
static bool is_managed(enum ff__cuda_memory memory) {
    return (memory == FF_CUDA_MANAGED || memory == FF_CUDA_KERNELS) && !ff__cuda_is_passive();
}

/* Memory for kernels needs the program's calls about signals. */
static CUresult allocate(CUcontext context, size_t size, enum ff__cuda_memory memory, void **out) {
    if (is_managed(memory))
        return allocate_managed(size, memory == FF_CUDA_KERNELS && farfault_sigbus_opens, out);
    if (memory == FF_CUDA_PLAIN) {
        ff__lock_acquire(&ff__cuda_lock);
        CUresult result = allocate_plain(context->device, size, out);
        ff__lock_release(&ff__cuda_lock);
        return result;
    }
    *out = map(size);
    return *out == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static void release(const struct ff__cuda_allocation *allocation) {
    void *address = (void *)allocation->address; // NOLINT(performance-no-int-to-ptr)
    if (is_managed(allocation->memory))
        ff_mem_free(ff__cuda_farfault(), address);
    else if (allocation->memory != FF_CUDA_REGISTERED)
        munmap(address, page_rounded(allocation->size));
    if (allocation->memory == FF_CUDA_PLAIN) {
        ff__lock_acquire(&ff__cuda_lock);
        unreserve(allocation->context->device, page_rounded(allocation->size));
        ff__lock_release(&ff__cuda_lock);
    }
    if (allocation->memory == FF_CUDA_PLAIN || allocation->memory == FF_CUDA_MANAGED)
        ff__footprint_remove(allocation->size);
}

CUresult ff__cuda_alloc(CUcontext context, size_t size, enum ff__cuda_memory memory, unsigned flags,
                        CUdeviceptr *out) {
    void *address;
    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = allocate(context, size, memory, &address);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) { /* streams may have some to free */
        result = ff__cuda_context_wait(context);
        if (result == CUDA_SUCCESS)
            result = allocate(context, size, memory, &address);
    }
    if (result != CUDA_SUCCESS)
        return result;
    if (memory == FF_CUDA_KERNELS)
        memory = FF_CUDA_MANAGED;
    const struct ff__cuda_allocation made = {.address = (uintptr_t)address,
                                             .size = size,
                                             .memory = memory,
                                             .flags = flags,
                                             .context = context,
                                             .preferred = CU_DEVICE_INVALID,
                                             .prefetched = CU_DEVICE_INVALID};
    ff__lock_acquire(&ff__cuda_lock);
    result = insert(&made);
    ff__lock_release(&ff__cuda_lock);
    if (memory == FF_CUDA_PLAIN || memory == FF_CUDA_MANAGED)
        ff__footprint_add(size);
    if (result != CUDA_SUCCESS)
        release(&made);
    *out = (uintptr_t)address;
    return result;
}

/* Takes out the allocation that begins there, if it is of one of two kinds. */
static bool take_at(CUdeviceptr address, enum ff__cuda_memory one, enum ff__cuda_memory other,
                    struct ff__cuda_allocation *out) {
    ff__lock_acquire(&ff__cuda_lock);
    struct ff__cuda_allocation *found = ff__cuda_find(address);
    bool is_one = found != NULL && found->address == address &&
                  (found->memory == one || found->memory == other);
    if (is_one)
        *out = take(found);
    ff__lock_release(&ff__cuda_lock);
    return is_one;
}

/* The one that begins there is a graph's, which keeps it. */
static bool free_of_graph(CUdeviceptr address, CUresult *result) {
    ff__lock_acquire(&ff__cuda_lock);
    struct ff__cuda_allocation *found = ff__cuda_find(address);
    bool is_one = found != NULL && found->address == address && found->graph != NULL;
    if (is_one)
        *result =
            ff__cuda_graph_memory_free(found->graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    ff__lock_release(&ff__cuda_lock);
    return is_one;
}

CUresult ff__cuda_free(CUdeviceptr address) {
    struct ff__cuda_allocation taken;
    CUresult result;
    if (free_of_graph(address, &result))
        return result;
    if (!take_at(address, FF_CUDA_PLAIN, FF_CUDA_MANAGED, &taken))
        return CUDA_ERROR_INVALID_VALUE;
    release(&taken);
    return CUDA_SUCCESS;
}

void ff__cuda_free_all(CUcontext context) {
    for (;;) {
        struct ff__cuda_allocation taken;
        ff__lock_acquire(&ff__cuda_lock);
        size_t i = count;
        while (i > 0 && table[i - 1].context != context)
            i--;
        if (i > 0)
            taken = take(&table[i - 1]);
        ff__lock_release(&ff__cuda_lock);
        if (i == 0)
            return;
        release(&taken);
    }
}

void ff__cuda_pool_forget(CUmemoryPool pool) {
    for (size_t i = 0; i < count; i++)
        if (table[i].pool == pool)
            table[i].pool = NULL;
}

/* ---- the API: device memory ---- */

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
    CUcontext context;
    if (address == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = ff__cuda_enter_unsafe(&context);
    return result == CUDA_SUCCESS ? ff__cuda_alloc(context, size, FF_CUDA_PLAIN, 0, address)
                                  : result;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                            unsigned element) {
    if (address == NULL || pitch == NULL || width == 0 || height == 0 ||
        (element != 4 && element != 8 && element != 16) || width > SIZE_MAX / 2)
        return CUDA_ERROR_INVALID_VALUE;
    size_t row = (width + 511) / 512 * 512;
    if (height > SIZE_MAX / 2 / row)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = cuMemAlloc_v2(address, row * height);
    if (result == CUDA_SUCCESS)
        *pitch = row;
    return result;
}

static CUresult alloc_managed(CUdeviceptr *address, size_t size, enum ff__cuda_memory memory,
                              unsigned flags) {
    CUcontext context;
    if (address == NULL || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = ff__cuda_enter_unsafe(&context);
    return result == CUDA_SUCCESS ? ff__cuda_alloc(context, size, memory, flags, address) : result;
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned flags) {
    return alloc_managed(address, size, FF_CUDA_MANAGED, flags);
}

CUresult ff__cuda_alloc_for_kernels(CUdeviceptr *address, size_t size) {
    return alloc_managed(address, size, FF_CUDA_KERNELS, CU_MEM_ATTACH_GLOBAL);
}

/* A kernel may still use it: as on a device, the call waits for all work. */
CUresult cuMemFree_v2(CUdeviceptr address) {
    CUcontext context;
    CUresult result = ff__cuda_enter_unsafe(&context);
    if (result != CUDA_SUCCESS || address == 0)
        return result;
    result = ff__cuda_context_wait(context);
    return result == CUDA_SUCCESS ? ff__cuda_free(address) : result;
}

CUresult cuMemGetInfo_v2(size_t *left, size_t *total) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (left == NULL || total == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t memory = ff__cuda_device_memory();
    ff__lock_acquire(&ff__cuda_lock);
    uint64_t plain = ff__cuda_devices[context->device].plain;
    ff__lock_release(&ff__cuda_lock);
    *total = memory;
    *left = plain + LEAST < memory ? memory - LEAST - plain : 0;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    ff__lock_acquire(&ff__cuda_lock);
    const struct ff__cuda_allocation *found = ff__cuda_find(address);
    if (found == NULL)
        result = CUDA_ERROR_NOT_FOUND;
    if (found != NULL && base != NULL)
        *base = found->address;
    if (found != NULL && size != NULL)
        *size = found->size;
    ff__lock_release(&ff__cuda_lock);
    return result;
}

/* ---- the API: memory of the host ---- */

CUresult cuMemHostAlloc(void **out, size_t size, unsigned flags) {
    CUcontext context;
    CUdeviceptr address;
    unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (out == NULL || (flags & ~known) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = ff__cuda_enter_unsafe(&context);
    if (result == CUDA_SUCCESS)
        result = ff__cuda_alloc(context, size, FF_CUDA_HOST, flags, &address);
    if (result == CUDA_SUCCESS)
        *out = (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
    return result;
}

CUresult cuMemAllocHost_v2(void **out, size_t size) {
    return cuMemHostAlloc(out, size, 0);
}

CUresult cuMemFreeHost(void *memory) {
    CUcontext context;
    struct ff__cuda_allocation taken;
    CUresult result = ff__cuda_enter_unsafe(&context);
    if (result != CUDA_SUCCESS || memory == NULL)
        return result;
    result = ff__cuda_context_wait(context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!take_at((uintptr_t)memory, FF_CUDA_HOST, FF_CUDA_HOST, &taken))
        return CUDA_ERROR_INVALID_VALUE;
    release(&taken);
    return CUDA_SUCCESS;
}

/* Whether any allocation that is known has a byte in the range. The lock is held. */
static bool overlaps(uintptr_t address, size_t size) {
    size_t place = place_behind(address);
    return ff__cuda_find(address) != NULL ||
           (place < count && table[place].address - address < size);
}

CUresult cuMemHostRegister_v2(void *memory, size_t size, unsigned flags) {
    CUcontext context;
    unsigned known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                     CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (memory == NULL || size == 0 || (flags & ~known) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    const struct ff__cuda_allocation made = {.address = (uintptr_t)memory,
                                             .size = size,
                                             .memory = FF_CUDA_REGISTERED,
                                             .flags = flags,
                                             .context = context};
    ff__lock_acquire(&ff__cuda_lock);
    result =
        overlaps(made.address, size) ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : insert(&made);
    ff__lock_release(&ff__cuda_lock);
    return result;
}

CUresult cuMemHostUnregister(void *memory) {
    CUcontext context;
    struct ff__cuda_allocation taken;
    CUresult result = ff__cuda_enter_with(memory, &context);
    if (result != CUDA_SUCCESS)
        return result;
    return take_at((uintptr_t)memory, FF_CUDA_REGISTERED, FF_CUDA_REGISTERED, &taken)
               ? CUDA_SUCCESS
               : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

/* The flags of memory of the host; the lock is held. */
static CUresult host_flags(const void *memory, unsigned *flags) {
    const struct ff__cuda_allocation *found = ff__cuda_find((uintptr_t)memory);
    if (found == NULL || found->memory == FF_CUDA_PLAIN)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = found->flags;
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *memory, unsigned flags) {
    CUcontext context;
    unsigned unwanted;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (address == NULL || memory == NULL || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    ff__lock_acquire(&ff__cuda_lock);
    result = host_flags(memory, &unwanted);
    ff__lock_release(&ff__cuda_lock);
    if (result == CUDA_SUCCESS)
        *address = (uintptr_t)memory;
    return result;
}

CUresult cuMemHostGetFlags(unsigned *flags, void *memory) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (flags == NULL || memory == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    ff__lock_acquire(&ff__cuda_lock);
    result = host_flags(memory, flags);
    ff__lock_release(&ff__cuda_lock);
    return result;
}
