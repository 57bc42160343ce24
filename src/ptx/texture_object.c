/* Objects: their numbers and what they may be made of. */
#include "ptx/texture_internal.h"

#include "base/error.h"
#include <errno.h>
#include <stdlib.h>

enum { OBJECTS = 1 << 16 };

struct object {
    uint64_t number;
    bool is_surface;
    struct ff__ptx_texture texture; /* a surface's image alone */
};

/* Object n is at place n % OBJECTS. */
static struct object *objects[OBJECTS]; /* atomic */
static uint64_t last;                   /* atomic: number */

static struct object **place_of(uint64_t number) {
    return &objects[number % OBJECTS];
}

static const struct object *find(uint64_t number, bool is_surface) {
    const struct object *object = __atomic_load_n(place_of(number), __ATOMIC_ACQUIRE);
    return object != NULL && object->number == number && object->is_surface == is_surface ? object
                                                                                          : NULL;
}

const struct ff__ptx_texture *ff__ptx_texture_find(uint64_t object) {
    const struct object *found = find(object, false);
    return found != NULL ? &found->texture : NULL;
}

const struct ff__ptx_image *ff__ptx_surface_find(uint64_t object) {
    const struct object *found = find(object, true);
    return found != NULL ? &found->texture.image : NULL;
}

/* ---- what is wrong ---- */

static uint32_t texel_size(uint32_t texel) {
    static const uint8_t sizes[FF__PTX_TEXELS] = {1, 2, 4, 1, 2, 4, 2, 4};
    return sizes[texel];
}

uint32_t ff__ptx_element_size(const struct ff__ptx_image *image) {
    return texel_size(image->texel) * image->channels;
}

bool ff__ptx_reads_reals(const struct ff__ptx_texture *texture) {
    uint32_t texel = texture->image.texel;
    return texel == FF__PTX_TEXEL_F16 || texel == FF__PTX_TEXEL_F32 ||
           (texture->promoted && texel_size(texel) < 4);
}

static int check_rows(const struct ff__ptx_image *image, struct ff_error *error) {
    const uint32_t *extent = image->extent;
    uint64_t row = (uint64_t)extent[0] * ff__ptx_element_size(image), rows = row, bytes = 0;
    bool overflows = false;
    if (image->dimensions > 1) {
        if (image->pitch < row)
            return ff__fail(error, -EINVAL, "a pitch of %llu bytes is less than a row has: %llu",
                            (unsigned long long)image->pitch, (unsigned long long)row);
        overflows |= __builtin_mul_overflow(image->pitch, extent[1], &rows);
    }
    if (image->dimensions > 2) {
        if (image->slice < rows)
            return ff__fail(error, -EINVAL, "layers are %llu bytes apart, but have %llu",
                            (unsigned long long)image->slice, (unsigned long long)rows);
        overflows |= __builtin_mul_overflow(image->slice, extent[2], &rows);
    }
    overflows |= __builtin_add_overflow((uint64_t)(uintptr_t)image->address, rows, &bytes);
    if (overflows)
        return ff__fail(error, -EINVAL, "the image is larger than memory can be");
    return 0;
}

static int check_image(const struct ff__ptx_image *image, struct ff_error *error) {
    if (image->address == NULL)
        return ff__fail(error, -EINVAL, "the image has no memory");
    if (image->dimensions < 1 || image->dimensions > 3)
        return ff__fail(error, -EINVAL, "%u dimensions: must be 1 to 3", image->dimensions);
    if (image->texel >= FF__PTX_TEXELS)
        return ff__fail(error, -EINVAL, "format %u is not known", image->texel);
    if (image->channels != 1 && image->channels != 2 && image->channels != 4)
        return ff__fail(error, -EINVAL, "%u channels: must be 1, 2 or 4", image->channels);
    for (uint32_t i = 0; i < image->dimensions; i++)
        if (image->extent[i] == 0)
            return ff__fail(error, -EINVAL, "dimension %u has no element", i);
    return check_rows(image, error);
}

static int check_texture(const struct ff__ptx_texture *texture, struct ff_error *error) {
    int code = check_image(&texture->image, error);
    if (code != 0)
        return code;
    for (uint32_t i = 0; i < texture->image.dimensions; i++)
        if (texture->address[i] >= FF__PTX_ADDRESS_MODES)
            return ff__fail(error, -EINVAL, "address mode %u of dimension %u is not known",
                            texture->address[i], i);
    if (texture->linear && !ff__ptx_reads_reals(texture))
        return ff__fail(error, -EINVAL, "integers are not filtered");
    return 0;
}

/* ---- creating and destroying ---- */

static int create(struct object what, uint64_t *number, struct ff_error *error) {
    struct object *object = malloc(sizeof *object);
    if (object == NULL)
        return ff__fail(error, -ENOMEM, "not enough memory for a texture or surface");
    *object = what;
    for (uint32_t tries = 0; tries < OBJECTS; tries++) {
        object->number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
        struct object *none = NULL;
        if (__atomic_compare_exchange_n(place_of(object->number), &none, object, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
            *number = object->number;
            return 0;
        }
    }
    free(object);
    return ff__fail(error, -ENOSPC, "there are %d textures and surfaces already", OBJECTS);
}

int ff__ptx_texture_create(const struct ff__ptx_texture *texture, uint64_t *object,
                           struct ff_error *error) {
    int code = check_texture(texture, error);
    return code != 0 ? code : create((struct object){.texture = *texture}, object, error);
}

int ff__ptx_surface_create(const struct ff__ptx_image *image, uint64_t *object,
                           struct ff_error *error) {
    int code = check_image(image, error);
    return code != 0 ? code
                     : create((struct object){.is_surface = true, .texture.image = *image}, object,
                              error);
}

int ff__ptx_object_destroy(uint64_t number, struct ff_error *error) {
    struct object *object = __atomic_load_n(place_of(number), __ATOMIC_ACQUIRE);
    if (object == NULL || object->number != number ||
        !__atomic_compare_exchange_n(place_of(number), &object, NULL, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return ff__fail(error, -EINVAL, "there is no texture or surface %llu",
                        (unsigned long long)number);
    free(object);
    return 0;
}
