/* Memory of every kind: device, managed, of the host, from pools; and what is said of addresses. */
#include "cuda/driver.h"

#define MIB     ((size_t)1 << 20)
#define NOWHERE ((CUdeviceptr)4096)

static CUdeviceptr managed(size_t size) {
    CUdeviceptr address;
    OK(cuMemAllocManaged(&address, size, CU_MEM_ATTACH_GLOBAL));
    return address;
}

static size_t left(void) {
    size_t free_bytes, total;
    OK(cuMemGetInfo_v2(&free_bytes, &total));
    assert_int_equal(total, 8 * MIB);
    return free_bytes;
}

/* ---- device memory ---- */

static void the_device_has_as_much_as_it_has(void **state) {
    CUdeviceptr blocks[16];
    size_t count = 0, before = left(), total;
    (void)state;
    while (count < 16 && cuMemAlloc_v2(&blocks[count], MIB) == CUDA_SUCCESS)
        count++;
    assert_int_equal(count, 6); /* a part is left for managed memory */
    GIVES(ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&blocks[15], MIB));
    assert_int_equal(left(), before - 6 * MIB);
    for (size_t i = 0; i < count; i++)
        OK(cuMemFree_v2(blocks[i]));
    assert_int_equal(left(), before);
    GIVES(ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&blocks[0], 9 * MIB));
    GIVES(ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&blocks[0], SIZE_MAX - 100));
    REFUSED(cuMemAlloc_v2(&blocks[0], 0));
    REFUSED(cuMemAlloc_v2(NULL, 1));
    REFUSED(cuMemFree_v2(NOWHERE));
    OK(cuMemFree_v2(0));
    OK(cuMemAlloc_v2(&blocks[0], 8192));
    REFUSED(cuMemFree_v2(blocks[0] + 4096));
    OK(cuMemFree_v2(blocks[0]));
    REFUSED(cuMemFree_v2(blocks[0]));
    REFUSED(cuMemGetInfo_v2(NULL, &total));
    REFUSED(cuMemGetInfo_v2(&total, NULL));
}

static void a_free_waits_for_kernels(void **state) {
    CUstream stream;
    struct gate gate;
    CUdeviceptr memory = allocate(4096);
    (void)state;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    close_gate(&gate, stream);
    mix(memory, 1, stream);
    open_gate(&gate);
    OK(cuMemFree_v2(memory)); /* else the kernel would meet no memory */
    OK(cuStreamSynchronize(stream));
    OK(cuStreamDestroy_v2(stream));
}

static void rows_have_a_pitch(void **state) {
    CUdeviceptr memory, base;
    size_t pitch, size;
    (void)state;
    OK(cuMemAllocPitch_v2(&memory, &pitch, 1000, 7, 4));
    assert_true(pitch >= 1000 && pitch % 512 == 0);
    OK(cuMemGetAddressRange_v2(&base, &size, memory + 5000));
    assert_true(base == memory);
    assert_int_equal(size, 7 * pitch);
    OK(cuMemGetAddressRange_v2(NULL, &size, memory));
    OK(cuMemGetAddressRange_v2(&base, NULL, memory));
    OK(cuMemFree_v2(memory));
    GIVES(ERROR_NOT_FOUND, cuMemGetAddressRange_v2(&base, &size, memory));
    REFUSED(cuMemAllocPitch_v2(&memory, &pitch, 0, 7, 4));
    REFUSED(cuMemAllocPitch_v2(&memory, &pitch, 7, 0, 4));
    REFUSED(cuMemAllocPitch_v2(&memory, &pitch, 7, 7, 5));
    REFUSED(cuMemAllocPitch_v2(NULL, &pitch, 7, 7, 4));
    REFUSED(cuMemAllocPitch_v2(&memory, NULL, 7, 7, 4));
    GIVES(ERROR_OUT_OF_MEMORY, cuMemAllocPitch_v2(&memory, &pitch, SIZE_MAX / 4, 700, 4));
}

