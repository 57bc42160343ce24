/* Functions, launches, their parameters and limits, and occupancy. */
#include "cuda/driver.h"

static CUdeviceptr out;

static int set_up(void **state) {
    begin(state);
    out = allocate(4096);
    return 0;
}

static int tear_down(void **state) {
    OK(cuMemFree_v2(out));
    return end(state);
}

static uint32_t take(void) {
    OK(cuCtxSynchronize());
    uint32_t value = *words_at(out);
    *words_at(out) = 0;
    return value;
}

/* ---- parameters ---- */

static void parameters_come_by_pointers_or_in_a_buffer(void **state) {
    CUfunction sum = function_of("sum");
    unsigned char a = 1;
    unsigned short b = 20;
    unsigned c = 300, d[2] = {4000, 50000};
    void *params[] = {&out, &a, &b, &c, d};
    struct {
        CUdeviceptr out;
        unsigned char a;
        unsigned short b;
        unsigned c, d[2];
    } buffer = {out, 2, 30, 400, {5000, 60000}};
    size_t size = sizeof buffer, offset, bytes;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    (void)state;
    OK(launch(sum, 1, 1, NULL, params));
    assert_int_equal(take(), 54321);
    OK(cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    assert_int_equal(take(), 65432);
    static const size_t places[][2] = {{0, 8}, {8, 1}, {10, 2}, {12, 4}, {16, 8}};
    for (size_t i = 0; i < 5; i++) {
        OK(cuFuncGetParamInfo(sum, i, &offset, &bytes));
        assert_int_equal(offset, places[i][0]);
        assert_int_equal(bytes, places[i][1]);
        OK(cuFuncGetParamInfo(sum, i, &offset, NULL));
    }
    REFUSED(cuFuncGetParamInfo(sum, 5, &offset, &bytes));
    REFUSED(cuFuncGetParamInfo(sum, 0, NULL, &bytes));
    REFUSED(cuFuncGetParamInfo(NULL, 0, &offset, &bytes));
    REFUSED(cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra));
    REFUSED(cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    size--;
    OK(cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    size = 23;
    REFUSED(cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    extra[2] = (void *)9;
    REFUSED(cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    params[2] = NULL;
    REFUSED(launch(sum, 1, 1, NULL, params));
    assert_int_equal(take(), 54321); /* of the one before the last four */
}

/* What the call was given may change once it is back. */
static void parameters_are_copied(void **state) {
    CUstream stream;
    struct gate gate;
    unsigned value = 7;
    void *params[] = {&out, &value};
    (void)state;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUevent event;
    OK(cuEventCreate(&event, 0));
    close_gate(&gate, NULL);
    OK(cuEventRecord(event, NULL));
    OK(launch(function_of("mix"), 1, 1, NULL, params)); /* in a queue */
    value = 8;
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(launch(function_of("empty"), 1, 1, stream, NULL)); /* held */
    OK(cuEventRecord(event, NULL));
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(launch(function_of("mix"), 1, 1, stream, params));
    value = 99;
    open_gate(&gate);
    assert_int_equal(take(), mixed("78"));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(stream));
}

/* ---- sizes ---- */

static void sizes_have_limits(void **state) {
    static const unsigned rows[][7] = {
        {0, 1, 1, 1, 1, 1},        {1, 0, 1, 1, 1, 1},         {1, 1, 0, 1, 1, 1},
        {1, 1, 1, 0, 1, 1},        {1, 1, 1, 1, 0, 1},         {1, 1, 1, 1, 1, 0},
        {1u << 31, 1, 1, 1, 1, 1}, {1, 65536, 1, 1, 1, 1},     {1, 1, 65536, 1, 1, 1},
        {1, 1, 1, 1025, 1, 1},     {1, 1, 1, 1, 1025, 1},      {1, 1, 1, 1, 1, 65},
        {1, 1, 1, 32, 33, 1},      {1, 1, 1, 65536, 65536, 1}, {1, 1, 1, 1, 1, 1, 49153}};
    CUfunction empty = function_of("empty"), bounded = function_of("bounded");
    void *params[] = {&out};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const unsigned *s = rows[i];
        REFUSED(cuLaunchKernel(empty, s[0], s[1], s[2], s[3], s[4], s[5], s[6], NULL, NULL, NULL));
        if (s[6] == 0)
            REFUSED(cuLaunchCooperativeKernel(empty, s[0], s[1], s[2], s[3], s[4], s[5], s[6], NULL,
                                              NULL));
    }
    OK(cuLaunchKernel(empty, 7, 5, 3, 8, 4, 32, 49152, NULL, NULL, NULL));
    GIVES(ERROR_INVALID_HANDLE, launch(NULL, 1, 1, NULL, NULL));
    GIVES(ERROR_INVALID_HANDLE, launch(empty, 1, 1, (CUstream)state, NULL));
    OK(launch(bounded, 1, 64, NULL, params));
    GIVES(ERROR_LAUNCH_OUT_OF_RESOURCES, launch(bounded, 1, 65, NULL, params));
    OK(cuCtxSynchronize());
}

static CUresult launch_shared(unsigned shared) {
    void *params[] = {&out};
    return cuLaunchKernel(function_of("shares"), 1, 1, 1, 32, 1, 1, shared, NULL, params, NULL);
}

/* 48 KiB of both kinds, or as much as was asked for. */
static void shared_memory_has_limits(void **state) {
    CUfunction shares = function_of("shares");
    int value;
    (void)state;
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, shares));
    assert_int_equal(value, 4096);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shares));
    assert_int_equal(value, 44 << 10);
    OK(launch_shared(44 << 10));
    assert_int_equal(take(), 2 * (44 << 10));
    REFUSED(launch_shared((44 << 10) + 4));
    OK(cuFuncSetAttribute(shares, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 92 << 10));
    OK(launch_shared(92 << 10));
    assert_int_equal(take(), 2 * (92 << 10));
    REFUSED(cuFuncSetAttribute(shares, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                               (92 << 10) + 1));
    REFUSED(cuFuncSetAttribute(shares, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1));
    REFUSED(cuFuncSetAttribute(shares, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1));
    REFUSED(cuFuncSetAttribute(NULL, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1));
}

