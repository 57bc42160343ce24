/* Texture and surface objects of CUDA: views of memory that translated code names by a number.
 *
 * Objects are the process's own. Any thread may create and destroy them, but none that a running
 * kernel uses. The number of a destroyed object is not used again. */
#ifndef FF_PTX_TEXTURE_H
#define FF_PTX_TEXTURE_H

#include <farfault/farfault.h>
#include <stdbool.h>
#include <stdint.h>

struct ff_ptx_block;

enum ff__ptx_texel {
    FF__PTX_TEXEL_U8,
    FF__PTX_TEXEL_U16,
    FF__PTX_TEXEL_U32,
    FF__PTX_TEXEL_S8,
    FF__PTX_TEXEL_S16,
    FF__PTX_TEXEL_S32,
    FF__PTX_TEXEL_F16,
    FF__PTX_TEXEL_F32,
    FF__PTX_TEXELS
};

/* Where a coordinate outside of the texture reads. WRAP and MIRROR are CLAMP where coordinates are
 * not normalized. */
enum ff__ptx_address_mode {
    FF__PTX_ADDRESS_WRAP,
    FF__PTX_ADDRESS_CLAMP,
    FF__PTX_ADDRESS_MIRROR,
    FF__PTX_ADDRESS_BORDER,
    FF__PTX_ADDRESS_MODES
};

/* Memory as rows of elements. What belongs to further dimensions than it has is not read. */
struct ff__ptx_image {
    void *address;
    uint32_t dimensions;   /* 1 to 3 */
    uint32_t extent[3];    /* elements: width, height, depth */
    uint64_t pitch, slice; /* bytes from a row to the next, from a layer of rows to the next */
    uint32_t texel;        /* enum ff__ptx_texel */
    uint32_t channels;     /* of an element: 1, 2 or 4 */
};

/* Texels of f16 and f32 are read as f32; integers as integers of 32 bits, or, where they are
 * `promoted` and have less than 32, as f32 from 0 or -1 to 1. */
struct ff__ptx_texture {
    struct ff__ptx_image image;
    uint32_t address[3]; /* enum ff__ptx_address_mode, for each dimension */
    bool linear;         /* between the nearest elements; only what is read as f32 */
    bool normalized;     /* coordinates of 0 to 1 for the whole extent */
    bool promoted;
    uint32_t border[4]; /* what BORDER reads: f32 or integers as texels are */
};

/* The structures are copied. -EINVAL: the message says what is wrong; -ENOMEM; -ENOSPC: there are
 * too many objects. */
int ff__ptx_texture_create(const struct ff__ptx_texture *texture, uint64_t *object,
                           struct ff_error *error);
int ff__ptx_surface_create(const struct ff__ptx_image *image, uint64_t *object,
                           struct ff_error *error);
/* NULL: it is none. They stay as they are until the object is destroyed. */
const struct ff__ptx_texture *ff__ptx_texture_find(uint64_t object);
const struct ff__ptx_image *ff__ptx_surface_find(uint64_t object);
/* -EINVAL: there is no such object. */
int ff__ptx_object_destroy(uint64_t object, struct ff_error *error);

/* ---- services of translated code (device/abi.h) ----
 *
 * A number that is no such object, or one of other dimensions, ends the launch. */

/* As CUDA's programming guide has it: nearest: element floor(x); linear: x - 0.5 lies between two
 * elements, and the distance is rounded to 1/256. Sums are rounded once. There are no levels:
 * `level` is not read. Channels that elements do not have are 0. */
void ff__ptx_texture_sample(const struct ff_ptx_block *block, uint64_t object, uint32_t dimensions,
                            const float *coordinates, float level, uint32_t *out);
/* Outside of the texture all is 0. */
void ff__ptx_texture_fetch(const struct ff_ptx_block *block, uint64_t object, uint32_t dimensions,
                           const int32_t *coordinates, uint32_t *out);
/* `clamp`: what to do outside of the surface. 0: the launch ends; 1: the nearest place; 2: read 0,
 * write nothing. */
void ff__ptx_surface_load(const struct ff_ptx_block *block, uint64_t object, uint32_t dimensions,
                          const int32_t *coordinates, uint32_t clamp, uint32_t size, void *out);
void ff__ptx_surface_store(const struct ff_ptx_block *block, uint64_t object, uint32_t dimensions,
                           const int32_t *coordinates, uint32_t clamp, uint32_t size,
                           const void *in);

#endif
