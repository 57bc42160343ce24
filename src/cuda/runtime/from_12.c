/* What CUDA 11 has in another form than CUDA 12 and 13, whose form is that of cuda_runtime_api.h.
 */
#include "cuda/runtime/internal.h"

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *status) {
    return ff__rt_entry_point(symbol, function, (unsigned)ff__rt_version, flags, status);
}

FF_RT_FORWARD(cudaGraphInstantiate,
              (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
              cuGraphInstantiateWithFlags(exec, graph, flags))

_Static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo),
               "one layout");

FF_RT_FORWARD(cudaGraphExecUpdate,
              (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *result_info),
              cuGraphExecUpdate(exec, graph, (CUgraphExecUpdateResultInfo *)result_info))
