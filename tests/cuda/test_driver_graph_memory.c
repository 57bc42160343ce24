/* What graphs keep: user objects, and memory that they allocate and free. */
#include "cuda/driver.h"

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

static cuuint64_t used(CUgraphMem_attribute attribute) {
    cuuint64_t value = 0;
    OK(cuDeviceGetGraphMemAttribute(0, attribute, &value));
    return value;
}

static size_t left(void) {
    size_t free_bytes, total;
    OK(cuMemGetInfo_v2(&free_bytes, &total));
    return free_bytes;
}

static CUDA_MEM_ALLOC_NODE_PARAMS memory_of(size_t size) {
    return (CUDA_MEM_ALLOC_NODE_PARAMS){.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
                                        .bytesize = size};
}

static CUgraphExec instantiated(CUgraph graph, unsigned flags) {
    CUgraphExec exec;
    OK(cuGraphInstantiateWithFlags(&exec, graph, flags));
    return exec;
}

static CUgraphNode add_set(CUgraph graph, CUdeviceptr at, unsigned value, CUgraphNode before) {
    CUgraphNode node;
    CUDA_MEMSET_NODE_PARAMS set = {
        .dst = at, .value = value, .elementSize = 4, .width = 1024, .height = 1};
    OK(cuGraphAddMemsetNode(&node, graph, &before, 1, &set, context));
    return node;
}

/* ---- memory ---- */

