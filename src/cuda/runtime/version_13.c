/* What CUDA 13 has in a form of its own. */
#include "cuda/runtime/internal.h"

#include <string.h>

const int ff__rt_version = 13000;

/* ---- properties ---- */

struct properties_13 {
    char name[256];
    cudaUUID_t uuid;
    char luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
    int multiProcessorCount, integrated, canMapHostMemory;
    int maxTexture1D, maxTexture1DMipmap;
    int maxTexture2D[2], maxTexture2DMipmap[2], maxTexture2DLinear[3], maxTexture2DGather[2];
    int maxTexture3D[3], maxTexture3DAlt[3];
    int maxTextureCubemap, maxTexture1DLayered[2], maxTexture2DLayered[3];
    int maxTextureCubemapLayered[2];
    int maxSurface1D, maxSurface2D[2], maxSurface3D[3];
    int maxSurface1DLayered[2], maxSurface2DLayered[3];
    int maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled;
    int pciBusID, pciDeviceID, pciDomainID;
    int tccDriver, asyncEngineCount, unifiedAddressing;
    int memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor, streamPrioritiesSupported;
    int globalL1CacheSupported, localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory;
    int isMultiGpuBoard, multiGpuBoardGroupID;
    int hostNativeAtomicSupported;
    int pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported;
    int canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch;
    int unifiedFunctionPointers;
    int deviceNumaConfig, deviceNumaId, mpsEnabled, hostNumaId;
    unsigned gpuPciDeviceID, gpuPciSubsystemID;
    int hostNumaMultinodeIpcSupported;
    int reserved[56];
};

_Static_assert(sizeof(struct properties_13) == 1008, "as programs have it");

FF_RT_FORM(properties_of_13, cudaGetDeviceProperties, (struct properties_13 * to, int device)) {
    struct cudaDeviceProp from;
    cudaError_t error = to ? ff__rt_properties(&from, device) : ff__rt_fail(cudaErrorInvalidValue);
    if (error)
        return error;
    memset(to, 0, sizeof *to);
    memcpy(to->name, from.name, sizeof to->name);
    to->uuid = from.uuid;
    to->totalGlobalMem = from.totalGlobalMem;
#define FF_RT_PROPERTY(member, name) to->member = from.member;
#define FF_RT_PROPERTY_TO_12(member, name)
#include "cuda/runtime/properties.def"
    return cudaSuccess;
}

/* ---- memory ---- */

FF_RT_FORM(advise_13, cudaMemAdvise,
           (const void *address, size_t count, enum cudaMemoryAdvise advice,
            struct cudaMemLocation location)) {
    return cudaMemAdvise_v2(address, count, advice, location);
}

FF_RT_FORM(prefetch_13, cudaMemPrefetchAsync,
           (const void *address, size_t count, struct cudaMemLocation location, unsigned flags,
            cudaStream_t stream)) {
    return cudaMemPrefetchAsync_v2(address, count, location, flags, stream);
}

/* ---- graphs, whose edges have data ---- */

#define FORWARD(name, symbol, parameters, call)                                                    \
    FF_RT_FORM(name, symbol, parameters) {                                                         \
        CUresult result = ff__rt_enter();                                                          \
        return ff__rt_end(result ? result : call);                                                 \
    }

_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "one layout");

FORWARD(capture_info_13, cudaStreamGetCaptureInfo,
        (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
         cudaGraph_t *graph, const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges,
         size_t *count),
        cuStreamGetCaptureInfo_v3(ff__rt_stream(stream), (CUstreamCaptureStatus *)status,
                                  (cuuint64_t *)id, graph, nodes, (const CUgraphEdgeData **)edges,
                                  count))
FORWARD(update_capture_13, cudaStreamUpdateCaptureDependencies,
        (cudaStream_t stream, cudaGraphNode_t *nodes, const cudaGraphEdgeData *edges, size_t count,
         unsigned flags),
        cuStreamUpdateCaptureDependencies_v2(ff__rt_stream(stream), nodes,
                                             (const CUgraphEdgeData *)edges, count, flags))
FORWARD(add_dependencies_13, cudaGraphAddDependencies,
        (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
         const cudaGraphEdgeData *edges, size_t count),
        cuGraphAddDependencies_v2(graph, from, to, (const CUgraphEdgeData *)edges, count))
FORWARD(remove_dependencies_13, cudaGraphRemoveDependencies,
        (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
         const cudaGraphEdgeData *edges, size_t count),
        cuGraphRemoveDependencies_v2(graph, from, to, (const CUgraphEdgeData *)edges, count))
FORWARD(edges_13, cudaGraphGetEdges,
        (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *edges,
         size_t *count),
        cuGraphGetEdges_v2(graph, from, to, (CUgraphEdgeData *)edges, count))
FORWARD(dependencies_13, cudaGraphNodeGetDependencies,
        (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges, size_t *count),
        cuGraphNodeGetDependencies_v2(node, nodes, (CUgraphEdgeData *)edges, count))
FORWARD(dependents_13, cudaGraphNodeGetDependentNodes,
        (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *edges, size_t *count),
        cuGraphNodeGetDependentNodes_v2(node, nodes, (CUgraphEdgeData *)edges, count))

/* ---- flavours ---- */

FF_RT_OWN(cudaGetDriverEntryPoint_ptsz,
          (const char *symbol, void **function, unsigned long long flags,
           enum cudaDriverEntryPointQueryResult *status),
          cudaGetDriverEntryPoint(symbol, function, flags, status))
FF_RT_OWN(cudaMemPrefetchAsync_ptsz,
          (const void *address, size_t count, struct cudaMemLocation location, unsigned flags,
           cudaStream_t stream),
          prefetch_13(address, count, location, flags, stream))
FF_RT_OWN(cudaStreamGetCaptureInfo_ptsz,
          (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
           cudaGraph_t *graph, const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges,
           size_t *count),
          capture_info_13(stream, status, id, graph, nodes, edges, count))
FF_RT_OWN(cudaStreamUpdateCaptureDependencies_ptsz,
          (cudaStream_t stream, cudaGraphNode_t *nodes, const cudaGraphEdgeData *edges,
           size_t count, unsigned flags),
          update_capture_13(stream, nodes, edges, count, flags))
