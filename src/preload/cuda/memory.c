/* Device memory that becomes managed, so that a program may have more of it than the device. */
#include "preload/cuda/internal.h"

#include "cuda/driver/native.h"

#include <stdlib.h>
#include <string.h>

/* FARFAULT_CUDA_ALLOC: what an allocation of device memory becomes. */
static enum {
    MANAGED, /* always managed: the default */
    SPILL,   /* plain as long as a quarter of the device is left for what is managed */
    PLAIN    /* what it is: nothing is substituted */
} how;
static pthread_once_t configured = PTHREAD_ONCE_INIT;

/* Allocations by address, sorted, so that addresses inside are found. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct substitute {
    CUdeviceptr address;
    size_t size;
    bool is_lent;   /* to a graph */
    bool is_unused; /* the program has freed it since */
} * table;
static size_t count, room, bytes, most_bytes;

static void configure(void) {
    const char *mode = getenv("FARFAULT_MODE"), *text = getenv("FARFAULT_CUDA_ALLOC");
    how = mode && strcmp(mode, "passive") == 0    ? PLAIN
          : !text || strcmp(text, "managed") == 0 ? MANAGED
          : strcmp(text, "spill") == 0            ? SPILL
          : strcmp(text, "plain") == 0            ? PLAIN
                                                  : MANAGED;
}

/* A device without concurrent access (before Pascal, in Windows' subsystem for Linux, on some
 * virtual GPUs) moves all managed memory to itself at each launch, and the host may touch none of
 * it meanwhile. */
bool ff__cuda_substitutes_on(CUdevice device) {
    int concurrent = 1;
    pthread_once(&configured, configure);
    if (how == PLAIN || !REAL(cuMemAllocManaged))
        return false;
    __typeof__(cuDeviceGetAttribute) *get = REAL(cuDeviceGetAttribute);
    if (get)
        get(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device);
    return concurrent;
}

/* Without a context the real call says so. */
bool ff__cuda_substitutes(void) {
    CUdevice device = 0;
    bool is_known = REAL(cuCtxGetDevice) && REAL(cuCtxGetDevice)(&device) == CUDA_SUCCESS;
    return is_known && ff__cuda_substitutes_on(device);
}

/* ---- the table; the lock is held ---- */

