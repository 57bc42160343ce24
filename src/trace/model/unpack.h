/* Files of bytes that may be packed with zstd: they are read unpacked. */
#ifndef FF_TRACE_MODEL_UNPACK_H
#define FF_TRACE_MODEL_UNPACK_H

#include <farfault/farfault.h>
#include <stdio.h>

struct ff__unpack {
    FILE *file;
    const char *name; /* for messages */
    struct ff_error *error;
    struct ZSTD_DCtx_s *zstd; /* NULL: the file is not packed */
    unsigned char *packed;    /* what was read, and not unpacked yet: [at, end) */
    size_t at, end;
    bool within; /* a frame that has not ended */
};

/* Whether the file is packed is seen from its first bytes. 0, -EINVAL (no regular file), or another
 * negative errno. */
int ff__unpack_open(const char *path, struct ff__unpack *out, struct ff_error *error);
void ff__unpack_close(struct ff__unpack *unpack);

/* Reads up to `size` bytes; *got is less at the end alone. 0, -EBADMSG: damaged, or another
 * negative errno. */
int ff__unpack_read(struct ff__unpack *unpack, void *bytes, size_t size, size_t *got);

#endif
