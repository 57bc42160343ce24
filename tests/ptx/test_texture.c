/* Textures and surfaces, against CUDA's formulas in double precision. Images have no byte behind
 * their last element, so that ASan sees an access there. */
#include "base/cases.h"

#include "base/random.h"
#include "ptx/device/abi.h"
#include "ptx/device/half.h"
#include "ptx/services.h"
#include "ptx/texture.h"
#include <errno.h>
#include <pthread.h>

static const char *failure;

static void note_failure(const struct ff_ptx_block *block, const char *message) {
    (void)block;
    failure = message;
}

static struct ff_ptx_services services;
static const struct ff_ptx_block block = {.services = &services};

static int set_up(void **state) {
    (void)state;
    services = ff__ptx_services;
    services.fail = note_failure;
    return 0;
}

/* ---- images ---- */

static const uint32_t texel_sizes[FF__PTX_TEXELS] = {1, 2, 4, 1, 2, 4, 2, 4};

static uint32_t below(struct ff__random *random, uint32_t bound) {
    return ff__random_below(random, bound);
}

static uint32_t row_of(const struct ff__ptx_image *image) {
    return image->extent[0] * image->channels * texel_sizes[image->texel];
}

static size_t bytes_of(const struct ff__ptx_image *image) {
    size_t row = row_of(image);
    if (image->dimensions > 1)
        row += (image->extent[1] - 1) * image->pitch;
    if (image->dimensions > 2)
        row += (image->extent[2] - 1) * image->slice;
    return row;
}

static void fill_texels(const struct ff__ptx_image *image, struct ff__random *random) {
    uint8_t *bytes = image->address;
    size_t size = texel_sizes[image->texel];
    for (size_t at = 0; at + size <= bytes_of(image); at += size) {
        uint32_t word = (uint32_t)(ff__random_next(random) >> 32);
        float real = ((float)below(random, 16000) - 8000.0f) / 977.0f;
        if (image->texel == FF__PTX_TEXEL_F32)
            memcpy(&word, &real, sizeof word);
        if (image->texel == FF__PTX_TEXEL_F16)
            word = cvt_f16_f64((double)real);
        memcpy(bytes + at, &word, size);
    }
}

/* The caller frees `address`. */
static struct ff__ptx_image make_image(struct ff__random *random) {
    struct ff__ptx_image image = {
        .dimensions = 1 + below(random, 3),
        .extent = {1 + below(random, 7), 1 + below(random, 5), 1 + below(random, 4)},
        .texel = below(random, FF__PTX_TEXELS),
        .channels = 1u << below(random, 3)};
    uint32_t size = texel_sizes[image.texel];
    image.pitch = ((uint64_t)image.extent[0] * image.channels + below(random, 3)) * size;
    image.slice = image.pitch * image.extent[1] + size * below(random, 3);
    image.address = malloc(bytes_of(&image));
    assert_non_null(image.address);
    fill_texels(&image, random);
    return image;
}

/* ---- the twin ---- */

/* A texel's number: what is read, where integers are whole. */
static double texel_twin(const struct ff__ptx_texture *texture, const long place[3],
                         uint32_t channel) {
    const struct ff__ptx_image *image = &texture->image;
    uint32_t size = texel_sizes[image->texel];
    const uint8_t *at = image->address;
    at += ((size_t)place[0] * image->channels + channel) * size;
    if (image->dimensions > 1)
        at += (size_t)place[1] * image->pitch;
    if (image->dimensions > 2)
        at += (size_t)place[2] * image->slice;
    int64_t value = 0;
    for (uint32_t i = size; i-- > 0;)
        value = value << 8 | at[i];
    if (image->texel == FF__PTX_TEXEL_F32)
        return (double)as_f32((uint32_t)value);
    if (image->texel == FF__PTX_TEXEL_F16)
        return (double)cvt_f32_f16((u16)value);
    bool is_signed = image->texel >= FF__PTX_TEXEL_S8;
    if (is_signed && value >> (8 * size - 1))
        value -= (int64_t)1 << 8 * size;
    if (!texture->promoted || size == 4)
        return (double)value;
    double whole = ldexp(1, (int)(8 * size - is_signed)) - 1;
    return (double)(float)fmax((double)value / whole, -1);
}

