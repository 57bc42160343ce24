/* What CUDA 13 has in another form than CUDA 11 and 12. */
#include "cuda/runtime/internal.h"

cudaError_t cudaMemAdvise(const void *address, size_t count, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location) {
    return cudaMemAdvise_v2(address, count, advice, location);
}

cudaError_t cudaMemPrefetchAsync(const void *address, size_t count, struct cudaMemLocation location,
                                 unsigned flags, cudaStream_t stream) {
    return cudaMemPrefetchAsync_v2(address, count, location, flags, stream);
}

/* ---- graphs, whose edges have data ---- */

_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "one layout");

FF_RT_FORWARD(cudaStreamGetCaptureInfo,
              (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
               cudaGraph_t *graph, const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges,
               size_t *count),
              cuStreamGetCaptureInfo(ff__rt_stream(stream), (CUstreamCaptureStatus *)status,
                                     (cuuint64_t *)id, graph, nodes,
                                     (const CUgraphEdgeData **)edges, count))
FF_RT_FORWARD(cudaStreamUpdateCaptureDependencies,
              (cudaStream_t stream, cudaGraphNode_t *nodes, const cudaGraphEdgeData *edges,
               size_t count, unsigned flags),
              cuStreamUpdateCaptureDependencies(ff__rt_stream(stream), nodes,
                                                (const CUgraphEdgeData *)edges, count, flags))
FF_RT_FORWARD(cudaGraphAddDependencies,
              (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
               const cudaGraphEdgeData *edges, size_t count),
              cuGraphAddDependencies(graph, from, to, (const CUgraphEdgeData *)edges, count))
FF_RT_FORWARD(cudaGraphRemoveDependencies,
              (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
               const cudaGraphEdgeData *edges, size_t count),
              cuGraphRemoveDependencies(graph, from, to, (const CUgraphEdgeData *)edges, count))
FF_RT_FORWARD(cudaGraphGetEdges,
              (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
               cudaGraphEdgeData *edges, size_t *count),
              cuGraphGetEdges(graph, from, to, (CUgraphEdgeData *)edges, count))
FF_RT_FORWARD(cudaGraphNodeGetDependencies,
              (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges,
               size_t *count),
              cuGraphNodeGetDependencies(node, nodes, (CUgraphEdgeData *)edges, count))
FF_RT_FORWARD(cudaGraphNodeGetDependentNodes,
              (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges,
               size_t *count),
              cuGraphNodeGetDependentNodes(node, nodes, (CUgraphEdgeData *)edges, count))
