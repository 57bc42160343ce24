/* Memory that graphs allocate: it is managed from the first on, a graph keeps it for as long as it
 * is there, and its nodes of memory do nothing. */
#include "preload/cuda/internal.h"

CUgraph ff__cuda_captured_graph(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = NULL;
    if (!REAL(cuStreamGetCaptureInfo_v2) || !REAL(cuGraphRetainUserObject) ||
        REAL(cuStreamGetCaptureInfo_v2)(stream, &status, NULL, &graph, NULL, NULL))
        return NULL;
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? graph : NULL;
}

static void graph_has_ended(void *user) {
    ff__cuda_take_back((CUdeviceptr)(uintptr_t)user);
}

/* A capture forbids allocations that are not in the order of its stream, but for threads that say
 * that they know better. */
static CUresult allocate(CUdeviceptr *address, size_t size) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult result = REAL(cuThreadExchangeStreamCaptureMode)(&mode);
    if (result != CUDA_SUCCESS)
        return result;
    result = ff__cuda_allocate_managed(address, size);
    REAL(cuThreadExchangeStreamCaptureMode)(&mode);
    return result;
}

CUresult ff__cuda_allocate_for(CUgraph graph, CUdeviceptr *address, size_t size) {
    CUuserObject object;
    CUresult result = allocate(address, size);
    if (result != CUDA_SUCCESS)
        return result;
    void *user = (void *)(uintptr_t)*address; // NOLINT(performance-no-int-to-ptr)
    ff__cuda_lend(*address);
    result = REAL(cuUserObjectCreate)(&object, user, graph_has_ended, 1,
                                      CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (result == CUDA_SUCCESS)
        result = REAL(cuGraphRetainUserObject)(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    if (result != CUDA_SUCCESS) {
        cuMemFree_v2(*address);
        ff__cuda_take_back(*address);
    }
    return result;
}

FF_HOOKED CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph,
                                          const CUgraphNode *nodes, size_t count,
                                          CUDA_MEM_ALLOC_NODE_PARAMS *params) {
    bool is_wrong = !graph || !params || params->bytesize == 0 ||
                    params->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
                    params->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE;
    if (is_wrong || !ff__cuda_would_substitute(params->bytesize))
        return REAL(cuGraphAddMemAllocNode)(node, graph, nodes, count, params);
    CUresult result = REAL(cuGraphAddEmptyNode)(node, graph, nodes, count);
    return result == CUDA_SUCCESS ? ff__cuda_allocate_for(graph, &params->dptr, params->bytesize)
                                  : result;
}

/* What is freed in one launch is allocated again by the next. */
FF_HOOKED CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *nodes,
                                         size_t count, CUdeviceptr address) {
    if (!ff__cuda_is_substituted(address))
        return REAL(cuGraphAddMemFreeNode)(node, graph, nodes, count, address);
    CUresult result = REAL(cuGraphAddEmptyNode)(node, graph, nodes, count);
    return result == CUDA_SUCCESS ? cuMemFree_v2(address) : result;
}
