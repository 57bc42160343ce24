/* A driver that can do nothing: libcudart is linked against it where farfault's own is not
 * built. */
#define FF_CUDA_EXACT_NAMES
#include <cuda.h>

#define REFUSED                                                                                    \
    { return CUDA_ERROR_NOT_SUPPORTED; }
#define FF_CUDA(name, version, since, parameters) CUresult name##version parameters REFUSED
#define FF_CUDA_STREAM(name, version, since, flavour, from, parameters, arguments)                 \
    CUresult name##version parameters REFUSED                                                      \
    CUresult name##version##_##flavour parameters REFUSED
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <farfault/driver.def>