static size_t place_behind(CUdeviceptr address) {
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

static struct substitute *find(CUdeviceptr address) {
    size_t place = place_behind(address);
    if (place == 0 || address - table[place - 1].address >= table[place - 1].size)
        return NULL;
    return &table[place - 1];
}

static bool insert(CUdeviceptr address, size_t size) {
    if (count == room) {
        size_t more = room ? 2 * room : 64;
        struct substitute *grown = realloc(table, more * sizeof *grown);
        if (!grown)
            return false;
        table = grown;
        room = more;
    }
    size_t place = place_behind(address);
    memmove(&table[place + 1], &table[place], (count - place) * sizeof *table);
    table[place] = (struct substitute){.address = address, .size = size};
    count++;
    bytes += size;
    if (bytes > most_bytes)
        most_bytes = bytes;
    return true;
}

static bool take(CUdeviceptr address) {
    struct substitute *at = find(address);
    if (!at || at->address != address)
        return false;
    bytes -= at->size;
    memmove(at, at + 1, (size_t)(table + count - at - 1) * sizeof *at);
    count--;
    return true;
}

bool ff__cuda_is_substituted(CUdeviceptr address) {
    pthread_mutex_lock(&lock);
    bool is_one = find(address) != NULL;
    pthread_mutex_unlock(&lock);
    return is_one;
}

size_t ff__cuda_substituted_bytes(void) {
    return __atomic_load_n(&bytes, __ATOMIC_RELAXED);
}

size_t ff__cuda_most_substituted_bytes(void) {
    return __atomic_load_n(&most_bytes, __ATOMIC_RELAXED);
}

/* ---- allocating ---- */

static bool stays_plain(size_t size) {
    size_t left, total;
    if (how != SPILL || REAL(cuMemGetInfo_v2)(&left, &total) != CUDA_SUCCESS)
        return false;
    return size <= left && left - size >= total / 4;
}

bool ff__cuda_would_substitute(size_t size) {
    return ff__cuda_substitutes() && !stays_plain(size);
}

/* farfault's driver has managed memory that is as device memory is: not for system calls. */
static CUresult allocate_of_driver(CUdeviceptr *address, size_t size) {
    static const CUuuid name = FF_CUDA_NATIVE_TABLE;
    const void *found = NULL;
    if (!REAL(cuGetExportTable) || REAL(cuGetExportTable)(&found, &name) != CUDA_SUCCESS || !found)
        return REAL(cuMemAllocManaged)(address, size, CU_MEM_ATTACH_GLOBAL);
    return ((const struct ff__cuda_native_table *)found)->allocate(address, size);
}

CUresult ff__cuda_allocate_managed(CUdeviceptr *address, size_t size) {
    CUresult result = allocate_of_driver(address, size);
    if (result != CUDA_SUCCESS)
        return result;
    pthread_mutex_lock(&lock);
    insert(*address, size); /* without memory for it: it says of itself that it is managed */
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

FF_HOOKED CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
    bool can_substitute = address && ff__cuda_substitutes();
    bool is_plain = !can_substitute || stays_plain(size);
    CUresult result = is_plain ? REAL(cuMemAlloc_v2)(address, size) : CUDA_ERROR_OUT_OF_MEMORY;
    return can_substitute && result == CUDA_ERROR_OUT_OF_MEMORY
               ? ff__cuda_allocate_managed(address, size)
               : result;
}

/* Rows begin at multiples of 512 bytes, as the driver has them. */
FF_HOOKED CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width,
                                      size_t height, unsigned element) {
    size_t row = (width + 511) / 512 * 512;
    bool is_wrong = !address || !pitch || width == 0 || height == 0 || row < width ||
                    height > SIZE_MAX / row || (element != 4 && element != 8 && element != 16);
    if (!ff__cuda_substitutes() || is_wrong)
        return REAL(cuMemAllocPitch_v2)(address, pitch, width, height, element);
    CUresult result = cuMemAlloc_v2(address, row * height);
    if (result == CUDA_SUCCESS)
        *pitch = row;
    return result;
}

/* Memory that a graph has stays. False: no graph has it. */
static bool free_lent(CUdeviceptr address) {
    pthread_mutex_lock(&lock);
    struct substitute *at = find(address);
    bool is_lent = at && at->address == address && at->is_lent;
    if (is_lent)
        at->is_unused = true;
    pthread_mutex_unlock(&lock);
    return is_lent;
}

