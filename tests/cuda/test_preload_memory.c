/* What programs make of device memory that has become managed: more than the device has, with all
 * that they are told of device memory. Several cases are what has gone wrong in other preloads. */
#include "cuda/driver.h"

#define MIB   ((size_t)1 << 20)
#define WORDS (4 * MIB) /* 16 MiB, on a device of 8 MiB */

static void increase(CUdeviceptr address) {
    unsigned n = WORDS, value = 3;
    void *params[] = {&address, &n, &value};
    OK(launch(function_of("add"), WORDS / 128, 128, NULL, params));
}

static uint32_t word_at(CUdeviceptr address) {
    uint32_t word;
    OK(cuMemcpyDtoH_v2(&word, address, sizeof word));
    return word;
}

static void there_is_more_than_the_device_has(void **state) {
    size_t left, before, total, pitch;
    CUdeviceptr address, rows;
    (void)state;
    OK(cuMemGetInfo_v2(&before, &total));
    OK(cuMemAlloc_v2(&address, 4 * WORDS));
    OK(cuMemAllocPitch_v2(&rows, &pitch, 1000, 16 << 10, 4));
    assert_int_equal(pitch, 1024);
    OK(cuMemsetD32_v2(address, 7, WORDS));
    increase(address);
    assert_int_equal(word_at(address), 10);
    assert_int_equal(word_at(address + 4 * (WORDS - 1)), 10);
    OK(cuMemGetInfo_v2(&left, &total));
    assert_true(total > 64 * MIB);
    assert_int_equal(left, before - 32 * MIB);
    OK(cuMemFree_v2(rows));
    OK(cuMemFree_v2(address));
    OK(cuMemGetInfo_v2(&left, &total));
    assert_int_equal(left, before);
    OK(cuDeviceTotalMem_v2(&left, 0));
    assert_int_equal(left, total);
}

/* Frameworks ask what a pointer is before they copy or send it. */
static void it_looks_like_device_memory(void **state) {
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                   CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
    unsigned managed = 7;
    void *host = state;
    CUmemorytype type = CU_MEMORYTYPE_HOST;
    void *answers[] = {&managed, &host, &type};
    CUdeviceptr address, own;
    CUipcMemHandle handle;
    (void)state;
    OK(cuMemAlloc_v2(&address, 4096));
    OK(cuPointerGetAttributes(3, asked, answers, address + 100));
    assert_int_equal(managed & 0xff, 0);
    assert_null(host);
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    managed = 7;
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    assert_int_equal(managed & 0xff, 0);
    GIVES(ERROR_NOT_SUPPORTED, cuIpcGetMemHandle(&handle, address));
    OK(cuMemAllocManaged(&own, 4096, CU_MEM_ATTACH_GLOBAL));
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, own));
    assert_int_equal(managed & 0xff, 1);
    OK(cuMemFree_v2(own));
    OK(cuMemFree_v2(address));
}

/* What is freed is known no more: the address may be another's next. */
static void what_comes_and_goes_is_forgotten(void **state) {
    unsigned managed;
    CUdeviceptr address, other;
    (void)state;
    for (int i = 0; i < 100; i++) {
        OK(cuMemAlloc_v2(&address, MIB));
        OK(cuMemFree_v2(address));
        OK(cuMemAllocManaged(&other, MIB, CU_MEM_ATTACH_GLOBAL));
        OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, other));
        assert_int_equal(managed & 0xff, 1);
        OK(cuMemFree_v2(other));
    }
}

/* A failure is the program's to handle: nothing in a hook ends the process. */
static void failures_are_results(void **state) {
    CUdeviceptr address;
    size_t pitch;
    (void)state;
    GIVES(ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&address, SIZE_MAX / 2));
    GIVES(ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&address, SIZE_MAX / 2, NULL));
    REFUSED(cuMemAlloc_v2(&address, 0));
    REFUSED(cuMemAlloc_v2(NULL, 4));
    GIVES(ERROR_OUT_OF_MEMORY, cuMemAllocPitch_v2(&address, &pitch, 16, SIZE_MAX / 16, 4));
    REFUSED(cuMemAllocPitch_v2(&address, NULL, 16, 16, 4));
    REFUSED(cuMemFree_v2(4096));
    OK(cuCtxSetCurrent(NULL));
    GIVES(ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&address, 4));
    OK(cuCtxSetCurrent(context));
}

static void check_pool(bool is_managed) {
    CUmemPoolProps of = {.allocType = is_managed ? CU_MEM_ALLOCATION_TYPE_MANAGED
                                                 : CU_MEM_ALLOCATION_TYPE_PINNED,
                         .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    unsigned managed;
    CUmemoryPool pool;
    CUdeviceptr address;
    OK(cuMemPoolCreate(&pool, &of));
    OK(cuMemAllocFromPoolAsync(&address, 4 * WORDS, pool, NULL));
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    assert_int_equal(managed & 0xff, is_managed);
    OK(cuMemFreeAsync(address, NULL));
    OK(cuMemAllocFromPoolAsync_ptsz(&address, 4 * WORDS, pool, NULL));
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    assert_int_equal(managed & 0xff, is_managed);
    OK(cuMemFreeAsync_ptsz(address, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemPoolDestroy(pool));
    REFUSED(cuMemPoolCreate(NULL, &of));
}

/* Of several pools, one after the other, some have a handle that one before had. */
static void pools_of_managed_memory_stay_so(void **state) {
    (void)state;
    for (int i = 0; i < 32; i++)
        check_pool(i < 16);
}

static void streams_free_when_they_come_to_it(void **state) {
    CUstream stream;
    CUdeviceptr address, next;
    uint32_t *word;
    struct gate gate;
    (void)state;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemHostAlloc((void **)&word, 4, 0));
    OK(cuMemAllocAsync(&address, 4 * WORDS, stream));
    OK(cuMemsetD32Async(address, 2, WORDS, stream));
    close_gate(&gate, stream);
    mix(address, 1, stream);
    OK(cuMemcpyDtoHAsync_v2(word, address, 4, stream));
    OK(cuMemFreeAsync(address, stream));
    OK(cuMemAllocAsync(&next, 4096, stream)); /* not in what is still in use */
    assert_true(next + 4096 <= address || next >= address + 4 * WORDS);
    open_gate(&gate);
    OK(cuMemFreeAsync(next, stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(*word, 31 * 2 + 1);
    OK(cuMemFreeHost(word));
    OK(cuStreamDestroy_v2(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_is_more_than_the_device_has),
                                       cmocka_unit_test(it_looks_like_device_memory),
                                       cmocka_unit_test(what_comes_and_goes_is_forgotten),
                                       cmocka_unit_test(failures_are_results),
                                       cmocka_unit_test(pools_of_managed_memory_stay_so),
                                       cmocka_unit_test(streams_free_when_they_come_to_it)};
    return cmocka_run_group_tests(tests, begin, end);
}