/* ---- managed memory ---- */

static void managed_memory_exceeds_the_device(void **state) {
    enum { BUFFERS = 4, WORDS = 1 << 20 };
    CUdeviceptr buffers[BUFFERS];
    CUfunction fill = function_of("fill"), add = function_of("add");
    (void)state;
    for (unsigned i = 0; i < BUFFERS; i++) {
        unsigned n = WORDS, value = i;
        buffers[i] = managed(WORDS * 4);
        void *params[] = {&buffers[i], &n, &value};
        OK(launch(fill, WORDS / 256, 256, NULL, params));
    }
    for (unsigned i = 0; i < BUFFERS; i++) {
        unsigned n = WORDS, value = 100;
        void *params[] = {&buffers[i], &n, &value};
        OK(launch(add, WORDS / 256, 256, NULL, params));
    }
    OK(cuCtxSynchronize());
    for (unsigned i = 0; i < BUFFERS; i++) {
        for (size_t at = 0; at < WORDS; at += 501)
            assert_int_equal(words_at(buffers[i])[at], 100 + i);
        OK(cuMemFree_v2(buffers[i]));
    }
    REFUSED(cuMemAllocManaged(NULL, 1, CU_MEM_ATTACH_GLOBAL));
    REFUSED(cuMemAllocManaged(&buffers[0], 1, 7));
    REFUSED(cuMemAllocManaged(&buffers[0], 0, CU_MEM_ATTACH_GLOBAL));
}

static int range_word(CUdeviceptr address, size_t size, CUmem_range_attribute attribute) {
    int value;
    OK(cuMemRangeGetAttribute(&value, sizeof value, attribute, address, size));
    return value;
}

