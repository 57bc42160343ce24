/* Kernels in bulk: bulk.c; on which pages they fault: bulk_faults.c. */
#ifndef FF_BACKEND_SIM_DEVICE_BULK_H
#define FF_BACKEND_SIM_DEVICE_BULK_H

#include "backend/sim/device/nest.h"

struct device;
struct sim;

#define FF__ACCESS_BYTES 128u /* that a warp accesses at a time: a float a lane */

/* Of an operand of a kernel in bulk. */
struct front {
    double size;          /* bytes */
    uint64_t clear;       /* up to this position all is known to be in place; 0: nothing is known */
    struct cursor cursor; /* where looking ended last */
    struct cursor used;   /* where what the tracker has seen ends */
    uint32_t rest;        /* bytes of it that have not made a whole access */
    uint32_t first, last; /* blocks that it lies in */
    uint32_t step_first,
        step_last; /* that the step was seen to lie in when its faults were raised */
};

/* Pages of a block that the step has faulted on, and those of them that have come, and been used.
 * Not all pages of a step need fit at the same time: each has been used when it has come, as in
 * kernels that run warp by warp, and may leave before the others come. Else a step in more blocks
 * than there is memory would never end. */
struct asked {
    struct ff_mask pages, used;
    uint32_t stop; /* the step's; otherwise void */
};

/* How far a kernel in bulk has come. */
struct bulk {
    const struct ff__array *arrays; /* of the kernel's workload */
    uint64_t step, steps, horizon;
    double ps_per_step;
    uint64_t time;
    bool waits, faulted;  /* for pages; the step has been counted as short of them */
    bool raised;          /* all its faults are there, as long as nothing changes in its blocks */
    uint32_t stop;        /* steps that have been short of pages, this one among them */
    struct asked *asked;  /* [block] */
    uint32_t room;        /* for entries, in the driver's next batch */
    uint64_t flushed;     /* entries of the step that it has no room for */
    struct front *fronts; /* [operand] */
    uint32_t front_capacity;
    uint64_t remote_end; /* of the step's accesses over the link */
};

/* Where an operand's step begins. Signed, as converting unsigned numbers of 64 bits takes a branch.
 */
static inline uint64_t ff__bulk_position(const struct bulk *bulk, const struct front *front,
                                         uint64_t step) {
    return (uint64_t)(int64_t)(front->size * (double)(int64_t)step / (double)(int64_t)bulk->steps);
}

/* The device's current kernel starts. */
void ff__bulk_start(struct sim *sim, struct device *device, uint64_t time);
/* Runs the kernel up to `until`; returns when it could go on, NEVER if it waits for pages. */
uint64_t ff__bulk_run(struct sim *sim, struct device *device, uint64_t until);
void ff__bulk_wake(struct device *device, uint64_t time);
/* Some of the block's pages are not there any more. */
void ff__bulk_left(struct sim *sim, struct device *device, uint32_t block);
/* Some have come, or their faults have been answered. */
void ff__bulk_changed(struct sim *sim, struct device *device, uint32_t block);
/* Has the device's tracker see the accesses of the steps up to `last`, or up to the first one in
 * which a range is interrupted. Returns the step that it came to. */
uint64_t ff__bulk_track(struct sim *sim, struct device *device, uint64_t last);
/* Raises the faults of the step that the kernel has come to. Returns how many pages the step is
 * short of; once they have been counted, at least one. */
uint64_t ff__bulk_raise(struct sim *sim, struct device *device);
/* Makes the step's accesses to remote pages, for a step that misses no page. Returns when they end.
 */
uint64_t ff__bulk_use_remotely(struct sim *sim, struct device *device);

#endif
