/* Arrays, and textures and surfaces over them or over plain memory. */
#include "cuda/runtime/internal.h"

/* ---- formats ---- */

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                   enum cudaChannelFormatKind kind) {
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

static const struct {
    int bits;
    enum cudaChannelFormatKind kind;
    CUarray_format format;
} formats[] = {
    {8, cudaChannelFormatKindUnsigned, CU_AD_FORMAT_UNSIGNED_INT8},
    {16, cudaChannelFormatKindUnsigned, CU_AD_FORMAT_UNSIGNED_INT16},
    {32, cudaChannelFormatKindUnsigned, CU_AD_FORMAT_UNSIGNED_INT32},
    {8, cudaChannelFormatKindSigned, CU_AD_FORMAT_SIGNED_INT8},
    {16, cudaChannelFormatKindSigned, CU_AD_FORMAT_SIGNED_INT16},
    {32, cudaChannelFormatKindSigned, CU_AD_FORMAT_SIGNED_INT32},
    {16, cudaChannelFormatKindFloat, CU_AD_FORMAT_HALF},
    {32, cudaChannelFormatKindFloat, CU_AD_FORMAT_FLOAT},
};

#define FORMAT_COUNT (sizeof formats / sizeof formats[0])

/* 1, 2 or 4 channels of one width; 0: another number, or several widths. */
static unsigned channels_of(const struct cudaChannelFormatDesc *from) {
    if (from->x && !from->y && !from->z && !from->w)
        return 1;
    if (from->y == from->x && !from->z && !from->w)
        return 2;
    return from->y == from->x && from->z == from->x && from->w == from->x ? 4 : 0;
}

static cudaError_t to_driver(const struct cudaChannelFormatDesc *from, CUarray_format *format,
                             unsigned *channels) {
    *channels = channels_of(from);
    for (size_t i = 0; i < FORMAT_COUNT && *channels; i++)
        if (formats[i].bits == from->x && formats[i].kind == from->f) {
            *format = formats[i].format;
            return cudaSuccess;
        }
    return cudaErrorInvalidChannelDescriptor;
}

static struct cudaChannelFormatDesc from_driver(CUarray_format format, unsigned channels) {
    struct cudaChannelFormatDesc to = {.f = cudaChannelFormatKindNone};
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (formats[i].format == format) {
            int bits = formats[i].bits;
            to = (struct cudaChannelFormatDesc){bits, channels > 1 ? bits : 0,
                                                channels > 2 ? bits : 0, channels > 2 ? bits : 0,
                                                formats[i].kind};
        }
    return to;
}

/* ---- arrays ---- */

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format,
                              struct cudaExtent extent, unsigned flags) {
    CUDA_ARRAY3D_DESCRIPTOR to = {
        .Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    CUresult result = ff__rt_enter();
    if (!array || !format)
        return ff__rt_fail(cudaErrorInvalidValue);
    if (!result)
        result = (CUresult)to_driver(format, &to.Format, &to.NumChannels);
    return ff__rt_end(result ? result : cuArray3DCreate((CUarray *)array, &to));
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format,
                            size_t width, size_t height, unsigned flags) {
    return cudaMalloc3DArray(array, format, (struct cudaExtent){width, height, 0}, flags);
}

cudaError_t cudaFreeArray(cudaArray_t array) {
    CUresult result = ff__rt_enter();
    return ff__rt_end(result || !array ? result : cuArrayDestroy((CUarray)array));
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *format, struct cudaExtent *extent,
                             unsigned *flags, cudaArray_t array) {
    CUDA_ARRAY3D_DESCRIPTOR from;
    CUresult result = ff__rt_enter();
    if (!array)
        return ff__rt_fail(cudaErrorInvalidResourceHandle);
    if (!result)
        result = cuArray3DGetDescriptor(&from, (CUarray)array);
    if (result)
        return ff__rt_end(result);
    if (format)
        *format = from_driver(from.Format, from.NumChannels);
    if (extent)
        *extent = (struct cudaExtent){from.Width, from.Height, from.Depth};
    if (flags)
        *flags = from.Flags;
    return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *format, cudaArray_const_t array) {
    if (!format)
        return ff__rt_fail(cudaErrorInvalidValue);
    return cudaArrayGetInfo(format, NULL, NULL, (cudaArray_t)(uintptr_t)array);
}

/* ---- textures ---- */

static cudaError_t linear(const struct cudaResourceDesc *from, CUDA_RESOURCE_DESC *to) {
    to->res.linear.devPtr = ff__rt_address(from->res.linear.devPtr);
    to->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
    return to_driver(&from->res.linear.desc, &to->res.linear.format, &to->res.linear.numChannels);
}

static cudaError_t pitched(const struct cudaResourceDesc *from, CUDA_RESOURCE_DESC *to) {
    to->res.pitch2D.devPtr = ff__rt_address(from->res.pitch2D.devPtr);
    to->res.pitch2D.width = from->res.pitch2D.width;
    to->res.pitch2D.height = from->res.pitch2D.height;
    to->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
    return to_driver(&from->res.pitch2D.desc, &to->res.pitch2D.format,
                     &to->res.pitch2D.numChannels);
}

static cudaError_t resource(const struct cudaResourceDesc *from, CUDA_RESOURCE_DESC *to) {
    if (!from)
        return cudaErrorInvalidValue;
    *to = (CUDA_RESOURCE_DESC){.resType = (CUresourcetype)from->resType};
    switch (from->resType) {
    case cudaResourceTypeArray:
        to->res.array.hArray = (CUarray)from->res.array.array;
        return cudaSuccess;
    case cudaResourceTypeLinear:
        return linear(from, to);
    case cudaResourceTypePitch2D:
        return pitched(from, to);
    case cudaResourceTypeMipmappedArray:
        return cudaErrorNotSupported;
    }
    return cudaErrorInvalidValue;
}

static CUDA_TEXTURE_DESC sampling(const struct cudaTextureDesc *from) {
    CUDA_TEXTURE_DESC to = {
        .filterMode = (CUfilter_mode)from->filterMode,
        .flags = (from->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0u) |
                 (from->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0u),
        .maxAnisotropy = from->maxAnisotropy,
        .mipmapFilterMode = (CUfilter_mode)from->mipmapFilterMode,
        .mipmapLevelBias = from->mipmapLevelBias,
        .minMipmapLevelClamp = from->minMipmapLevelClamp,
        .maxMipmapLevelClamp = from->maxMipmapLevelClamp,
    };
    for (int i = 0; i < 3; i++)
        to.addressMode[i] = (CUaddress_mode)from->addressMode[i];
    for (int i = 0; i < 4; i++)
        to.borderColor[i] = from->borderColor[i];
    return to;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *object,
                                    const struct cudaResourceDesc *from,
                                    const struct cudaTextureDesc *texture,
                                    const struct cudaResourceViewDesc *view) {
    CUDA_RESOURCE_DESC to;
    CUresult result = ff__rt_enter();
    if (!object || !texture)
        return ff__rt_fail(cudaErrorInvalidValue);
    if (!result)
        result = (CUresult)resource(from, &to);
    if (result)
        return ff__rt_end(result);
    const CUDA_TEXTURE_DESC same = sampling(texture);
    return ff__rt_end(cuTexObjectCreate(object, &to, &same, (const CUDA_RESOURCE_VIEW_DESC *)view));
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *object,
                                    const struct cudaResourceDesc *from) {
    CUDA_RESOURCE_DESC to;
    CUresult result = ff__rt_enter();
    if (!object)
        return ff__rt_fail(cudaErrorInvalidValue);
    if (!result)
        result = (CUresult)resource(from, &to);
    return ff__rt_end(result ? result : cuSurfObjectCreate(object, &to));
}

FF_RT_FORWARD(cudaDestroyTextureObject, (cudaTextureObject_t object), cuTexObjectDestroy(object))
FF_RT_FORWARD(cudaDestroySurfaceObject, (cudaSurfaceObject_t object), cuSurfObjectDestroy(object))
