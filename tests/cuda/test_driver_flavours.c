/* Functions in the flavour whose default stream is the thread's own: each is called with no stream
 * and does its work in the thread's, which shows in a capture of that one or while it is held up.
 */
#include "cuda/driver.h"

#define NONE NULL

static CUdeviceptr word, shared;
static unsigned char *pinned;
static struct gate gate;

static int set_up(void **state) {
    begin(state);
    word = allocate(4096);
    OK(cuMemAllocManaged(&shared, 4096, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocHost_v2((void **)&pinned, 4096));
    return 0;
}

static int tear_down(void **state) {
    OK(cuMemFree_v2(word));
    OK(cuMemFree_v2(shared));
    OK(cuMemFreeHost(pinned));
    return end(state);
}

static void nothing(void *user) {
    (void)user;
}

static void call_back(CUstream stream, CUresult status, void *user) {
    (void)stream, (void)status, (void)user;
}

/* How many nodes the capture of the thread's stream has. */
static size_t recorded(void) {
    CUstreamCaptureStatus status;
    CUgraph graph;
    size_t count;
    OK(cuStreamGetCaptureInfo_v2_ptsz(NONE, &status, NULL, &graph, NULL, NULL));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuGraphGetNodes(graph, NULL, &count));
    return count;
}

static CUDA_MEMCPY2D rows(void) {
    return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = word,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = word + 64,
                           .WidthInBytes = 4,
                           .Height = 1};
}

static CUDA_MEMCPY3D box(void) {
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = word,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = word + 64,
                           .WidthInBytes = 4,
                           .Height = 1,
                           .Depth = 1};
}

/* What can be recorded is recorded in the thread's stream. */
static void work_goes_to_the_threads_stream(void **state) {
    CUfunction empty = function_of("empty");
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1,
                             .blockDimY = 1,
                             .blockDimZ = 1};
    CUstreamCaptureStatus status;
    CUDA_MEMCPY2D two = rows();
    CUDA_MEMCPY3D three = box();
    CUgraph graph, made;
    CUgraphExec exec;
    const CUgraphNode *nodes;
    const CUgraphEdgeData *edges;
    cuuint64_t id;
    size_t count, expected = 0;
    (void)state;
    OK(cuGraphCreate(&made, 0));
    CUDA_GRAPH_INSTANTIATE_PARAMS with = {.flags = 0};
    OK(cuGraphInstantiateWithParams_ptsz(&exec, made, &with));
    REFUSED(cuGraphInstantiateWithParams_ptsz(&exec, made, NULL));
    OK(cuStreamBeginCapture_v2_ptsz(NONE, CU_STREAM_CAPTURE_MODE_RELAXED));
    GIVES(ERROR_ILLEGAL_STATE, cuStreamBeginCapture_v2_ptsz(NONE, CU_STREAM_CAPTURE_MODE_RELAXED));
#define RECORDS(call)                                                                              \
    OK(call);                                                                                      \
    assert_int_equal(recorded(), ++expected)
    RECORDS(cuLaunchKernel_ptsz(empty, 1, 1, 1, 1, 1, 1, 0, NONE, NULL, NULL));
    RECORDS(cuLaunchKernelEx_ptsz(&config, empty, NULL, NULL));
    RECORDS(cuLaunchCooperativeKernel_ptsz(empty, 1, 1, 1, 1, 1, 1, 0, NONE, NULL));
    RECORDS(cuLaunchHostFunc_ptsz(NONE, nothing, NULL));
    RECORDS(cuMemcpyAsync_ptsz(word, word + 64, 4, NONE));
    RECORDS(cuMemcpyHtoDAsync_v2_ptsz(word, pinned, 4, NONE));
    RECORDS(cuMemcpyDtoHAsync_v2_ptsz(pinned, word, 4, NONE));
    RECORDS(cuMemcpyDtoDAsync_v2_ptsz(word, word + 64, 4, NONE));
    RECORDS(cuMemcpyPeerAsync_ptsz(word, context, word + 64, context, 4, NONE));
    RECORDS(cuMemcpy2DAsync_v2_ptsz(&two, NONE));
    RECORDS(cuMemcpy3DAsync_v2_ptsz(&three, NONE));
    RECORDS(cuMemsetD8Async_ptsz(word, 1, 4, NONE));
    RECORDS(cuMemsetD16Async_ptsz(word, 1, 4, NONE));
    RECORDS(cuMemsetD32Async_ptsz(word, 1, 4, NONE));
    RECORDS(cuMemsetD2D8Async_ptsz(word, 64, 1, 4, 2, NONE));
    RECORDS(cuMemsetD2D16Async_ptsz(word, 64, 1, 4, 2, NONE));
    RECORDS(cuMemsetD2D32Async_ptsz(word, 64, 1, 4, 2, NONE));
    RECORDS(cuGraphLaunch_ptsz(exec, NONE));
    OK(cuGraphUpload_ptsz(exec, NONE));
    OK(cuStreamIsCapturing_ptsz(NONE, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuStreamGetCaptureInfo_ptsz(NONE, &status, &id));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuStreamGetCaptureInfo_v3_ptsz(NONE, &status, &id, &graph, &nodes, &edges, &count));
    assert_int_equal(count, 1);
    CUgraphNode last = nodes[0];
    OK(cuStreamUpdateCaptureDependencies_ptsz(NONE, &last, 1, 0));
    OK(cuStreamUpdateCaptureDependencies_v2_ptsz(NONE, &last, NULL, 1, 1));
    OK(cuStreamEndCapture_ptsz(NONE, &graph));
    OK(cuGraphDestroy(graph));
    GIVES(ERROR_ILLEGAL_STATE, cuStreamEndCapture_ptsz(NONE, &graph));
    OK(cuGraphDestroy(made));
    OK(cuGraphExecDestroy(exec));
}

