/* Graphs by hand and by capture. */
#include "cuda/driver.h"

#include <pthread.h>

static CUdeviceptr word;
static CUstream stream, other;

static int set_up(void **state) {
    begin(state);
    word = allocate(64);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    return 0;
}

static int tear_down(void **state) {
    OK(cuMemFree_v2(word));
    OK(cuStreamDestroy_v2(stream));
    OK(cuStreamDestroy_v2(other));
    return end(state);
}

/* Launches it, frees it, and gives what is in the word. */
static uint32_t run(CUgraph graph) {
    CUgraphExec exec;
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphExecDestroy(exec));
    OK(cuStreamSynchronize(stream));
    uint32_t value = *words_at(word);
    *words_at(word) = 0;
    return value;
}

/* ---- by hand ---- */

static CUDA_KERNEL_NODE_PARAMS mix_params(void **params) {
    return (CUDA_KERNEL_NODE_PARAMS){.func = function_of("mix"),
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 1,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = params};
}

static CUgraphNode add_mix(CUgraph graph, unsigned value, const CUgraphNode *before, size_t count) {
    CUgraphNode node;
    void *params[] = {&word, &value};
    CUDA_KERNEL_NODE_PARAMS kernel = mix_params(params);
    OK(cuGraphAddKernelNode_v2(&node, graph, before, count, &kernel));
    return node;
}

static void twice(void *user) {
    *(uint32_t *)user *= 2;
}

static void nodes_of_every_kind_run_in_order(void **state) {
    CUgraph graph, child;
    CUgraphNode nodes[8];
    CUevent event;
    CUdeviceptr copied = word + 4;
    (void)state;
    OK(cuEventCreate(&event, 0));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphCreate(&child, 0));
    add_mix(child, 3, NULL, 0);
    CUDA_MEMSET_NODE_PARAMS set = {
        .dst = word, .value = 2, .elementSize = 4, .width = 1, .height = 1};
    OK(cuGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &set, context));
    nodes[1] = add_mix(graph, 1, &nodes[0], 1);
    OK(cuGraphAddChildGraphNode(&nodes[2], graph, &nodes[1], 1, child));
    OK(cuGraphDestroy(child)); /* it was copied */
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = word,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = copied,
                          .WidthInBytes = 4,
                          .Height = 1,
                          .Depth = 1};
    OK(cuGraphAddMemcpyNode(&nodes[3], graph, &nodes[2], 1, &copy, context));
    CUDA_HOST_NODE_PARAMS host = {twice, words_at(word)};
    OK(cuGraphAddHostNode(&nodes[4], graph, &nodes[3], 1, &host));
    OK(cuGraphAddEmptyNode(&nodes[5], graph, &nodes[4], 1));
    OK(cuGraphAddEventRecordNode(&nodes[6], graph, &nodes[5], 1, event));
    OK(cuGraphAddEventWaitNode(&nodes[7], graph, &nodes[6], 1, event));
    uint32_t expected = (2 * 31 + 1) * 31 + 3;
    assert_int_equal(run(graph), 2 * expected);
    assert_int_equal(words_at(word)[1], expected);
    assert_int_equal(run(graph), 2 * expected); /* again */
    OK(cuEventSynchronize(event));
    static const CUgraphNodeType types[] = {
        CU_GRAPH_NODE_TYPE_MEMSET,       CU_GRAPH_NODE_TYPE_KERNEL,    CU_GRAPH_NODE_TYPE_GRAPH,
        CU_GRAPH_NODE_TYPE_MEMCPY,       CU_GRAPH_NODE_TYPE_HOST,      CU_GRAPH_NODE_TYPE_EMPTY,
        CU_GRAPH_NODE_TYPE_EVENT_RECORD, CU_GRAPH_NODE_TYPE_WAIT_EVENT};
    for (int i = 0; i < 8; i++) {
        CUgraphNodeType type;
        OK(cuGraphNodeGetType(nodes[i], &type));
        assert_int_equal(type, types[i]);
    }
    REFUSED(cuGraphNodeGetType(NULL, NULL));
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy_v2(event));
}

