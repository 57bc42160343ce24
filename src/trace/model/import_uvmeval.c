/* Fault logs of uvm-eval: one device, no launches. The log tells of ranges only when they are
 * destroyed, so it is read twice. */
#include "base/error.h"
#include "trace/model/import.h"
#include "trace/model/spans.h"
#include "trace/model/uvmeval.h"

#include <errno.h>
#include <farfault/mask.h>
#include <stdlib.h>
#include <string.h>

struct uvmeval_import {
    const struct ff__sink *sink;
    struct ff__lines lines;
    struct ff__spans spans;
    uint64_t start, now;
    uint64_t known;   /* lines that were understood */
    uint64_t batches; /* that have begun */
    bool in_batch;
    bool evicts_blocks; /* no eviction names any but the first page of a block */
};

static bool is_batch(const struct ff__uvmeval_line *line) {
    return line->kind == FF__UVMEVAL_BATCH || line->kind == FF__UVMEVAL_BATCH_END;
}

static int explore(struct uvmeval_import *import, const struct ff__uvmeval_line *line) {
    if (is_batch(line))
        return 0;
    if (import->known++ == 0)
        import->start = line->time_ns;
    int status;
    if (line->kind == FF__UVMEVAL_DESTROY)
        status = ff__spans_know(&import->spans, 0, line->address, line->bytes);
    else
        status = ff__spans_touch(&import->spans, 0, line->address, 1);
    if (line->kind == FF__UVMEVAL_EVICT && line->address % FF_BLOCK_SIZE)
        import->evicts_blocks = false;
    return status == -ERANGE ? ff__bad_line(&import->lines, "no possible addresses") : status;
}

/* A log may begin, or end, in the middle of one. */
static int put_batch(struct uvmeval_import *import, const struct ff__uvmeval_line *line) {
    bool begins = line->kind == FF__UVMEVAL_BATCH;
    if (!begins && !import->in_batch)
        return 0;
    import->batches += begins;
    import->in_batch = begins;
    const struct ff_trace_event event = {.kind = begins ? FF_TRACE_BATCH : FF_TRACE_BATCH_END,
                                         .time_ns = import->now,
                                         .batch = import->batches};
    return import->sink->put(import->sink->self, &event);
}

static int put_line(struct uvmeval_import *import, const struct ff__uvmeval_line *line) {
    if (line->time_ns > import->start + import->now) /* the kernel's log may step back a little */
        import->now = line->time_ns - import->start;
    if (line->kind == FF__UVMEVAL_DESTROY)
        return ff__spans_free(&import->spans, import->sink, import->now, 0, line->address);
    if (is_batch(line))
        return put_batch(import, line);
    bool evict = line->kind == FF__UVMEVAL_EVICT;
    struct ff_trace_event event = {.kind = evict ? FF_TRACE_EVICT : FF_TRACE_FAULT,
                                   .time_ns = import->now,
                                   .write = line->write,
                                   .gpu_ns = line->gpu_ns,
                                   .batch = import->in_batch && !evict ? import->batches : 0,
                                   .instances = line->instances,
                                   .utlb = line->utlb,
                                   .gpc = line->gpc};
    int status = ff__spans_use(&import->spans, import->sink, &event, 0, line->address, &event.range,
                               &event.page);
    if (status)
        return status;
    if (evict) {
        uint64_t left = ff__spans_left(&import->spans, 0, line->address);
        event.pages = !import->evicts_blocks ? 1 : left < FF_BLOCK_PAGES ? left : FF_BLOCK_PAGES;
    }
    return import->sink->put(import->sink->self, &event);
}

static int read_log(struct uvmeval_import *import, const char *path, bool exploring) {
    struct ff__uvmeval_line line;
    import->lines.name = path;
    import->lines.number = 0;
    int status = ff__open_regular(path, &import->lines.file, import->lines.error);
    if (status)
        return status;
    while (!status && (status = ff__next_line(&import->lines)) > 0) {
        if (!ff__uvmeval_parse(import->lines.text, &line))
            status = ff__bad_line(&import->lines, "a line that cannot be read");
        else if (line.kind == FF__UVMEVAL_OTHER)
            status = 0;
        else
            status = exploring ? explore(import, &line) : put_line(import, &line);
    }
    fclose(import->lines.file);
    return status;
}

static int run(const char *path, const struct ff__sink *sink, struct ff_error *error) {
    struct uvmeval_import *import = calloc(1, sizeof *import);
    if (!import)
        return -ENOMEM;
    import->sink = sink;
    import->lines.error = error;
    import->evicts_blocks = true;
    int status = read_log(import, path, true);
    if (!status && import->known == 0)
        status = ff__fail(error, -EBADMSG, "%s: not one line of a uvm-eval fault log", path);
    if (!status)
        status = ff__spans_settle(&import->spans);
    if (!status)
        status = read_log(import, path, false);
    ff__spans_fini(&import->spans);
    free(import);
    return status;
}

/* Some line of its beginning is one of theirs. */
static bool guess(const char *path, const char *head, size_t size) {
    (void)path, (void)size;
    while (head && *head) {
        struct ff__uvmeval_line line;
        char text[256];
        const char *end = strchr(head, '\n');
        size_t length = end ? (size_t)(end - head) : strlen(head);
        if (end && length < sizeof text) {
            memcpy(text, head, length);
            text[length] = '\0';
            if (ff__uvmeval_parse(text, &line) && line.kind != FF__UVMEVAL_OTHER)
                return true;
        }
        head = end ? end + 1 : NULL;
    }
    return false;
}

const struct ff__import_format ff__import_uvmeval = {
    .name = "uvm-eval",
    .summary = "fault log (kernel log) of uvm-eval's patched NVIDIA driver",
    .guess = guess,
    .run = run,
};
