/* The members of an archive (ar), as static libraries are. */
#ifndef FF_PTX_ARCHIVE_H
#define FF_PTX_ARCHIVE_H

#include <farfault/farfault.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ff__archive {
    const uint8_t *bytes; /* borrowed */
    size_t size, at;      /* at: where the next member's header is */
};

struct ff__archive_member {
    const uint8_t *bytes; /* of the archive, which need not be aligned */
    size_t size;
};

/* Whether it begins as an archive does. */
bool ff__archive_is(const void *bytes, size_t size);

/* -EINVAL: a thin archive, which has no members in it. */
int ff__archive_open(const void *bytes, size_t size, struct ff__archive *out,
                     struct ff_error *error);
/* 1: *out is the next member; 0: there are no more; -EINVAL: it is damaged. */
int ff__archive_next(struct ff__archive *archive, struct ff__archive_member *out,
                     struct ff_error *error);

#endif