/* ---- attributes ---- */

static void functions_have_attributes(void **state) {
    CUfunction empty = function_of("empty"), bounded = function_of("bounded");
    int value;
    (void)state;
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, empty));
    assert_int_equal(value, 1024);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bounded));
    assert_int_equal(value, 64);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, empty));
    assert_int_equal(value, 70);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, empty));
    assert_int_equal(value, 70);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, empty));
    assert_int_equal(value, 0);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, empty));
    assert_in_range(value, 0, 255);
    REFUSED(cuFuncGetAttribute(&value, (CUfunction_attribute)99, empty));
    REFUSED(cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, empty));
    REFUSED(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL));
    OK(cuFuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
    REFUSED(cuFuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101));
    OK(cuFuncSetCacheConfig(empty, CU_FUNC_CACHE_PREFER_SHARED));
    REFUSED(cuFuncSetCacheConfig(empty, (CUfunc_cache)9));
    REFUSED(cuFuncSetCacheConfig(NULL, CU_FUNC_CACHE_PREFER_L1));
    OK(cuFuncSetSharedMemConfig(empty, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE));
    REFUSED(cuFuncSetSharedMemConfig(empty, (CUsharedconfig)9));
    REFUSED(cuFuncSetSharedMemConfig(NULL, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE));
}

/* ---- cooperative launches, and those with attributes ---- */

