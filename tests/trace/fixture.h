/* What tests of traces share: a folder for their files, events to write, and events collected. */
#ifndef FF_TESTS_TRACE_FIXTURE_H
#define FF_TESTS_TRACE_FIXTURE_H

#include <farfault/trace.h>

#include "base/random.h"
#include "trace/model/import.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- files ---- */

static char folder[64];

static inline int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/farfault-trace-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* A path in the folder, valid until the next but seven. */
static inline const char *in_folder(const char *name) {
    static char paths[8][160];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static inline unsigned char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    bytes[*size] = '\0';
    fclose(file);
    return bytes;
}

static inline void write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* ---- events ---- */

static inline bool same_event(const struct ff_trace_event *a, const struct ff_trace_event *b) {
    bool names = a->name && b->name ? strcmp(a->name, b->name) == 0 : a->name == b->name;
    return names && a->kind == b->kind && a->time_ns == b->time_ns && a->device == b->device &&
           a->range == b->range && a->page == b->page && a->pages == b->pages &&
           a->bytes == b->bytes && a->identity == b->identity && a->ctas == b->ctas &&
           a->warps == b->warps && a->cta == b->cta && a->warp == b->warp && a->pc == b->pc &&
           a->instructions == b->instructions && a->write == b->write && a->gpu_ns == b->gpu_ns &&
           a->batch == b->batch && a->instances == b->instances && a->utlb == b->utlb &&
           a->gpc == b->gpc;
}

static inline void assert_event(const struct ff_trace_event *got, const struct ff_trace_event *want,
                                size_t number) {
    if (!same_event(got, want))
        fail_msg("event %zu: kind %d time %llu device %u range %u page %llu pages %llu bytes %llu "
                 "cta %u warp %u pc %#x instructions %u write %d name %s ctas %u warps %u",
                 number, (int)got->kind, (unsigned long long)got->time_ns, got->device, got->range,
                 (unsigned long long)got->page, (unsigned long long)got->pages,
                 (unsigned long long)got->bytes, got->cta, got->warp, got->pc, got->instructions,
                 got->write, got->name ? got->name : "-", got->ctas, got->warps);
}

/* Only what its kind has; the rest of an event is not kept. */
static inline struct ff_trace_event random_event(struct ff__random *random, uint64_t time_ns,
                                                 const char *const *names, unsigned name_count) {
    struct ff_trace_event e = {.kind = (enum ff_trace_kind)ff__random_below(random, FF_TRACE_KINDS),
                               .time_ns = time_ns};
    bool wild = ff__random_below(random, 8) == 0; /* any number, else a likely one */
    uint64_t page = wild ? ff__random_next(random) : ff__random_below(random, 5000);
    uint64_t many = wild ? ff__random_next(random) : ff__random_below(random, 600);
    uint32_t small = wild ? (uint32_t)ff__random_next(random) : ff__random_below(random, 9);
    uint32_t other = wild ? (uint32_t)ff__random_next(random) : ff__random_below(random, 200);
    bool device =
        e.kind != FF_TRACE_FREE && e.kind != FF_TRACE_HOST_READ && e.kind != FF_TRACE_HOST_WRITE;
    bool batch = e.kind == FF_TRACE_BATCH || e.kind == FF_TRACE_BATCH_END;
    bool range = e.kind != FF_TRACE_LAUNCH && e.kind != FF_TRACE_LAUNCH_END &&
                 e.kind != FF_TRACE_WORK && !batch;
    e.device = device ? small : 0;
    e.range = range ? other : 0;
    e.write = ff__random_below(random, 2);
    switch (e.kind) {
    case FF_TRACE_LAUNCH:
        e.ctas = other, e.warps = small;
        e.name = ff__random_below(random, 4) ? names[ff__random_below(random, name_count)] : NULL;
        e.identity = page;
        break;
    case FF_TRACE_LAUNCH_END:
        e.identity = page;
        break;
    case FF_TRACE_RANGE:
        e.bytes = page;
        break;
    case FF_TRACE_FREE:
        break;
    case FF_TRACE_ACCESS:
        e.page = page, e.bytes = many;
        e.pc = other, e.cta = small, e.warp = other, e.instructions = small;
        break;
    case FF_TRACE_MIGRATE:
    case FF_TRACE_EVICT:
    case FF_TRACE_WRITTEN:
        e.pages = many, e.page = page;
        break;
    case FF_TRACE_BATCH:
    case FF_TRACE_BATCH_END:
        e.batch = many;
        break;
    case FF_TRACE_WORK:
        e.cta = other, e.warp = small, e.instructions = other;
        break;
    case FF_TRACE_FAULT:
        e.page = page, e.gpu_ns = many, e.batch = page;
        e.instances = small, e.utlb = other, e.gpc = small;
        break;
    case FF_TRACE_HOST_READ:
    case FF_TRACE_HOST_WRITE:
        e.bytes = many, e.page = page;
        break;
    default:
        e.page = page;
    }
    return e;
}

/* Writes some events; the trace has them all. */
static inline void write_trace(const char *path, bool accesses, const struct ff_trace_event *events,
                               size_t count) {
    struct ff_trace_info info = {.source = "test", .subject = "fixture", .accesses = accesses};
    struct ff_trace_writer *writer;
    assert_int_equal(ff_trace_create(path, &info, &writer), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ff_trace_write(writer, &events[i]), 0);
    assert_int_equal(ff_trace_finish(writer), 0);
}

/* ---- collecting ---- */

#define COLLECTED_MAX 4096

struct collected {
    struct ff_trace_event events[COLLECTED_MAX];
    char names[64][64];
    size_t count, name_count;
};

static inline int collect(void *self, const struct ff_trace_event *event) {
    struct collected *to = self;
    assert_true(to->count < COLLECTED_MAX);
    to->events[to->count] = *event;
    if (event->name) {
        char *name = to->names[to->name_count++ % 64];
        snprintf(name, sizeof to->names[0], "%s", event->name);
        to->events[to->count].name = name;
    }
    to->count++;
    return 0;
}

static inline void assert_events(const struct collected *got, const struct ff_trace_event *want,
                                 size_t count) {
    for (size_t i = 0; i < count && i < got->count; i++)
        assert_event(&got->events[i], &want[i], i);
    assert_int_equal(got->count, count);
}

#endif
