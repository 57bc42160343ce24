/* What a program is told of memory: it may plan with that of the host, and what was substituted is
 * the plain device memory that it has asked for. */
#include "preload/cuda/internal.h"

#include <unistd.h>

static size_t memory_shown(size_t device) {
    size_t host = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    return host > device ? host : device;
}

FF_HOOKED CUresult cuDeviceTotalMem_v2(size_t *size, CUdevice device) {
    CUresult result = REAL(cuDeviceTotalMem_v2)(size, device);
    if (result == CUDA_SUCCESS && ff__cuda_substitutes_on(device))
        *size = memory_shown(*size);
    return result;
}

FF_HOOKED CUresult cuMemGetInfo_v2(size_t *left, size_t *total) {
    CUresult result = REAL(cuMemGetInfo_v2)(left, total);
    if (result != CUDA_SUCCESS || !ff__cuda_substitutes())
        return result;
    size_t plain = *total - *left, used = plain + ff__cuda_substituted_bytes();
    *total = memory_shown(*total);
    *left = used < *total ? *total - used : 0;
    return result;
}

static void correct(CUpointer_attribute attribute, void *data, CUdeviceptr address) {
    if (attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED && ff__cuda_is_substituted(address))
        *(unsigned char *)data = 0;
    if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER && ff__cuda_is_substituted(address))
        *(void **)data = NULL;
}

FF_HOOKED CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute,
                                         CUdeviceptr address) {
    CUresult result = REAL(cuPointerGetAttribute)(data, attribute, address);
    if (result == CUDA_SUCCESS)
        correct(attribute, data, address);
    return result;
}

FF_HOOKED CUresult cuPointerGetAttributes(unsigned number, CUpointer_attribute *attributes,
                                          void **data, CUdeviceptr address) {
    CUresult result = REAL(cuPointerGetAttributes)(number, attributes, data, address);
    for (unsigned i = 0; result == CUDA_SUCCESS && i < number; i++)
        correct(attributes[i], data[i], address);
    return result;
}
