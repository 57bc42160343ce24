/* Memory: of devices, of the host, managed. */
#include "cuda/runtime/internal.h"

#include <string.h>

/* Nothing is allocated where nothing is asked for. */
static cudaError_t nothing(void **address) {
    *address = NULL;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **address, size_t size) {
    CUresult result = ff__rt_enter();
    if (!address)
        return ff__rt_fail(cudaErrorInvalidValue);
    if (!result && size == 0)
        return nothing(address);
    return ff__rt_end(result ? result : cuMemAlloc((CUdeviceptr *)address, size));
}

FF_RT_FORWARD(cudaMallocManaged, (void **address, size_t size, unsigned flags),
              cuMemAllocManaged((CUdeviceptr *)address, size, flags))

/* Rows may hold elements of up to 16 bytes. */
static CUresult allocate_pitch(void **address, size_t *pitch, size_t width, size_t height) {
    CUresult result = ff__rt_enter();
    return result ? result : cuMemAllocPitch((CUdeviceptr *)address, pitch, width, height, 16);
}

cudaError_t cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height) {
    return ff__rt_end(allocate_pitch(address, pitch, width, height));
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *address, struct cudaExtent extent) {
    size_t rows;
    if (!address || __builtin_mul_overflow(extent.height, extent.depth, &rows))
        return ff__rt_fail(cudaErrorInvalidValue);
    address->xsize = extent.width;
    address->ysize = extent.height;
    return ff__rt_end(allocate_pitch(&address->ptr, &address->pitch, extent.width, rows));
}

cudaError_t cudaFree(void *address) {
    CUresult result = ff__rt_enter();
    return ff__rt_end(result || !address ? result : cuMemFree(ff__rt_address(address)));
}

cudaError_t cudaHostAlloc(void **address, size_t size, unsigned flags) {
    CUresult result = ff__rt_enter();
    if (!address)
        return ff__rt_fail(cudaErrorInvalidValue);
    if (!result && size == 0)
        return nothing(address);
    return ff__rt_end(result ? result : cuMemHostAlloc(address, size, flags));
}

cudaError_t cudaMallocHost(void **address, size_t size) {
    return cudaHostAlloc(address, size, cudaHostAllocPortable);
}

cudaError_t cudaFreeHost(void *address) {
    CUresult result = ff__rt_enter();
    return ff__rt_end(result || !address ? result : cuMemFreeHost(address));
}

FF_RT_FORWARD(cudaHostRegister, (void *address, size_t size, unsigned flags),
              cuMemHostRegister(address, size, flags))
FF_RT_FORWARD(cudaHostUnregister, (void *address), cuMemHostUnregister(address))
FF_RT_FORWARD(cudaHostGetDevicePointer, (void **device, void *host, unsigned flags),
              cuMemHostGetDevicePointer((CUdeviceptr *)device, host, flags))
FF_RT_FORWARD(cudaHostGetFlags, (unsigned *flags, void *host), cuMemHostGetFlags(flags, host))
FF_RT_FORWARD(cudaMemGetInfo, (size_t * free, size_t *total), cuMemGetInfo(free, total))

/* ---- what a pointer is ---- */

/* An address that the driver does not know is the program's own. */
static CUresult read_pointer(struct cudaPointerAttributes *out, CUdeviceptr address) {
    unsigned type = 0, managed = 0;
    CUpointer_attribute asked[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CU_POINTER_ATTRIBUTE_HOST_POINTER,
    };
    void *to[] = {&type, &managed, &out->device, &out->devicePointer, &out->hostPointer};
    CUresult result = cuPointerGetAttributes(sizeof asked / sizeof asked[0], asked, to, address);
    if (result)
        return result;
    out->type = managed ? cudaMemoryTypeManaged : (enum cudaMemoryType)type;
    if (out->type == cudaMemoryTypeUnregistered) {
        out->device = cudaInvalidDeviceId;
        out->hostPointer = (void *)(uintptr_t)address;
    }
    return CUDA_SUCCESS;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                     const void *address) {
    CUresult result = ff__rt_enter();
    if (!attributes)
        return ff__rt_fail(cudaErrorInvalidValue);
    memset(attributes, 0, sizeof *attributes);
    return ff__rt_end(result ? result : read_pointer(attributes, ff__rt_address(address)));
}

