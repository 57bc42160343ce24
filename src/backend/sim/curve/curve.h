/* The miss-ratio curve of a workload: misses by the size of memory, for every size of it, from one
 * pass over what its kernels access. Memory is a device's, in pages of 4 KiB, and nothing but
 * demand brings a page there. */
#ifndef FF_BACKEND_SIM_CURVE_CURVE_H
#define FF_BACKEND_SIM_CURVE_CURVE_H

#include "backend/sim/machine/gpu.h"
#include "workload/workload.h"

/* Ours: accesses whose next uses are kept, 1 GiB of them. */
#define FF__CURVE_FUTURE (UINT64_C(1) << 28)

struct ff__curve {
    uint64_t accesses;
    uint64_t pages; /* that are accessed */
    /* misses of every memory: pages that are not on the device yet, or not any more because their
     * array was freed or the host accessed them */
    uint64_t cold;
    /* [pages of memory] of one that evicts the least recently used page; from `depth` on, more
     * memory misses as often */
    uint64_t *misses;
    uint64_t depth, room; /* room: elements */
    /* [access] as of ff__least_most_hits(); NULL if nobody asked, or there are more than
     * FF__CURVE_FUTURE accesses */
    uint32_t *next;
};

/* Counts them in the order of untimed runs (turns.h) on one device. `host`: of the preset, what
 * becomes of pages that the host accesses; synchronization changes nothing. `future`: whether
 * `next` is wanted. -ENOTSUP: a kernel has no single accesses; -EINVAL, -EFBIG, -ENOMEM. To be
 * freed in any case. */
int ff__curve_count(struct ff__workload *workload, const struct ff__gpu *gpu, bool future,
                    struct ff__curve *out, struct ff_error *error);
void ff__curve_free(struct ff__curve *curve);

/* With so many pages of memory. */
static inline uint64_t ff__curve_misses(const struct ff__curve *curve, uint64_t pages) {
    return curve->misses[pages < curve->depth ? pages : curve->depth];
}

#endif
