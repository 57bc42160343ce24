#include "base/error.h"
#include "ptx/fatbin.h"
#include "ptx/fatbin_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A text ends in a zero, and images begin at multiples of this. */
#define ALIGNMENT 8u

static int check(const char *text, size_t size, struct ff__image *image, struct ff_error *error) {
    struct ff__ptx_images images;
    int status = ff__images_find(text, size, &images, error);
    if (status)
        return status;
    *image = images.items[0];
    bool good = image->is_text && image->bytes == text; /* not in a file of another kind */
    ff__images_free(&images);
    return good ? 0 : ff__fail(error, -EINVAL, "not PTX");
}

int ff__fatbin_make(const char *text, size_t size, char **out, size_t *out_size,
                    struct ff_error *error) {
    struct ff__image image;
    int status = check(text, size, &image, error);
    if (status)
        return status;
    const size_t room = (size / ALIGNMENT + 1) * ALIGNMENT;
    const struct ff__fatbin_entry entry = {
        .kind = FF__FATBIN_PTX,
        .version = 0x101,
        .head_size = sizeof entry,
        .size = room,
        .options_at = sizeof entry,
        .minor = (uint16_t)(image.version % 10),
        .major = (uint16_t)(image.version / 10),
        .arch = image.arch,
        .flags = FF__FATBIN_64_BIT | FF__FATBIN_LINUX,
    };
    const struct ff__fatbin_header head = {
        .magic = FF__FATBIN_MAGIC,
        .version = 1,
        .head_size = sizeof head,
        .size = sizeof entry + room,
    };
    *out_size = sizeof head + head.size;
    *out = calloc(1, *out_size);
    if (!*out)
        return ff__fail(error, -ENOMEM, "not enough memory for a fat binary");
    memcpy(*out, &head, sizeof head);
    memcpy(*out + sizeof head, &entry, sizeof entry);
    memcpy(*out + sizeof head + sizeof entry, text, size);
    return 0;
}