static bool is_real(const struct ff__ptx_texture *texture) {
    uint32_t texel = texture->image.texel;
    return texel >= FF__PTX_TEXEL_F16 || (texture->promoted && texel_sizes[texel] < 4);
}

static double border_twin(const struct ff__ptx_texture *texture, uint32_t channel) {
    uint32_t bits = texture->border[channel];
    bool is_signed = texture->image.texel >= FF__PTX_TEXEL_S8;
    return is_real(texture) ? (double)as_f32(bits) : is_signed ? (int32_t)bits : (double)bits;
}

/* The element of the texture that goes on for ever; the border's colour outside. */
static double element_twin(const struct ff__ptx_texture *texture, const long at[3],
                           uint32_t channel) {
    long place[3] = {0};
    for (uint32_t axis = 0; axis < texture->image.dimensions; axis++) {
        long n = texture->image.extent[axis], i = at[axis];
        uint32_t mode = texture->address[axis];
        if (mode == FF__PTX_ADDRESS_BORDER && (i < 0 || i >= n))
            return border_twin(texture, channel);
        if (mode == FF__PTX_ADDRESS_CLAMP || !texture->normalized)
            i = i < 0 ? 0 : i >= n ? n - 1 : i;
        while (i < 0 || i >= n) {
            if (mode == FF__PTX_ADDRESS_WRAP)
                i += i < 0 ? n : -n;
            else
                i = i < 0 ? -1 - i : 2 * n - 1 - i;
        }
        place[axis] = i;
    }
    return channel < texture->image.channels ? texel_twin(texture, place, channel) : 0;
}

static double sample_twin(const struct ff__ptx_texture *texture, const float *coordinates,
                          uint32_t channel, double *size) {
    double x[3] = {0}, sum = 0;
    uint32_t dimensions = texture->image.dimensions;
    long at[3] = {0};
    for (uint32_t axis = 0; axis < dimensions; axis++) {
        x[axis] = (double)coordinates[axis];
        if (texture->normalized)
            x[axis] *= texture->image.extent[axis];
        x[axis] -= texture->linear ? 0.5 : 0;
        at[axis] = (long)floor(x[axis]);
    }
    if (!texture->linear)
        return element_twin(texture, at, channel);
    *size = 0;
    for (uint32_t corner = 0; corner < 8; corner++) {
        double weight = corner >> dimensions ? 0 : 1;
        long place[3] = {0};
        for (uint32_t axis = 0; axis < dimensions; axis++) {
            double a = round((x[axis] - floor(x[axis])) * 256) / 256;
            weight *= corner >> axis & 1 ? a : 1 - a;
            place[axis] = at[axis] + (corner >> axis & 1);
        }
        double product = weight != 0 ? weight * element_twin(texture, place, channel) : 0;
        sum += product;
        *size += fabs(product);
    }
    return sum;
}

/* ---- textures ---- */

static struct ff__ptx_texture make_texture(struct ff__random *random) {
    struct ff__ptx_texture texture = {.image = make_image(random),
                                      .normalized = below(random, 2) != 0,
                                      .promoted = below(random, 2) != 0};
    texture.linear = is_real(&texture) && below(random, 3) != 0;
    for (uint32_t i = 0; i < 3; i++)
        texture.address[i] = below(random, FF__PTX_ADDRESS_MODES);
    for (uint32_t i = 0; i < texture.image.channels; i++)
        texture.border[i] = as_u32((float)i + 0.25f);
    return texture;
}

static uint64_t create(const struct ff__ptx_texture *texture) {
    struct ff_error error = {0};
    uint64_t object = 0;
    int code = ff__ptx_texture_create(texture, &object, &error);
    if (code != 0)
        fail_msg("no texture: %s", error.message);
    return object;
}

