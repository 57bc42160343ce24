/* Loads and stores of surfaces. */
#include "ptx/texture_internal.h"

#include "ptx/device/abi.h"
#include <string.h>

enum { TRAP, CLAMP, ZERO };

/* Where the access goes; NULL: nowhere. */
static uint8_t *place_of(const struct ff_ptx_block *block, const struct ff__ptx_image *image,
                         const int32_t *coordinates, uint32_t clamp, uint32_t size) {
    int64_t place[3] = {0};
    for (uint32_t axis = 0; axis < image->dimensions; axis++) {
        int64_t last = axis == 0 ? (int64_t)image->extent[0] * ff__ptx_element_size(image) - size
                                 : (int64_t)image->extent[axis] - 1;
        int64_t at = coordinates[axis], nearest = at < 0 ? 0 : at > last ? last : at;
        if (clamp == ZERO && nearest != at)
            return NULL;
        if ((clamp == TRAP && nearest != at) || last < 0) {
            block->services->fail(block, "suld, sust: outside of the surface");
            return NULL;
        }
        place[axis] = nearest;
    }
    return ff__ptx_image_at(image, (uint64_t)place[0], place);
}

static uint8_t *find(const struct ff_ptx_block *block, uint64_t object, uint32_t dimensions,
                     const int32_t *coordinates, uint32_t clamp, uint32_t size) {
    const struct ff__ptx_image *image = ff__ptx_surface_find(object);
    if (image == NULL)
        block->services->fail(block, "suld, sust: there is no such surface");
    else if (image->dimensions != dimensions)
        block->services->fail(block, "suld, sust: the surface has other dimensions");
    else
        return place_of(block, image, coordinates, clamp, size);
    return NULL;
}

void ff__ptx_surface_load(const struct ff_ptx_block *block, uint64_t object, uint32_t dimensions,
                          const int32_t *coordinates, uint32_t clamp, uint32_t size, void *out) {
    const uint8_t *from = find(block, object, dimensions, coordinates, clamp, size);
    if (from != NULL)
        memcpy(out, from, size);
    else
        memset(out, 0, size);
}

void ff__ptx_surface_store(const struct ff_ptx_block *block, uint64_t object, uint32_t dimensions,
                           const int32_t *coordinates, uint32_t clamp, uint32_t size,
                           const void *in) {
    uint8_t *to = find(block, object, dimensions, coordinates, clamp, size);
    if (to != NULL)
        memcpy(to, in, size);
}
