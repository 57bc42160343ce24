#include "trace/model/unpack.h"

#include "base/error.h"
#include "trace/model/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define PIECE ((size_t)128 << 10)
#define WINDOW_MAX                                                                                 \
    27 /* bits: zstd's own limit, which bounds the memory that a file can ask for                  \
        */

static int refill(struct ff__unpack *unpack) {
    unpack->at = 0;
    unpack->end = fread(unpack->packed, 1, PIECE, unpack->file);
    if (unpack->end == 0 && ferror(unpack->file))
        return ff__fail(unpack->error, -EIO, "%s: cannot be read", unpack->name);
    return 0;
}

static bool is_packed(const struct ff__unpack *unpack) {
    static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    return unpack->end >= sizeof magic && memcmp(unpack->packed, magic, sizeof magic) == 0;
}

int ff__unpack_open(const char *path, struct ff__unpack *out, struct ff_error *error) {
    *out = (struct ff__unpack){.name = path, .error = error};
    int status = ff__open_regular(path, &out->file, error);
    if (status)
        return status;
    out->packed = malloc(PIECE);
    status = out->packed ? refill(out) : -ENOMEM;
    if (!status && is_packed(out)) {
        out->zstd = ZSTD_createDCtx();
        if (out->zstd)
            ZSTD_DCtx_setParameter(out->zstd, ZSTD_d_windowLogMax, WINDOW_MAX);
        status = out->zstd ? 0 : -ENOMEM;
    }
    if (status == -ENOMEM)
        ff__fail(error, status, "%s: no memory to read it", path);
    if (status)
        ff__unpack_close(out);
    return status;
}

void ff__unpack_close(struct ff__unpack *unpack) {
    ZSTD_freeDCtx(unpack->zstd);
    free(unpack->packed);
    if (unpack->file)
        fclose(unpack->file);
    *unpack = (struct ff__unpack){.file = NULL};
}

static size_t copy(struct ff__unpack *unpack, void *bytes, size_t size) {
    size_t there = unpack->end - unpack->at, count = there < size ? there : size;
    memcpy(bytes, unpack->packed + unpack->at, count);
    unpack->at += count;
    return count;
}

/* Bytes that came of what is there. */
static int unpack_some(struct ff__unpack *unpack, void *bytes, size_t size, size_t *got) {
    ZSTD_inBuffer in = {unpack->packed, unpack->end, unpack->at};
    ZSTD_outBuffer out = {bytes, size, 0};
    size_t left = ZSTD_decompressStream(unpack->zstd, &out, &in);
    if (ZSTD_isError(left))
        return ff__fail(unpack->error, -EBADMSG, "%s: damaged: %s", unpack->name,
                        ZSTD_getErrorName(left));
    unpack->within = left != 0;
    unpack->at = in.pos;
    *got = out.pos;
    return 0;
}

int ff__unpack_read(struct ff__unpack *unpack, void *bytes, size_t size, size_t *got) {
    int status = 0;
    *got = 0;
    while (*got < size && !status) {
        size_t some = 0;
        char *to = (char *)bytes + *got;
        if (unpack->at == unpack->end)
            status = refill(unpack);
        if (status || unpack->end == 0)
            break;
        if (unpack->zstd)
            status = unpack_some(unpack, to, size - *got, &some);
        else
            some = copy(unpack, to, size - *got);
        *got += some;
    }
    if (!status && *got < size && unpack->within)
        status = ff__fail(unpack->error, -EBADMSG, "%s: breaks off", unpack->name);
    return status;
}
