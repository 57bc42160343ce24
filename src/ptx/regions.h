/* Where a kernel is cut into pieces that run without waiting.
 *
 * A *suspend point* is an instruction at which threads wait for others. A *region* is the code from
 * one suspend point to the next ones. It also begins at *cuts*: blocks at which a thread only gives
 * others a turn, that would otherwise be in many regions, or that begin a uniform loop.
 *
 * A *uniform loop* is one that threads which come to it together also leave together. It is a
 * region by itself: each of its rounds goes over all threads, so that they are next to each other
 * where a compiler looks for what it can vectorize. */
#ifndef FF_PTX_REGIONS_H
#define FF_PTX_REGIONS_H

#include "ptx/shape.h"

struct ff__ptx_region_plan {
    uint32_t start;   /* block */
    uint32_t suspend; /* instruction that precedes it, or FF__PTX_NONE: the start and cuts */
    uint64_t *blocks; /* set */
};

struct ff__ptx_regions {
    struct ff__ptx_region_plan *plans;
    uint32_t count;
    uint32_t *of_suspend; /* by instruction; 0: it is no suspend point */
    uint32_t *of_cut;     /* by block */
    bool *cut;            /* by block: a region begins there */
    bool *loop;           /* by block: it begins a uniform loop */
    bool *in_order;       /* by block: which threads may leave in several rounds */
};

/* `cut_loops`: at every back edge, not only where a loop may wait for another thread. All lies in
 * the flow's arena. 0 or -ENOMEM. */
int ff__ptx_find_regions(const struct ff__ptx_flow *flow, const struct ff__ptx_shapes *shapes,
                         bool cut_loops, struct ff__ptx_regions *out);

/* Whether the region goes on behind a block: a suspend point without a guard has no way on but
 * through what it waits for. */
bool ff__ptx_passes(const struct ff__ptx_flow *flow, const struct ff__ptx_block *block);

/* spins.c: cuts loops in which a thread may wait for another one, which must get a turn, or all
 * loops. False: no memory. */
bool ff__ptx_cut_spins(const struct ff__ptx_flow *flow, const struct ff__ptx_shapes *shapes,
                       bool all, bool *cut);

/* loops.c: marks uniform loops and where they leave to. False: no memory. */
bool ff__ptx_cut_uniform_loops(const struct ff__ptx_flow *flow, const struct ff__ptx_shapes *shapes,
                               struct ff__ptx_regions *regions);

#endif
