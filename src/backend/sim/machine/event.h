/* The queue of events, ordered by time and then by the order of scheduling. */
#ifndef FF_BACKEND_SIM_MACHINE_EVENT_H
#define FF_BACKEND_SIM_MACHINE_EVENT_H

#include "backend/sim/machine/virtual_time.h"

#include <stdbool.h>

enum event_kind {
    EVENT_KERNEL,   /* the device's next kernel starts */
    EVENT_FAULTS,   /* the device's fault buffer has something new */
    EVENT_DRIVER,   /* the driver turns to the next block of its batch */
    EVENT_REPLAY,   /* warps with answered faults try again */
    EVENT_ARRIVE,   /* a transfer's next piece has come, but for the last one */
    EVENT_FINISH,   /* a transfer's last byte has come */
    EVENT_IDLE,     /* nothing may move over the links any more */
    EVENT_RETRY,    /* throttled faults are due: the transfer's group */
    EVENT_SAMPLES,  /* the driver has read a range's access counters */
    EVENT_ADVICE,   /* a policy has come to its advice, which the transfer has */
    EVENT_HOST,     /* the host goes on */
    EVENT_CAPACITY, /* a device has more or less memory from now on */
};

struct transfer;

struct event {
    uint64_t time, order; /* ps */
    enum event_kind kind;
    /* Of the device; of EVENT_HOST, of the job; of EVENT_CAPACITY, of the change */
    uint32_t number;
    union {
        struct transfer *transfer;
        uint32_t range; /* of EVENT_SAMPLES */
    };
};

struct events {
    struct event *heap;
    uint32_t count, capacity;
    uint64_t order;
};

/* -ENOMEM. */
int ff__events_push(struct events *events, struct event event);
bool ff__events_pop(struct events *events, struct event *out);
static inline uint64_t ff__events_next(const struct events *events) {
    return events->count ? events->heap[0].time : NEVER;
}

#endif
