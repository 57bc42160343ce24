#include "trace/model/history_extent.h"

#include "base/error.h"
#include "base/grow.h"

#include <errno.h>
#include <farfault/mask.h>
#include <stdlib.h>
#include <string.h>

#define RANGES_MAX (1u << 22) /* numbers are dense */
#define BYTES_MAX  (UINT64_C(1) << 44)

/* ---- kernels ---- */

static const char *name_of(const char *name) {
    return name && *name ? name : "kernel";
}

static uint64_t key_of(const char *name) {
    return ff__hash_bytes(0, name_of(name), strlen(name_of(name)));
}

uint32_t ff__history_kernel_of(const struct ff__map *kernels, const char *name) {
    uint32_t number = 0;
    ff__map_get(kernels, key_of(name), &number);
    return number;
}

static int add_kernel(struct ff__history_extent *extent, const char *name) {
    struct ff__run_history *history = extent->history;
    if (ff__grow(&history->kernels, history->kernel_count, sizeof *history->kernels) ||
        ff__map_put(&extent->kernels, key_of(name), (uint32_t)history->kernel_count))
        return -ENOMEM;
    char *copy = strdup(name_of(name));
    if (!copy)
        return -ENOMEM;
    history->kernels[history->kernel_count++] = (struct ff__history_kernel){.name = copy};
    return 0;
}

int ff__history_extent_begin(struct ff__history_extent *extent) {
    return add_kernel(extent, "(no launch)");
}

static void end(struct ff__history_extent *extent, const struct ff__open_launch *launch,
                uint64_t end_ns) {
    struct ff__history_kernel *kernel = &extent->history->kernels[launch->kernel];
    kernel->launches++;
    kernel->time_ns += end_ns - launch->began_ns;
}

static int begin(struct ff__history_extent *extent, const struct ff_trace_event *event) {
    struct ff__open_launch ended;
    uint32_t number;
    if (!ff__map_get(&extent->kernels, key_of(event->name), &number)) {
        int status = add_kernel(extent, event->name);
        if (status)
            return status;
        number = (uint32_t)extent->history->kernel_count - 1;
    }
    extent->history->launches++;
    if (ff__open_begin(&extent->running, event, number, &ended))
        end(extent, &ended, event->time_ns);
    return 0;
}

/* ---- buffers ---- */

static int add_buffers(struct ff__run_history *history, uint32_t range) {
    while (history->buffer_count <= range) {
        if (ff__grow(&history->buffers, history->buffer_count, sizeof *history->buffers))
            return -ENOMEM;
        history->buffers[history->buffer_count++] =
            (struct ff__history_buffer){.first_kernel = FF__HISTORY_NO_INDEX};
    }
    return 0;
}

static void free_range(struct ff__history_extent *extent, uint32_t range) {
    if (range >= extent->history->buffer_count)
        return;
    extent->live -= extent->history->buffers[range].live;
    extent->history->buffers[range].live = 0;
}

static int allocate(struct ff__history_extent *extent, const struct ff_trace_event *event,
                    struct ff_error *error) {
    struct ff__run_history *history = extent->history;
    if (event->range >= RANGES_MAX || event->bytes > BYTES_MAX)
        return ff__fail(error, -EFBIG, "%s: range %u of %llu bytes is more than can be shown",
                        extent->path, event->range, (unsigned long long)event->bytes);
    if (add_buffers(history, event->range))
        return -ENOMEM;
    free_range(extent, event->range);
    struct ff__history_buffer *buffer = &history->buffers[event->range];
    buffer->allocations++;
    buffer->live = event->bytes;
    if (buffer->bytes < event->bytes)
        buffer->bytes = event->bytes;
    extent->live += event->bytes;
    if (history->footprint < extent->live)
        history->footprint = extent->live;
    return 0;
}

/* ---- all ---- */

/* The kernels that took longest have a lane each, in that order. */
static void choose_lanes(struct ff__run_history *history) {
    for (size_t i = 0; i < history->kernel_count; i++)
        history->kernels[i].lane = FF__HISTORY_LANES - 1;
    for (uint32_t lane = 0; lane + 1 < FF__HISTORY_LANES; lane++) {
        struct ff__history_kernel *longest = NULL;
        for (size_t i = 0; i < history->kernel_count; i++) {
            struct ff__history_kernel *kernel = &history->kernels[i];
            if (kernel->launches > 0 && kernel->lane == FF__HISTORY_LANES - 1 &&
                (!longest || kernel->time_ns > longest->time_ns))
                longest = kernel;
        }
        if (!longest)
            return;
        longest->lane = lane;
    }
}

int ff__history_extent_take(struct ff__history_extent *extent, const struct ff_trace_event *event,
                            struct ff_error *error) {
    struct ff__run_history *history = extent->history;
    struct ff__open_launch ended;
    history->events++;
    history->end_ns = event->time_ns;
    switch (event->kind) {
    case FF_TRACE_RANGE:
        return allocate(extent, event, error);
    case FF_TRACE_FREE:
        free_range(extent, event->range);
        return 0;
    case FF_TRACE_LAUNCH:
        return begin(extent, event);
    case FF_TRACE_LAUNCH_END:
        if (ff__open_end(&extent->running, event, &ended))
            end(extent, &ended, event->time_ns);
        return 0;
    default:
        return 0;
    }
}

int ff__history_extent_end(struct ff__history_extent *extent, struct ff_error *error) {
    struct ff__run_history *history = extent->history;
    struct ff_trace_event last = {.kind = FF_TRACE_LAUNCH_END};
    struct ff__open_launch ended;
    while (extent->running.count > 0) {
        last.device = extent->running.launches[0].device;
        last.identity = extent->running.launches[0].identity;
        if (ff__open_end(&extent->running, &last, &ended))
            end(extent, &ended, history->end_ns);
    }
    choose_lanes(history);
    for (size_t i = 0; i < history->buffer_count; i++) {
        struct ff__history_buffer *buffer = &history->buffers[i];
        buffer->live = 0;
        buffer->blocks_before = history->blocks;
        history->blocks += (buffer->bytes + FF_BLOCK_SIZE - 1) / FF_BLOCK_SIZE;
    }
    if (history->blocks > UINT32_MAX)
        return ff__fail(error, -EFBIG, "%s: its ranges are larger than can be shown", extent->path);
    history->blocks_a_row = history->blocks / FF__HISTORY_ROWS + 1;
    history->slice_ns = history->end_ns / FF__HISTORY_SLICES + 1;
    return 0;
}
