/* cudaDeviceProp of CUDA 12, of which that of CUDA 11 is the beginning, and of CUDA 13. */
#include "cuda/runtime/internal.h"

#include <string.h>

static CUresult read_names(struct cudaDeviceProp *properties, int device) {
    CUresult result = cuDeviceGetName(properties->name, sizeof properties->name, device);
    if (!result)
        result = cuDeviceTotalMem(&properties->totalGlobalMem, device);
    return result ? result : cuDeviceGetUuid(&properties->uuid, device);
}

/* What a driver does not know is 0. */
static int attribute(CUdevice_attribute which, int device) {
    int value = 0;
    return cuDeviceGetAttribute(&value, which, device) ? 0 : value;
}

_Static_assert(sizeof(struct cudaDeviceProp) == (CUDART_VERSION < 13000 ? 1032 : 1008),
               "as programs have it");

cudaError_t ff__rt_properties(struct cudaDeviceProp *properties, int device) {
    CUresult result = ff__rt_initialize();
    memset(properties, 0, sizeof *properties);
    if (!result)
        result = read_names(properties, device);
    if (result)
        return ff__rt_end(result);
#define FF_RT_PROPERTY(member, name)                                                               \
    properties->member =                                                                           \
        (__typeof__(properties->member))attribute(CU_DEVICE_ATTRIBUTE_##name, device);
#if CUDART_VERSION < 13000
#define FF_RT_PROPERTY_TO_12 FF_RT_PROPERTY
#else
#define FF_RT_PROPERTY_TO_12(member, name)
#endif
#include "cuda/runtime/properties.def"
    return cudaSuccess;
}