static void memory_lives_in_a_graph(void **state) {
    CUgraph graph;
    CUgraphNode alloc, set, freed;
    CUDA_MEM_ALLOC_NODE_PARAMS memory = memory_of(4096), got;
    CUdeviceptr address = 0;
    size_t before = left();
    (void)state;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &memory));
    assert_int_not_equal(memory.dptr, 0);
    set = add_set(graph, memory.dptr, 7, alloc);
    OK(cuGraphAddMemFreeNode(&freed, graph, &set, 1, memory.dptr));
    OK(cuGraphMemAllocNodeGetParams(alloc, &got));
    assert_int_equal(got.dptr, memory.dptr);
    assert_int_equal(got.bytesize, 4096);
    OK(cuGraphMemFreeNodeGetParams(freed, &address));
    assert_int_equal(address, memory.dptr);
    assert_int_equal(used(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 4096);
    CUgraphExec exec = instantiated(graph, 0);
    for (int i = 0; i < 3; i++)
        OK(cuGraphLaunch(exec, stream));
    OK(cuGraphDestroy(graph));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(words_at(memory.dptr)[1023], 7);
    assert_int_equal(used(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0);
    assert_int_equal(used(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 4096);
    assert_true(left() < before);
    OK(cuGraphExecDestroy(exec));
    assert_int_equal(used(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
    assert_int_equal(left(), before);
}

static void memory_outlives_its_graph(void **state) {
    CUgraph graph;
    CUgraphNode alloc;
    CUDA_MEM_ALLOC_NODE_PARAMS memory = memory_of(4096);
    (void)state;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &memory));
    add_set(graph, memory.dptr, 9, alloc);
    CUgraphExec exec = instantiated(graph, 0);
    REFUSED(cuMemFree_v2(memory.dptr)); /* no launch has allocated it */
    OK(cuGraphLaunch(exec, stream));
    GIVES(ERROR_INVALID_VALUE, cuGraphLaunch(exec, stream)); /* it is allocated */
    OK(cuMemFreeAsync(memory.dptr, stream));
    REFUSED(cuMemFreeAsync(memory.dptr, stream));
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphDestroy(graph));
    OK(cuGraphExecDestroy(exec));
    assert_int_equal(words_at(memory.dptr)[5], 9);
    OK(cuMemFree_v2(memory.dptr));
    REFUSED(cuMemFree_v2(memory.dptr));
}

static void a_launch_frees_what_the_last_has_left(void **state) {
    CUgraph graph;
    CUgraphNode alloc;
    CUDA_MEM_ALLOC_NODE_PARAMS memory = memory_of(4096);
    (void)state;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &memory));
    CUgraphExec exec = instantiated(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphLaunch(exec, stream));
    assert_int_equal(used(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 4096);
    OK(cuMemFree_v2(memory.dptr));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

static void captured_streams_allocate(void **state) {
    CUgraph graph;
    CUdeviceptr address;
    uint32_t back = 0;
    size_t count;
    (void)state;
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAllocAsync(&address, 64, stream));
    OK(cuMemsetD32Async(address, 1, 1, stream));
    mix(address, 2, stream);
    OK(cuMemcpyDtoHAsync_v2(&back, address, 4, stream));
    OK(cuMemFreeAsync(address, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 5);
    CUgraphExec exec = instantiated(graph, 0);
    OK(cuGraphDestroy(graph));
    for (int i = 0; i < 2; i++) {
        back = 0;
        OK(cuGraphLaunch(exec, stream));
        OK(cuStreamSynchronize(stream));
        assert_int_equal(back, mixed("12"));
    }
    OK(cuGraphExecDestroy(exec));
    OK(cuDeviceGraphMemTrim(0));
}

static void what_is_refused_of_memory(void **state) {
    CUgraph graph, child, clone;
    CUgraphNode node, other;
    CUdeviceptr word = allocate(64), address;
    CUgraphExecUpdateResultInfo info;
    CUDA_MEM_ALLOC_NODE_PARAMS memory = memory_of(64), wrong = memory_of(0);
    cuuint64_t value = 1;
    (void)state;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphCreate(&child, 0));
    REFUSED(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &wrong));
    wrong = memory_of(64), wrong.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
    REFUSED(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &wrong));
    wrong = memory_of(64), wrong.poolProps.location.id = 5;
    REFUSED(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &wrong));
    wrong = memory_of(64);
    wrong.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    GIVES(ERROR_NOT_SUPPORTED, cuGraphAddMemAllocNode(&node, graph, NULL, 0, &wrong));
    wrong = memory_of((size_t)1 << 40);
    GIVES(ERROR_OUT_OF_MEMORY, cuGraphAddMemAllocNode(&node, graph, NULL, 0, &wrong));
    REFUSED(cuGraphAddMemAllocNode(&node, graph, NULL, 0, NULL));
    REFUSED(cuGraphAddMemAllocNode(&node, graph, NULL, 1, &memory));
    REFUSED(cuGraphAddMemFreeNode(&node, graph, NULL, 0, word)); /* it is of no graph */
    REFUSED(cuGraphAddMemFreeNode(NULL, graph, NULL, 0, word));
    OK(cuGraphAddMemAllocNode(&node, child, NULL, 0, &memory));
    REFUSED(cuGraphMemAllocNodeGetParams(node, NULL));
    REFUSED(cuGraphMemFreeNodeGetParams(node, &address));
    GIVES(ERROR_NOT_SUPPORTED, cuGraphDestroyNode(node));
    GIVES(ERROR_NOT_SUPPORTED, cuGraphClone(&clone, child));
    GIVES(ERROR_NOT_SUPPORTED, cuGraphAddChildGraphNode(&other, graph, NULL, 0, child));
    CUgraphExec exec = instantiated(child, 0);
    GIVES(ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, child, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED);
    OK(cuGraphExecDestroy(exec));
    REFUSED(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value));
    value = 0;
    OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value));
    assert_int_equal(used(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 0);
    REFUSED(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value));
    REFUSED(cuDeviceGetGraphMemAttribute(0, (CUgraphMem_attribute)4, &value));
    GIVES(ERROR_INVALID_DEVICE, cuDeviceGraphMemTrim(99));
    OK(cuGraphDestroy(graph));
    OK(cuGraphDestroy(child));
    OK(cuMemFree_v2(word));
}

/* ---- user objects ---- */

static void count(void *user) {
    ++*(int *)user;
}

