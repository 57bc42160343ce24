/* Batches of faults, as a driver has handled them: what the events of a trace say of each. */
#ifndef FF_TRACE_MODEL_BATCHES_H
#define FF_TRACE_MODEL_BATCHES_H

#include <farfault/trace.h>

/* A batch that has ended. */
struct ff__fault_batch {
    uint64_t number;
    uint32_t device;
    uint64_t began_ns, took_ns;
    uint64_t entries;   /* of the fault buffer, duplicates included */
    uint64_t pages;     /* different pages among them */
    uint64_t blocks;    /* different blocks of 2 MiB among them */
    uint64_t pages_in;  /* that came to the device meanwhile */
    uint64_t pages_out; /* that left it meanwhile */
};

struct ff__batches {
    void (*ended)(void *self, const struct ff__fault_batch *batch);
    void *self;
    struct ff__batch_open *open; /* [device] */
};

/* 0 or -ENOMEM. */
int ff__batches_init(struct ff__batches *batches,
                     void (*ended)(void *self, const struct ff__fault_batch *batch), void *self);
void ff__batches_fini(struct ff__batches *batches);

/* The next event. 0 or -ENOMEM. */
int ff__batches_take(struct ff__batches *batches, const struct ff_trace_event *event);

#endif