static void blocks_wait_for_each_other(void **state) {
    CUfunction together = function_of("together");
    CUlaunchAttribute attributes[2] = {{.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE},
                                       {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY}};
    CUlaunchConfig config = {.gridDimX = 9,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = attributes,
                             .numAttrs = 2};
    void *params[] = {&out};
    (void)state;
    OK(cuLaunchCooperativeKernel(together, 20, 1, 1, 1, 1, 1, 0, NULL, params));
    assert_int_equal(take(), 20);
    assert_int_equal(words_at(out)[1], 20);
    attributes[0].value.cooperative = 1;
    OK(cuLaunchKernelEx(&config, together, params, NULL));
    assert_int_equal(take(), 9);
    GIVES(ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
          cuLaunchCooperativeKernel(together, 80 * 32 + 1, 1, 1, 1, 1, 1, 0, NULL, params));
    config.gridDimX = 1 << 20;
    GIVES(ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, cuLaunchKernelEx(&config, together, params, NULL));
    config.gridDimX = 1;
    attributes[1].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[1].value.clusterDim.x = 1;
    OK(cuLaunchKernelEx(&config, together, params, NULL));
    attributes[1].value.clusterDim.x = 2;
    GIVES(ERROR_NOT_SUPPORTED, cuLaunchKernelEx(&config, together, params, NULL));
    config.attrs = NULL;
    REFUSED(cuLaunchKernelEx(&config, together, params, NULL));
    REFUSED(cuLaunchKernelEx(NULL, together, params, NULL));
    config.numAttrs = 0;
    GIVES(ERROR_INVALID_HANDLE, cuLaunchKernelEx(&config, NULL, params, NULL));
    GIVES(ERROR_INVALID_HANDLE, cuLaunchCooperativeKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, params));
    assert_int_equal(take(), 1);
}

/* ---- occupancy ---- */

static size_t half_a_kilobyte_a_thread(int threads) {
    return (size_t)threads * 512;
}

static void multiprocessors_hold_blocks(void **state) {
    CUfunction empty = function_of("empty"), shares = function_of("shares"),
               bounded = function_of("bounded");
    size_t size;
    int blocks, threads;
    (void)state;
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 256, 0));
    assert_int_equal(blocks, 8);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 1, 0));
    assert_int_equal(blocks, 32);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shares, 32, 28 << 10));
    assert_int_equal(blocks, 3);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, bounded, 65, 0, 1));
    assert_int_equal(blocks, 0);
    REFUSED(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 0, 0));
    REFUSED(cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, empty, 1, 0));
    REFUSED(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 1, 0));
    REFUSED(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, empty, 1, 0, 2));
    OK(cuOccupancyMaxPotentialBlockSize(&blocks, &threads, empty, NULL, 0, 0));
    assert_int_equal(threads, 1024);
    assert_int_equal(blocks, 2 * 80);
    OK(cuOccupancyMaxPotentialBlockSize(&blocks, &threads, empty, half_a_kilobyte_a_thread, 0, 0));
    assert_int_equal(threads, 192); /* of 96 KiB */
    OK(cuOccupancyMaxPotentialBlockSizeWithFlags(&blocks, &threads, empty, NULL, 0, 100, 0));
    assert_in_range(threads, 64, 100);
    REFUSED(cuOccupancyMaxPotentialBlockSize(NULL, &threads, empty, NULL, 0, 0));
    REFUSED(cuOccupancyMaxPotentialBlockSize(&blocks, NULL, empty, NULL, 0, 0));
    REFUSED(cuOccupancyMaxPotentialBlockSizeWithFlags(&blocks, &threads, empty, NULL, 0, 0, 8));
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&size, shares, 3, 32));
    assert_int_equal(size, 28 << 10);
    REFUSED(cuOccupancyAvailableDynamicSMemPerBlock(NULL, shares, 3, 32));
    REFUSED(cuOccupancyAvailableDynamicSMemPerBlock(&size, shares, 0, 32));
    REFUSED(cuOccupancyAvailableDynamicSMemPerBlock(&size, shares, 3, 0));
    REFUSED(cuOccupancyAvailableDynamicSMemPerBlock(&size, NULL, 3, 32));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(parameters_come_by_pointers_or_in_a_buffer),
                                       cmocka_unit_test(parameters_are_copied),
                                       cmocka_unit_test(sizes_have_limits),
                                       cmocka_unit_test(shared_memory_has_limits),
                                       cmocka_unit_test(functions_have_attributes),
                                       cmocka_unit_test(blocks_wait_for_each_other),
                                       cmocka_unit_test(multiprocessors_hold_blocks)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