static void destroy(uint64_t object) {
    assert_int_equal(ff__ptx_object_destroy(object, NULL), 0);
}

static double as_read(const struct ff__ptx_texture *texture, uint32_t bits) {
    if (is_real(texture))
        return (double)as_f32(bits);
    return texture->image.texel >= FF__PTX_TEXEL_S8 ? (int32_t)bits : (double)bits;
}

static void check_sample(const struct ff__ptx_texture *texture, uint64_t object,
                         const float *coordinates) {
    uint32_t out[4] = {1, 1, 1, 1};
    services.texture(&block, object, texture->image.dimensions, coordinates, 0.0f, out);
    for (uint32_t i = 0; i < 4; i++) {
        double size = 0, right = sample_twin(texture, coordinates, i, &size);
        double got = as_read(texture, out[i]);
        if (fabs(got - right) > fabs(right) * 0x1p-24 + size * 0x1p-48)
            fail_msg("texel %u, %u dimensions, modes %u %u %u, linear %d, normalized %d: channel "
                     "%u of %g %g %g is %.9g, not %.9g",
                     texture->image.texel, texture->image.dimensions, texture->address[0],
                     texture->address[1], texture->address[2], texture->linear, texture->normalized,
                     i, (double)coordinates[0], (double)coordinates[1], (double)coordinates[2], got,
                     right);
    }
}

static void samples(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(1);
    failure = NULL;
    for (unsigned long i = 0; i < scaled_cases(2000, 500); i++) {
        struct ff__ptx_texture texture = make_texture(&random);
        uint64_t object = create(&texture);
        for (int k = 0; k < 12; k++) {
            float coordinates[3];
            for (uint32_t axis = 0; axis < 3; axis++) {
                float extent = (float)texture.image.extent[axis];
                float x = k % 4 == 0 ? (float)below(&random, 8 * 16) / 16.0f /* also the edges */
                                     : (float)below(&random, 1 << 20) / (float)(1 << 17);
                coordinates[axis] = texture.normalized ? (x - 4) / 1.5f : x / 8 * (extent + 6) - 3;
            }
            check_sample(&texture, object, coordinates);
        }
        destroy(object);
        free(texture.image.address);
    }
    assert_null(failure);
}

/* Far away, and nowhere at all. */
static void odd_coordinates(void **state) {
    (void)state;
    float texels[4] = {1, 2, 3, 4};
    static const float odd[] = {1e30f, -1e30f, INFINITY, -INFINITY, NAN};
    for (uint32_t mode = 0; mode < FF__PTX_ADDRESS_MODES; mode++)
        for (uint32_t i = 0; i < 20; i++) {
            struct ff__ptx_texture texture = {.image = {texels, 1, {4}, 0, 0, FF__PTX_TEXEL_F32, 1},
                                              .address = {mode},
                                              .linear = i >= 10,
                                              .normalized = i / 5 % 2 != 0,
                                              .border = {as_u32(9)}};
            uint64_t object = create(&texture);
            uint32_t out[4];
            services.texture(&block, object, 1, &odd[i % 5], 0.0f, out);
            float got = as_f32(out[0]);
            bool clamps = mode == FF__PTX_ADDRESS_CLAMP || !texture.normalized;
            if (mode == FF__PTX_ADDRESS_BORDER)
                assert_true(got == 9);
            else if (clamps && i % 5 < 4)
                assert_true(got == (i % 5 % 2 == 0 ? 4 : 1));
            else
                assert_true(got >= 1 && got <= 4);
            destroy(object);
        }
}

/* An infinite element does not count where its weight is 0. */
static void weight_of_zero(void **state) {
    (void)state;
    float texels[2] = {1, INFINITY};
    struct ff__ptx_texture texture = {.image = {texels, 1, {2}, 0, 0, FF__PTX_TEXEL_F32, 1},
                                      .address = {FF__PTX_ADDRESS_CLAMP},
                                      .linear = true};
    uint64_t object = create(&texture);
    uint32_t out[4];
    services.texture(&block, object, 1, &(float){0.5f}, 0.0f, out);
    assert_int_equal(out[0], as_u32(1));
    services.texture(&block, object, 1, &(float){0.5f + 1.0f / 256}, 0.0f, out);
    assert_int_equal(out[0], as_u32(INFINITY));
    destroy(object);
}

