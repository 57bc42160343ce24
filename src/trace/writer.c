#include "trace/writer.h"

#include "base/checksum.h"
#include "base/new_file.h"
#include "base/sized.h"
#include "trace/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* Measured on regular and random accesses and on faults: level 3 writes at two thirds of the speed,
 * and what it writes is not smaller; columns of small numbers leave little to find. */
#define LEVEL 1

struct ff_trace_writer {
    struct ff__new_file file;
    struct ff__trace_encoder encoder;
    ZSTD_CCtx *zstd;
    uint8_t *out;     /* a block header, then the block */
    uint64_t written; /* events in blocks on the disk */
    uint64_t last_ns; /* of the last event */
    int status;       /* the first error */
};

/* ---- making and unmaking ---- */

static void put_text(uint8_t *at, size_t size, const char *text) {
    size_t length = strnlen(text, size - 1);
    memset(at, 0, size);
    memcpy(at, text, length);
}

static int write_head(struct ff_trace_writer *writer, const struct ff_trace_info *info) {
    uint8_t head[FF__TRACE_FILE_HEAD];
    memcpy(head, FF__TRACE_MAGIC, 8);
    ff__put_u32(head + 8, FF__TRACE_VERSION);
    ff__put_u32(head + 12, (info->accesses ? FF__TRACE_INFO_ACCESS : 0) |
                               (info->touches ? FF__TRACE_INFO_TOUCH : 0));
    put_text(head + 16, sizeof info->source, info->source);
    put_text(head + 48, sizeof info->subject, info->subject);
    ff__put_u64(head + 144, info->memory);
    ff__put_u32(head + 152, ff__crc32c(0, head, 152));
    return ff__new_file_write(&writer->file, head, sizeof head);
}

static void release(struct ff_trace_writer *writer) {
    ff__trace_encoder_fini(&writer->encoder);
    ZSTD_freeCCtx(writer->zstd);
    free(writer->out);
    free(writer);
}

static int init(struct ff_trace_writer *writer, const char *path,
                const struct ff_trace_info *info) {
    int status = ff__trace_encoder_init(&writer->encoder);
    writer->zstd = ZSTD_createCCtx();
    writer->out = malloc(FF__TRACE_BLOCK_HEAD + FF__TRACE_STORED_MAX);
    if (status || !writer->zstd || !writer->out)
        return -ENOMEM;
    ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel, LEVEL);
    status = ff__new_file_open(&writer->file, path);
    if (status)
        return status;
    status = write_head(writer, info);
    if (status)
        ff__new_file_drop(&writer->file);
    return status;
}

int ff_trace_create_sized(const char *path, const struct ff_trace_info *wanted, size_t size,
                          struct ff_trace_writer **out) {
    struct ff_trace_info info = {.memory = 0};
    int status = ff__sized_get(&info, sizeof info, wanted, size);
    if (status)
        return status;
    struct ff_trace_writer *writer = calloc(1, sizeof *writer);
    status = writer ? init(writer, path, &info) : -ENOMEM;
    if (status && writer)
        release(writer);
    if (!status)
        *out = writer;
    return status;
}

/* ---- blocks ---- */

/* The columns go into one frame, one after the other, after their lengths. */
static int compress(struct ff_trace_writer *writer, const struct ff__trace_encoder *encoder,
                    struct ff__trace_block *block) {
    uint8_t lengths[FF__TRACE_COLUMNS * 4];
    ZSTD_outBuffer out = {writer->out + FF__TRACE_BLOCK_HEAD, FF__TRACE_STORED_MAX, 0};
    ZSTD_inBuffer in = {lengths, sizeof lengths, 0};
    block->raw = sizeof lengths;
    for (int column = 0; column < FF__TRACE_COLUMNS; column++) {
        uint32_t length = (uint32_t)ff__trace_column_size(encoder, column);
        ff__put_u32(lengths + 4 * column, length);
        block->raw += length;
    }
    ZSTD_CCtx_reset(writer->zstd, ZSTD_reset_session_only);
    ZSTD_CCtx_setPledgedSrcSize(writer->zstd, block->raw);
    size_t left = ZSTD_compressStream2(writer->zstd, &out, &in, ZSTD_e_continue);
    for (int column = 0; column < FF__TRACE_COLUMNS && !ZSTD_isError(left); column++) {
        in = (ZSTD_inBuffer){encoder->start[column], ff__trace_column_size(encoder, column), 0};
        bool last = column == FF__TRACE_COLUMNS - 1;
        left = ZSTD_compressStream2(writer->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
    }
    block->stored = (uint32_t)out.pos;
    return left == 0 ? 0 : -ENOMEM; /* there is room for the worst case: nothing else can fail */
}

int ff__trace_write_block(struct ff_trace_writer *writer, struct ff__trace_encoder *encoder) {
    struct ff__trace_block block = {
        .mark = FF__TRACE_MARK_BLOCK, .events = encoder->events, .first = writer->written};
    if (!writer->status)
        writer->status = compress(writer, encoder, &block);
    ff__trace_encoder_reset(encoder);
    if (writer->status)
        return writer->status;
    uint8_t *head = writer->out;
    ff__trace_put_block(head, &block);
    ff__put_u32(head + FF__TRACE_BLOCK_HEAD - 4,
                ff__trace_block_sum(head, head + FF__TRACE_BLOCK_HEAD, block.stored));
    writer->written += block.events;
    return writer->status =
               ff__new_file_write(&writer->file, head, FF__TRACE_BLOCK_HEAD + block.stored);
}

static int write_end(struct ff_trace_writer *writer) {
    struct ff__trace_block block = {.mark = FF__TRACE_MARK_END, .first = writer->written};
    uint8_t head[FF__TRACE_BLOCK_HEAD];
    ff__trace_put_block(head, &block);
    ff__put_u32(head + FF__TRACE_BLOCK_HEAD - 4, ff__trace_block_sum(head, NULL, 0));
    return ff__new_file_write(&writer->file, head, sizeof head);
}

/* ---- events ---- */

static int write_event(struct ff_trace_writer *writer, const struct ff_trace_event *event) {
    if (writer->status)
        return writer->status;
    if ((unsigned)event->kind >= FF_TRACE_KINDS || event->time_ns < writer->last_ns)
        return writer->status = -EINVAL;
    if (!ff__trace_encoder_has_room(&writer->encoder) &&
        ff__trace_write_block(writer, &writer->encoder))
        return writer->status;
    writer->last_ns = event->time_ns;
    ff__trace_encode(&writer->encoder, event);
    return 0;
}

int ff_trace_write_sized(struct ff_trace_writer *writer, const struct ff_trace_event *event,
                         size_t size) {
    struct ff_trace_event whole = {.kind = FF_TRACE_RANGE};
    if (size == sizeof whole)
        return write_event(writer, event);
    int status = ff__sized_get(&whole, sizeof whole, event, size);
    return status ? status : write_event(writer, &whole);
}

int ff_trace_finish(struct ff_trace_writer *writer) {
    if (writer->encoder.events > 0)
        ff__trace_write_block(writer, &writer->encoder);
    int status = writer->status;
    if (!status)
        status = write_end(writer);
    if (status)
        ff__new_file_drop(&writer->file);
    else
        status = ff__new_file_keep(&writer->file);
    release(writer);
    return status;
}

void ff_trace_abandon(struct ff_trace_writer *writer) {
    if (!writer)
        return;
    ff__new_file_drop(&writer->file);
    release(writer);
}