static void dependencies_make_the_order(void **state) {
    CUgraph graph, clone;
    CUgraphNode nodes[4], got[8], to[8];
    CUgraphExec exec;
    CUgraphEdgeData data[8];
    size_t count;
    (void)state;
    OK(cuGraphCreate(&graph, 0));
    for (unsigned i = 0; i < 4; i++)
        nodes[i] = add_mix(graph, i + 1, NULL, 0);
    /* 4 3 2 1 */
    CUgraphNode before[] = {nodes[3], nodes[2], nodes[1]}, after[] = {nodes[2], nodes[1], nodes[0]};
    OK(cuGraphAddDependencies(graph, before, after, 2));
    OK(cuGraphAddDependencies_v2(graph, before + 2, after + 2, NULL, 1));
    assert_int_equal(run(graph), mixed("4321"));
    OK(cuGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 4);
    count = 8;
    OK(cuGraphGetNodes(graph, got, &count));
    assert_int_equal(count, 4);
    assert_ptr_equal(got[2], nodes[2]);
    assert_null(got[7]);
    count = 8;
    OK(cuGraphGetRootNodes(graph, got, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(got[0], nodes[3]);
    OK(cuGraphGetEdges(graph, NULL, NULL, &count));
    assert_int_equal(count, 3);
    OK(cuGraphGetEdges(graph, got, to, &count));
    assert_ptr_equal(got[0], nodes[1]);
    assert_ptr_equal(to[0], nodes[0]);
    OK(cuGraphGetEdges_v2(graph, got, to, data, &count));
    assert_int_equal(data[0].type, 0);
    count = 8;
    OK(cuGraphNodeGetDependencies(nodes[1], got, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(got[0], nodes[2]);
    count = 8;
    OK(cuGraphNodeGetDependencies_v2(nodes[3], got, data, &count));
    assert_int_equal(count, 0);
    count = 8;
    OK(cuGraphNodeGetDependentNodes(nodes[3], got, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(got[0], nodes[2]);
    OK(cuGraphNodeGetDependentNodes_v2(nodes[0], got, data, &count));
    assert_int_equal(count, 0);
    /* a cycle */
    OK(cuGraphAddDependencies(graph, &nodes[0], &nodes[3], 1));
    REFUSED(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphRemoveDependencies(graph, &nodes[0], &nodes[3], 1));
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphRemoveDependencies_v2(graph, before, after, NULL, 1));
    OK(cuGraphDestroyNode(nodes[3]));
    assert_int_equal(run(graph), mixed("321"));
    assert_int_equal(run(clone), mixed("4321"));
    OK(cuGraphDestroy(clone));
    REFUSED(cuGraphRemoveDependencies(graph, &nodes[0], &nodes[2], 1));
    REFUSED(cuGraphAddDependencies(graph, &nodes[0], &nodes[0], 1));
    REFUSED(cuGraphAddDependencies(graph, NULL, &nodes[0], 1));
    REFUSED(cuGraphAddDependencies(NULL, nodes, nodes, 1));
    memset(data, 0, sizeof data);
    OK(cuGraphAddDependencies_v2(graph, &nodes[0], &nodes[1], data, 1));
    OK(cuGraphRemoveDependencies_v2(graph, &nodes[0], &nodes[1], data, 1));
    data[0].type = 1;
    GIVES(ERROR_NOT_SUPPORTED, cuGraphAddDependencies_v2(graph, nodes, nodes + 1, data, 1));
    GIVES(ERROR_NOT_SUPPORTED, cuGraphRemoveDependencies_v2(graph, nodes, nodes + 1, data, 1));
    REFUSED(cuGraphGetNodes(NULL, got, &count));
    REFUSED(cuGraphGetRootNodes(graph, got, NULL));
    REFUSED(cuGraphGetEdges(graph, got, NULL, &count));
    REFUSED(cuGraphGetEdges_v2(NULL, NULL, NULL, NULL, &count));
    REFUSED(cuGraphNodeGetDependencies(NULL, got, &count));
    REFUSED(cuGraphNodeGetDependencies_v2(nodes[0], got, data, NULL));
    REFUSED(cuGraphNodeGetDependentNodes(NULL, got, &count));
    REFUSED(cuGraphNodeGetDependentNodes_v2(NULL, got, data, &count));
    REFUSED(cuGraphDestroyNode(NULL));
    REFUSED(cuGraphClone(NULL, graph));
    REFUSED(cuGraphClone(&clone, NULL));
    OK(cuGraphDestroy(graph));
    REFUSED(cuGraphDestroy(NULL));
    REFUSED(cuGraphCreate(NULL, 0));
    REFUSED(cuGraphCreate(&graph, 1));
}

static void nodes_are_refused(void **state) {
    CUgraph graph, another;
    CUgraphNode node, foreign;
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE};
    CUDA_MEMSET_NODE_PARAMS set = {.dst = word, .elementSize = 3, .width = 1, .height = 1};
    CUDA_HOST_NODE_PARAMS host = {NULL, NULL};
    CUDA_KERNEL_NODE_PARAMS kernel = {.func = NULL};
    (void)state;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphCreate(&another, 0));
    foreign = add_mix(another, 1, NULL, 0);
    GIVES(ERROR_INVALID_HANDLE, cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    REFUSED(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, NULL));
    REFUSED(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
    REFUSED(cuGraphAddMemcpyNode(&node, graph, NULL, 0, NULL, context));
    REFUSED(cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
    set.elementSize = 4, set.width = 100;
    REFUSED(cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
    REFUSED(cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, NULL));
    REFUSED(cuGraphAddHostNode(&node, graph, NULL, 0, &host));
    REFUSED(cuGraphAddChildGraphNode(&node, graph, NULL, 0, graph));
    REFUSED(cuGraphAddChildGraphNode(&node, graph, &foreign, 1, another));
    REFUSED(cuGraphAddEmptyNode(&node, graph, &foreign, 1));
    REFUSED(cuGraphAddEmptyNode(&node, graph, NULL, 1));
    REFUSED(cuGraphAddEmptyNode(NULL, graph, NULL, 0));
    REFUSED(cuGraphAddEventRecordNode(&node, graph, NULL, 0, NULL));
    REFUSED(cuGraphAddEventWaitNode(&node, graph, NULL, 0, NULL));
    assert_int_equal(run(graph), 0);
    OK(cuGraphDestroy(graph));
    OK(cuGraphDestroy(another));
}

static void kernels_get_other_parameters(void **state) {
    CUgraph graph;
    CUgraphExec exec;
    CUDA_KERNEL_NODE_PARAMS got, changed;
    unsigned value = 8;
    void *params[] = {&word, &value};
    (void)state;
    OK(cuGraphCreate(&graph, 0));
    CUgraphNode first = add_mix(graph, 1, NULL, 0), node = add_mix(graph, 2, &first, 1), empty;
    OK(cuGraphAddEmptyNode(&empty, graph, &node, 1));
    OK(cuGraphKernelNodeGetParams_v2(node, &got));
    assert_ptr_equal(got.func, function_of("mix"));
    assert_int_equal(*(unsigned *)got.kernelParams[1], 2);
    changed = mix_params(params);
    OK(cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY));
    OK(cuGraphKernelNodeSetParams_v2(node, &changed));
    OK(cuGraphLaunch(exec, stream)); /* has the old ones */
    OK(cuStreamSynchronize(stream));
    assert_int_equal(*words_at(word), mixed("12"));
    *words_at(word) = 0;
    assert_int_equal(run(graph), mixed("18"));
    value = 9;
    OK(cuGraphExecKernelNodeSetParams_v2(exec, node, &changed));
    OK(cuGraphDestroyNode(first)); /* of the graph alone */
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(*words_at(word), mixed("19"));
    *words_at(word) = 0;
    value = 7;
    OK(cuGraphExecKernelNodeSetParams_v2(exec, node, &changed));
    OK(cuGraphUpload(exec, stream));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(*words_at(word), mixed("17"));
    *words_at(word) = 0;
    REFUSED(cuGraphKernelNodeGetParams_v2(empty, &got));
    REFUSED(cuGraphKernelNodeGetParams_v2(NULL, &got));
    REFUSED(cuGraphKernelNodeSetParams_v2(empty, &changed));
    REFUSED(cuGraphKernelNodeSetParams_v2(node, NULL));
    changed.blockDimX = 0;
    REFUSED(cuGraphKernelNodeSetParams_v2(node, &changed));
    REFUSED(cuGraphExecKernelNodeSetParams_v2(exec, node, &changed));
    REFUSED(cuGraphExecKernelNodeSetParams_v2(exec, node, NULL));
    REFUSED(cuGraphExecKernelNodeSetParams_v2(exec, empty, &got));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

static void graphs_are_updated(void **state) {
    CUgraph graph, next, different;
    CUgraphExec exec, log;
    CUgraphExecUpdateResultInfo info;
    CUDA_GRAPH_INSTANTIATE_PARAMS with = {.flags = 0};
    CUgraphNode failed;
    char text[8] = "text";
    unsigned value = 6;
    void *params[] = {&word, &value};
    (void)state;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphCreate(&next, 0));
    OK(cuGraphCreate(&different, 0));
    CUgraphNode node = add_mix(graph, 1, NULL, 0);
    add_mix(graph, 2, &node, 1);
    CUgraphNode first = add_mix(next, 3, NULL, 0);
    add_mix(next, 4, &first, 1);
    add_mix(different, 5, NULL, 0);
    add_mix(different, 5, NULL, 0);
    OK(cuGraphInstantiate_v2(&exec, graph, &failed, text, sizeof text));
    assert_null(failed);
    assert_string_equal(text, "");
    OK(cuGraphExecUpdate_v2(exec, next, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    OK(cuGraphDestroy(next));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(*words_at(word), mixed("34"));
    *words_at(word) = 0;
    CUDA_KERNEL_NODE_PARAMS kernel = mix_params(params);
    OK(cuGraphExecKernelNodeSetParams_v2(exec, node, &kernel)); /* nodes are the first graph's */
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(*words_at(word), mixed("64"));
    *words_at(word) = 0;
    GIVES(ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, different, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    OK(cuGraphAddEmptyNode(&failed, different, NULL, 0));
    GIVES(ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, different, &info));
    assert_null(info.errorNode);
    REFUSED(cuGraphExecUpdate_v2(NULL, graph, &info));
    REFUSED(cuGraphExecUpdate_v2(exec, NULL, &info));
    REFUSED(cuGraphExecUpdate_v2(exec, graph, NULL));
    OK(cuGraphInstantiateWithParams(&log, graph, &with));
    assert_int_equal(with.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
    OK(cuGraphExecDestroy(log));
    OK(cuGraphAddDependencies(different, &failed, &failed, 0));
    with.flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    GIVES(ERROR_NOT_SUPPORTED, cuGraphInstantiateWithParams(&log, graph, &with));
    assert_int_equal(with.result_out, CUDA_GRAPH_INSTANTIATE_ERROR);
    REFUSED(cuGraphInstantiateWithParams(&log, graph, NULL));
    REFUSED(cuGraphInstantiateWithParams(NULL, graph, &with));
    REFUSED(cuGraphInstantiateWithFlags(&log, graph, 99));
    REFUSED(cuGraphInstantiateWithFlags(&log, NULL, 0));
    REFUSED(cuGraphInstantiateWithFlags(NULL, graph, 0));
    REFUSED(cuGraphInstantiate_v2(&log, NULL, NULL, NULL, 0));
    REFUSED(cuGraphLaunch(NULL, stream));
    GIVES(ERROR_INVALID_HANDLE, cuGraphLaunch(exec, (CUstream)state));
    REFUSED(cuGraphUpload(NULL, stream));
    REFUSED(cuGraphExecDestroy(NULL));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuGraphDestroy(different));
}

/* ---- by capture ---- */

static CUstreamCaptureStatus status_of(CUstream of) {
    CUstreamCaptureStatus status;
    OK(cuStreamIsCapturing(of, &status));
    return status;
}

static void begin_capture(CUstreamCaptureMode mode) {
    OK(cuStreamBeginCapture_v2(stream, mode));
}

static CUgraph end_capture(void) {
    CUgraph graph;
    OK(cuStreamEndCapture(stream, &graph));
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE);
    return graph;
}

static void a_stream_is_captured(void **state) {
    CUdeviceptr copied = word + 4;
    size_t count;
    (void)state;
    begin_capture(CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuMemsetD32Async(word, 1, 1, stream));
    mix(word, 2, stream);
    OK(cuMemcpyDtoDAsync_v2(copied, word, 4, stream));
    OK(cuLaunchHostFunc(stream, twice, words_at(word)));
    CUgraph graph = end_capture();
    assert_int_equal(*words_at(word), 0); /* nothing has run */
    OK(cuGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 4);
    assert_int_equal(run(graph), 2 * mixed("12"));
    assert_int_equal(words_at(word)[1], mixed("12"));
    OK(cuGraphDestroy(graph));
}

static void streams_fork_and_join(void **state) {
    CUevent fork, join;
    (void)state;
    OK(cuEventCreate(&fork, 0));
    OK(cuEventCreate(&join, 0));
    begin_capture(CU_STREAM_CAPTURE_MODE_RELAXED);
    mix(word, 1, stream);
    OK(cuEventRecord(fork, stream));
    OK(cuStreamWaitEvent(other, fork, 0));
    assert_int_equal(status_of(other), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    mix(word, 2, other);
    OK(cuEventRecord(join, other));
    GIVES(ERROR_CAPTURED_EVENT, cuEventQuery(join));
    GIVES(ERROR_CAPTURED_EVENT, cuEventSynchronize(join));
    OK(cuStreamWaitEvent(stream, join, 0));
    mix(word, 3, stream);
    CUgraph graph = end_capture();
    assert_int_equal(status_of(other), CU_STREAM_CAPTURE_STATUS_NONE);
    assert_int_equal(run(graph), mixed("123"));
    OK(cuGraphDestroy(graph));
    GIVES(ERROR_CAPTURED_EVENT, cuStreamWaitEvent(other, join, 0)); /* its graph is gone */
    OK(cuEventRecord(join, other));                                 /* no longer captured */
    OK(cuEventSynchronize(join));
    OK(cuEventDestroy_v2(fork));
    OK(cuEventDestroy_v2(join));
}

static void a_stream_that_did_not_join(void **state) {
    CUevent event;
    CUgraph graph;
    (void)state;
    OK(cuEventCreate(&event, 0));
    begin_capture(CU_STREAM_CAPTURE_MODE_RELAXED);
    mix(word, 1, stream);
    OK(cuEventRecord(event, stream));
    OK(cuStreamWaitEvent(other, event, 0));
    mix(word, 2, other);
    GIVES(ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(other, &graph));
    GIVES(ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(stream, &graph));
    assert_null(graph);
    assert_int_equal(status_of(other), CU_STREAM_CAPTURE_STATUS_NONE);
    mix(word, 5, other); /* works again */
    OK(cuStreamSynchronize(other));
    assert_int_equal(*words_at(word), 5);
    *words_at(word) = 0;
    OK(cuEventDestroy_v2(event));
}

/* What a stream has recorded that is destroyed meanwhile stays, and must be joined. */
static void a_stream_ends_in_a_capture(void **state) {
    CUevent fork, join;
    CUstream third;
    CUgraph graph;
    (void)state;
    OK(cuEventCreate(&fork, 0));
    OK(cuEventCreate(&join, 0));
    for (int joins = 0; joins < 2; joins++) {
        OK(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
        begin_capture(CU_STREAM_CAPTURE_MODE_GLOBAL);
        mix(word, 1, stream);
        OK(cuEventRecord(fork, stream));
        OK(cuStreamWaitEvent(third, fork, 0));
        mix(word, 2, third);
        OK(cuEventRecord(join, third));
        OK(cuStreamDestroy_v2(third));
        if (joins)
            OK(cuStreamWaitEvent(stream, join, 0));
        else
            GIVES(ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(stream, &graph));
    }
    mix(word, 3, stream);
    graph = end_capture();
    assert_int_equal(run(graph), mixed("123"));
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy_v2(fork));
    OK(cuEventDestroy_v2(join));
}

static void call_back(CUstream of, CUresult status, void *user) {
    (void)of, (void)status, (void)user;
}

static void expect_invalid(void) {
    CUgraph graph;
    void *params[] = {&word, &(unsigned){1}};
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    GIVES(ERROR_STREAM_CAPTURE_INVALIDATED, launch(function_of("mix"), 1, 1, stream, params));
    GIVES(ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    assert_int_equal(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE);
}

static void what_a_capture_forbids(void **state) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUstream blocking;
    CUdeviceptr memory;
    CUevent event;
    CUgraph graph;
    (void)state;
    OK(cuEventCreate(&event, 0));
    begin_capture(CU_STREAM_CAPTURE_MODE_GLOBAL);
    GIVES(ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2(&memory, 1));
    expect_invalid();
    begin_capture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    GIVES(ERROR_STREAM_CAPTURE_UNSUPPORTED, cuCtxSynchronize());
    expect_invalid();
    begin_capture(CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuMemAlloc_v2(&memory, 1));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    OK(cuGraphDestroy(end_capture()));
    begin_capture(CU_STREAM_CAPTURE_MODE_RELAXED);
    OK(cuMemFree_v2(memory));
    GIVES(ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(stream));
    GIVES(ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(stream));
    GIVES(ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamAddCallback(stream, call_back, NULL, 0));
    expect_invalid();
    begin_capture(CU_STREAM_CAPTURE_MODE_RELAXED);
    GIVES(ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(stream, event, 0));
    expect_invalid();
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    GIVES(ERROR_STREAM_CAPTURE_IMPLICIT, launch(function_of("empty"), 1, 1, NULL, NULL));
    assert_int_equal(status_of(blocking), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    GIVES(ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(blocking, &graph));
    OK(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    GIVES(ERROR_STREAM_CAPTURE_IMPLICIT, cuMemcpyDtoD_v2(word, word + 4, 4));
    OK(cuStreamDestroy_v2(blocking)); /* while it is captured */
    OK(cuStreamBeginCapture_v2(other, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(event, other));
    begin_capture(CU_STREAM_CAPTURE_MODE_RELAXED);
    GIVES(ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(stream, event, 0));
    expect_invalid();
    GIVES(ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(other, &graph));
    GIVES(ERROR_STREAM_CAPTURE_UNSUPPORTED,
          cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
    REFUSED(cuStreamBeginCapture_v2(stream, (CUstreamCaptureMode)3));
    begin_capture(CU_STREAM_CAPTURE_MODE_GLOBAL);
    GIVES(ERROR_ILLEGAL_STATE, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    REFUSED(cuStreamEndCapture(stream, NULL));
    OK(cuGraphDestroy(end_capture()));
    GIVES(ERROR_ILLEGAL_STATE, cuStreamEndCapture(stream, &graph));
    mode = (CUstreamCaptureMode)7;
    REFUSED(cuThreadExchangeStreamCaptureMode(&mode));
    REFUSED(cuThreadExchangeStreamCaptureMode(NULL));
    OK(cuEventDestroy_v2(event));
}

static void *allocate_elsewhere(void *argument) {
    CUdeviceptr memory;
    OK(cuCtxSetCurrent(context));
    *(CUresult *)argument = cuMemAlloc_v2(&memory, 4096);
    if (*(CUresult *)argument == CUDA_SUCCESS)
        OK(cuMemFree_v2(memory));
    return NULL;
}

static CUresult allocate_in_a_thread(void) {
    CUresult result;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, allocate_elsewhere, &result), 0);
    pthread_join(thread, NULL);
    return result;
}

static void a_mode_says_which_threads_it_forbids(void **state) {
    (void)state;
    begin_capture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    OK(allocate_in_a_thread());
    OK(cuGraphDestroy(end_capture()));
    begin_capture(CU_STREAM_CAPTURE_MODE_GLOBAL);
    GIVES(ERROR_STREAM_CAPTURE_UNSUPPORTED, allocate_in_a_thread());
    expect_invalid();
}

static void a_capture_can_be_looked_into(void **state) {
    CUstreamCaptureStatus status;
    cuuint64_t id = 0, before;
    CUgraph graph, ended;
    CUgraphNode node;
    const CUgraphNode *nodes;
    const CUgraphEdgeData *edges;
    CUgraphEdgeData data = {.type = 0};
    size_t count;
    (void)state;
    OK(cuStreamGetCaptureInfo(stream, &status, &id));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    begin_capture(CU_STREAM_CAPTURE_MODE_RELAXED);
    OK(cuStreamGetCaptureInfo(stream, &status, &before));
    mix(word, 1, stream);
    OK(cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &nodes, &count));
    assert_true(id == before);
    assert_int_equal(count, 1);
    GIVES(ERROR_ILLEGAL_STATE, cuGraphDestroy(graph));
    GIVES(ERROR_ILLEGAL_STATE, cuGraphDestroyNode(nodes[0]));
    node = add_mix(graph, 2, nodes, 1);
    OK(cuStreamUpdateCaptureDependencies(stream, &node, 1, 1));
    mix(word, 3, stream);
    OK(cuStreamGetCaptureInfo_v3(stream, &status, NULL, NULL, &nodes, &edges, &count));
    assert_null(edges);
    node = add_mix(graph, 4, nodes, 1);
    OK(cuStreamUpdateCaptureDependencies_v2(stream, &node, &data, 1, 0));
    mix(word, 5, stream);
    data.from_port = 1;
    REFUSED(cuStreamUpdateCaptureDependencies(stream, NULL, 1, 0));
    REFUSED(cuStreamUpdateCaptureDependencies(stream, &node, 1, 2));
    GIVES(ERROR_NOT_SUPPORTED, cuStreamUpdateCaptureDependencies_v2(stream, &node, &data, 1, 0));
    ended = end_capture();
    assert_ptr_equal(ended, graph);
    assert_int_equal(run(graph), mixed("12345"));
    OK(cuGraphDestroy(graph));
    GIVES(ERROR_ILLEGAL_STATE, cuStreamUpdateCaptureDependencies(stream, NULL, 0, 0));
    REFUSED(cuStreamGetCaptureInfo(stream, NULL, NULL));
    REFUSED(cuStreamGetCaptureInfo_v2(stream, NULL, NULL, NULL, NULL, NULL));
    REFUSED(cuStreamGetCaptureInfo_v3(stream, NULL, NULL, NULL, NULL, NULL, NULL));
    REFUSED(cuStreamIsCapturing(stream, NULL));
    GIVES(ERROR_INVALID_HANDLE, cuStreamIsCapturing((CUstream)state, &status));
}

/* A graph that is launched into a captured stream is a part of what is recorded, in its order. */
static void a_launch_is_captured(void **state) {
    CUgraph graph, whole;
    CUgraphExec exec;
    CUgraphNode nodes[2];
    (void)state;
    OK(cuGraphCreate(&graph, 0));
    nodes[0] = add_mix(graph, 3, NULL, 0);
    nodes[1] = add_mix(graph, 2, NULL, 0);
    OK(cuGraphAddDependencies(graph, &nodes[1], &nodes[0], 1));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    begin_capture(CU_STREAM_CAPTURE_MODE_GLOBAL);
    mix(word, 1, stream);
    OK(cuGraphLaunch(exec, stream));
    mix(word, 4, stream);
    whole = end_capture();
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    assert_int_equal(run(whole), mixed("1234"));
    OK(cuGraphDestroy(whole));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nodes_of_every_kind_run_in_order),
                                       cmocka_unit_test(dependencies_make_the_order),
                                       cmocka_unit_test(nodes_are_refused),
                                       cmocka_unit_test(kernels_get_other_parameters),
                                       cmocka_unit_test(graphs_are_updated),
                                       cmocka_unit_test(a_stream_is_captured),
                                       cmocka_unit_test(streams_fork_and_join),
                                       cmocka_unit_test(a_stream_that_did_not_join),
                                       cmocka_unit_test(a_stream_ends_in_a_capture),
                                       cmocka_unit_test(what_a_capture_forbids),
                                       cmocka_unit_test(a_mode_says_which_threads_it_forbids),
                                       cmocka_unit_test(a_capture_can_be_looked_into),
                                       cmocka_unit_test(a_launch_is_captured)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