/* While the thread's stream is held up, so is what they do. */
static void waits_are_for_the_threads_stream(void **state) {
    unsigned long long id, own;
    CUDA_MEMCPY2D two = rows();
    CUDA_MEMCPY3D three = box();
    CUcontext of;
    CUgreenCtx green;
    CUdevice device;
    CUevent event;
    CUdeviceptr memory;
    CUmemoryPool pool;
    CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    CUdeviceptr addresses[] = {shared};
    size_t sizes[] = {4096}, indices[] = {0};
    unsigned flags, value = 0;
    int priority;
    (void)state;
    OK(cuEventCreate(&event, 0));
    OK(cuStreamGetId(CU_STREAM_PER_THREAD, &own));
    OK(cuStreamGetId_ptsz(NONE, &id));
    assert_true(id == own);
    OK(cuStreamGetId_ptsz(CU_STREAM_LEGACY, &id));
    assert_true(id != own);
    OK(cuStreamGetPriority_ptsz(NONE, &priority));
    OK(cuStreamGetFlags_ptsz(NONE, &flags));
    OK(cuStreamGetCtx_ptsz(NONE, &of));
    OK(cuStreamGetCtx_v2_ptsz(NONE, &of, &green));
    OK(cuStreamGetDevice_ptsz(NONE, &device));
    assert_ptr_equal(of, context);
    close_gate(&gate, CU_STREAM_PER_THREAD);
    GIVES(ERROR_NOT_READY, cuStreamQuery_ptsz(NONE));
    OK(cuEventRecord_ptsz(event, NONE));
    GIVES(ERROR_NOT_READY, cuEventQuery(event));
    OK(cuEventRecordWithFlags_ptsz(event, NONE, 0));
    GIVES(ERROR_NOT_READY, cuEventQuery(event));
    OK(cuStreamWaitEvent_ptsz(NONE, event, 0));
    OK(cuStreamAddCallback_ptsz(NONE, call_back, NULL, 0));
    OK(cuStreamAttachMemAsync_ptsz(NONE, shared, 0, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemPrefetchAsync_ptsz(shared, 4096, 0, NONE));
    OK(cuMemPrefetchAsync_v2_ptsz(shared, 4096, host, 0, NONE));
    OK(cuMemAllocAsync_ptsz(&memory, 4096, NONE));
    OK(cuMemFreeAsync_ptsz(memory, NONE));
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemAllocFromPoolAsync_ptsz(&memory, 4096, pool, NONE));
    OK(cuMemFreeAsync_ptsz(memory, NONE));
    OK(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, memory)); /* it waits */
    open_gate(&gate);
    OK(cuStreamSynchronize_ptsz(NONE));
    OK(cuStreamQuery_ptsz(NONE));
    OK(cuEventQuery(event));
    REFUSED(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
    OK(cuMemPrefetchBatchAsync_ptsz(addresses, sizes, 1, &host, indices, 1, 0,
                                    CU_STREAM_PER_THREAD));
    OK(cuMemDiscardBatchAsync_ptsz(addresses, sizes, 1, 0, CU_STREAM_PER_THREAD));
    OK(cuMemDiscardAndPrefetchBatchAsync_ptsz(addresses, sizes, 1, &host, indices, 1, 0,
                                              CU_STREAM_PER_THREAD));
    OK(cuStreamSynchronize_ptsz(NONE));
    OK(cuMemcpy_ptds(word, word + 64, 4));
    OK(cuMemcpyHtoD_v2_ptds(word, &value, 4));
    OK(cuMemcpyDtoH_v2_ptds(&value, word, 4));
    OK(cuMemcpyDtoD_v2_ptds(word, word + 64, 4));
    OK(cuMemcpyPeer_ptds(word, context, word + 64, context, 4));
    OK(cuMemcpy2D_v2_ptds(&two));
    OK(cuMemcpy2DUnaligned_v2_ptds(&two));
    OK(cuMemcpy3D_v2_ptds(&three));
    OK(cuMemsetD8_v2_ptds(word, 1, 4));
    OK(cuMemsetD16_v2_ptds(word, 2, 4));
    OK(cuMemsetD32_v2_ptds(word, 3, 4));
    OK(cuMemsetD2D8_v2_ptds(word, 64, 4, 4, 2));
    OK(cuMemsetD2D16_v2_ptds(word, 64, 5, 4, 2));
    OK(cuMemsetD2D32_v2_ptds(word, 64, 6, 4, 2));
    assert_int_equal(words_at(word)[16], 6);
    OK(cuEventDestroy_v2(event));
}

