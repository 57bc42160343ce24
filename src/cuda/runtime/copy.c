/* Copies and sets. */
#include "cuda/runtime/internal.h"

/* ---- straight ---- */

static CUresult copy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind) {
    CUdeviceptr there = ff__rt_address(to), here = ff__rt_address(from);
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return FF_RT_DEFAULT(cuMemcpyHtoD)(there, from, size);
    case cudaMemcpyDeviceToHost:
        return FF_RT_DEFAULT(cuMemcpyDtoH)(to, here, size);
    case cudaMemcpyDeviceToDevice:
        return FF_RT_DEFAULT(cuMemcpyDtoD)(there, here, size);
    default:
        return FF_RT_DEFAULT(cuMemcpy)(there, here, size);
    }
}

static CUresult copy_async(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                           CUstream stream) {
    CUdeviceptr there = ff__rt_address(to), here = ff__rt_address(from);
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return cuMemcpyHtoDAsync(there, from, size, stream);
    case cudaMemcpyDeviceToHost:
        return cuMemcpyDtoHAsync(to, here, size, stream);
    case cudaMemcpyDeviceToDevice:
        return cuMemcpyDtoDAsync(there, here, size, stream);
    default:
        return cuMemcpyAsync(there, here, size, stream);
    }
}

static cudaError_t begin(enum cudaMemcpyKind kind) {
    return (unsigned)kind > cudaMemcpyDefault ? cudaErrorInvalidMemcpyDirection
                                              : (cudaError_t)ff__rt_enter();
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind) {
    cudaError_t error = begin(kind);
    if (error || size == 0)
        return ff__rt_end((CUresult)error);
    return ff__rt_end(copy(to, from, size, kind));
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
    cudaError_t error = begin(kind);
    if (error || size == 0)
        return ff__rt_end((CUresult)error);
    return ff__rt_end(copy_async(to, from, size, kind, ff__rt_stream(stream)));
}

/* ---- symbols ---- */

/* Where a part of a variable is. */
static cudaError_t part_of(const void *symbol, size_t offset, size_t size, void **out) {
    CUdeviceptr address;
    size_t whole;
    cudaError_t error = ff__rt_variable(symbol, &address, &whole);
    if (!error && (offset > whole || size > whole - offset))
        error = cudaErrorInvalidValue;
    if (!error)
        *out = (void *)(uintptr_t)(address + offset);
    return error;
}

static cudaError_t part_for(enum cudaMemcpyKind kind, enum cudaMemcpyKind direction,
                            const void *symbol, size_t offset, size_t size, void **out) {
    return kind == direction || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault
               ? part_of(symbol, offset, size, out)
               : cudaErrorInvalidMemcpyDirection;
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset,
                               enum cudaMemcpyKind kind) {
    void *to;
    cudaError_t error = part_for(kind, cudaMemcpyHostToDevice, symbol, offset, size, &to);
    return error ? ff__rt_fail(error) : cudaMemcpy(to, from, size, kind);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size,
                                    size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream) {
    void *to;
    cudaError_t error = part_for(kind, cudaMemcpyHostToDevice, symbol, offset, size, &to);
    return error ? ff__rt_fail(error) : cudaMemcpyAsync(to, from, size, kind, stream);
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset,
                                 enum cudaMemcpyKind kind) {
    void *from;
    cudaError_t error = part_for(kind, cudaMemcpyDeviceToHost, symbol, offset, size, &from);
    return error ? ff__rt_fail(error) : cudaMemcpy(to, from, size, kind);
}

cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream) {
    void *from;
    cudaError_t error = part_for(kind, cudaMemcpyDeviceToHost, symbol, offset, size, &from);
    return error ? ff__rt_fail(error) : cudaMemcpyAsync(to, from, size, kind, stream);
}

cudaError_t cudaGetSymbolAddress(void **address, const void *symbol) {
    cudaError_t error = address ? part_of(symbol, 0, 0, address) : cudaErrorInvalidValue;
    return error ? ff__rt_fail(error) : cudaSuccess;
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol) {
    CUdeviceptr address;
    cudaError_t error = size ? ff__rt_variable(symbol, &address, size) : cudaErrorInvalidValue;
    return error ? ff__rt_fail(error) : cudaSuccess;
}

/* ---- between devices ---- */

static CUresult enter_both(int to, CUcontext *to_context, int from, CUcontext *from_context) {
    CUresult result = ff__rt_enter();
    if (!result)
        result = ff__rt_primary(to, to_context);
    return result ? result : ff__rt_primary(from, from_context);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
                           size_t size) {
    CUcontext there, here;
    CUresult result = enter_both(to_device, &there, from_device, &here);
    return ff__rt_end(
        result ? result
               : cuMemcpyPeer(ff__rt_address(to), there, ff__rt_address(from), here, size));
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t size, cudaStream_t stream) {
    CUcontext there, here;
    CUresult result = enter_both(to_device, &there, from_device, &here);
    return ff__rt_end(result ? result
                             : cuMemcpyPeerAsync(ff__rt_address(to), there, ff__rt_address(from),
                                                 here, size, ff__rt_stream(stream)));
}

/* ---- sets ---- */

/* The driver sets what can be described as rows of bytes. */
static CUresult set(void *to, size_t pitch, int value, size_t width, size_t height) {
    const unsigned char byte = (unsigned char)value;
    if (width == 0 || height == 0)
        return CUDA_SUCCESS;
    return height == 1
               ? FF_RT_DEFAULT(cuMemsetD8)(ff__rt_address(to), byte, width)
               : FF_RT_DEFAULT(cuMemsetD2D8)(ff__rt_address(to), pitch, byte, width, height);
}

static CUresult set_async(void *to, size_t pitch, int value, size_t width, size_t height,
                          CUstream stream) {
    const unsigned char byte = (unsigned char)value;
    if (width == 0 || height == 0)
        return CUDA_SUCCESS;
    return height == 1 ? cuMemsetD8Async(ff__rt_address(to), byte, width, stream)
                       : cuMemsetD2D8Async(ff__rt_address(to), pitch, byte, width, height, stream);
}

FF_RT_FORWARD(cudaMemset, (void *to, int value, size_t size), set(to, size, value, size, 1))
FF_RT_FORWARD(cudaMemsetAsync, (void *to, int value, size_t size, cudaStream_t stream),
              set_async(to, size, value, size, 1, ff__rt_stream(stream)))
FF_RT_FORWARD(cudaMemset2D, (void *to, size_t pitch, int value, size_t width, size_t height),
              set(to, pitch, value, width, height))
FF_RT_FORWARD(cudaMemset2DAsync,
              (void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
              set_async(to, pitch, value, width, height, ff__rt_stream(stream)))

/* The planes of a pitched allocation follow each other; a set of a part of them goes plane by
 * plane. */
static CUresult set_planes(struct cudaPitchedPtr to, int value, struct cudaExtent extent,
                           CUstream stream, bool wait) {
    CUresult result = ff__rt_enter();
    for (size_t z = 0; z < extent.depth && !result; z++) {
        char *plane = (char *)to.ptr + z * to.pitch * to.ysize;
        result = wait ? set(plane, to.pitch, value, extent.width, extent.height)
                      : set_async(plane, to.pitch, value, extent.width, extent.height, stream);
    }
    return result;
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent) {
    return ff__rt_end(set_planes(to, value, extent, NULL, true));
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent,
                              cudaStream_t stream) {
    return ff__rt_end(set_planes(to, value, extent, ff__rt_stream(stream), false));
}
