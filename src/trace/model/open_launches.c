#include "trace/model/open_launches.h"

#include <string.h>

static void take(struct ff__open_launches *running, size_t index, struct ff__open_launch *out) {
    struct ff__open_launch *launch = &running->launches[index];
    *out = *launch;
    memmove(launch, launch + 1, (running->count - index - 1) * sizeof *launch);
    running->count--;
}

bool ff__open_begin(struct ff__open_launches *running, const struct ff_trace_event *event,
                    uint32_t kernel, struct ff__open_launch *ended) {
    bool full = running->count == FF__OPEN_MAX;
    if (full)
        take(running, 0, ended);
    running->launches[running->count++] = (struct ff__open_launch){
        event->identity, event->time_ns, event->device, kernel, ++running->begun};
    return full;
}

bool ff__open_end(struct ff__open_launches *running, const struct ff_trace_event *event,
                  struct ff__open_launch *ended) {
    for (size_t i = 0; i < running->count; i++) {
        const struct ff__open_launch *launch = &running->launches[i];
        if (launch->device == event->device && launch->identity == event->identity) {
            take(running, i, ended);
            return true;
        }
    }
    return false;
}

const struct ff__open_launch *ff__open_on(const struct ff__open_launches *running,
                                          uint32_t device) {
    for (size_t i = running->count; i-- > 0;)
        if (running->launches[i].device == device)
            return &running->launches[i];
    return NULL;
}
