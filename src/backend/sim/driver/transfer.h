/* Transfers: moves of pages that the engine has decided on, on their way over links. */
#ifndef FF_BACKEND_SIM_DRIVER_TRANSFER_H
#define FF_BACKEND_SIM_DRIVER_TRANSFER_H

#include "engine/engine.h"

struct device;
struct job;
struct sim;

enum transfer_cause {
    TRANSFER_OF_BATCH, /* the driver waits for it */
    TRANSFER_OF_FAULT, /* other faults */
    TRANSFER_OF_PREFETCH,
    TRANSFER_OF_PREEVICTION,
    TRANSFER_OF_HOST, /* the host waits for it */
};

struct transfer {
    struct ff__job moves;
    enum transfer_cause cause;
    uint32_t device;
    struct job *job; /* whose host waits for it; or, since it was started, whose device it is for */
    bool waited_for; /* the job is not idle before it has ended */
    struct ff_mask fetched;      /* pages that come from another device */
    struct ff_fault_group group; /* of faults that are to be served again */
    struct ff_advice advice;     /* that is not known yet */
    struct transfer *next;       /* free */
};

/* NULL: no memory, and the simulation has failed. */
struct transfer *ff__transfer_new(struct sim *sim);
void ff__transfer_free(struct sim *sim, struct transfer *transfer);

/* Reserves the links for a transfer that can start at `time`. */
void ff__transfer_start(struct sim *sim, struct transfer *transfer, uint64_t time);
/* The end of a transfer: by an EVENT_FINISH at `end`, or at once. */
void ff__transfer_expect_end(struct sim *sim, struct transfer *transfer, uint64_t start,
                             uint64_t end);
void ff__transfer_end_now(struct sim *sim, struct transfer *transfer, uint64_t start, uint64_t end);
/* The next piece of a transfer has arrived. */
void ff__transfer_arrive(struct sim *sim, struct transfer *transfer, uint64_t time);
/* All pieces have arrived; frees the transfer. */
void ff__transfer_finish(struct sim *sim, struct transfer *transfer, uint64_t time);

#endif