static void fetches(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(2);
    for (unsigned long i = 0; i < scaled_cases(1000, 300); i++) {
        struct ff__ptx_texture texture = make_texture(&random);
        uint32_t dimensions = texture.image.dimensions;
        uint64_t object = create(&texture);
        for (int k = 0; k < 8; k++) {
            long at[3] = {0};
            int32_t coordinates[3];
            uint32_t out[4] = {1, 1, 1, 1};
            bool is_inside = true;
            for (uint32_t axis = 0; axis < 3; axis++) {
                at[axis] = (long)below(&random, texture.image.extent[axis] + 2) - 1;
                coordinates[axis] = (int32_t)at[axis];
                if (axis < dimensions)
                    is_inside &= at[axis] >= 0 && at[axis] < texture.image.extent[axis];
            }
            services.fetch(&block, object, dimensions, coordinates, out);
            for (uint32_t c = 0; c < 4; c++) {
                double right = is_inside ? element_twin(&texture, at, c) : 0;
                assert_true(fabs(as_read(&texture, out[c]) - right) <= fabs(right) * 0x1p-24);
            }
        }
        destroy(object);
        free(texture.image.address);
    }
}

/* ---- surfaces ---- */

/* Where an access lies in the image's bytes; -1: outside. */
static long surface_twin(const struct ff__ptx_image *image, const int32_t *coordinates, bool clamps,
                         uint32_t size) {
    long last[3] = {(long)(row_of(image) - size), image->extent[1] - 1, image->extent[2] - 1};
    long steps[3] = {1, (long)image->pitch, (long)image->slice}, at = 0;
    for (uint32_t axis = 0; axis < image->dimensions; axis++) {
        long x = coordinates[axis];
        if (!clamps && (x < 0 || x > last[axis]))
            return -1;
        x = x > last[axis] ? last[axis] : x;
        at += (x < 0 ? 0 : x) * steps[axis];
    }
    return at;
}

static void check_surface(const struct ff__ptx_image *image, struct ff__random *random,
                          uint64_t object, uint32_t clamp, uint32_t size) {
    size_t bytes = bytes_of(image);
    uint8_t *before = malloc(bytes), got[16], zeros[16] = {0}, value[16];
    assert_non_null(before);
    memcpy(before, image->address, bytes);
    int32_t coordinates[3];
    for (uint32_t axis = 0; axis < 3; axis++) {
        uint32_t span = axis == 0 ? row_of(image) / size : image->extent[axis];
        coordinates[axis] = (int32_t)below(random, span + 2) - 1;
        coordinates[axis] *= axis == 0 ? (int32_t)size : 1;
    }
    long at = surface_twin(image, coordinates, clamp == 1, size);
    memset(got, 0xa5, sizeof got);
    memset(value, 0x5a, sizeof value);
    failure = NULL;
    services.surface_load(&block, object, image->dimensions, coordinates, clamp, size, got);
    assert_int_equal(failure != NULL, clamp == 0 && at < 0);
    assert_memory_equal(got, at >= 0 ? before + at : zeros, size);
    failure = NULL;
    services.surface_store(&block, object, image->dimensions, coordinates, clamp, size, value);
    assert_int_equal(failure != NULL, clamp == 0 && at < 0);
    if (at >= 0)
        memcpy(before + at, value, size);
    assert_memory_equal(image->address, before, bytes);
    free(before);
}

