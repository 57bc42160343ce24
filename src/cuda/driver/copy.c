/* Copies and sets: all are blocks of rows, in parts that threads take. Memory is the process's own
 * wherever it lies, so a direction is what a program says, and nothing to go by. */
#include "cuda/driver/internal.h"

#include "cuda/driver/texture.h"

#include <string.h>

#define PART ((size_t)1 << 20) /* bytes of one row */

/* ---- parts ---- */

static bool is_one_row(size_t height, size_t depth) {
    return height == 1 && depth == 1;
}

size_t ff__cuda_copy_parts(const struct ff__cuda_copy *copy) {
    if (copy->width == 0)
        return 0;
    return is_one_row(copy->height, copy->depth) ? (copy->width + PART - 1) / PART
                                                 : copy->height * copy->depth;
}

/* Uploads of at least this are written on the device: the smallest piece that drivers bring at a
 * fault. Ours. */
#define UPLOAD (64 << 10)

bool ff__cuda_copy_has_begin(const struct ff__cuda_copy *copy) {
    struct ff_context *context = ff__cuda_farfault();
    return is_one_row(copy->height, copy->depth) && copy->width >= UPLOAD &&
           !ff_mem_lookup(context, copy->from.address, NULL, NULL) &&
           ff_mem_lookup(context, copy->to.address, NULL, NULL);
}

void ff__cuda_copy_begin(const struct ff__cuda_copy *copy) {
    ff_mem_hint(ff__cuda_farfault(), copy->to.address, copy->width, FF_HINT_OVERWRITE, 0);
}

/* What is in managed memory is overwritten where it lies; nothing migrates. */
static void copy_row(char *to, const char *from, size_t size) {
    struct ff_context *context = ff__cuda_farfault();
    if (ff_mem_lookup(context, from, NULL, NULL) || ff_mem_write(context, to, from, size) != 0)
        memmove(to, from, size);
}

void ff__cuda_copy_part(const struct ff__cuda_copy *copy, size_t number) {
    const struct ff__cuda_block *to = &copy->to, *from = &copy->from;
    if (is_one_row(copy->height, copy->depth)) {
        size_t at = number * PART, left = copy->width - at, size = left < PART ? left : PART;
        if (ff__cuda_copy_has_begin(copy))
            memcpy(to->address + at, from->address + at, size);
        else
            copy_row(to->address + at, from->address + at, size);
        return;
    }
    size_t row = number % copy->height, layer = number / copy->height;
    copy_row(to->address + row * to->pitch + layer * to->slice,
             from->address + row * from->pitch + layer * from->slice, copy->width);
}

bool ff__cuda_set_has_begin(const struct ff__cuda_set *set) {
    bool has_gaps = set->height > 1 && set->to.pitch != set->width * set->size;
    return !has_gaps && ff_mem_lookup(ff__cuda_farfault(), set->to.address, NULL, NULL);
}

void ff__cuda_set_begin(const struct ff__cuda_set *set) {
    if (ff__cuda_set_has_begin(set))
        ff_mem_hint(ff__cuda_farfault(), set->to.address, set->width * set->size * set->height,
                    FF_HINT_OVERWRITE, 0);
}

size_t ff__cuda_set_parts(const struct ff__cuda_set *set) {
    size_t width = set->width * set->size;
    if (width == 0)
        return 0;
    return set->height == 1 ? (width + PART - 1) / PART : set->height;
}

static void set_row(char *to, size_t count, uint32_t value, uint32_t size) {
    if (size == 1)
        memset(to, (int)value, count);
    for (size_t i = 0; size == 2 && i < count; i++)
        ((uint16_t *)(void *)to)[i] = (uint16_t)value;
    for (size_t i = 0; size == 4 && i < count; i++)
        ((uint32_t *)(void *)to)[i] = value;
}

void ff__cuda_set_part(const struct ff__cuda_set *set, size_t number) {
    if (set->height != 1) {
        set_row(set->to.address + number * set->to.pitch, set->width, set->value, set->size);
        return;
    }
    size_t most = PART / set->size, at = number * most, left = set->width - at;
    set_row(set->to.address + at * set->size, left < most ? left : most, set->value, set->size);
}

/* ---- plain copies ---- */