static void objects_go_with_the_last_graph(void **state) {
    CUgraph graph, clone;
    CUuserObject object;
    struct gate gate;
    int ended = 0;
    (void)state;
    OK(cuUserObjectCreate(&object, &ended, count, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cuGraphRetainUserObject(graph, object, 1, 0));
    OK(cuGraphReleaseUserObject(graph, object, 1));
    REFUSED(cuGraphReleaseUserObject(graph, object, 2));
    OK(cuGraphClone(&clone, graph));
    CUgraphExec exec = instantiated(graph, 0);
    OK(cuUserObjectRetain(object, 1));
    OK(cuUserObjectRelease(object, 2));
    OK(cuGraphDestroy(graph));
    OK(cuGraphDestroy(clone));
    assert_int_equal(ended, 0);
    OK(cuGraphExecDestroy(exec));
    assert_int_equal(ended, 1);
    OK(cuUserObjectCreate(&object, &ended, count, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    CUgraphNode node;
    CUDA_HOST_NODE_PARAMS waits = {wait_at_gate, &gate};
    OK(cuGraphAddHostNode(&node, graph, NULL, 0, &waits));
    exec = instantiated(graph, 0);
    OK(cuGraphDestroy(graph));
    sem_init(&gate.sem, 0, 0);
    OK(cuGraphLaunch(exec, stream));
    open_gate(&gate);
    OK(cuGraphExecDestroy(exec)); /* waits for the launch */
    OK(cuStreamQuery(stream));
    assert_int_equal(ended, 2);
}

static void an_update_brings_its_objects(void **state) {
    CUgraph one, other;
    CUuserObject object;
    CUgraphExecUpdateResultInfo info;
    int ended[2] = {0, 0};
    (void)state;
    OK(cuGraphCreate(&one, 0));
    OK(cuGraphCreate(&other, 0));
    for (int i = 0; i < 2; i++) {
        OK(cuUserObjectCreate(&object, &ended[i], count, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
        OK(cuGraphRetainUserObject(i == 0 ? one : other, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
    }
    CUgraphExec exec = instantiated(one, 0);
    OK(cuGraphDestroy(one));
    OK(cuGraphExecUpdate_v2(exec, other, &info));
    OK(cuGraphDestroy(other));
    assert_int_equal(ended[0], 1);
    assert_int_equal(ended[1], 0);
    OK(cuGraphExecDestroy(exec));
    assert_int_equal(ended[1], 1);
}

static void what_is_refused_of_objects(void **state) {
    CUuserObject object;
    CUgraph graph;
    int ended = 0;
    (void)state;
    REFUSED(cuUserObjectCreate(NULL, &ended, count, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    REFUSED(cuUserObjectCreate(&object, &ended, NULL, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    REFUSED(cuUserObjectCreate(&object, &ended, count, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    REFUSED(cuUserObjectCreate(&object, &ended, count, 1, 0));
    OK(cuUserObjectCreate(&object, &ended, count, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuGraphCreate(&graph, 0));
    REFUSED(cuGraphRetainUserObject(graph, object, 1, 2));
    REFUSED(cuGraphRetainUserObject(NULL, object, 1, 0));
    REFUSED(cuGraphReleaseUserObject(graph, object, 1));
    REFUSED(cuGraphReleaseUserObject(NULL, object, 1));
    REFUSED(cuUserObjectRetain(NULL, 1));
    REFUSED(cuUserObjectRelease(object, 0));
    OK(cuUserObjectRelease(object, 1));
    assert_int_equal(ended, 1);
    OK(cuGraphDestroy(graph));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_lives_in_a_graph),
        cmocka_unit_test(memory_outlives_its_graph),
        cmocka_unit_test(a_launch_frees_what_the_last_has_left),
        cmocka_unit_test(captured_streams_allocate),
        cmocka_unit_test(what_is_refused_of_memory),
        cmocka_unit_test(objects_go_with_the_last_graph),
        cmocka_unit_test(an_update_brings_its_objects),
        cmocka_unit_test(what_is_refused_of_objects),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
