/* What CUDA 11 has in another form than CUDA 12 and 13. */
#include "cuda/runtime/internal.h"

const int ff__rt_version = CUDART_VERSION;

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
    return properties ? ff__rt_properties(properties, device) : ff__rt_fail(cudaErrorInvalidValue);
}

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

/* ---- flavours ---- */

#define FF_CUDART(name, parameters)
#define FF_CUDART_STREAM(name, flavour, parameters, arguments)
#define FF_CUDART_FORM(name, symbol, parameters)
#define FF_CUDART_OR(value)
#define FF_CUDART_STREAM_FORM(name, symbol, flavour, parameters, arguments)                        \
    FF_RT_OWN(symbol##_##flavour, parameters, name arguments)
#include <farfault/runtime.def>