static void advice_is_kept(void **state) {
    CUdeviceptr memory = managed(MIB), plain = allocate(4096);
    CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0}, device = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                  wrong = {CU_MEM_LOCATION_TYPE_DEVICE, 5};
    int devices[3], value, type;
    void *data[] = {&value, devices, &type};
    size_t sizes[] = {sizeof value, sizeof devices, sizeof type};
    CUmem_range_attribute attributes[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                          CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
                                          CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE};
    (void)state;
    OK(cuMemAdvise(memory, MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    OK(cuMemAdvise_v2(memory, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, host));
    OK(cuMemAdvise(memory, MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
    OK(cuMemAdvise(memory, MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
    OK(cuMemRangeGetAttributes(data, sizes, attributes, 3, memory, MIB));
    assert_int_equal(value, 1);
    assert_int_equal(devices[0], 0);
    assert_int_equal(devices[1], CU_DEVICE_CPU);
    assert_int_equal(devices[2], CU_DEVICE_INVALID);
    assert_int_equal(type, CU_MEM_LOCATION_TYPE_HOST);
    OK(cuMemAdvise_v2(memory, MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, device));
    assert_int_equal(range_word(memory, MIB, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), 0);
    assert_int_equal(range_word(memory, 1, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID), 0);
    OK(cuMemAdvise(memory, MIB, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 0));
    assert_int_equal(range_word(memory, MIB, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION),
                     CU_DEVICE_INVALID);
    OK(cuMemAdvise(memory, MIB, CU_MEM_ADVISE_UNSET_READ_MOSTLY, 0));
    assert_int_equal(range_word(memory, MIB, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
    OK(cuMemAdvise(memory, MIB, CU_MEM_ADVISE_UNSET_ACCESSED_BY, 0));
    assert_int_equal(range_word(memory, MIB, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY), CU_DEVICE_CPU);
    REFUSED(cuMemAdvise(memory, MIB + 1, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    REFUSED(cuMemAdvise(memory, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    REFUSED(cuMemAdvise(plain, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    REFUSED(cuMemAdvise(memory, MIB, (CUmem_advise)9, 0));
    GIVES(ERROR_INVALID_DEVICE,
          cuMemAdvise_v2(memory, MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, wrong));
    REFUSED(cuMemRangeGetAttribute(NULL, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, MIB));
    REFUSED(cuMemRangeGetAttribute(&value, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, MIB));
    REFUSED(cuMemRangeGetAttribute(&value, 4, (CUmem_range_attribute)99, memory, MIB));
    REFUSED(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, plain, 4096));
    REFUSED(cuMemRangeGetAttributes(data, sizes, attributes, 0, memory, MIB));
    REFUSED(cuMemRangeGetAttributes(NULL, sizes, attributes, 1, memory, MIB));
    REFUSED(cuMemRangeGetAttributes(data, sizes, attributes, 1, NOWHERE, MIB));
    OK(cuMemFree_v2(memory));
    OK(cuMemFree_v2(plain));
}

static void memory_is_prefetched_and_discarded(void **state) {
    CUdeviceptr memory = managed(MIB), addresses[2] = {memory, memory + MIB / 2};
    CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, host = {CU_MEM_LOCATION_TYPE_HOST, 0},
                  none = {CU_MEM_LOCATION_TYPE_INVALID, 0}, both[2] = {device, host};
    size_t sizes[2] = {MIB / 2, MIB / 2}, indices[2] = {0, 1}, wrong[2] = {1, 1};
    CUstream stream;
    (void)state;
    OK(cuStreamCreate(&stream, 0));
    words_at(memory)[5] = 55;
    OK(cuMemPrefetchAsync(memory, MIB, 0, stream));
    assert_int_equal(range_word(memory, MIB, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), 0);
    OK(cuMemPrefetchAsync_v2(memory, MIB, host, 0, stream));
    assert_int_equal(range_word(memory, 1, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE),
                     CU_MEM_LOCATION_TYPE_HOST);
    assert_int_equal(range_word(memory, 1, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID), 0);
    OK(cuMemPrefetchBatchAsync(addresses, sizes, 2, both, indices, 2, 0, stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(words_at(memory)[5], 55);
    OK(cuMemDiscardBatchAsync(addresses + 1, sizes + 1, 1, 0, stream));
    OK(cuMemDiscardAndPrefetchBatchAsync(addresses + 1, sizes + 1, 1, &device, indices, 1, 0,
                                         stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(words_at(memory)[5], 55);
    words_at(addresses[1])[7] = 77;
    assert_int_equal(words_at(addresses[1])[7], 77);
    REFUSED(cuMemPrefetchAsync(memory, MIB + 1, 0, stream));
    REFUSED(cuMemPrefetchAsync(NOWHERE, 1, 0, stream));
    GIVES(ERROR_INVALID_DEVICE, cuMemPrefetchAsync(memory, MIB, 9, stream));
    REFUSED(cuMemPrefetchAsync_v2(memory, MIB, none, 0, stream));
    REFUSED(cuMemPrefetchAsync_v2(memory, MIB, host, 1, stream));
    REFUSED(cuMemPrefetchBatchAsync(addresses, sizes, 2, both, wrong, 2, 0, stream));
    REFUSED(cuMemPrefetchBatchAsync(addresses, sizes, 2, both, indices, 3, 0, stream));
    REFUSED(cuMemPrefetchBatchAsync(addresses, sizes, 2, NULL, indices, 2, 0, stream));
    REFUSED(cuMemPrefetchBatchAsync(addresses, sizes, 2, both, indices, 2, 0, NULL));
    REFUSED(cuMemDiscardBatchAsync(NULL, sizes, 1, 0, stream));
    REFUSED(cuMemDiscardBatchAsync(addresses, sizes, 1, 1, stream));
    REFUSED(cuMemDiscardBatchAsync(addresses, sizes, 0, 0, stream));
    REFUSED(cuMemDiscardAndPrefetchBatchAsync(addresses, NULL, 1, &host, indices, 1, 0, stream));
    REFUSED(cuMemDiscardAndPrefetchBatchAsync(addresses, sizes, 1, NULL, indices, 1, 0, stream));
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(memory));
}

/* ---- memory of the host ---- */

static void kernels_use_memory_of_the_host(void **state) {
    static char own[8192] __attribute__((aligned(4096)));
    CUdeviceptr address;
    void *pinned, *mapped;
    unsigned flags;
    (void)state;
    OK(cuMemAllocHost_v2(&pinned, 4096));
    OK(cuMemHostAlloc(&mapped, 4096, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
    OK(cuMemHostGetFlags(&flags, (char *)mapped + 100));
    assert_int_equal(flags, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE);
    OK(cuMemHostRegister_v2(own, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
    GIVES(ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(own + 100, 10, 0));
    GIVES(ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(own + 4090, 20, 0));
    OK(cuMemHostRegister_v2(own + 4096, 4096, 0));
    void *all[] = {pinned, mapped, own};
    for (int i = 0; i < 3; i++) {
        OK(cuMemHostGetDevicePointer_v2(&address, all[i], 0));
        *words_at(address) = 0;
        mix(address, 9, NULL);
        OK(cuCtxSynchronize());
        assert_int_equal(*(uint32_t *)all[i], 9);
    }
    REFUSED(cuMemHostGetDevicePointer_v2(&address, state, 0));
    REFUSED(cuMemHostGetDevicePointer_v2(&address, pinned, 1));
    REFUSED(cuMemHostGetDevicePointer_v2(NULL, pinned, 0));
    REFUSED(cuMemHostGetFlags(NULL, pinned));
    REFUSED(cuMemHostGetFlags(&flags, state));
    OK(cuMemHostUnregister(own));
    OK(cuMemHostUnregister(own + 4096));
    GIVES(ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(own));
    REFUSED(cuMemHostUnregister(NULL));
    OK(cuMemFreeHost(pinned));
    OK(cuMemFreeHost(mapped));
    REFUSED(cuMemFreeHost(mapped));
    OK(cuMemFreeHost(NULL));
    REFUSED(cuMemAllocHost_v2(NULL, 1));
    REFUSED(cuMemAllocHost_v2(&pinned, 0));
    REFUSED(cuMemHostAlloc(&pinned, 1, 0x40));
    REFUSED(cuMemHostAlloc(NULL, 1, 0));
    REFUSED(cuMemHostRegister_v2(NULL, 1, 0));
    REFUSED(cuMemHostRegister_v2(own, 0, 0));
    REFUSED(cuMemHostRegister_v2(own, 1, 0x100));
}

/* ---- addresses ---- */

static unsigned type_of(CUdeviceptr address) {
    unsigned type;
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    return type;
}

static void addresses_have_attributes(void **state) {
    CUdeviceptr plain = allocate(4096), shared = managed(4096), start, base;
    CUcontext of;
    void *pinned, *host;
    size_t size;
    unsigned type = 7, sync = 1;
    int ordinal;
    unsigned char is_managed;
    unsigned long long id, other;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR},
                        wrong[] = {(CUpointer_attribute)77};
    void *data[] = {&type, &ordinal, &start};
    OK(cuMemAllocHost_v2(&pinned, 4096));
    CUdeviceptr at_host = (uintptr_t)pinned;
    assert_int_equal(type_of(plain), CU_MEMORYTYPE_DEVICE);
    assert_int_equal(type_of(shared), CU_MEMORYTYPE_DEVICE);
    assert_int_equal(type_of(at_host), CU_MEMORYTYPE_HOST);
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, plain));
    assert_ptr_equal(of, context);
    OK(cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, plain + 8));
    assert_true(base == plain + 8);
    REFUSED(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, plain));
    OK(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, shared));
    assert_ptr_equal(host, words_at(shared));
    OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, shared));
    assert_int_equal(is_managed, 1);
    OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, plain));
    assert_int_equal(is_managed, 0);
    OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, plain + 9));
    assert_int_equal(size, 4096);
    OK(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, plain));
    OK(cuPointerGetAttribute(&other, CU_POINTER_ATTRIBUTE_BUFFER_ID, shared));
    assert_true(id != other);
    OK(cuPointerGetAttributes(3, attributes, data, plain + 40));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    assert_int_equal(ordinal, 0);
    assert_true(start == plain);
    OK(cuPointerGetAttributes(3, attributes, data, (uintptr_t)state)); /* not known: no error */
    assert_int_equal(type, 0);
    assert_int_equal(ordinal, CU_DEVICE_INVALID);
    REFUSED(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)state));
    REFUSED(cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, plain));
    REFUSED(cuPointerGetAttribute(&type, (CUpointer_attribute)99, plain));
    REFUSED(cuPointerGetAttributes(0, attributes, data, plain));
    REFUSED(cuPointerGetAttributes(1, NULL, data, plain));
    REFUSED(cuPointerGetAttributes(1, attributes, NULL, plain));
    REFUSED(cuPointerGetAttributes(1, wrong, data, plain));
    OK(cuPointerSetAttribute(&sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain));
    REFUSED(cuPointerSetAttribute(&sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, NOWHERE));
    REFUSED(cuPointerSetAttribute(&sync, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, plain));
    REFUSED(cuPointerSetAttribute(NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain));
    OK(cuMemFree_v2(plain));
    OK(cuMemFree_v2(shared));
    OK(cuMemFreeHost(pinned));
}

/* ---- in the order of streams ---- */

static cuuint64_t used(CUmemoryPool pool, CUmemPool_attribute attribute) {
    cuuint64_t bytes;
    OK(cuMemPoolGetAttribute(pool, attribute, &bytes));
    return bytes;
}

static void streams_allocate_and_free(void **state) {
    CUdeviceptr memory, first = 0;
    CUstream stream;
    CUmemoryPool pool, of;
    struct gate gate;
    (void)state;
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAllocAsync(&memory, MIB, stream));
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory));
    assert_ptr_equal(of, pool);
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), MIB);
    OK(cuMemsetD8Async(memory, 0, 4, stream));
    close_gate(&gate, stream);
    mix(memory, 3, stream);
    OK(cuMemFreeAsync(memory, stream));
    REFUSED(cuMemFreeAsync(memory, stream)); /* twice */
    open_gate(&gate);
    OK(cuStreamSynchronize(stream));
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    REFUSED(cuMemFree_v2(memory));
    for (int i = 0; i < 40; i++) { /* more than there is, unless what is freed is waited for */
        OK(cuMemAllocAsync(&memory, 3 * MIB, stream));
        mix(memory, 1, stream);
        OK(cuMemFreeAsync(memory, stream));
    }
    OK(cuMemAllocAsync(&first, 4096, NULL));
    OK(cuMemFree_v2(first));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    assert_true(used(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) >= 3 * MIB);
    REFUSED(cuMemAllocAsync(NULL, 1, stream));
    REFUSED(cuMemAllocAsync(&memory, 0, stream));
    GIVES(ERROR_INVALID_HANDLE, cuMemAllocAsync(&memory, 1, (CUstream)state));
    GIVES(ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&memory, 100 * MIB, stream));
    REFUSED(cuMemFreeAsync(0, stream));
    REFUSED(cuMemFreeAsync(NOWHERE, stream));
    OK(cuStreamDestroy_v2(stream));
}