static void surfaces(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(3);
    for (unsigned long i = 0; i < scaled_cases(1000, 300); i++) {
        struct ff__ptx_image image = make_image(&random);
        uint64_t object;
        assert_int_equal(ff__ptx_surface_create(&image, &object, NULL), 0);
        uint32_t size = image.channels * texel_sizes[image.texel];
        for (uint32_t k = 0; k < 6; k++)
            check_surface(&image, &random, object, k % 3, k < 3 ? size : 1);
        destroy(object);
        free(image.address);
    }
}

/* No row of three bytes has four of them. */
static void rows_shorter_than_the_access(void **state) {
    (void)state;
    uint8_t bytes[3] = {1, 2, 3}, got[4];
    struct ff__ptx_image image = {bytes, 1, {3}, 0, 0, FF__PTX_TEXEL_U8, 1};
    uint64_t object;
    assert_int_equal(ff__ptx_surface_create(&image, &object, NULL), 0);
    for (uint32_t clamp = 0; clamp < 3; clamp++)
        for (int32_t x = -1; x < 2; x++) {
            failure = NULL;
            services.surface_load(&block, object, 1, &x, clamp, sizeof got, got);
            assert_int_equal(failure != NULL, clamp < 2);
            assert_memory_equal(got, (uint8_t[4]){0}, sizeof got);
        }
    destroy(object);
}

/* ---- objects ---- */

static void refuses(const struct ff__ptx_texture *texture, const char *why) {
    struct ff_error error = {0};
    uint64_t object = 77;
    assert_int_equal(ff__ptx_texture_create(texture, &object, &error), -EINVAL);
    if (strstr(error.message, why) == NULL)
        fail_msg("refused with '%s', not '%s'", error.message, why);
    assert_int_equal(object, 77);
}

static void refuses_what_makes_no_sense(void **state) {
    (void)state;
    static uint8_t memory[4096];
    const struct ff__ptx_texture good = {
        .image = {memory, 3, {4, 4, 4}, 16, 64, FF__PTX_TEXEL_F32, 1}};
#define WITHOUT(member, value, why)                                                                \
    do {                                                                                           \
        struct ff__ptx_texture bad = good;                                                         \
        bad.member = (value);                                                                      \
        refuses(&bad, why);                                                                        \
    } while (0)
    destroy(create(&good));
    WITHOUT(image.address, NULL, "no memory");
    WITHOUT(image.dimensions, 0, "0 dimensions");
    WITHOUT(image.dimensions, 4, "4 dimensions");
    WITHOUT(image.texel, FF__PTX_TEXELS, "format 8");
    WITHOUT(image.channels, 0, "0 channels");
    WITHOUT(image.channels, 3, "3 channels");
    WITHOUT(image.extent[0], 0, "dimension 0 has no element");
    WITHOUT(image.extent[2], 0, "dimension 2 has no element");
    WITHOUT(image.pitch, 15, "15 bytes is less than a row has: 16");
    WITHOUT(image.slice, 63, "63 bytes apart, but have 64");
    WITHOUT(image.slice, UINT64_MAX / 4 + 1, "larger than memory");
    WITHOUT(image.slice, UINT64_MAX / 4 - 64, "larger than memory");
    WITHOUT(image.pitch, UINT64_MAX / 4 + 1, "larger than memory");
    WITHOUT(address[1], FF__PTX_ADDRESS_MODES, "address mode 4 of dimension 1");
    struct ff__ptx_texture whole = good;
    whole.linear = true;
    destroy(create(&whole));
    whole.image.texel = FF__PTX_TEXEL_S32;
    whole.promoted = true;
    refuses(&whole, "integers are not filtered");
    uint64_t object;
    struct ff__ptx_image none = {.address = NULL};
    assert_int_equal(ff__ptx_surface_create(&none, &object, NULL), -EINVAL);
}

static void ends_the_launch(uint64_t object, uint32_t dimensions, bool texture_too) {
    uint32_t out[4];
    for (int i = texture_too ? 0 : 2; i < 4; i++) {
        failure = NULL;
        if (i == 0)
            services.texture(&block, object, dimensions, (float[3]){0}, 0.0f, out);
        else if (i == 1)
            services.fetch(&block, object, dimensions, (int32_t[3]){0}, out);
        else if (i == 2)
            services.surface_load(&block, object, dimensions, (int32_t[3]){0}, 1, 4, out);
        else
            services.surface_store(&block, object, dimensions, (int32_t[3]){0}, 1, 4, out);
        assert_non_null(failure);
    }
}

