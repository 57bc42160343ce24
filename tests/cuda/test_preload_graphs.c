/* Memory of graphs where all device memory becomes managed: larger than the device, kept for as
 * long as a graph may be launched, freed then. */
#include "cuda/driver.h"

#define WORDS ((size_t)4 << 20) /* 16 MiB, on a device of 8 MiB */

static CUstream stream;

static int set_up(void **state) {
    begin(state);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return 0;
}

static int tear_down(void **state) {
    OK(cuStreamDestroy_v2(stream));
    return end(state);
}

static size_t left(void) {
    size_t free_bytes, total;
    CUdeviceptr freed;
    OK(cuMemAllocAsync(&freed, 4, stream)); /* what waits for it is freed */
    OK(cuMemFreeAsync(freed, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemGetInfo_v2(&free_bytes, &total));
    return free_bytes;
}

static void add_to(CUdeviceptr address) {
    unsigned n = WORDS, value = 3;
    void *params[] = {&address, &n, &value};
    OK(launch(function_of("add"), WORDS / 128, 128, stream, params));
}

static void captured_memory_is_kept(void **state) {
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr address, other;
    uint32_t back[2] = {0, 0};
    size_t before = left();
    (void)state;
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAllocAsync(&address, 4 * WORDS, stream));
    OK(cuMemsetD32Async(address, 1, WORDS, stream));
    add_to(address);
    OK(cuMemcpyDtoHAsync_v2(&back[0], address, 4, stream));
    OK(cuMemcpyDtoHAsync_v2(&back[1], address + 4 * (WORDS - 1), 4, stream));
    OK(cuMemFreeAsync(address, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    for (int i = 0; i < 3; i++) {
        OK(cuMemAllocAsync(&other, 4096, stream)); /* would have the memory if it were free */
        assert_true(other + 4096 <= address || other >= address + 4 * WORDS);
        back[0] = back[1] = 0;
        OK(cuGraphLaunch(exec, stream));
        OK(cuMemFreeAsync(other, stream));
        OK(cuStreamSynchronize(stream));
        assert_int_equal(back[0], 4);
        assert_int_equal(back[1], 4);
    }
    assert_true(left() <= before - 4 * WORDS);
    OK(cuGraphExecDestroy(exec));
    left();
    assert_int_equal(left(), before);
}

static void built_memory_is_kept(void **state) {
    CUDA_MEM_ALLOC_NODE_PARAMS memory = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
        .bytesize = 4 * WORDS};
    CUgraph graph;
    CUgraphNode alloc, set;
    CUgraphExec exec;
    size_t before = left();
    (void)state;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &memory));
    CUDA_MEMSET_NODE_PARAMS bytes = {
        .dst = memory.dptr, .value = 5, .elementSize = 4, .width = WORDS, .height = 1};
    OK(cuGraphAddMemsetNode(&set, graph, &alloc, 1, &bytes, context));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 2; i++) {
        OK(cuGraphLaunch(exec, stream));
        OK(cuStreamSynchronize(stream));
        assert_int_equal(words_at(memory.dptr)[WORDS - 1], 5);
        OK(cuMemFree_v2(memory.dptr)); /* the next launch allocates it again */
    }
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    left();
    assert_int_equal(left(), before);
}

/* The program has it after the graph. */
static void memory_outlives_its_graph(void **state) {
    CUgraph graph;
    CUdeviceptr address;
    size_t before = left();
    (void)state;
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAllocAsync(&address, 4 * WORDS, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuMemsetD32_v2(address, 6, WORDS));
    assert_int_equal(words_at(address)[WORDS - 1], 6);
    OK(cuMemFree_v2(address));
    assert_int_equal(left(), before);
}

static void a_capture_frees_only_its_own(void **state) {
    CUgraph graph;
    CUdeviceptr address;
    (void)state;
    OK(cuMemAllocAsync(&address, 64, stream));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    REFUSED(cuMemFreeAsync(address, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuMemFreeAsync(address, stream));
    OK(cuStreamSynchronize(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_memory_is_kept),
        cmocka_unit_test(built_memory_is_kept),
        cmocka_unit_test(memory_outlives_its_graph),
        cmocka_unit_test(a_capture_frees_only_its_own),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
