/* Reading traces, from files of which nothing is believed. */
#include "base/checksum.h"
#include "base/error.h"
#include "base/sized.h"
#include "trace/codec.h"
#include "trace/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

struct ff_trace_reader {
    int fd;
    ZSTD_DCtx *zstd;
    uint8_t *stored, *raw;
    struct ff__trace_decoder decoder;
    uint32_t version;
    uint64_t events, last_ns; /* read so far */
    int status;               /* 1: there may be more; 0: the end was seen; or the error */
    struct ff_error failure;
    char path[160]; /* for messages; its end if it is longer */
};

/* ---- bytes ---- */

/* How many bytes there were, at most `size`; or negative errno. */
static ssize_t take(const struct ff_trace_reader *reader, void *to, size_t size) {
    size_t done = 0;
    while (done < size) {
        ssize_t more = read(reader->fd, (char *)to + done, size - done);
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return -errno;
        if (more == 0)
            break;
        done += (size_t)more;
    }
    return (ssize_t)done;
}

static int cut_off(struct ff_trace_reader *reader) {
    return ff__fail(&reader->failure, -EBADMSG,
                    "%s: breaks off after %llu events: its writer did not finish it, or the "
                    "file was cut",
                    reader->path, (unsigned long long)reader->events);
}

static int damaged(struct ff_trace_reader *reader) {
    return ff__fail(&reader->failure, -EBADMSG, "%s: damaged after %llu events", reader->path,
                    (unsigned long long)reader->events);
}

/* All of it, or an error. */
static int take_all(struct ff_trace_reader *reader, void *to, size_t size) {
    ssize_t got = take(reader, to, size);
    if (got < 0)
        return ff__fail(&reader->failure, (int)got, "%s: %s", reader->path, strerror((int)-got));
    return (size_t)got < size ? cut_off(reader) : 0;
}

/* ---- opening ---- */

static int foreign(struct ff_trace_reader *reader) {
    return ff__fail(&reader->failure, -EBADMSG, "%s: not a farfault trace", reader->path);
}

/* Flags that the version of the format has, and not two that contradict each other. */
static bool are_flags(uint32_t version, uint32_t flags) {
    uint32_t known = FF__TRACE_INFO_ACCESS | (version > 1 ? FF__TRACE_INFO_TOUCH : 0);
    return (flags & ~known) == 0 && flags != (FF__TRACE_INFO_ACCESS | FF__TRACE_INFO_TOUCH);
}

static int check_head(struct ff_trace_reader *reader, const uint8_t *head, size_t size,
                      struct ff_trace_info *info) {
    if (size < 8 || memcmp(head, FF__TRACE_MAGIC, 8) != 0)
        return foreign(reader);
    if (size < 12)
        return cut_off(reader);
    uint32_t version = ff__get_u32(head + 8);
    if (version > FF__TRACE_VERSION)
        return ff__fail(&reader->failure, -ENOTSUP,
                        "%s: a trace of format version %u; this farfault reads up to %u",
                        reader->path, version, FF__TRACE_VERSION);
    if (size < FF__TRACE_FILE_HEAD)
        return cut_off(reader);
    uint32_t flags = ff__get_u32(head + 12);
    if (ff__get_u32(head + 152) != ff__crc32c(0, head, 152) || version == 0 ||
        !are_flags(version, flags) || head[16 + sizeof info->source - 1] ||
        head[48 + sizeof info->subject - 1])
        return ff__fail(&reader->failure, -EBADMSG, "%s: its header is damaged", reader->path);
    memcpy(info->source, head + 16, sizeof info->source);
    memcpy(info->subject, head + 48, sizeof info->subject);
    info->accesses = flags & FF__TRACE_INFO_ACCESS;
    info->touches = flags & FF__TRACE_INFO_TOUCH;
    reader->version = version;
    info->memory = ff__get_u64(head + 144);
    return 0;
}

static int read_head(struct ff_trace_reader *reader, struct ff_trace_info *info) {
    uint8_t head[FF__TRACE_FILE_HEAD];
    struct stat stat;
    if (fstat(reader->fd, &stat))
        return ff__fail(&reader->failure, -errno, "%s: %s", reader->path, strerror(errno));
    if (!S_ISREG(stat.st_mode)) /* reading could wait forever */
        return ff__fail(&reader->failure, -EBADMSG, "%s: not a regular file", reader->path);
    ssize_t got = take(reader, head, sizeof head);
    if (got < 0)
        return ff__fail(&reader->failure, (int)got, "%s: %s", reader->path, strerror((int)-got));
    return check_head(reader, head, (size_t)got, info);
}

static void keep_path(struct ff_trace_reader *reader, const char *path) {
    size_t length = strlen(path), room = sizeof reader->path - 1;
    strcpy(reader->path, length > room ? path + (length - room) : path);
}

/* As ff_trace_open, of an open file, which the reader then owns, also if it fails. `path` is for
 * messages. */