static void pools_have_attributes(void **state) {
    CUmemPoolProps wanted = {.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED,
                             .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemAccessDesc access = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemAccess_flags flags;
    CUmemoryPool pool, other, standard;
    CUdeviceptr memory;
    cuuint64_t value = 12345, none = 0;
    int word = 0;
    unsigned char is_managed;
    (void)state;
    OK(cuMemPoolCreate(&pool, &wanted));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 12345);
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &word));
    word = 9;
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &word));
    assert_int_equal(word, 0);
    OK(cuMemAllocFromPoolAsync(&memory, 9 * MIB, pool, NULL)); /* managed: more than there is */
    OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, memory));
    assert_int_equal(is_managed, 1);
    OK(cuMemFreeAsync(memory, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 9 * MIB);
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &none));
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
    REFUSED(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
    REFUSED(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &none));
    REFUSED(cuMemPoolSetAttribute(NULL, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
    REFUSED(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)0, &value));
    REFUSED(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, NULL));
    OK(cuMemPoolTrimTo(pool, 0));
    REFUSED(cuMemPoolTrimTo(NULL, 0));
    OK(cuMemPoolSetAccess(pool, &access, 1));
    REFUSED(cuMemPoolSetAccess(NULL, &access, 1));
    REFUSED(cuMemPoolSetAccess(pool, NULL, 1));
    access.location.id = 7;
    GIVES(ERROR_INVALID_DEVICE, cuMemPoolSetAccess(pool, &access, 1));
    OK(cuMemPoolGetAccess(&flags, pool, &location));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    REFUSED(cuMemPoolGetAccess(NULL, pool, &location));
    REFUSED(cuMemPoolGetAccess(&flags, pool, NULL));
    OK(cuDeviceGetDefaultMemPool(&standard, 0));
    OK(cuDeviceSetMemPool(0, pool));
    OK(cuDeviceGetMemPool(&other, 0));
    assert_ptr_equal(other, pool);
    OK(cuMemAllocAsync(&memory, 4096, NULL));
    assert_int_equal(used(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 4096);
    OK(cuMemPoolDestroy(pool)); /* what it has given out stays */
    OK(cuDeviceGetMemPool(&other, 0));
    assert_ptr_equal(other, standard);
    *words_at(memory) = 5;
    OK(cuMemFreeAsync(memory, NULL));
    OK(cuCtxSynchronize());
    GIVES(ERROR_NOT_PERMITTED, cuMemPoolDestroy(standard));
    REFUSED(cuMemPoolDestroy(NULL));
    REFUSED(cuDeviceSetMemPool(0, NULL));
    REFUSED(cuDeviceGetMemPool(NULL, 0));
    REFUSED(cuDeviceGetDefaultMemPool(NULL, 0));
    GIVES(ERROR_INVALID_DEVICE, cuDeviceGetMemPool(&other, 4));
    GIVES(ERROR_INVALID_DEVICE, cuDeviceGetDefaultMemPool(&other, 4));
    GIVES(ERROR_INVALID_DEVICE, cuDeviceSetMemPool(4, standard));
    REFUSED(cuMemPoolCreate(NULL, &wanted));
    REFUSED(cuMemPoolCreate(&pool, NULL));
    wanted.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    GIVES(ERROR_NOT_SUPPORTED, cuMemPoolCreate(&pool, &wanted));
    wanted.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
    wanted.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
    REFUSED(cuMemPoolCreate(&pool, &wanted));
    wanted.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.id = 3;
    GIVES(ERROR_INVALID_DEVICE, cuMemPoolCreate(&pool, &wanted));
    REFUSED(cuMemAllocFromPoolAsync(&memory, 1, NULL, NULL));
    REFUSED(cuMemAllocFromPoolAsync(NULL, 1, standard, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_device_has_as_much_as_it_has),
                                       cmocka_unit_test(a_free_waits_for_kernels),
                                       cmocka_unit_test(rows_have_a_pitch),
                                       cmocka_unit_test(managed_memory_exceeds_the_device),
                                       cmocka_unit_test(advice_is_kept),
                                       cmocka_unit_test(memory_is_prefetched_and_discarded),
                                       cmocka_unit_test(kernels_use_memory_of_the_host),
                                       cmocka_unit_test(addresses_have_attributes),
                                       cmocka_unit_test(streams_allocate_and_free),
                                       cmocka_unit_test(pools_have_attributes)};
    return cmocka_run_group_tests(tests, begin, end);
}
