/* Copies of rows and boxes, of plain memory and of arrays. */
#include "cuda/runtime/internal.h"

/* ---- sides of a copy ---- */

static CUmemorytype type_of(enum cudaMemcpyKind kind, bool is_source) {
    switch (kind) {
    case cudaMemcpyHostToHost:
        return CU_MEMORYTYPE_HOST;
    case cudaMemcpyHostToDevice:
        return is_source ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    case cudaMemcpyDeviceToHost:
        return is_source ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    case cudaMemcpyDeviceToDevice:
        return CU_MEMORYTYPE_DEVICE;
    default:
        return CU_MEMORYTYPE_UNIFIED;
    }
}

static void set_source(CUDA_MEMCPY3D *copy, const void *from, size_t pitch,
                       enum cudaMemcpyKind kind) {
    copy->srcMemoryType = type_of(kind, true);
    copy->srcHost = from;
    copy->srcDevice = ff__rt_address(from);
    copy->srcPitch = pitch;
}

static void set_target(CUDA_MEMCPY3D *copy, void *to, size_t pitch, enum cudaMemcpyKind kind) {
    copy->dstMemoryType = type_of(kind, false);
    copy->dstHost = to;
    copy->dstDevice = ff__rt_address(to);
    copy->dstPitch = pitch;
}

static void set_source_array(CUDA_MEMCPY3D *copy, cudaArray_const_t from, size_t x, size_t y) {
    copy->srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy->srcArray = (CUarray)(uintptr_t)from;
    copy->srcXInBytes = x;
    copy->srcY = y;
}

static void set_target_array(CUDA_MEMCPY3D *copy, cudaArray_t to, size_t x, size_t y) {
    copy->dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy->dstArray = (CUarray)to;
    copy->dstXInBytes = x;
    copy->dstY = y;
}

/* A box of one plane needs nothing else of the driver than one of several. */
static cudaError_t run(const CUDA_MEMCPY3D *copy) {
    if (copy->WidthInBytes == 0 || copy->Height == 0 || copy->Depth == 0)
        return cudaSuccess;
    CUresult result = ff__rt_enter();
    return ff__rt_end(result ? result : FF_RT_DEFAULT(cuMemcpy3D)(copy));
}

static cudaError_t run_async(const CUDA_MEMCPY3D *copy, cudaStream_t stream) {
    if (copy->WidthInBytes == 0 || copy->Height == 0 || copy->Depth == 0)
        return cudaSuccess;
    CUresult result = ff__rt_enter();
    return ff__rt_end(result ? result : cuMemcpy3DAsync(copy, ff__rt_stream(stream)));
}

/* ---- rows ---- */

static cudaError_t check(enum cudaMemcpyKind kind) {
    return (unsigned)kind > cudaMemcpyDefault ? cudaErrorInvalidMemcpyDirection : cudaSuccess;
}

static cudaError_t rows(CUDA_MEMCPY3D *copy, void *to, size_t to_pitch, const void *from,
                        size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind) {
    if (width > to_pitch || width > from_pitch)
        return cudaErrorInvalidPitchValue;
    *copy = (CUDA_MEMCPY3D){.WidthInBytes = width, .Height = height, .Depth = 1};
    set_source(copy, from, from_pitch, kind);
    set_target(copy, to, to_pitch, kind);
    return check(kind);
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = rows(&copy, to, to_pitch, from, from_pitch, width, height, kind);
    return error ? ff__rt_fail(error) : run(&copy);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = rows(&copy, to, to_pitch, from, from_pitch, width, height, kind);
    return error ? ff__rt_fail(error) : run_async(&copy, stream);
}

static cudaError_t to_array(CUDA_MEMCPY3D *copy, cudaArray_t to, size_t x, size_t y,
                            const void *from, size_t pitch, size_t width, size_t height,
                            enum cudaMemcpyKind kind) {
    if (width > pitch)
        return cudaErrorInvalidPitchValue;
    *copy = (CUDA_MEMCPY3D){.WidthInBytes = width, .Height = height, .Depth = 1};
    set_source(copy, from, pitch, kind);
    set_target_array(copy, to, x, y);
    return check(kind);
}

static cudaError_t from_array(CUDA_MEMCPY3D *copy, void *to, size_t pitch, cudaArray_const_t from,
                              size_t x, size_t y, size_t width, size_t height,
                              enum cudaMemcpyKind kind) {
    if (width > pitch)
        return cudaErrorInvalidPitchValue;
    *copy = (CUDA_MEMCPY3D){.WidthInBytes = width, .Height = height, .Depth = 1};
    set_source_array(copy, from, x, y);
    set_target(copy, to, pitch, kind);
    return check(kind);
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                                size_t width, size_t height, enum cudaMemcpyKind kind) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = to_array(&copy, to, x, y, from, pitch, width, height, kind);
    return error ? ff__rt_fail(error) : run(&copy);
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from,
                                     size_t pitch, size_t width, size_t height,
                                     enum cudaMemcpyKind kind, cudaStream_t stream) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = to_array(&copy, to, x, y, from, pitch, width, height, kind);
    return error ? ff__rt_fail(error) : run_async(&copy, stream);
}

cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x,
                                  size_t y, size_t width, size_t height, enum cudaMemcpyKind kind) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = from_array(&copy, to, pitch, from, x, y, width, height, kind);
    return error ? ff__rt_fail(error) : run(&copy);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x,
                                       size_t y, size_t width, size_t height,
                                       enum cudaMemcpyKind kind, cudaStream_t stream) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = from_array(&copy, to, pitch, from, x, y, width, height, kind);
    return error ? ff__rt_fail(error) : run_async(&copy, stream);
}

/* Whole rows from (x, y) on; a row of the array is as wide as what is copied where it has one. */
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t size,
                              enum cudaMemcpyKind kind) {
    struct cudaChannelFormatDesc format;
    struct cudaExtent extent;
    cudaError_t error = cudaArrayGetInfo(&format, &extent, NULL, to);
    if (error)
        return error;
    size_t row = extent.width * (size_t)(format.x + format.y + format.z + format.w) / 8;
    if (size <= row)
        return cudaMemcpy2DToArray(to, x, y, from, size, size, 1, kind);
    if (x != 0 || row == 0 || size % row != 0)
        return ff__rt_fail(cudaErrorInvalidValue);
    return cudaMemcpy2DToArray(to, 0, y, from, row, row, size / row, kind);
}

/* ---- boxes ---- */

/* Bytes of an element of an array; of plain memory, places and widths are bytes already. */
static cudaError_t element_of(cudaArray_const_t array, size_t *out) {
    struct cudaChannelFormatDesc format;
    cudaError_t error = cudaGetChannelDesc(&format, array);
    *out = error ? 1 : (size_t)(format.x + format.y + format.z + format.w) / 8;
    return error;
}

static cudaError_t set_box_source(const struct cudaMemcpy3DParms *from, CUDA_MEMCPY3D *to) {
    size_t element = 1;
    cudaError_t error = from->srcArray ? element_of(from->srcArray, &element) : cudaSuccess;
    if (from->srcArray)
        set_source_array(to, from->srcArray, from->srcPos.x * element, from->srcPos.y);
    else
        set_source(to, from->srcPtr.ptr, from->srcPtr.pitch, from->kind);
    to->srcXInBytes = from->srcPos.x * element;
    to->srcY = from->srcPos.y;
    to->srcZ = from->srcPos.z;
    to->srcHeight = from->srcPtr.ysize;
    to->WidthInBytes *= element;
    return error;
}

static cudaError_t set_box_target(const struct cudaMemcpy3DParms *from, CUDA_MEMCPY3D *to) {
    size_t element = 1;
    cudaError_t error = from->dstArray ? element_of(from->dstArray, &element) : cudaSuccess;
    if (from->dstArray)
        set_target_array(to, from->dstArray, from->dstPos.x * element, from->dstPos.y);
    else
        set_target(to, from->dstPtr.ptr, from->dstPtr.pitch, from->kind);
    to->dstXInBytes = from->dstPos.x * element;
    to->dstY = from->dstPos.y;
    to->dstZ = from->dstPos.z;
    to->dstHeight = from->dstPtr.ysize;
    if (!from->srcArray)
        to->WidthInBytes *= element;
    return error;
}

cudaError_t ff__rt_copy_3d(const struct cudaMemcpy3DParms *from, CUDA_MEMCPY3D *to) {
    if (!from)
        return cudaErrorInvalidValue;
    *to = (CUDA_MEMCPY3D){.WidthInBytes = from->extent.width,
                          .Height = from->extent.height,
                          .Depth = from->extent.depth};
    cudaError_t error = set_box_source(from, to);
    if (!error)
        error = set_box_target(from, to);
    return error ? error : check(from->kind);
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *box) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = ff__rt_copy_3d(box, &copy);
    return error ? ff__rt_fail(error) : run(&copy);
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *box, cudaStream_t stream) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = ff__rt_copy_3d(box, &copy);
    return error ? ff__rt_fail(error) : run_async(&copy, stream);
}

/* Addresses of one process say which device they are on. */
static struct cudaMemcpy3DParms without_devices(const struct cudaMemcpy3DPeerParms *peer) {
    return (struct cudaMemcpy3DParms){
        .srcArray = peer->srcArray,
        .srcPos = peer->srcPos,
        .srcPtr = peer->srcPtr,
        .dstArray = peer->dstArray,
        .dstPos = peer->dstPos,
        .dstPtr = peer->dstPtr,
        .extent = peer->extent,
        .kind = cudaMemcpyDefault,
    };
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *peer) {
    if (!peer)
        return ff__rt_fail(cudaErrorInvalidValue);
    const struct cudaMemcpy3DParms box = without_devices(peer);
    return cudaMemcpy3D(&box);
}

cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *peer, cudaStream_t stream) {
    if (!peer)
        return ff__rt_fail(cudaErrorInvalidValue);
    const struct cudaMemcpy3DParms box = without_devices(peer);
    return cudaMemcpy3DAsync(&box, stream);
}
