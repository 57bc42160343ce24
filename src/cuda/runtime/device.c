/* Devices: what they are, limits, peers, other processes, versions. */
#include "cuda/runtime/internal.h"

/* These need no context. */
#define FF_RT_WITHOUT(name, parameters, call)                                                      \
    cudaError_t name parameters {                                                                  \
        CUresult result = ff__rt_initialize();                                                     \
        return ff__rt_end(result ? result : call);                                                 \
    }

FF_RT_WITHOUT(cudaGetDeviceCount, (int *count), cuDeviceGetCount(count))
FF_RT_WITHOUT(cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device),
              cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, device))
FF_RT_WITHOUT(cudaDeviceGetP2PAttribute,
              (int *value, enum cudaDeviceP2PAttr attribute, int from, int to),
              cuDeviceGetP2PAttribute(value, (CUdevice_P2PAttribute)attribute, from, to))
FF_RT_WITHOUT(cudaDeviceGetByPCIBusId, (int *device, const char *id),
              cuDeviceGetByPCIBusId(device, id))
FF_RT_WITHOUT(cudaDeviceGetPCIBusId, (char *id, int size, int device),
              cuDeviceGetPCIBusId(id, size, device))
FF_RT_WITHOUT(cudaDeviceCanAccessPeer, (int *can, int device, int peer),
              cuDeviceCanAccessPeer(can, device, peer))
FF_RT_WITHOUT(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device),
              cuDeviceGetDefaultMemPool(pool, device))
FF_RT_WITHOUT(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device),
              cuDeviceGetMemPool(pool, device))
FF_RT_WITHOUT(cudaDeviceSetMemPool, (int device, cudaMemPool_t pool),
              cuDeviceSetMemPool(device, pool))

FF_RT_FORWARD(cudaDeviceSynchronize, (void), cuCtxSynchronize())
FF_RT_FORWARD(cudaThreadSynchronize, (void), cuCtxSynchronize())
FF_RT_FORWARD(cudaDeviceSetLimit, (enum cudaLimit limit, size_t value),
              cuCtxSetLimit((CUlimit)limit, value))
FF_RT_FORWARD(cudaDeviceGetLimit, (size_t * value, enum cudaLimit limit),
              cuCtxGetLimit(value, (CUlimit)limit))
FF_RT_FORWARD(cudaDeviceSetCacheConfig, (enum cudaFuncCache config),
              cuCtxSetCacheConfig((CUfunc_cache)config))
FF_RT_FORWARD(cudaDeviceGetCacheConfig, (enum cudaFuncCache * config),
              cuCtxGetCacheConfig((CUfunc_cache *)config))
FF_RT_FORWARD(cudaDeviceSetSharedMemConfig, (enum cudaSharedMemConfig config),
              cuCtxSetSharedMemConfig((CUsharedconfig)config))
FF_RT_FORWARD(cudaDeviceGetSharedMemConfig, (enum cudaSharedMemConfig * config),
              cuCtxGetSharedMemConfig((CUsharedconfig *)config))
FF_RT_FORWARD(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest),
              cuCtxGetStreamPriorityRange(least, greatest))
FF_RT_FORWARD(cudaCtxResetPersistingL2Cache, (void), cuCtxResetPersistingL2Cache())
FF_RT_FORWARD(cudaProfilerStart, (void), cuProfilerStart())
FF_RT_FORWARD(cudaProfilerStop, (void), cuProfilerStop())

/* ---- peers ---- */

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    CUcontext context;
    CUresult result = ff__rt_enter();
    if (!result)
        result = ff__rt_primary(peer, &context);
    return ff__rt_end(result ? result : cuCtxEnablePeerAccess(context, flags));
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    CUcontext context;
    CUresult result = ff__rt_enter();
    if (!result)
        result = ff__rt_primary(peer, &context);
    return ff__rt_end(result ? result : cuCtxDisablePeerAccess(context));
}

/* ---- other processes ---- */

_Static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle), "one layout");

FF_RT_FORWARD(cudaIpcGetMemHandle, (cudaIpcMemHandle_t * handle, void *address),
              cuIpcGetMemHandle((CUipcMemHandle *)handle, ff__rt_address(address)))
FF_RT_FORWARD(cudaIpcCloseMemHandle, (void *address), cuIpcCloseMemHandle(ff__rt_address(address)))
FF_RT_FORWARD(cudaIpcGetEventHandle, (cudaIpcEventHandle_t * handle, cudaEvent_t event),
              cuIpcGetEventHandle((CUipcEventHandle *)handle, event))

cudaError_t cudaIpcOpenMemHandle(void **address, cudaIpcMemHandle_t handle, unsigned flags) {
    CUipcMemHandle same;
    CUresult result = ff__rt_enter();
    __builtin_memcpy(&same, &handle, sizeof same);
    return ff__rt_end(result ? result : cuIpcOpenMemHandle((CUdeviceptr *)address, same, flags));
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle) {
    CUipcEventHandle same;
    CUresult result = ff__rt_enter();
    __builtin_memcpy(&same, &handle, sizeof same);
    return ff__rt_end(result ? result : cuIpcOpenEventHandle(event, same));
}

/* ---- versions and the driver's functions ---- */

cudaError_t cudaRuntimeGetVersion(int *version) {
    if (!version)
        return ff__rt_fail(cudaErrorInvalidValue);
    *version = ff__rt_version;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
    return ff__rt_end(cuDriverGetVersion(version));
}

cudaError_t ff__rt_entry_point(const char *symbol, void **function, unsigned version,
                               unsigned long long flags,
                               enum cudaDriverEntryPointQueryResult *status) {
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    if (!symbol || !function)
        return ff__rt_fail(cudaErrorInvalidValue);
    if (flags == cudaEnableDefault && ff__rt_own_stream)
        flags = cudaEnablePerThreadDefaultStream;
    CUresult result = cuGetProcAddress(symbol, function, (int)version, flags, &found);
    if (status) {
        *status = (enum cudaDriverEntryPointQueryResult)found;
        if (result == CUDA_ERROR_NOT_FOUND)
            result = CUDA_SUCCESS; /* the status says it */
    }
    return ff__rt_end(result);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *status) {
    return ff__rt_entry_point(symbol, function, version, flags, status);
}
