/* Whether the blocks of a range migrate, or are used from the host. Ours.
 *
 * A block that migrates costs a fault and a transfer; one that is used remotely occupies the link for each access. So it is
 * decided by how many accesses a block gets before it would leave again, against how many cost as much as its migration
 * (its worth).
 *
 *   migrating ranges   Of the blocks that come back, every so often one is a witness: it is used remotely, until it has been
 *                      used as often as its migration is worth, and migrates after all, or until it would have left.
 *   remote ranges      All blocks that the host has are used remotely. One that is used so often that it is worth its
 *                      migration before it would have left migrates. If most do, the range migrates again.
 *
 * Blocks would leave in the order in which they came: each when a number of others has come since. */
#ifndef FF_POLICY_COMMON_REMOTE_USE_H
#define FF_POLICY_COMMON_REMOTE_USE_H

#include <farfault/policy.h>

/* By block, zero at first. */
struct ff__remote_block {
    uint32_t
        stamp; /* 1 + how many blocks had or would have come when it would have come last; 0: never */
    uint32_t count; /* remote accesses since then */
};

/* By range, zero at first. */
struct ff__remote_range {
    uint32_t witness;             /* 1 + its block; 0: there is none */
    uint32_t countdown, interval; /* blocks that come back until the next witness */
    uint32_t came,
        paid; /* the evidence: blocks that would have come; those of them that were worth it */
    bool is_remote;
};

struct ff__remote_use {
    unsigned char *blocks, *ranges;    /* where the records of block and range 0 are, */
    size_t block_stride, range_stride; /* and how far from each other */
    uint32_t clock[FF_TIERS_MAX];      /* by tier: blocks that have, or would have, come */
    uint32_t worth[FF_TIERS_MAX]; /* accesses that cost as much as a migration; 0: not known yet */
    uint32_t became_remote, became_local; /* ranges, how often */
};

/* The records lie in arrays of the caller's, each at the beginning of an element. */
void ff__remote_start(struct ff__remote_use *use, void *blocks, size_t block_stride, void *ranges,
                      size_t range_stride);

/* Before the faults of a group are served; `may_try`: the block may become a witness. True: they are used remotely, as `advice` now says. Where the backend has no
 * remote access, never. */
bool ff__remote_fault(struct ff__remote_use *use, const struct ff_view *view,
                      const struct ff_fault_group *group, bool may_try,
                      struct ff_fault_advice *advice);

/* Whether the range is used from the host. */
static inline bool ff__remote_is(const struct ff__remote_use *use, uint32_t range) {
    return ((const struct ff__remote_range *)(const void *)(use->ranges +
                                                            range * use->range_stride))
        ->is_remote;
}

/* Accesses; advises to bring blocks that are worth it. */
void ff__remote_access(struct ff__remote_use *use, const struct ff_view *view,
                       const struct ff_access_batch *batch, struct ff_advice_list *advice);

void ff__remote_range_freed(struct ff__remote_use *use, uint32_t range);
void ff__remote_block_freed(struct ff__remote_use *use, uint32_t block);

/* For a policy's `report`. */
bool ff__remote_report(const struct ff__remote_use *use, struct ff_finding *finding);

#endif