FF_HOOKED CUresult cuMemFree_v2(CUdeviceptr address) {
    if (free_lent(address))
        return CUDA_SUCCESS;
    CUresult result = REAL(cuMemFree_v2)(address);
    if (result != CUDA_SUCCESS)
        return result;
    pthread_mutex_lock(&lock);
    take(address);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

/* ---- in the order of a stream: managed memory is there at once, and is freed once an event says
 * that the stream has come so far ---- */

static struct pending {
    struct pending *next;
    CUdeviceptr address;
    CUevent event; /* NULL: nothing is to be waited for */
} * pending;

static void free_pending(void) {
    pthread_mutex_lock(&lock);
    struct pending *list = pending, *done = NULL, *next;
    pending = NULL;
    for (; list; list = next) {
        next = list->next;
        bool waits = list->event && REAL(cuEventQuery)(list->event) == CUDA_ERROR_NOT_READY;
        struct pending **to = waits ? &pending : &done;
        list->next = *to;
        *to = list;
    }
    pthread_mutex_unlock(&lock);
    for (; done; done = next) {
        next = done->next;
        if (done->event)
            REAL(cuEventDestroy_v2)(done->event);
        cuMemFree_v2(done->address);
        free(done);
    }
}

static void add_pending(struct pending *item) {
    item->next = pending;
    pending = item;
}

void ff__cuda_lend(CUdeviceptr address) {
    pthread_mutex_lock(&lock);
    struct substitute *at = find(address);
    if (at)
        at->is_lent = true;
    pthread_mutex_unlock(&lock);
}

/* Within a call of the driver's, which calls none of it: the next allocation frees it. */
void ff__cuda_take_back(CUdeviceptr address) {
    struct pending *item = malloc(sizeof *item);
    pthread_mutex_lock(&lock);
    struct substitute *at = find(address);
    if (at)
        at->is_lent = false;
    if (at && at->is_unused && item) {
        *item = (struct pending){.address = address};
        add_pending(item);
        item = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(item);
}

static CUresult free_later(CUdeviceptr address, CUstream stream) {
    if (free_lent(address))
        return CUDA_SUCCESS;
    if (ff__cuda_captured_graph(stream)) /* only what a graph has allocated */
        return CUDA_ERROR_INVALID_VALUE;
    struct pending *item = malloc(sizeof *item);
    if (!item)
        return CUDA_ERROR_OUT_OF_MEMORY;
    item->address = address;
    CUresult result = REAL(cuEventCreate)(&item->event, CU_EVENT_DISABLE_TIMING);
    if (result == CUDA_SUCCESS) {
        result = REAL(cuEventRecord)(item->event, stream);
        if (result != CUDA_SUCCESS)
            REAL(cuEventDestroy_v2)(item->event);
    }
    if (result != CUDA_SUCCESS) {
        free(item);
        return result;
    }
    pthread_mutex_lock(&lock);
    add_pending(item);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

static CUresult allocate_async(CUdeviceptr *address, size_t size, CUstream stream) {
    CUgraph graph = ff__cuda_captured_graph(stream);
    if (graph)
        return ff__cuda_allocate_for(graph, address, size);
    free_pending();
    return ff__cuda_allocate_managed(address, size);
}

static CUstream own(CUstream stream) {
    return stream ? stream : CU_STREAM_PER_THREAD;
}

#define SUBSTITUTES(address, size) ((address) && ff__cuda_would_substitute(size))

FF_HOOKED CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream) {
    return SUBSTITUTES(address, size) ? allocate_async(address, size, stream)
                                      : REAL(cuMemAllocAsync)(address, size, stream);
}

FF_HOOKED CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t size, CUstream stream) {
    return SUBSTITUTES(address, size) ? allocate_async(address, size, own(stream))
                                      : REAL(cuMemAllocAsync_ptsz)(address, size, stream);
}

#define SUBSTITUTES_FROM(pool, address, size)                                                      \
    (!ff__cuda_pool_is_managed(pool) && SUBSTITUTES(address, size))

FF_HOOKED CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t size, CUmemoryPool pool,
                                           CUstream stream) {
    return SUBSTITUTES_FROM(pool, address, size)
               ? allocate_async(address, size, stream)
               : REAL(cuMemAllocFromPoolAsync)(address, size, pool, stream);
}

FF_HOOKED CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *address, size_t size,
                                                CUmemoryPool pool, CUstream stream) {
    return SUBSTITUTES_FROM(pool, address, size)
               ? allocate_async(address, size, own(stream))
               : REAL(cuMemAllocFromPoolAsync_ptsz)(address, size, pool, stream);
}

FF_HOOKED CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    return ff__cuda_is_substituted(address) ? free_later(address, stream)
                                            : REAL(cuMemFreeAsync)(address, stream);
}

FF_HOOKED CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
    return ff__cuda_is_substituted(address) ? free_later(address, own(stream))
                                            : REAL(cuMemFreeAsync_ptsz)(address, stream);
}
