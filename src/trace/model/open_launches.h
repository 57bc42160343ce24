/* Launches that have begun and not ended yet, as a trace tells of them. */
#ifndef FF_TRACE_MODEL_OPEN_LAUNCHES_H
#define FF_TRACE_MODEL_OPEN_LAUNCHES_H

#include <farfault/trace.h>

#define FF__OPEN_MAX 1024u /* at a time */

struct ff__open_launch {
    uint64_t identity, began_ns;
    uint32_t device;
    uint32_t kernel; /* whatever the caller numbers kernels by */
    uint32_t number; /* of the launch, from 1 */
};

struct ff__open_launches {
    struct ff__open_launch launches[FF__OPEN_MAX]; /* in the order in which they began */
    size_t count;
    uint32_t begun;
};

/* True: too many run, and `ended` is the oldest, which is taken for ended now. */
bool ff__open_begin(struct ff__open_launches *running, const struct ff_trace_event *event,
                    uint32_t kernel, struct ff__open_launch *ended);

/* The launch that this event ends: of launches that look the same, the first. False: none. */
bool ff__open_end(struct ff__open_launches *running, const struct ff_trace_event *event,
                  struct ff__open_launch *ended);

/* The launch that has begun last on the device; NULL: none runs. */
const struct ff__open_launch *ff__open_on(const struct ff__open_launches *running, uint32_t device);

#endif
