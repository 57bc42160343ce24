/* What CUDA 12 has in a form of its own; it is that of cuda_runtime_api.h. */
#include "cuda/runtime/internal.h"

const int ff__rt_version = CUDART_VERSION;

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
    return properties ? ff__rt_properties(properties, device) : ff__rt_fail(cudaErrorInvalidValue);
}

/* ---- flavours ---- */

#define FF_CUDART(name, parameters)
#define FF_CUDART_STREAM(name, flavour, parameters, arguments)
#define FF_CUDART_FORM(name, symbol, parameters)
#define FF_CUDART_OR(value)
#define FF_CUDART_STREAM_FORM(name, symbol, flavour, parameters, arguments)                        \
    FF_RT_OWN(symbol##_##flavour, parameters, name arguments)
#include <farfault/runtime.def>
