/* Images of device code in a file: PTX, a cubin, a fat binary, an ELF file of a host with fat
 * binaries in it, or an archive of those. */
#ifndef FF_PTX_FATBIN_H
#define FF_PTX_FATBIN_H

#include "ptx/pack.h"
#include <stdbool.h>
#include <stdint.h>

struct ff__image {
    bool is_text;     /* PTX; else a cubin */
    uint32_t arch;    /* 75 of sm_75; 0: it does not say */
    uint32_t version; /* of PTX, 10 x major + minor; 0: a cubin */
    enum ff__pack pack;
    const void *bytes; /* as it is in the file, borrowed */
    size_t stored;
    uint64_t size; /* decoded */
};

struct ff__ptx_images {
    struct ff__image *items;
    uint32_t count;
};

/* Finds all of them. -EINVAL: no such file, or damaged; -ENOENT: it has none; -ENOMEM.
 * `bytes` must outlive the images, which are freed with ff__images_free(). */
int ff__images_find(const void *bytes, size_t size, struct ff__ptx_images *out,
                    struct ff_error *error);
void ff__images_free(struct ff__ptx_images *images);

/* The text or cubin itself, with a zero behind it; a text's size ends before zeros at its end. The
 * caller frees *out. As ff__unpack(). */
int ff__image_read(const struct ff__image *image, char **out, size_t *size, struct ff_error *error);

/* A fat binary of one text of PTX, which is not compressed. The caller frees *out. -EINVAL: it is
 * no such text; -ENOMEM. */
int ff__fatbin_make(const char *text, size_t size, char **out, size_t *out_size,
                    struct ff_error *error);

#endif
