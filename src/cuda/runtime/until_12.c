/* What CUDA 11 and 12 have in another form than CUDA 13. */
#include "cuda/runtime/internal.h"

cudaError_t cudaMemAdvise(const void *address, size_t count, enum cudaMemoryAdvise advice,
                          int device) {
    return ff__rt_advise(address, count, advice, device);
}

cudaError_t cudaMemPrefetchAsync(const void *address, size_t count, int device,
                                 cudaStream_t stream) {
    return ff__rt_prefetch(address, count, device, stream);
}

FF_RT_FORWARD(cudaStreamGetCaptureInfo,
              (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
               cudaGraph_t *graph, const cudaGraphNode_t **nodes, size_t *count),
              cuStreamGetCaptureInfo(ff__rt_stream(stream), (CUstreamCaptureStatus *)status,
                                     (cuuint64_t *)id, graph, nodes, count))
FF_RT_FORWARD(cudaStreamUpdateCaptureDependencies,
              (cudaStream_t stream, cudaGraphNode_t *nodes, size_t count, unsigned flags),
              cuStreamUpdateCaptureDependencies(ff__rt_stream(stream), nodes, count, flags))
FF_RT_FORWARD(cudaGraphAddDependencies,
              (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
               size_t count),
              cuGraphAddDependencies(graph, from, to, count))
FF_RT_FORWARD(cudaGraphRemoveDependencies,
              (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
               size_t count),
              cuGraphRemoveDependencies(graph, from, to, count))
FF_RT_FORWARD(cudaGraphGetEdges,
              (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count),
              cuGraphGetEdges(graph, from, to, count))
FF_RT_FORWARD(cudaGraphNodeGetDependencies,
              (cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count),
              cuGraphNodeGetDependencies(node, nodes, count))
FF_RT_FORWARD(cudaGraphNodeGetDependentNodes,
              (cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count),
              cuGraphNodeGetDependentNodes(node, nodes, count))
