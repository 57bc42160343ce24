/* Any file is a trace or refused with a reason, also if all its checksums are right: then the
 * blocks are decompressed and decoded. What is read can be replayed and exported, or is refused. */
#include "fuzz/fuzz.h"

#include "base/checksum.h"
#include "trace/codec.h"
#include "trace/file.h"
#include "trace/model/export.h"
#include "trace/model/replay.h"

#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

static int make_file(const uint8_t *data, size_t size, char path[64]) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_EXPECT(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void read_trace(const char *path, uint64_t *events) {
    struct ff_trace_reader *reader;
    struct ff_trace_info info;
    struct ff_trace_event event;
    struct ff_error error = {""};
    uint64_t last = 0;
    *events = 0;
    int status = ff_trace_open(path, &reader, &info, &error);
    if (status) {
        FUZZ_EXPECT((status == -EBADMSG || status == -ENOTSUP) && error.message[0]);
        return;
    }
    while ((status = ff_trace_read(reader, &event, &error)) > 0) {
        FUZZ_EXPECT((unsigned)event.kind < FF_TRACE_KINDS && event.time_ns >= last);
        FUZZ_EXPECT(!event.name || strlen(event.name) < 1u << 20);
        last = event.time_ns;
        ++*events;
    }
    FUZZ_EXPECT(status == 0 || (status == -EBADMSG && error.message[0]));
    FUZZ_EXPECT(ff_trace_read(reader, &event, &error) == status);
    ff_trace_close(reader);
}

static void walk(const struct ff__workload *workload) {
    struct ff__action action;
    struct ff__step step;
    for (uint64_t i = 0; i < 1000 && workload->type->action(workload, i, &action); i++) {
        FUZZ_EXPECT(action.array < workload->array_count || action.kind == FF__ACTION_LAUNCH);
        const struct ff__kernel *kernel = &action.kernel;
        if (action.kind != FF__ACTION_LAUNCH)
            continue;
        FUZZ_EXPECT(kernel->ctas > 0 && kernel->warps > 0 && kernel->name);
        for (uint32_t cta = 0; cta < kernel->ctas && cta < 4; cta++)
            for (uint32_t index = 0; kernel->step(workload, kernel, cta, 0, index, &step); index++)
                FUZZ_EXPECT(step.page_count <= FF__STEP_PAGES && step.instructions > 0);
    }
}

static void export(const char *path, const char *format) {
    struct ff_error error = {""};
    struct ff_trace_reader *reader;
    struct ff_trace_info info;
    FILE *out = fopen("/dev/null", "w");
    FUZZ_EXPECT(out && ff_trace_open(path, &reader, &info, &error) == 0);
    int status = ff__export_format(format)->write(reader, &info, out, &error);
    FUZZ_EXPECT(status == 0 || error.message[0]);
    fclose(out);
    ff_trace_close(reader);
}

static void use_trace(const char *path) {
    struct ff__workload *workload;
    struct ff_error error = {""};
    struct ff_trace_reader *reader;
    struct ff_trace_info info;
    int status = ff__trace_workload(path, &workload, &error);
    FUZZ_EXPECT(status == 0 || error.message[0]);
    if (status == 0) {
        walk(workload);
        workload->type->close(workload);
        free(workload->arrays);
        free(workload);
    }
    if (ff_trace_open(path, &reader, &info, &error))
        return;
    ff_trace_close(reader);
    export(path, "perfetto");
    export(path, "batches");
}

/* Makes every checksum, and every count that must fit to what came before, right. */
static void repair(uint8_t *data, size_t size) {
    uint64_t first = 0;
    if (size < FF__TRACE_FILE_HEAD)
        return;
    ff__put_u32(data + 152, ff__crc32c(0, data, 152));
    for (size_t at = FF__TRACE_FILE_HEAD; at + FF__TRACE_BLOCK_HEAD <= size;) {
        uint8_t *head = data + at;
        struct ff__trace_block block = ff__trace_get_block(head);
        at += FF__TRACE_BLOCK_HEAD;
        if (block.stored > size - at)
            return;
        ff__put_u64(head + 16, first);
        ff__put_u32(head + 24, ff__trace_block_sum(head, data + at, block.stored));
        first += block.events;
        at += block.stored;
    }
}

static void check(const uint8_t *data, size_t size) {
    char path[64];
    uint64_t events;
    int fd = make_file(data, size, path);
    read_trace(path, &events);
    if (events > 0)
        use_trace(path);
    close(fd);
}

/* A file with one block, whose content is the data after its first byte, the number of events. */
static void check_wrapped(const uint8_t *data, size_t size) {
    static const uint8_t magic[] = FF__TRACE_MAGIC;
    const size_t start = FF__TRACE_FILE_HEAD + FF__TRACE_BLOCK_HEAD;
    size_t room = start + ZSTD_compressBound(size) + FF__TRACE_BLOCK_HEAD;
    uint8_t *file = calloc(1, room);
    FUZZ_EXPECT(file);
    size_t stored = ZSTD_compress(file + start, ZSTD_compressBound(size), data + 1, size - 1, 1);
    FUZZ_EXPECT(!ZSTD_isError(stored));
    memcpy(file, magic, 8);
    uint32_t is_second = data[0] >> 6 & 1; /* version, which alone has touches */
    ff__put_u32(file + 8, 1 + is_second);
    ff__put_u32(file + 12, (data[0] & 0x80 ? FF__TRACE_INFO_ACCESS : 0) |
                               (is_second && data[0] & 0x20 ? FF__TRACE_INFO_TOUCH : 0));
    ff__trace_put_block(file + FF__TRACE_FILE_HEAD,
                        &(struct ff__trace_block){FF__TRACE_MARK_BLOCK, (uint32_t)size - 1,
                                                  (uint32_t)stored, data[0] % 64 + 1u, 0});
    ff__trace_put_block(file + start + stored,
                        &(struct ff__trace_block){.mark = FF__TRACE_MARK_END});
    size = start + stored + FF__TRACE_BLOCK_HEAD;
    repair(file, size);
    check(file, size);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 0 && size < FF__TRACE_RAW_MAX && data[0] != 0x89) {
        check_wrapped(data, size);
        return 0;
    }
    uint8_t *copy = (uint8_t *)fuzz_text(data, size);
    check(copy, size);
    repair(copy, size);
    check(copy, size);
    free(copy);
    return 0;
}