static int open_fd(int fd, const char *path, struct ff_trace_reader **out,
                   struct ff_trace_info *info, struct ff_error *error) {
    struct ff_trace_info unwanted;
    struct ff_trace_reader *reader = calloc(1, sizeof *reader);
    if (!reader) {
        close(fd);
        return ff__fail(error, -ENOMEM, "no memory to read %s", path);
    }
    reader->fd = fd;
    reader->status = 1;
    keep_path(reader, path);
    int status = read_head(reader, info ? info : &unwanted);
    if (status && error)
        *error = reader->failure;
    if (!status) {
        reader->zstd = ZSTD_createDCtx();
        reader->stored = malloc(FF__TRACE_STORED_MAX);
        reader->raw = malloc(FF__TRACE_RAW_MAX);
        if (!reader->zstd || !reader->stored || !reader->raw)
            status = ff__fail(error, -ENOMEM, "no memory to read %s", path);
    }
    if (status)
        ff_trace_close(reader);
    else
        *out = reader;
    return status;
}

int ff_trace_open_sized(const char *path, struct ff_trace_reader **out, struct ff_trace_info *info,
                        size_t size, struct ff_error *error) {
    struct ff_trace_info read;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not make us wait */
    if (fd < 0)
        return ff__fail(error, -errno, "%s: %s", path, strerror(errno));
    int status = open_fd(fd, path, out, &read, error);
    if (!status && info)
        ff__sized_put(info, size, &read, sizeof read);
    return status;
}

void ff_trace_close(struct ff_trace_reader *reader) {
    if (!reader)
        return;
    close(reader->fd);
    ZSTD_freeDCtx(reader->zstd);
    free(reader->stored);
    free(reader->raw);
    free(reader);
}

/* ---- blocks ---- */

static bool plausible(const struct ff_trace_reader *reader, const struct ff__trace_block *block) {
    if (block->first != reader->events)
        return false;
    if (block->mark == FF__TRACE_MARK_END)
        return block->raw == 0 && block->stored == 0 && block->events == 0;
    return block->mark == FF__TRACE_MARK_BLOCK && block->raw <= FF__TRACE_RAW_MAX &&
           block->stored <= FF__TRACE_STORED_MAX && block->events > 0 &&
           block->events <= FF__TRACE_EVENTS_MAX;
}

/* After the end mark there is nothing. */
static int check_end(struct ff_trace_reader *reader) {
    uint8_t more;
    ssize_t got = take(reader, &more, 1);
    if (got == 0)
        return 0;
    return ff__fail(&reader->failure, got < 0 ? (int)got : -EBADMSG, "%s: %s", reader->path,
                    got < 0 ? strerror((int)-got) : "something follows its end");
}

static int unpack(struct ff_trace_reader *reader, const struct ff__trace_block *block) {
    size_t size = ZSTD_decompressDCtx(reader->zstd, reader->raw, FF__TRACE_RAW_MAX, reader->stored,
                                      block->stored);
    if (ZSTD_isError(size) || size != block->raw ||
        !ff__trace_decoder_start(&reader->decoder, reader->version, reader->raw, size,
                                 block->events))
        return damaged(reader);
    return 1;
}

/* 1: a block is ready; 0: that was the end; or negative errno. */
static int next_block(struct ff_trace_reader *reader) {
    uint8_t head[FF__TRACE_BLOCK_HEAD];
    int status = take_all(reader, head, sizeof head);
    if (status)
        return status;
    struct ff__trace_block block = ff__trace_get_block(head);
    if (!plausible(reader, &block))
        return damaged(reader);
    status = take_all(reader, reader->stored, block.stored);
    if (status)
        return status;
    if (ff__get_u32(head + FF__TRACE_BLOCK_HEAD - 4) !=
        ff__trace_block_sum(head, reader->stored, block.stored))
        return damaged(reader);
    return block.mark == FF__TRACE_MARK_END ? check_end(reader) : unpack(reader, &block);
}

/* ---- events ---- */

static int next_event(struct ff_trace_reader *reader, struct ff_trace_event *out) {
    if (reader->decoder.left == 0) {
        int status = next_block(reader);
        if (status <= 0)
            return status;
    }
    if (!ff__trace_decode(&reader->decoder, out) || out->time_ns < reader->last_ns)
        return damaged(reader);
    reader->last_ns = out->time_ns;
    reader->events++;
    return 1;
}

int ff_trace_read_sized(struct ff_trace_reader *reader, struct ff_trace_event *out, size_t size,
                        struct ff_error *error) {
    struct ff_trace_event event;
    bool same = size == sizeof event;
    if (reader->status > 0)
        reader->status = next_event(reader, same ? out : &event);
    if (reader->status > 0 && !same)
        ff__sized_put(out, size, &event, sizeof event);
    if (reader->status < 0 && error)
        *error = reader->failure;
    return reader->status;
}
