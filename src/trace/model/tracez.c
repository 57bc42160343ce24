/* Accel-Sim's packed kernel traces, `.tracez` (accel-sim-framework:
 * util/tracer_nvbit/tracer_tool/tracez_format.h). Numbers are little-endian:
 *
 *   the lines of the header, and a zero byte
 *   u32 bytes of the dictionary, u32 (instructions of a piece), the dictionary
 *   of each warp: u32 instructions, u32 pieces, and of each piece u32 bytes and so many: a frame of
 *     zstd, of lines of instructions
 *   the index, which u64 at the end of the file says where it begins: u32 thread blocks, and of
 * each its x, y, z, seven numbers of its cluster, u32 warps, and of each warp u32 instructions, u32
 * pieces, u64 where it is, and u32 instructions of each piece
 *
 * It is read as the text that it was made from, line by line, whatever the length of a piece. */
#include "base/error.h"
#include "trace/model/traceg.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define CLUSTER        7u                  /* numbers of a thread block's cluster */
#define WARP_BYTES     16u                 /* of the index, without its pieces */
#define DICTIONARY_MAX (UINT32_C(1) << 20) /* ours: the tracer's has 64 KiB at most */
#define PACKED         ((size_t)64 << 10)
#define UNPACKED       ((size_t)64 << 10)

struct tracez {
    const char *name;
    struct ff_error *error;
    int fd;
    uint64_t at;          /* in the file */
    uint64_t index_at;    /* where the index begins: everything else is before it */
    unsigned char *index; /* what is left of it, up to index_end */
    const unsigned char *next, *index_end;
    ZSTD_DCtx *zstd;
    ZSTD_DDict *dictionary;
    struct ff__traceg_parser *parser;
    struct ff__lines *lines;
    size_t used; /* of the line that is being put together */
    bool in_piece;
    unsigned char packed[PACKED];
    char text[UNPACKED];
};

static int damaged(const struct tracez *trace, const char *what) {
    return ff__fail(trace->error, -EBADMSG, "%s: damaged: %s", trace->name, what);
}

/* ---- lines ---- */

/* Instructions fill their lines. */
static int end_line(struct tracez *trace) {
    if (trace->used == 0 && trace->in_piece)
        return damaged(trace, "a piece has an empty line");
    trace->lines->text[trace->used] = '\0';
    trace->lines->number++;
    trace->used = 0;
    return ff__traceg_line(trace->parser);
}

/* Lines may come in parts. */
static int put_text(struct tracez *trace, const char *text, size_t size) {
    int status = 0;
    if (memchr(text, '\0', size))
        return damaged(trace, "a zero byte within a line");
    while (size > 0 && !status) {
        const char *end = memchr(text, '\n', size);
        size_t length = end ? (size_t)(end - text) : size;
        if (trace->used + length >= FF__LINE_MAX)
            return ff__bad_line(trace->lines, "the line behind it is too long");
        memcpy(trace->lines->text + trace->used, text, length);
        trace->used += length;
        if (end)
            status = end_line(trace);
        text += length + (end != NULL);
        size -= length + (end != NULL);
    }
    return status;
}

__attribute__((format(printf, 2, 3))) static int put_line(struct tracez *trace, const char *format,
                                                          ...) {
    va_list args;
    va_start(args, format);
    trace->used = (size_t)vsnprintf(trace->lines->text, FF__LINE_MAX, format, args);
    va_end(args);
    return end_line(trace);
}

/* ---- bytes ---- */

