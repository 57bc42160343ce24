/* Comes between the preload and the driver: the device has no concurrent access to managed memory.
 */
#pragma GCC visibility push(default)
#define FF_CUDA_EXACT_NAMES
#include <cuda.h>

unsigned no_access_asked(void);
#pragma GCC visibility pop

#include <dlfcn.h>

static unsigned asked;

/* How often somebody wanted to know. */
unsigned no_access_asked(void) {
    return asked;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    __typeof__(cuDeviceGetAttribute) *real;
    *(void **)&real = dlsym(RTLD_NEXT, "cuDeviceGetAttribute");
    CUresult result = real(value, attribute, device);
    if (attribute == CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)
        *value = 0, asked++;
    return result;
}
