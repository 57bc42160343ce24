/* Graphs. */
#include "cuda/runtime/internal.h"

FF_RT_FORWARD(cudaGraphCreate, (cudaGraph_t * graph, unsigned flags), cuGraphCreate(graph, flags))
FF_RT_FORWARD(cudaGraphDestroy, (cudaGraph_t graph), cuGraphDestroy(graph))
FF_RT_FORWARD(cudaGraphClone, (cudaGraph_t * clone, cudaGraph_t graph), cuGraphClone(clone, graph))
FF_RT_FORWARD(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
              cuGraphGetNodes(graph, nodes, count))
FF_RT_FORWARD(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
              cuGraphGetRootNodes(graph, nodes, count))
FF_RT_FORWARD(cudaGraphNodeGetType, (cudaGraphNode_t node, enum cudaGraphNodeType *type),
              cuGraphNodeGetType(node, (CUgraphNodeType *)type))
FF_RT_FORWARD(cudaGraphDestroyNode, (cudaGraphNode_t node), cuGraphDestroyNode(node))
FF_RT_FORWARD(cudaGraphInstantiateWithFlags,
              (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
              cuGraphInstantiateWithFlags(exec, graph, flags))
FF_RT_FORWARD(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream),
              cuGraphLaunch(exec, ff__rt_stream(stream)))
FF_RT_FORWARD(cudaGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream),
              cuGraphUpload(exec, ff__rt_stream(stream)))
FF_RT_FORWARD(cudaGraphExecDestroy, (cudaGraphExec_t exec), cuGraphExecDestroy(exec))

_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS),
               "one layout");

FF_RT_FORWARD(cudaGraphInstantiateWithParams,
              (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams *params),
              cuGraphInstantiateWithParams(exec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)params))

/* ---- nodes ---- */

#define NODE cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *nodes, size_t count

/* The context in which copies and sets of a graph run. */
static CUresult enter(CUcontext *context) {
    CUresult result = ff__rt_enter();
    return result ? result : cuCtxGetCurrent(context);
}

FF_RT_FORWARD(cudaGraphAddChildGraphNode, (NODE, cudaGraph_t child),
              cuGraphAddChildGraphNode(node, graph, nodes, count, child))
FF_RT_FORWARD(cudaGraphAddEmptyNode, (NODE), cuGraphAddEmptyNode(node, graph, nodes, count))
FF_RT_FORWARD(cudaGraphAddEventRecordNode, (NODE, cudaEvent_t event),
              cuGraphAddEventRecordNode(node, graph, nodes, count, event))
FF_RT_FORWARD(cudaGraphAddEventWaitNode, (NODE, cudaEvent_t event),
              cuGraphAddEventWaitNode(node, graph, nodes, count, event))
FF_RT_FORWARD(cudaGraphAddMemFreeNode, (NODE, void *address),
              cuGraphAddMemFreeNode(node, graph, nodes, count, ff__rt_address(address)))

_Static_assert(sizeof(struct cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS), "one layout");
_Static_assert(sizeof(struct cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS), "one layout");
_Static_assert(sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS),
               "one layout");

FF_RT_FORWARD(cudaGraphAddHostNode, (NODE, const struct cudaHostNodeParams *params),
              cuGraphAddHostNode(node, graph, nodes, count, (const CUDA_HOST_NODE_PARAMS *)params))
FF_RT_FORWARD(cudaGraphAddMemAllocNode, (NODE, struct cudaMemAllocNodeParams *params),
              cuGraphAddMemAllocNode(node, graph, nodes, count,
                                     (CUDA_MEM_ALLOC_NODE_PARAMS *)params))
FF_RT_FORWARD(cudaGraphMemAllocNodeGetParams,
              (cudaGraphNode_t node, struct cudaMemAllocNodeParams *params),
              cuGraphMemAllocNodeGetParams(node, (CUDA_MEM_ALLOC_NODE_PARAMS *)params))
FF_RT_FORWARD(cudaGraphMemFreeNodeGetParams, (cudaGraphNode_t node, void *address),
              cuGraphMemFreeNodeGetParams(node, address))

/* ---- what graphs keep ---- */

FF_RT_FORWARD(cudaDeviceGraphMemTrim, (int device), cuDeviceGraphMemTrim(device))
FF_RT_FORWARD(cudaDeviceGetGraphMemAttribute,
              (int device, enum cudaGraphMemAttributeType attribute, void *value),
              cuDeviceGetGraphMemAttribute(device, (CUgraphMem_attribute)attribute, value))
FF_RT_FORWARD(cudaDeviceSetGraphMemAttribute,
              (int device, enum cudaGraphMemAttributeType attribute, void *value),
              cuDeviceSetGraphMemAttribute(device, (CUgraphMem_attribute)attribute, value))
