/* Devices and the contexts of threads. Nothing is made before it is needed. */
#include "cuda/runtime/internal.h"

#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CUresult initialized;

static _Thread_local CUdevice chosen; /* by cudaSetDevice() */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primaries[FF__RT_CONTEXTS]; /* of devices, as far as retained */

static void initialize(void) {
    initialized = cuInit(0);
}

CUresult ff__rt_initialize(void) {
    pthread_once(&once, initialize);
    return initialized;
}

CUresult ff__rt_primary(CUdevice device, CUcontext *context) {
    CUresult result = CUDA_SUCCESS;
    if ((unsigned)device >= FF__RT_CONTEXTS)
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&lock);
    if (!primaries[device])
        result = cuDevicePrimaryCtxRetain(&primaries[device], device);
    *context = primaries[device];
    pthread_mutex_unlock(&lock);
    return result;
}

static CUresult use(CUdevice device) {
    CUcontext context;
    CUresult result = ff__rt_primary(device, &context);
    return result ? result : cuCtxSetCurrent(context);
}

CUresult ff__rt_enter(void) {
    CUcontext current = NULL;
    CUresult result = ff__rt_initialize();
    if (!result)
        result = cuCtxGetCurrent(&current);
    return result || current ? result : use(chosen);
}

CUresult ff__rt_device(CUdevice *device) {
    CUcontext current = NULL;
    CUresult result = ff__rt_initialize();
    *device = chosen;
    if (!result)
        result = cuCtxGetCurrent(&current);
    return result || !current ? result : cuCtxGetDevice(device);
}

/* ---- functions ---- */

cudaError_t cudaGetDevice(int *device) {
    return device ? ff__rt_end(ff__rt_device(device)) : ff__rt_fail(cudaErrorInvalidValue);
}

cudaError_t cudaSetDevice(int device) {
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error)
        return error;
    if (device < 0 || device >= count)
        return ff__rt_fail(cudaErrorInvalidDevice);
    CUresult result = use(device);
    if (!result)
        chosen = device;
    return ff__rt_end(result);
}

cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
    CUcontext context;
    CUresult result = ff__rt_initialize();
    if (!result && flags & 1) /* cudaInitDeviceFlagsAreValid */
        result = cuDevicePrimaryCtxSetFlags(device, device_flags);
    return ff__rt_end(result ? result : ff__rt_primary(device, &context));
}

cudaError_t cudaSetValidDevices(int *devices, int count) {
    if (!devices || count < 1)
        return ff__rt_fail(cudaErrorInvalidValue);
    return cudaSetDevice(devices[0]);
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
    CUdevice device;
    CUresult result = ff__rt_device(&device);
    return ff__rt_end(result ? result : cuDevicePrimaryCtxSetFlags(device, flags));
}

cudaError_t cudaGetDeviceFlags(unsigned *flags) {
    CUdevice device;
    int active;
    CUresult result = ff__rt_device(&device);
    return ff__rt_end(result ? result : cuDevicePrimaryCtxGetState(device, flags, &active));
}

/* The reference to a device's primary context; NULL: it is not retained. */
static CUcontext take_primary(CUdevice device) {
    CUcontext context = NULL;
    pthread_mutex_lock(&lock);
    if ((unsigned)device < FF__RT_CONTEXTS) {
        context = primaries[device];
        primaries[device] = NULL;
    }
    pthread_mutex_unlock(&lock);
    return context;
}

cudaError_t cudaDeviceReset(void) {
    CUdevice device;
    CUresult result = ff__rt_device(&device);
    CUcontext context = result ? NULL : take_primary(device);
    if (!context)
        return ff__rt_end(result);
    ff__rt_forget(context);
    cuCtxSetCurrent(NULL);
    result = cuDevicePrimaryCtxReset(device);
    cuDevicePrimaryCtxRelease(device);
    return ff__rt_end(result);
}

cudaError_t cudaThreadExit(void) {
    return cudaDeviceReset();
}
