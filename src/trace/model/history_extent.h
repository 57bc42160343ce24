/* The first reading of a trace: how long it is, and which kernels and buffers there are. */
#ifndef FF_TRACE_MODEL_HISTORY_EXTENT_H
#define FF_TRACE_MODEL_HISTORY_EXTENT_H

#include "base/map.h"
#include "trace/model/history.h"
#include "trace/model/open_launches.h"

struct ff__history_extent {
    struct ff__run_history *history;
    const char *path;
    struct ff__map kernels; /* hash of the name: number */
    struct ff__open_launches running;
    uint64_t live; /* bytes */
};

/* 0, or -ENOMEM, -EBADMSG, -EFBIG. */
int ff__history_extent_take(struct ff__history_extent *extent, const struct ff_trace_event *event,
                            struct ff_error *error);

/* All events were taken: launches that run end, and blocks get their rows. 0 or -EFBIG. */
int ff__history_extent_end(struct ff__history_extent *extent, struct ff_error *error);

/* The number of the kernel of a launch that was taken. */
uint32_t ff__history_kernel_of(const struct ff__map *kernels, const char *name);

/* The kernel of what happens outside of launches: number 0. 0 or -ENOMEM. */
int ff__history_extent_begin(struct ff__history_extent *extent);

#endif
