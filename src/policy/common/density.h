/* Whether the blocks of a range are used densely enough to migrate whole, or only in leaves of 64 KiB. Ours.
 *
 * A whole block costs one fault and one transfer of 2 MiB; in leaves it costs a fault for each leaf that is used before the
 * block leaves again. So it is decided by how many leaves those are: `per_miss`, the faults of leaves for each time that a
 * whole block would have had to come.
 *
 *   dense ranges   Most blocks migrate whole. Of those that come back again and again during one launch, every so often
 *                  one is a witness: it comes in leaves, and shows how many are used until it leaves. A program that
 *                  goes through its data once a launch has none: a block in leaves costs its device the huge page.
 *   sparse ranges  All blocks come in leaves. Leaves stay for longer than whole blocks would, because fewer bytes come;
 *                  so how many are used until they leave says nothing. Whole blocks would leave in about the order in
 *                  which they came: each stays until a number of others have come, which a stamp a block tells. A
 *                  block has also left if one of its leaves has to come again.
 *
 * A block of which more leaves are used than a whole one is worth comes whole after all. */
#ifndef FF_POLICY_COMMON_DENSITY_H
#define FF_POLICY_COMMON_DENSITY_H

#include <farfault/policy.h>

/* By block, zero at first. */
struct ff__density_block {
    uint32_t
        stamp; /* 1 + how many whole blocks would have come when it would have come last; 0: never */
    uint32_t leaves; /* bit i: leaf i has been faulted on since then */
    uint32_t launch; /* number of the launch during which it came back last, */
    uint8_t times;   /* and how often it did, up to 255 */
    bool in_leaves;  /* what is resident came in leaves */
    bool is_witness;
};

/* By range, zero at first. */
struct ff__density_range {
    uint32_t leaf_faults,
        misses; /* the evidence: of witnesses, or of all blocks; halved now and then */
    uint32_t countdown, interval; /* blocks that come back until the next witness */
    bool is_sparse;
};

struct ff__density {
    unsigned char *blocks, *ranges;    /* where the records of block and range 0 are, */
    size_t block_stride, range_stride; /* and how far from each other */
    uint32_t clock[FF_TIERS_MAX];      /* whole blocks that would have come */
    uint32_t worth[FF_TIERS_MAX]; /* leaves that cost as much as a whole block; 0: not known yet */
    uint32_t launches; /* so far; 0 where there are none, which is one that does not end */
    uint32_t became_sparse, became_dense; /* ranges, how often */
};

/* The records lie in arrays of the caller's, each at the beginning of an element. */
void ff__density_start(struct ff__density *density, void *blocks, size_t block_stride, void *ranges,
                       size_t range_stride);

/* A launch begins. */
static inline void ff__density_launch(struct ff__density *density,
                                      const struct ff_launch_event *event) {
    density->launches += event->begins;
}

/* Before the faults of a group are served. True: the block comes in leaves, as `advice` now says; false: whole. */
bool ff__density_fault(struct ff__density *density, const struct ff_view *view,
                       const struct ff_fault_group *group, struct ff_fault_advice *advice);

/* How often the block has come back during this launch; up to 255, and counted by faults. */
uint32_t ff__density_times(const struct ff__density *density, uint32_t block);

/* Whether blocks of the range come in leaves. */
bool ff__density_is_sparse(const struct ff__density *density, uint32_t range);

void ff__density_leave(struct ff__density *density, const struct ff_view *view,
                       const struct ff_leave *leave);
void ff__density_range_freed(struct ff__density *density, uint32_t range);
void ff__density_block_freed(struct ff__density *density, uint32_t block);

/* For a policy's `report`. */
bool ff__density_report(const struct ff__density *density, uint32_t index,
                        struct ff_finding *finding);

#endif