static uint64_t number_of(const unsigned char *at, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

/* From where the file is read, before the index. */
static int read_bytes(struct tracez *trace, void *bytes, size_t size) {
    if (size > trace->index_at - trace->at)
        return damaged(trace, "a part of it goes beyond its end");
    for (size_t done = 0; done < size;) {
        ssize_t got =
            pread(trace->fd, (char *)bytes + done, size - done, (off_t)(trace->at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return ff__fail(trace->error, got ? -errno : -EIO, "%s: %s", trace->name,
                            strerror(got ? errno : EIO));
        done += (size_t)got;
    }
    trace->at += size;
    return 0;
}

static int read_numbers(struct tracez *trace, uint32_t out[2]) {
    unsigned char bytes[8];
    int status = read_bytes(trace, bytes, sizeof bytes);
    for (int i = 0; i < 2 && !status; i++)
        out[i] = (uint32_t)number_of(bytes + 4 * i, 4);
    return status;
}

/* ---- the header and the dictionary ---- */

static int read_header(struct tracez *trace) {
    int status = 0;
    const void *zero = NULL;
    while (!zero && !status) {
        uint64_t left = trace->index_at - trace->at;
        size_t size = left < UNPACKED ? (size_t)left : UNPACKED;
        if (size == 0)
            return damaged(trace, "its header has no end");
        status = read_bytes(trace, trace->text, size);
        if (status)
            return status;
        zero = memchr(trace->text, '\0', size);
        size_t length = zero ? (size_t)((const char *)zero - trace->text) : size;
        status = put_text(trace, trace->text, length);
        trace->at -= zero ? size - length - 1 : 0;
    }
    return status || trace->used == 0 ? status : end_line(trace);
}

static int read_dictionary(struct tracez *trace) {
    uint32_t sizes[2]; /* the second one: of pieces, which say themselves how long they are */
    int status = read_numbers(trace, sizes);
    if (!status && sizes[0] > DICTIONARY_MAX)
        status = damaged(trace, "a dictionary of more than 1 MiB");
    if (status || sizes[0] == 0)
        return status;
    void *bytes = malloc(sizes[0]);
    status = bytes ? read_bytes(trace, bytes, sizes[0]) : -ENOMEM;
    if (!status) {
        trace->dictionary = ZSTD_createDDict(bytes, sizes[0]);
        status = trace->dictionary ? 0 : damaged(trace, "its dictionary is none");
    }
    free(bytes);
    return status;
}

/* ---- the index ---- */

static int read_index(struct tracez *trace) {
    unsigned char bytes[8];
    off_t end = lseek(trace->fd, 0, SEEK_END);
    if (end < (off_t)sizeof bytes)
        return damaged(trace, "it is too short");
    trace->index_at = (uint64_t)end;
    trace->at = trace->index_at - sizeof bytes;
    int status = read_bytes(trace, bytes, sizeof bytes);
    uint64_t at = number_of(bytes, sizeof bytes);
    if (!status && at > (uint64_t)end - sizeof bytes)
        return damaged(trace, "its index is not where it says");
    size_t size = (size_t)((uint64_t)end - sizeof bytes - at);
    trace->at = at;
    trace->index = status ? NULL : malloc(size + 1);
    if (!status)
        status = trace->index ? read_bytes(trace, trace->index, size) : -ENOMEM;
    trace->next = trace->index;
    trace->index_end = trace->index ? trace->index + size : NULL;
    trace->index_at = at;
    trace->at = 0;
    return status;
}

static size_t index_left(const struct tracez *trace) {
    return (size_t)(trace->index_end - trace->next);
}

static int take(struct tracez *trace, unsigned bytes, uint64_t *out) {
    if (index_left(trace) < bytes)
        return damaged(trace, "its index is too short");
    *out = number_of(trace->next, bytes);
    trace->next += bytes;
    return 0;
}

static int skip(struct tracez *trace, uint64_t bytes) {
    if (index_left(trace) < bytes)
        return damaged(trace, "its index is too short");
    trace->next += bytes;
    return 0;
}

/* ---- warps ---- */

/* What is left of a piece of these bytes: a frame, which ends with it. */
static int unpack(struct tracez *trace, size_t size, size_t *left) {
    ZSTD_inBuffer in = {trace->packed, size, 0};
    int status = 0;
    bool full = true; /* there may be more to come of what was taken in */
    while ((in.pos < in.size || full) && !status) {
        ZSTD_outBuffer out = {trace->text, UNPACKED, 0};
        if (*left == 0 && in.pos < in.size)
            return damaged(trace, "a piece has bytes behind its end");
        *left = ZSTD_decompressStream(trace->zstd, &out, &in);
        if (ZSTD_isError(*left))
            return damaged(trace, ZSTD_getErrorName(*left));
        full = out.pos == out.size && *left > 0;
        status = put_text(trace, trace->text, out.pos);
    }
    return status;
}

static int read_piece(struct tracez *trace) {
    unsigned char bytes[4];
    int status = read_bytes(trace, bytes, sizeof bytes);
    size_t size = status ? 0 : (size_t)number_of(bytes, sizeof bytes), left = 1;
    ZSTD_DCtx_reset(trace->zstd, ZSTD_reset_session_only);
    ZSTD_DCtx_refDDict(trace->zstd, trace->dictionary);
    trace->in_piece = true;
    while (size > 0 && !status) {
        size_t some = size < PACKED ? size : PACKED;
        status = read_bytes(trace, trace->packed, some);
        if (!status)
            status = unpack(trace, some, &left);
        size -= some;
    }
    if (!status && left > 0)
        status = damaged(trace, "a piece breaks off");
    if (!status && trace->used > 0) /* its last line has no end */
        status = end_line(trace);
    trace->in_piece = false;
    return status;
}

static int read_warp(struct tracez *trace, uint64_t number) {
    uint64_t instructions = 0, pieces = 0, at = 0;
    uint32_t there[2];
    int status = take(trace, 4, &instructions);
    if (!status)
        status = take(trace, 4, &pieces);
    if (!status)
        status = take(trace, 8, &at);
    if (!status)
        status = skip(trace, pieces * 4);
    if (!status && at > trace->index_at)
        status = damaged(trace, "a warp is not where its index says");
    if (status)
        return status;
    trace->at = at;
    status = read_numbers(trace, there);
    if (!status && (there[0] != instructions || there[1] != pieces))
        status = damaged(trace, "a warp is not as its index says");
    if (!status)
        status = put_line(trace, "warp = %" PRIu64, number);
    if (!status)
        status = put_line(trace, "insts = %" PRIu64, instructions);
    for (uint64_t i = 0; i < pieces && !status; i++)
        status = read_piece(trace);
    return status;
}

static int read_block(struct tracez *trace) {
    uint64_t at[3], warps = 0;
    int status = put_line(trace, "#BEGIN_TB");
    for (int i = 0; i < 3 && !status; i++)
        status = take(trace, 4, &at[i]);
    if (!status)
        status =
            put_line(trace, "thread block = %" PRIu64 ",%" PRIu64 ",%" PRIu64, at[0], at[1], at[2]);
    if (!status)
        status = skip(trace, CLUSTER * 4);
    if (!status)
        status = take(trace, 4, &warps);
    if (!status && warps > index_left(trace) / WARP_BYTES)
        status = damaged(trace, "its index is too short");
    for (uint64_t i = 0; i < warps && !status; i++)
        status = read_warp(trace, i);
    return status ? status : put_line(trace, "#END_TB");
}

/* ---- all of it ---- */

static int read_all(struct tracez *trace) {
    uint64_t blocks = 0;
    int status = read_index(trace);
    if (!status)
        status = read_header(trace);
    if (!status)
        status = read_dictionary(trace);
    if (!status)
        status = take(trace, 4, &blocks);
    for (uint64_t i = 0; i < blocks && !status; i++)
        status = read_block(trace);
    if (!status && index_left(trace) > 0)
        status = damaged(trace, "its index is too long");
    return status ? status : ff__traceg_end(trace->parser);
}

int ff__tracez_read(FILE *file, const char *name, const struct ff__traceg_reader *reader,
                    struct ff_error *error) {
    struct tracez *trace = calloc(1, sizeof *trace);
    int status = trace ? 0 : -ENOMEM;
    if (!status) {
        trace->name = name;
        trace->error = error;
        trace->fd = fileno(file);
        trace->zstd = ZSTD_createDCtx();
        trace->parser = ff__traceg_begin(name, reader, error);
        status = trace->zstd && trace->parser ? 0 : -ENOMEM;
    }
    if (!status) {
        trace->lines = ff__traceg_lines(trace->parser);
        status = read_all(trace);
    }
    if (status == -ENOMEM)
        ff__fail(error, status, "no memory to read %s", name);
    if (trace) {
        ZSTD_freeDCtx(trace->zstd);
        ZSTD_freeDDict(trace->dictionary);
        free(trace->parser);
        free(trace->index);
    }
    free(trace);
    return status;
}
