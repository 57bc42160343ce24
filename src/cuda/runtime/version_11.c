/* What CUDA 11 has in a form of its own. */
#include "cuda/runtime/internal.h"

#include <string.h>

const int ff__rt_version = 11080;

/* The structure ends earlier. */
FF_RT_FORM(properties_11, cudaGetDeviceProperties, (void *properties, int device)) {
    struct cudaDeviceProp all;
    cudaError_t error =
        properties ? ff__rt_properties(&all, device) : ff__rt_fail(cudaErrorInvalidValue);
    if (!error)
        memcpy(properties, &all, offsetof(struct cudaDeviceProp, hostRegisterSupported));
    return error;
}

FF_RT_FORM(entry_point_11, cudaGetDriverEntryPoint,
           (const char *symbol, void **function, unsigned long long flags)) {
    return ff__rt_entry_point(symbol, function, (unsigned)ff__rt_version, flags, NULL);
}

FF_RT_FORM(capture_info_11, cudaStreamGetCaptureInfo,
           (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id)) {
    return cudaStreamGetCaptureInfo(stream, status, id, NULL, NULL, NULL);
}

FF_RT_FORM(instantiate_11, cudaGraphInstantiate,
           (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphNode_t *failed, char *log,
            size_t size)) {
    CUresult result = ff__rt_enter();
    return ff__rt_end(result ? result : cuGraphInstantiate(exec, graph, failed, log, size));
}

FF_RT_FORM(update_11, cudaGraphExecUpdate,
           (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *failed,
            enum cudaGraphExecUpdateResult *why)) {
    CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_SUCCESS};
    CUresult result = ff__rt_enter();
    if (!result)
        result = cuGraphExecUpdate(exec, graph, &info);
    if (failed)
        *failed = info.errorNode;
    if (why)
        *why = (enum cudaGraphExecUpdateResult)info.result;
    return ff__rt_end(result);
}

/* ---- flavours ---- */

FF_RT_OWN(cudaGetDriverEntryPoint_ptsz,
          (const char *symbol, void **function, unsigned long long flags),
          entry_point_11(symbol, function, flags))
FF_RT_OWN(cudaStreamGetCaptureInfo_ptsz,
          (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id),
          capture_info_11(stream, status, id))
FF_RT_OWN(cudaStreamGetCaptureInfo_v2_ptsz,
          (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
           cudaGraph_t *graph, const cudaGraphNode_t **nodes, size_t *count),
          cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, count))
FF_RT_OWN(cudaStreamUpdateCaptureDependencies_ptsz,
          (cudaStream_t stream, cudaGraphNode_t *nodes, size_t count, unsigned flags),
          cudaStreamUpdateCaptureDependencies(stream, nodes, count, flags))
FF_RT_OWN(cudaMemPrefetchAsync_ptsz,
          (const void *address, size_t count, int device, cudaStream_t stream),
          cudaMemPrefetchAsync(address, count, device, stream))
