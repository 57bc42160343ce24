/* Arrays, and textures and surfaces through objects. */
#include "cuda/driver/texture.h"

#include "ptx/texture.h"

#include <stdlib.h>
#include <string.h>

struct CUarray_st {
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    CUdeviceptr address;
    size_t pitch, slice;
};

/* ---- elements ---- */

static const struct {
    CUarray_format format;
    enum ff__ptx_texel texel;
    uint32_t size;
} formats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, FF__PTX_TEXEL_U8, 1},
    {CU_AD_FORMAT_UNSIGNED_INT16, FF__PTX_TEXEL_U16, 2},
    {CU_AD_FORMAT_UNSIGNED_INT32, FF__PTX_TEXEL_U32, 4},
    {CU_AD_FORMAT_SIGNED_INT8, FF__PTX_TEXEL_S8, 1},
    {CU_AD_FORMAT_SIGNED_INT16, FF__PTX_TEXEL_S16, 2},
    {CU_AD_FORMAT_SIGNED_INT32, FF__PTX_TEXEL_S32, 4},
    {CU_AD_FORMAT_HALF, FF__PTX_TEXEL_F16, 2},
    {CU_AD_FORMAT_FLOAT, FF__PTX_TEXEL_F32, 4},
};

/* 0: no such format. */
static uint32_t element_size(CUarray_format format, enum ff__ptx_texel *texel) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].format == format) {
            *texel = formats[i].texel;
            return formats[i].size;
        }
    return 0;
}

/* ---- arrays ---- */

bool ff__cuda_array_block(CUarray array, size_t width, size_t height, size_t depth,
                          struct ff__cuda_block *out) {
    size_t layers = array->descriptor.Depth != 0 ? array->descriptor.Depth : 1;
    if (width > array->pitch || height > array->slice / array->pitch || depth > layers)
        return false;
    *out = (struct ff__cuda_block){
        .address = (char *)(uintptr_t)array->address, // NOLINT(performance-no-int-to-ptr)
        .pitch = array->pitch,
        .slice = array->slice};
    return true;
}

CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor) {
    CUcontext context;
    enum ff__ptx_texel texel;
    CUresult result = ff__cuda_enter_unsafe(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (out == NULL || descriptor == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    size_t size = element_size(descriptor->Format, &texel), channels = descriptor->NumChannels;
    if (size == 0 || (channels != 1 && channels != 2 && channels != 4) || descriptor->Width == 0 ||
        descriptor->Width > 1u << 27 || descriptor->Height > 1u << 17 ||
        descriptor->Depth > 1u << 14 || (descriptor->Height == 0 && descriptor->Depth != 0))
        return CUDA_ERROR_INVALID_VALUE;
    if ((descriptor->Flags & ~2u) != 0) /* all but CUDA_ARRAY3D_SURFACE_LDST */
        return CUDA_ERROR_NOT_SUPPORTED;
    CUarray array = calloc(1, sizeof *array);
    if (array == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    array->descriptor = *descriptor;
    array->pitch = descriptor->Width * size * channels;
    array->slice = array->pitch * (descriptor->Height != 0 ? descriptor->Height : 1);
    size_t layers = descriptor->Depth != 0 ? descriptor->Depth : 1;
    result = ff__cuda_alloc(context, array->slice * layers, FF_CUDA_PLAIN, 0, &array->address);
    if (result == CUDA_SUCCESS)
        *out = array;
    else
        free(array);
    return result;
}

CUresult cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *descriptor) {
    if (descriptor == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_ARRAY3D_DESCRIPTOR wanted = {.Width = descriptor->Width,
                                            .Height = descriptor->Height,
                                            .Format = descriptor->Format,
                                            .NumChannels = descriptor->NumChannels};
    return cuArray3DCreate_v2(array, &wanted);
}

CUresult cuArrayDestroy(CUarray array) {
    CUcontext context;
    CUresult result = ff__cuda_enter(&context);
    if (array == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        result = ff__cuda_context_wait(context);
    if (result != CUDA_SUCCESS)
        return result;
    ff__cuda_free(array->address);
    free(array);
    return CUDA_SUCCESS;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *descriptor, CUarray array) {
    CUresult result = ff__cuda_started();
    if (result != CUDA_SUCCESS)
        return result;
    if (descriptor == NULL || array == NULL)
        return descriptor == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    *descriptor = array->descriptor;
    return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *descriptor, CUarray array) {
    CUDA_ARRAY3D_DESCRIPTOR whole;
    if (descriptor == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = cuArray3DGetDescriptor_v2(&whole, array);
    if (result == CUDA_SUCCESS)
        *descriptor = (CUDA_ARRAY_DESCRIPTOR){.Width = whole.Width,
                                              .Height = whole.Height,
                                              .Format = whole.Format,
                                              .NumChannels = whole.NumChannels};
    return result;
}

/* ---- what an object reads ---- */

static uint32_t dimensions_of(const CUDA_ARRAY3D_DESCRIPTOR *descriptor) {
    return descriptor->Depth != 0 ? 3 : descriptor->Height != 0 ? 2 : 1;
}

static CUresult image_of(const CUDA_RESOURCE_DESC *resource, struct ff__ptx_image *out) {
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {.Width = 0};
    enum ff__ptx_texel texel = FF__PTX_TEXEL_U8;
    CUdeviceptr address = 0;
    size_t pitch = 0, slice = 0;
    switch (resource->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        if (resource->res.array.hArray == NULL)
            return CUDA_ERROR_INVALID_HANDLE;
        descriptor = resource->res.array.hArray->descriptor;
        address = resource->res.array.hArray->address;
        pitch = resource->res.array.hArray->pitch;
        slice = resource->res.array.hArray->slice;
        break;
    case CU_RESOURCE_TYPE_LINEAR:
        descriptor.Format = resource->res.linear.format;
        descriptor.NumChannels = resource->res.linear.numChannels;
        descriptor.Width = resource->res.linear.sizeInBytes;
        address = resource->res.linear.devPtr;
        break;
    case CU_RESOURCE_TYPE_PITCH2D:
        descriptor.Format = resource->res.pitch2D.format;
        descriptor.NumChannels = resource->res.pitch2D.numChannels;
        descriptor.Width = resource->res.pitch2D.width;
        descriptor.Height = resource->res.pitch2D.height;
        address = resource->res.pitch2D.devPtr;
        pitch = resource->res.pitch2D.pitchInBytes;
        break;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    uint32_t size = element_size(descriptor.Format, &texel) * descriptor.NumChannels;
    if (size == 0 || address == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (resource->resType == CU_RESOURCE_TYPE_LINEAR)
        descriptor.Width /= size;
    *out = (struct ff__ptx_image){
        .address = (void *)(uintptr_t)address, // NOLINT(performance-no-int-to-ptr)
        .dimensions = dimensions_of(&descriptor),
        .extent = {(uint32_t)descriptor.Width, (uint32_t)descriptor.Height,
                   (uint32_t)descriptor.Depth},
        .pitch = pitch,
        .slice = slice,
        .texel = texel,
        .channels = descriptor.NumChannels};
    return CUDA_SUCCESS;
}

static bool is_real(uint32_t texel) {
    return texel == FF__PTX_TEXEL_F16 || texel == FF__PTX_TEXEL_F32;
}

CUresult cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *resource,
                           const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view) {
    struct ff__ptx_texture made = {.linear = false};
    struct ff_error error;
    uint64_t number;
    CUresult result = ff__cuda_started();
    if (object == NULL || resource == NULL || texture == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = view != NULL ? CUDA_ERROR_NOT_SUPPORTED : image_of(resource, &made.image);
    if (result != CUDA_SUCCESS)
        return result;
    for (int i = 0; i < 3; i++)
        made.address[i] = texture->addressMode[i]; /* the same numbers */
    made.linear = texture->filterMode == CU_TR_FILTER_MODE_LINEAR;
    made.normalized = (texture->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
    made.promoted = (texture->flags & CU_TRSF_READ_AS_INTEGER) == 0 && !is_real(made.image.texel);
    memcpy(made.border, texture->borderColor, sizeof made.border);
    result = ff__cuda_result(ff__ptx_texture_create(&made, &number, &error), &error);
    if (result == CUDA_SUCCESS)
        *object = number;
    return result;
}

CUresult cuTexObjectDestroy(CUtexObject object) {
    CUresult result = ff__cuda_started();
    struct ff_error error;
    if (result == CUDA_SUCCESS && ff__ptx_object_destroy(object, &error) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return result;
}

CUresult cuSurfObjectCreate(CUsurfObject *object, const CUDA_RESOURCE_DESC *resource) {
    struct ff__ptx_image image;
    struct ff_error error;
    uint64_t number;
    CUresult result = ff__cuda_started();
    if (object == NULL || resource == NULL || resource->resType != CU_RESOURCE_TYPE_ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = image_of(resource, &image);
    if (result == CUDA_SUCCESS)
        result = ff__cuda_result(ff__ptx_surface_create(&image, &number, &error), &error);
    if (result == CUDA_SUCCESS)
        *object = number;
    return result;
}

CUresult cuSurfObjectDestroy(CUsurfObject object) {
    return cuTexObjectDestroy(object);
}
