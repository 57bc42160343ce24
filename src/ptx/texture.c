#include "ptx/texture_internal.h"

#include "ptx/device/abi.h"
#include "ptx/device/half.h"
#include <string.h>

static const struct ff__ptx_texture *find(const struct ff_ptx_block *block, uint64_t object,
                                          uint32_t dimensions) {
    const struct ff__ptx_texture *texture = ff__ptx_texture_find(object);
    if (texture == NULL)
        block->services->fail(block, "tex: there is no such texture");
    else if (texture->image.dimensions != dimensions)
        block->services->fail(block, "tex: the texture has other dimensions");
    else
        return texture;
    return NULL;
}

/* ---- texels ---- */

static uint32_t fraction(float value, float whole) {
    float result = value / whole;
    return as_u32(result < -1.0f ? -1.0f : result);
}

static uint32_t read_channel(const struct ff__ptx_texture *texture, const uint8_t *at) {
    uint16_t half;
    uint32_t word;
    switch (texture->image.texel) {
    case FF__PTX_TEXEL_U8:
        return texture->promoted ? fraction(*at, UINT8_MAX) : *at;
    case FF__PTX_TEXEL_S8:
        return texture->promoted ? fraction((int8_t)*at, INT8_MAX) : (uint32_t)(int8_t)*at;
    case FF__PTX_TEXEL_U16:
        memcpy(&half, at, sizeof half);
        return texture->promoted ? fraction(half, UINT16_MAX) : half;
    case FF__PTX_TEXEL_S16:
        memcpy(&half, at, sizeof half);
        return texture->promoted ? fraction((int16_t)half, INT16_MAX) : (uint32_t)(int16_t)half;
    case FF__PTX_TEXEL_F16:
        memcpy(&half, at, sizeof half);
        return as_u32(cvt_f32_f16(half));
    default:
        memcpy(&word, at, sizeof word);
        return word;
    }
}

static void read_texel(const struct ff__ptx_texture *texture, const int64_t *place, uint32_t *out) {
    const struct ff__ptx_image *image = &texture->image;
    uint32_t size = ff__ptx_element_size(image);
    const uint8_t *at = ff__ptx_image_at(image, (uint64_t)place[0] * size, place);
    memset(out, 0, 4 * sizeof *out);
    for (uint32_t i = 0; i < image->channels; i++)
        out[i] = read_channel(texture, at + i * (size / image->channels));
}

/* ---- coordinates ---- */

static uint32_t address_mode(const struct ff__ptx_texture *texture, uint32_t axis) {
    uint32_t mode = texture->address[axis];
    return texture->normalized || mode == FF__PTX_ADDRESS_BORDER ? mode : FF__PTX_ADDRESS_CLAMP;
}

/* A coordinate in elements, from -2 to two extents and 2: further away nothing changes. */
static double in_elements(const struct ff__ptx_texture *texture, uint32_t axis, float coordinate) {
    double x = coordinate, extent = texture->image.extent[axis], most = 2 * extent + 2;
    uint32_t mode = address_mode(texture, axis);
    if (mode == FF__PTX_ADDRESS_WRAP)
        x -= floor(x);
    if (mode == FF__PTX_ADDRESS_MIRROR)
        x -= 2 * floor(x / 2);
    if (texture->normalized)
        x *= extent;
    return x > -2 ? (x < most ? x : most) : -2;
}

static int64_t modulo(int64_t value, int64_t by) {
    int64_t rest = value % by;
    return rest < 0 ? rest + by : rest;
}

/* The element that stands for element `at`, which may be outside; -1: the border. */
static int64_t inside(const struct ff__ptx_texture *texture, uint32_t axis, int64_t at) {
    int64_t extent = texture->image.extent[axis];
    if (at >= 0 && at < extent)
        return at;
    switch (address_mode(texture, axis)) {
    case FF__PTX_ADDRESS_WRAP:
        return modulo(at, extent);
    case FF__PTX_ADDRESS_MIRROR:
        at = modulo(at, 2 * extent);
        return at < extent ? at : 2 * extent - 1 - at;
    case FF__PTX_ADDRESS_CLAMP:
        return at < 0 ? 0 : extent - 1;
    default:
        return -1;
    }
}

static void read_at(const struct ff__ptx_texture *texture, const int64_t *place, uint32_t *out) {
    int64_t found[3] = {0};
    bool is_border = false;
    for (uint32_t axis = 0; axis < texture->image.dimensions; axis++) {
        found[axis] = inside(texture, axis, place[axis]);
        is_border |= found[axis] < 0;
    }
    if (is_border)
        memcpy(out, texture->border, sizeof texture->border);
    else
        read_texel(texture, found, out);
}

/* ---- filters ---- */

static void sample_nearest(const struct ff__ptx_texture *texture, const float *coordinates,
                           uint32_t *out) {
    int64_t place[3] = {0};
    for (uint32_t axis = 0; axis < texture->image.dimensions; axis++)
        place[axis] = (int64_t)floor(in_elements(texture, axis, coordinates[axis]));
    read_at(texture, place, out);
}

/* The sum of the elements around, each by its weight. Weights are exact. */
static void sample_linear(const struct ff__ptx_texture *texture, const float *coordinates,
                          uint32_t *out) {
    uint32_t dimensions = texture->image.dimensions;
    int64_t first[3] = {0};
    double weights[3][2] = {{0}}, sums[4] = {0};
    for (uint32_t axis = 0; axis < dimensions; axis++) {
        double x = in_elements(texture, axis, coordinates[axis]) - 0.5;
        first[axis] = (int64_t)floor(x);
        weights[axis][1] = floor((x - floor(x)) * 256 + 0.5) / 256;
        weights[axis][0] = 1 - weights[axis][1];
    }
    for (uint32_t corner = 0; corner < 1u << dimensions; corner++) {
        double weight = 1;
        int64_t place[3] = {0};
        for (uint32_t axis = 0; axis < dimensions; axis++) {
            weight *= weights[axis][corner >> axis & 1];
            place[axis] = first[axis] + (corner >> axis & 1);
        }
        if (weight == 0) /* infinity there does not count */
            continue;
        uint32_t texel[4];
        read_at(texture, place, texel);
        for (uint32_t i = 0; i < 4; i++)
            sums[i] += weight * as_f32(texel[i]);
    }
    for (uint32_t i = 0; i < 4; i++)
        out[i] = as_u32((float)sums[i]);
}

void ff__ptx_texture_sample(const struct ff_ptx_block *block, uint64_t object, uint32_t dimensions,
                            const float *coordinates, float level, uint32_t *out) {
    (void)level;
    const struct ff__ptx_texture *texture = find(block, object, dimensions);
    if (texture == NULL)
        return;
    if (texture->linear)
        sample_linear(texture, coordinates, out);
    else
        sample_nearest(texture, coordinates, out);
}

void ff__ptx_texture_fetch(const struct ff_ptx_block *block, uint64_t object, uint32_t dimensions,
                           const int32_t *coordinates, uint32_t *out) {
    const struct ff__ptx_texture *texture = find(block, object, dimensions);
    if (texture == NULL)
        return;
    int64_t place[3] = {0};
    bool is_outside = false;
    for (uint32_t axis = 0; axis < dimensions; axis++) {
        place[axis] = coordinates[axis];
        is_outside |= place[axis] < 0 || place[axis] >= texture->image.extent[axis];
    }
    if (is_outside)
        memset(out, 0, 4 * sizeof *out);
    else
        read_texel(texture, place, out);
}
