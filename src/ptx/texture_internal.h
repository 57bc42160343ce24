/* What textures and surfaces share. */
#ifndef FF_PTX_TEXTURE_INTERNAL_H
#define FF_PTX_TEXTURE_INTERNAL_H

#include "ptx/texture.h"

/* Bytes of an element. */
uint32_t ff__ptx_element_size(const struct ff__ptx_image *image);

/* Whether texels are read as f32. */
bool ff__ptx_reads_reals(const struct ff__ptx_texture *texture);

/* The byte `x` of row y of layer z, which the image has. */
static inline uint8_t *ff__ptx_image_at(const struct ff__ptx_image *image, uint64_t x,
                                        const int64_t *place) {
    uint64_t row = image->dimensions > 1 ? (uint64_t)place[1] * image->pitch : 0;
    uint64_t layer = image->dimensions > 2 ? (uint64_t)place[2] * image->slice : 0;
    return (uint8_t *)image->address + layer + row + x;
}

#endif