/* ---- managed memory ---- */

static CUmemLocation location_of(struct cudaMemLocation location) {
    return (CUmemLocation){(CUmemLocationType)location.type, location.id};
}

FF_RT_FORWARD(cudaMemAdvise_v2,
              (const void *address, size_t count, enum cudaMemoryAdvise advice,
               struct cudaMemLocation location),
              cuMemAdvise_v2(ff__rt_address(address), count, (CUmem_advise)advice,
                             location_of(location)))
FF_RT_FORWARD(cudaMemPrefetchAsync_v2,
              (const void *address, size_t count, struct cudaMemLocation location, unsigned flags,
               cudaStream_t stream),
              cuMemPrefetchAsync_v2(ff__rt_address(address), count, location_of(location), flags,
                                    ff__rt_stream(stream)))
FF_RT_FORWARD(ff__rt_advise,
              (const void *address, size_t count, enum cudaMemoryAdvise advice, int device),
              cuMemAdvise(ff__rt_address(address), count, (CUmem_advise)advice, device))
FF_RT_FORWARD(ff__rt_prefetch, (const void *address, size_t count, int device, cudaStream_t stream),
              cuMemPrefetchAsync(ff__rt_address(address), count, device, ff__rt_stream(stream)))
FF_RT_FORWARD(cudaMemRangeGetAttribute,
              (void *data, size_t size, enum cudaMemRangeAttribute attribute, const void *address,
               size_t count),
              cuMemRangeGetAttribute(data, size, (CUmem_range_attribute)attribute,
                                     ff__rt_address(address), count))
FF_RT_FORWARD(cudaMemRangeGetAttributes,
              (void **data, size_t *sizes, enum cudaMemRangeAttribute *attributes, size_t number,
               const void *address, size_t count),
              cuMemRangeGetAttributes(data, sizes, (CUmem_range_attribute *)attributes, number,
                                      ff__rt_address(address), count))
FF_RT_FORWARD(cudaStreamAttachMemAsync,
              (cudaStream_t stream, void *address, size_t size, unsigned flags),
              cuStreamAttachMemAsync(ff__rt_stream(stream), ff__rt_address(address), size, flags))

/* ---- stream-ordered allocation ---- */

FF_RT_FORWARD(cudaMallocAsync, (void **address, size_t size, cudaStream_t stream),
              cuMemAllocAsync((CUdeviceptr *)address, size, ff__rt_stream(stream)))
FF_RT_FORWARD(cudaMallocFromPoolAsync,
              (void **address, size_t size, cudaMemPool_t pool, cudaStream_t stream),
              cuMemAllocFromPoolAsync((CUdeviceptr *)address, size, pool, ff__rt_stream(stream)))
FF_RT_FORWARD(cudaFreeAsync, (void *address, cudaStream_t stream),
              cuMemFreeAsync(ff__rt_address(address), ff__rt_stream(stream)))

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "one layout");
_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc), "one layout");

FF_RT_FORWARD(cudaMemPoolCreate, (cudaMemPool_t * pool, const struct cudaMemPoolProps *properties),
              cuMemPoolCreate(pool, (const CUmemPoolProps *)properties))
FF_RT_FORWARD(cudaMemPoolDestroy, (cudaMemPool_t pool), cuMemPoolDestroy(pool))
FF_RT_FORWARD(cudaMemPoolSetAttribute,
              (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value),
              cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attribute, value))
FF_RT_FORWARD(cudaMemPoolGetAttribute,
              (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value),
              cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attribute, value))
FF_RT_FORWARD(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t keep), cuMemPoolTrimTo(pool, keep))
FF_RT_FORWARD(cudaMemPoolSetAccess,
              (cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t count),
              cuMemPoolSetAccess(pool, (const CUmemAccessDesc *)list, count))
FF_RT_FORWARD(cudaMemPoolGetAccess,
              (enum cudaMemAccessFlags * flags, cudaMemPool_t pool,
               struct cudaMemLocation *location),
              cuMemPoolGetAccess((CUmemAccess_flags *)flags, pool, (CUmemLocation *)location))