/* Each form gives for arguments of zero what the plain one does. */
static void wrong_arguments_are_refused_alike(void **state) {
    CUmemLocation nowhere = {CU_MEM_LOCATION_TYPE_INVALID, 0};
    (void)state;
#define ALIKE(name, flavour, ...)                                                                  \
    do {                                                                                           \
        CUresult plain = name(__VA_ARGS__);                                                        \
        assert_int_not_equal(plain, CUDA_SUCCESS);                                                 \
        assert_int_equal(name##_##flavour(__VA_ARGS__), plain);                                    \
    } while (0)
    ALIKE(cuLaunchKernel, ptsz, NULL, 1, 1, 1, 1, 1, 1, 0, NONE, NULL, NULL);
    ALIKE(cuLaunchKernelEx, ptsz, NULL, NULL, NULL, NULL);
    ALIKE(cuLaunchCooperativeKernel, ptsz, NULL, 1, 1, 1, 1, 1, 1, 0, NONE, NULL);
    ALIKE(cuLaunchHostFunc, ptsz, NONE, NULL, NULL);
    ALIKE(cuMemcpy, ptds, 0, 0, 1);
    ALIKE(cuMemcpyAsync, ptsz, 0, 0, 1, NONE);
    ALIKE(cuMemcpyHtoD_v2, ptds, 0, NULL, 1);
    ALIKE(cuMemcpyHtoDAsync_v2, ptsz, 0, NULL, 1, NONE);
    ALIKE(cuMemcpyDtoH_v2, ptds, NULL, 0, 1);
    ALIKE(cuMemcpyDtoHAsync_v2, ptsz, NULL, 0, 1, NONE);
    ALIKE(cuMemcpyDtoD_v2, ptds, 0, 0, 1);
    ALIKE(cuMemcpyDtoDAsync_v2, ptsz, 0, 0, 1, NONE);
    ALIKE(cuMemcpyPeer, ptds, word, NULL, word, NULL, 1);
    ALIKE(cuMemcpyPeerAsync, ptsz, word, NULL, word, NULL, 1, NONE);
    ALIKE(cuMemcpy2D_v2, ptds, NULL);
    ALIKE(cuMemcpy2DUnaligned_v2, ptds, NULL);
    ALIKE(cuMemcpy2DAsync_v2, ptsz, NULL, NONE);
    ALIKE(cuMemcpy3D_v2, ptds, NULL);
    ALIKE(cuMemcpy3DAsync_v2, ptsz, NULL, NONE);
    ALIKE(cuMemsetD8_v2, ptds, 0, 0, 1);
    ALIKE(cuMemsetD16_v2, ptds, 0, 0, 1);
    ALIKE(cuMemsetD32_v2, ptds, 0, 0, 1);
    ALIKE(cuMemsetD8Async, ptsz, 0, 0, 1, NONE);
    ALIKE(cuMemsetD16Async, ptsz, 0, 0, 1, NONE);
    ALIKE(cuMemsetD32Async, ptsz, 0, 0, 1, NONE);
    ALIKE(cuMemsetD2D8_v2, ptds, 0, 0, 0, 1, 1);
    ALIKE(cuMemsetD2D16_v2, ptds, 0, 0, 0, 1, 1);
    ALIKE(cuMemsetD2D32_v2, ptds, 0, 0, 0, 1, 1);
    ALIKE(cuMemsetD2D8Async, ptsz, 0, 0, 0, 1, 1, NONE);
    ALIKE(cuMemsetD2D16Async, ptsz, 0, 0, 0, 1, 1, NONE);
    ALIKE(cuMemsetD2D32Async, ptsz, 0, 0, 0, 1, 1, NONE);
    ALIKE(cuMemPrefetchAsync, ptsz, 0, 0, 0, NONE);
    ALIKE(cuMemPrefetchAsync_v2, ptsz, 0, 0, nowhere, 0, NONE);
    ALIKE(cuMemPrefetchBatchAsync, ptsz, NULL, NULL, 0, NULL, NULL, 0, 0, NONE);
    ALIKE(cuMemDiscardBatchAsync, ptsz, NULL, NULL, 0, 0, NONE);
    ALIKE(cuMemDiscardAndPrefetchBatchAsync, ptsz, NULL, NULL, 0, NULL, NULL, 0, 0, NONE);
    ALIKE(cuMemAllocAsync, ptsz, NULL, 0, NONE);
    ALIKE(cuMemFreeAsync, ptsz, 0, NONE);
    ALIKE(cuMemAllocFromPoolAsync, ptsz, NULL, 0, NULL, NONE);
    ALIKE(cuStreamWaitEvent, ptsz, NONE, NULL, 0);
    ALIKE(cuStreamAddCallback, ptsz, NONE, NULL, NULL, 0);
    ALIKE(cuStreamGetPriority, ptsz, NONE, NULL);
    ALIKE(cuStreamGetFlags, ptsz, NONE, NULL);
    ALIKE(cuStreamGetCtx, ptsz, NONE, NULL);
    ALIKE(cuStreamGetCtx_v2, ptsz, NONE, NULL, NULL);
    ALIKE(cuStreamGetId, ptsz, NONE, NULL);
    ALIKE(cuStreamGetDevice, ptsz, NONE, NULL);
    ALIKE(cuStreamBeginCapture_v2, ptsz, NONE, (CUstreamCaptureMode)9);
    ALIKE(cuStreamEndCapture, ptsz, NONE, NULL);
    ALIKE(cuStreamIsCapturing, ptsz, NONE, NULL);
    ALIKE(cuStreamGetCaptureInfo, ptsz, NONE, NULL, NULL);
    ALIKE(cuStreamGetCaptureInfo_v2, ptsz, NONE, NULL, NULL, NULL, NULL, NULL);
    ALIKE(cuStreamGetCaptureInfo_v3, ptsz, NONE, NULL, NULL, NULL, NULL, NULL, NULL);
    ALIKE(cuStreamUpdateCaptureDependencies, ptsz, NONE, NULL, 1, 0);
    ALIKE(cuStreamUpdateCaptureDependencies_v2, ptsz, NONE, NULL, NULL, 1, 0);
    ALIKE(cuStreamAttachMemAsync, ptsz, NONE, 0, 0, 0);
    ALIKE(cuEventRecord, ptsz, NULL, NONE);
    ALIKE(cuEventRecordWithFlags, ptsz, NULL, NONE, 0);
    ALIKE(cuGraphInstantiateWithParams, ptsz, NULL, NULL, NULL);
    ALIKE(cuGraphLaunch, ptsz, NULL, NONE);
    ALIKE(cuGraphUpload, ptsz, NULL, NONE);
    CUstream never = (CUstream)(uintptr_t)0x7777000;
    ALIKE(cuStreamQuery, ptsz, never);
    ALIKE(cuStreamSynchronize, ptsz, never);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(work_goes_to_the_threads_stream),
                                       cmocka_unit_test(waits_are_for_the_threads_stream),
                                       cmocka_unit_test(wrong_arguments_are_refused_alike)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