static void objects_that_are_not_there(void **state) {
    (void)state;
    static float texels[4];
    struct ff__ptx_texture texture = {.image = {texels, 1, {4}, 0, 0, FF__PTX_TEXEL_F32, 1}};
    struct ff_error error = {0};
    uint64_t object = create(&texture), surface;
    assert_int_equal(ff__ptx_surface_create(&texture.image, &surface, NULL), 0);
    assert_true(object != surface && object != 0 && surface != 0);
    ends_the_launch(0, 1, true);
    ends_the_launch(UINT64_MAX, 1, true);
    ends_the_launch(object + (1 << 16), 1, true);
    ends_the_launch(object, 1, false);
    ends_the_launch(object, 2, true);
    ends_the_launch(surface, 2, true);
    assert_null(ff__ptx_texture_find(surface));
    assert_memory_equal(ff__ptx_texture_find(object), &texture, sizeof texture);
    assert_ptr_equal(ff__ptx_surface_find(surface)->address, texels);
    destroy(object);
    destroy(surface);
    ends_the_launch(object, 1, true);
    assert_int_equal(ff__ptx_object_destroy(object, &error), -EINVAL);
    assert_non_null(strstr(error.message, "there is no texture"));
    assert_int_equal(ff__ptx_object_destroy(0, NULL), -EINVAL);
}

static void as_many_as_there_is_room_for(void **state) {
    (void)state;
    enum { ROOM = 1 << 16 };
    static float texels[4];
    static uint64_t all[ROOM];
    struct ff__ptx_texture texture = {.image = {texels, 1, {4}, 0, 0, FF__PTX_TEXEL_F32, 1}};
    struct ff_error error = {0};
    for (int i = 0; i < ROOM; i++)
        all[i] = create(&texture);
    uint64_t object;
    assert_int_equal(ff__ptx_texture_create(&texture, &object, &error), -ENOSPC);
    assert_non_null(strstr(error.message, "65536"));
    destroy(all[1234]);
    all[1234] = create(&texture);
    for (int i = 0; i < ROOM; i++)
        destroy(all[i]);
}

static void *use_objects(void *argument) {
    struct ff__ptx_texture texture = {.image = {argument, 1, {1}, 0, 0, FF__PTX_TEXEL_F32, 1}};
    uint64_t wrong = 0;
    for (int i = 0; i < 500; i++) {
        uint64_t object = 0;
        uint32_t out[4] = {0};
        wrong += ff__ptx_texture_create(&texture, &object, NULL) != 0;
        services.texture(&block, object, 1, &(float){0}, 0.0f, out);
        wrong += as_f32(out[0]) != *(float *)argument;
        wrong += ff__ptx_object_destroy(object, NULL) != 0;
    }
    return (void *)(uintptr_t)wrong;
}

static void threads(void **state) {
    (void)state;
    pthread_t all[4];
    float texels[4] = {1, 2, 3, 4};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&all[i], NULL, use_objects, &texels[i]), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        assert_int_equal(pthread_join(all[i], &wrong), 0);
        assert_null(wrong);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples),
        cmocka_unit_test(odd_coordinates),
        cmocka_unit_test(weight_of_zero),
        cmocka_unit_test(fetches),
        cmocka_unit_test(surfaces),
        cmocka_unit_test(rows_shorter_than_the_access),
        cmocka_unit_test(refuses_what_makes_no_sense),
        cmocka_unit_test(objects_that_are_not_there),
        cmocka_unit_test(as_many_as_there_is_room_for),
        cmocka_unit_test(threads),
    };
    return cmocka_run_group_tests_name("ptx.texture", tests, set_up, NULL);
}