static CUresult copy(uintptr_t to, uintptr_t from, size_t size, bool waits, CUstream stream) {
    struct ff__cuda_command command = {
        .kind = FF_CUDA_COPY,
        .copy = {.to.address = (char *)to,
                 .from.address = (char *)from, // NOLINT(performance-no-int-to-ptr)
                 .width = size,
                 .height = 1,
                 .depth = 1}};
    if ((size != 0 && (to == 0 || from == 0)) || ff__cuda_is_beyond(to, size) ||
        ff__cuda_is_beyond(from, size))
        return CUDA_ERROR_INVALID_VALUE;
    return waits ? ff__cuda_execute(stream, &command) : ff__cuda_enqueue(stream, &command);
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size) {
    return copy(to, from, size, true, NULL);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
    return copy(to, from, size, false, stream);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) {
    return copy(to, (uintptr_t)from, size, true, NULL);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream) {
    return copy(to, (uintptr_t)from, size, false, stream);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) {
    return copy((uintptr_t)to, from, size, true, NULL);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream) {
    return copy((uintptr_t)to, from, size, false, stream);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size) {
    return copy(to, from, size, true, NULL);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
    return copy(to, from, size, false, stream);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, size_t size) {
    if (to_context == NULL || from_context == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    return copy(to, from, size, true, NULL);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t size, CUstream stream) {
    if (to_context == NULL || from_context == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    return copy(to, from, size, false, stream);
}

/* ---- of rows and layers ---- */

/* *size += count * each. False: it is more than memory can be. */
static bool add(size_t *size, size_t count, size_t each) {
    size_t more;
    return !__builtin_mul_overflow(count, each, &more) &&
           !__builtin_add_overflow(*size, more, size);
}

/* Where one side of a copy lies. */
struct side {
    size_t x, y, z;
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t pitch, height;
};

/* Rows and layers beside those of `side` are the copy's. */
static CUresult find_block(const struct side *side, const struct ff__cuda_copy *copy,
                           struct ff__cuda_block *out) {
    uintptr_t base = 0;
    size_t width = copy->width;
    out->pitch = side->pitch;
    switch (side->type) {
    case CU_MEMORYTYPE_HOST:
        base = (uintptr_t)side->host;
        break;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
        base = side->device;
        break;
    case CU_MEMORYTYPE_ARRAY:
        if (side->array == NULL)
            return CUDA_ERROR_INVALID_HANDLE;
        if (!ff__cuda_array_block(side->array, side->x + width, side->y + copy->height,
                                  side->z + copy->depth, out))
            return CUDA_ERROR_INVALID_VALUE;
        out->address += side->x + side->y * out->pitch + side->z * out->slice;
        return CUDA_SUCCESS;
    }
    size_t row = side->x, before = side->x, used = 0;
    out->slice = 0;
    if (base == 0 || !add(&row, 1, width) || (out->pitch != 0 && out->pitch < row))
        return CUDA_ERROR_INVALID_VALUE;
    if (out->pitch == 0)
        out->pitch = row;
    if (!add(&out->slice, out->pitch, side->height != 0 ? side->height : 1) ||
        !add(&before, side->y, out->pitch) || !add(&before, side->z, out->slice) ||
        !add(&used, 1, before))
        return CUDA_ERROR_INVALID_VALUE;
    if (copy->height != 0 && copy->depth != 0 &&
        (!add(&used, copy->depth - 1, out->slice) || !add(&used, copy->height - 1, out->pitch) ||
         !add(&used, 1, width)))
        return CUDA_ERROR_INVALID_VALUE;
    out->address = (char *)base + before; // NOLINT(performance-no-int-to-ptr)
    return ff__cuda_is_beyond(base + before, used - before) ? CUDA_ERROR_INVALID_VALUE
                                                            : CUDA_SUCCESS;
}

CUresult ff__cuda_copy_of(const CUDA_MEMCPY3D *params, struct ff__cuda_copy *out) {
    const struct side to = {params->dstXInBytes,   params->dstY,     params->dstZ,
                            params->dstMemoryType, params->dstHost,  params->dstDevice,
                            params->dstArray,      params->dstPitch, params->dstHeight};
    const struct side from = {params->srcXInBytes,   params->srcY,     params->srcZ,
                              params->srcMemoryType, params->srcHost,  params->srcDevice,
                              params->srcArray,      params->srcPitch, params->srcHeight};
    *out = (struct ff__cuda_copy){
        .width = params->WidthInBytes, .height = params->Height, .depth = params->Depth};
    CUresult result = find_block(&to, out, &out->to);
    return result == CUDA_SUCCESS ? find_block(&from, out, &out->from) : result;
}

static CUresult copy_layers(const CUDA_MEMCPY3D *params, bool waits, CUstream stream) {
    struct ff__cuda_command command = {.kind = FF_CUDA_COPY};
    if (params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = ff__cuda_copy_of(params, &command.copy);
    if (result != CUDA_SUCCESS)
        return result;
    return waits ? ff__cuda_execute(stream, &command) : ff__cuda_enqueue(stream, &command);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *params) {
    return copy_layers(params, true, NULL);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *params, CUstream stream) {
    return copy_layers(params, false, stream);
}

static CUresult copy_rows(const CUDA_MEMCPY2D *rows, bool waits, CUstream stream) {
    if (rows == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMCPY3D params = {.srcXInBytes = rows->srcXInBytes,
                                  .srcY = rows->srcY,
                                  .srcMemoryType = rows->srcMemoryType,
                                  .srcHost = rows->srcHost,
                                  .srcDevice = rows->srcDevice,
                                  .srcArray = rows->srcArray,
                                  .srcPitch = rows->srcPitch,
                                  .dstXInBytes = rows->dstXInBytes,
                                  .dstY = rows->dstY,
                                  .dstMemoryType = rows->dstMemoryType,
                                  .dstHost = rows->dstHost,
                                  .dstDevice = rows->dstDevice,
                                  .dstArray = rows->dstArray,
                                  .dstPitch = rows->dstPitch,
                                  .WidthInBytes = rows->WidthInBytes,
                                  .Height = rows->Height,
                                  .Depth = 1};
    return copy_layers(&params, waits, stream);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *params) {
    return copy_rows(params, true, NULL);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *params) {
    return copy_rows(params, true, NULL);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *params, CUstream stream) {
    return copy_rows(params, false, stream);
}

/* ---- sets ---- */

static CUresult check_set(const struct ff__cuda_set *set) {
    uintptr_t to = (uintptr_t)set->to.address;
    uint32_t size = set->size;
    size_t row = 0, used = 0;
    if ((to == 0 && set->width != 0) || to % size != 0 || set->to.pitch % size != 0 ||
        !add(&row, set->width, size) || (set->height > 1 && set->to.pitch < row))
        return CUDA_ERROR_INVALID_VALUE;
    if (set->height != 0 && (!add(&used, set->height - 1, set->to.pitch) || !add(&used, 1, row)))
        return CUDA_ERROR_INVALID_VALUE;
    return ff__cuda_is_beyond(to, used) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult set(CUdeviceptr to, size_t pitch, uint32_t value, uint32_t size, size_t width,
                    size_t height, bool waits, CUstream stream) {
    struct ff__cuda_command command = {
        .kind = FF_CUDA_SET,
        .set = {.to = {.address = (char *)(uintptr_t)to, // NOLINT(performance-no-int-to-ptr)
                       .pitch = pitch},
                .width = width,
                .height = height,
                .value = value,
                .size = size}};
    CUresult result = check_set(&command.set);
    if (result != CUDA_SUCCESS)
        return result;
    return waits ? ff__cuda_execute(stream, &command) : ff__cuda_enqueue(stream, &command);
}

CUresult ff__cuda_set_of(const CUDA_MEMSET_NODE_PARAMS *params, struct ff__cuda_set *out) {
    uint32_t size = params->elementSize;
    if ((size != 1 && size != 2 && size != 4) || params->dst == 0)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (struct ff__cuda_set){
        .to = {.address = (char *)(uintptr_t)params->dst, // NOLINT(performance-no-int-to-ptr)
               .pitch = params->pitch},
        .width = params->width,
        .height = params->height,
        .value = params->value,
        .size = size};
    return check_set(out);
}

/* The functions for elements of each size. */
#define SETS(bits, type)                                                                           \
    CUresult cuMemsetD##bits##_v2(CUdeviceptr to, type value, size_t count) {                      \
        return set(to, 0, value, (bits) / 8, count, 1, true, NULL);                                \
    }                                                                                              \
    CUresult cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t count, CUstream stream) {   \
        return set(to, 0, value, (bits) / 8, count, 1, false, stream);                             \
    }                                                                                              \
    CUresult cuMemsetD2D##bits##_v2(CUdeviceptr to, size_t pitch, type value, size_t width,        \
                                    size_t height) {                                               \
        return set(to, pitch, value, (bits) / 8, width, height, true, NULL);                       \
    }                                                                                              \
    CUresult cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, type value, size_t width,      \
                                      size_t height, CUstream stream) {                            \
        return set(to, pitch, value, (bits) / 8, width, height, false, stream);                    \
    }
SETS(8, unsigned char)
SETS(16, unsigned short)
SETS(32, unsigned)