FF_RT_FORWARD(cudaUserObjectCreate,
              (cudaUserObject_t * object, void *user, cudaHostFn_t destroy, unsigned count,
               unsigned flags),
              cuUserObjectCreate(object, user, destroy, count, flags))
FF_RT_FORWARD(cudaUserObjectRetain, (cudaUserObject_t object, unsigned count),
              cuUserObjectRetain(object, count))
FF_RT_FORWARD(cudaUserObjectRelease, (cudaUserObject_t object, unsigned count),
              cuUserObjectRelease(object, count))
FF_RT_FORWARD(cudaGraphRetainUserObject,
              (cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags),
              cuGraphRetainUserObject(graph, object, count, flags))
FF_RT_FORWARD(cudaGraphReleaseUserObject,
              (cudaGraph_t graph, cudaUserObject_t object, unsigned count),
              cuGraphReleaseUserObject(graph, object, count))

/* ---- nodes that need more ---- */

cudaError_t cudaGraphAddMemsetNode(NODE, const struct cudaMemsetParams *params) {
    CUcontext context;
    CUresult result = enter(&context);
    return ff__rt_end(result
                          ? result
                          : cuGraphAddMemsetNode(node, graph, nodes, count,
                                                 (const CUDA_MEMSET_NODE_PARAMS *)params, context));
}

cudaError_t cudaGraphAddMemcpyNode(NODE, const struct cudaMemcpy3DParms *box) {
    CUDA_MEMCPY3D copy;
    CUcontext context;
    CUresult result = enter(&context);
    if (!result)
        result = (CUresult)ff__rt_copy_3d(box, &copy);
    return ff__rt_end(result ? result
                             : cuGraphAddMemcpyNode(node, graph, nodes, count, &copy, context));
}

cudaError_t cudaGraphAddMemcpyNode1D(NODE, void *to, const void *from, size_t size,
                                     enum cudaMemcpyKind kind) {
    const struct cudaMemcpy3DParms box = {
        .srcPtr = {(void *)(uintptr_t)from, size, size, 1},
        .dstPtr = {to, size, size, 1},
        .extent = {size, 1, 1},
        .kind = kind,
    };
    return cudaGraphAddMemcpyNode(node, graph, nodes, count, &box);
}

/* ---- nodes of kernels ---- */

static cudaError_t kernel_params(const struct cudaKernelNodeParams *from,
                                 CUDA_KERNEL_NODE_PARAMS *to) {
    if (!from)
        return cudaErrorInvalidValue;
    *to = (CUDA_KERNEL_NODE_PARAMS){
        .gridDimX = from->gridDim.x,
        .gridDimY = from->gridDim.y,
        .gridDimZ = from->gridDim.z,
        .blockDimX = from->blockDim.x,
        .blockDimY = from->blockDim.y,
        .blockDimZ = from->blockDim.z,
        .sharedMemBytes = from->sharedMemBytes,
        .kernelParams = from->kernelParams,
        .extra = from->extra,
    };
    return ff__rt_kernel(from->func, &to->func);
}

cudaError_t cudaGraphAddKernelNode(NODE, const struct cudaKernelNodeParams *params) {
    CUDA_KERNEL_NODE_PARAMS same;
    cudaError_t error = kernel_params(params, &same);
    return error ? ff__rt_fail(error)
                 : ff__rt_end(cuGraphAddKernelNode(node, graph, nodes, count, &same));
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                         const struct cudaKernelNodeParams *params) {
    CUDA_KERNEL_NODE_PARAMS same;
    cudaError_t error = kernel_params(params, &same);
    return error ? ff__rt_fail(error) : ff__rt_end(cuGraphKernelNodeSetParams(node, &same));
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *params) {
    CUDA_KERNEL_NODE_PARAMS same;
    cudaError_t error = kernel_params(params, &same);
    return error ? ff__rt_fail(error)
                 : ff__rt_end(cuGraphExecKernelNodeSetParams(exec, node, &same));
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                         struct cudaKernelNodeParams *params) {
    CUDA_KERNEL_NODE_PARAMS same;
    CUresult result = ff__rt_enter();
    if (!params)
        return ff__rt_fail(cudaErrorInvalidValue);
    if (!result)
        result = cuGraphKernelNodeGetParams(node, &same);
    if (result)
        return ff__rt_end(result);
    const void *name = ff__rt_name_of(same.func);
    if (!name) /* a kernel of cuBLAS, or one that the program has from the driver */
        return ff__rt_fail(cudaErrorInvalidDeviceFunction);
    *params = (struct cudaKernelNodeParams){
        .func = (void *)(uintptr_t)name,
        .gridDim = {same.gridDimX, same.gridDimY, same.gridDimZ},
        .blockDim = {same.blockDimX, same.blockDimY, same.blockDimZ},
        .sharedMemBytes = same.sharedMemBytes,
        .kernelParams = same.kernelParams,
        .extra = same.extra,
    };
    return cudaSuccess;
}
