/* Fault models: how faults are served, a row each. What differs between them is here and
 * nowhere else; the files of the driver and of transfers are the same for all. */
#ifndef FF_BACKEND_SIM_DRIVER_FAULT_MODEL_H
#define FF_BACKEND_SIM_DRIVER_FAULT_MODEL_H

#include "backend/sim/driver/transfer.h"
#include "backend/sim/machine/gpu.h"

struct launch;

struct fault_model {
    /* Pages that are served as one batch; faults that a step of a kernel in bulk raises; at most.
     */
    uint32_t (*batch_limit)(const struct ff__gpu *gpu);
    uint32_t (*step_limit)(const struct ff__gpu *gpu);
    /* From the stall of a warp until its fault is seen outside its SM. */
    uint64_t (*visible_ns)(const struct ff__gpu *gpu);
    bool cuts_runs; /* pages move in runs, which end after each faulting page; else all as one */
    bool room_at_start;  /* memory is free when the copy out of it begins, not when it has ended */
    bool wakes_at_end;   /* warps go on when their pages have come, not with the batch's replay */
    bool prefetches_too; /* prefetches do not wait until the faults of the batch have been served */
    bool adds_faults;    /* all faults' time is added to the program's at its end */
    bool takes_turns;    /* remote accesses and copies share a link; else accesses go first */
    bool takes_time;     /* false: transfers and decisions take none */
    /* The host launches a kernel. */
    void (*launch)(struct sim *sim, struct device *device, const struct launch *launch,
                   uint64_t time);
    /* The driver has time for prefetches and pre-evictions. */
    void (*prefetch)(struct sim *sim, struct device *device, uint64_t time);
    /* A transfer that was started at `start` will have ended at `end`. */
    void (*started)(struct sim *sim, struct transfer *transfer, uint64_t start, uint64_t end);
    /* A transfer has ended: what waited for it continues. */
    void (*ended)(struct sim *sim, struct device *device, enum transfer_cause cause, uint64_t time);
};

/* The row for a device; `untimed`: for runs in which every access is answered before the next one.
 */
const struct fault_model *ff__fault_model(const struct ff__gpu *gpu, bool untimed);

#endif
