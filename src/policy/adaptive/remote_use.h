/* Whether the blocks of a range migrate, or are used from the host. Ours.
 *
 * A block that migrates costs a fault and a transfer; one that is used remotely occupies the link
 * for each access. So it is decided by how many accesses a block gets before it would leave again,
 * against how many cost as much as its migration (its worth).
 *
 *   migrating ranges If memory is too small for all, some of the blocks that come are witnesses, at
 *   most three at a time: each
 *                      is used remotely, until it has been used as often as its migration is worth,
 *                      or would be if all of
 *                      it were used as the leaves that have been, and migrates after all; or until
 *                      it would have left. Three
 *                      decide.
 *   remote ranges All blocks that the host has are used remotely. One that is used so often that it
 *   is worth its
 *                      migration before it would have left migrates. If most do, the range migrates
 *                      again. While memory
 *                      is not full none would have left: each migrates when it has been used that
 *                      often in all.
 *
 * If all blocks of a remote range are used at once, none is used that often in its time: the link
 * is what holds them up, and if they migrated, each would be used up while others wait. So what
 * remote accesses cost adds up over as long as the block is in use. Once that is twice a migration,
 * its own and that of what leaves for it, it migrates; if it is used remotely again, it takes twice
 * as much the next time.
 *
 * Blocks would leave in the order in which they came: each when a number of others has come since.
 */
#ifndef FF_POLICY_ADAPTIVE_REMOTE_USE_H
#define FF_POLICY_ADAPTIVE_REMOTE_USE_H

#include <farfault/model.h>

/* By block, zero at first. */
struct ff__remote_block {
    /* 1 + how many blocks had or would have come when it would have come last; 0: never */
    uint32_t stamp;
    uint32_t count;   /* remote accesses since then, */
    uint32_t leaves;  /* a bit for each leaf that they were in, */
    uint8_t brought;  /* how often it has come for its rent */
    uint64_t rent;    /* remote accesses since it was not used for a while, or came, */
    uint64_t used_ns; /* and when the last of them was */
};

#define FF__REMOTE_WITNESSES 3u /* of a range, that decide */

/* By range, zero at first. */
struct ff__remote_range {
    uint32_t witnesses[FF__REMOTE_WITNESSES]; /* 1 + their blocks; 0: none */
    uint32_t countdown, interval;             /* blocks that come until the next witness */
    uint32_t came,
        paid; /* the evidence: blocks that would have come; those of them that were worth it */
    bool is_remote,
        is_known; /* is_known: a witness has been worth its migration, or three have decided */
};

struct ff__remote_use {
    unsigned char *blocks, *ranges;       /* where the records of block and range 0 are, */
    size_t block_stride, range_stride;    /* and how far from each other */
    uint32_t clock[FF_TIERS_MAX];         /* by tier: blocks that have, or would have, come */
    bool is_full[FF_TIERS_MAX];           /* by tier: blocks that had to leave have come back */
    uint32_t became_remote, became_local; /* ranges, how often */
};

/* The records lie in arrays of the caller's, each at the beginning of an element. */
void ff__remote_start(struct ff__remote_use *use, void *blocks, size_t block_stride, void *ranges,
                      size_t range_stride);

/* Before the faults of a group are served; `may_try`: the block may become a witness. True: they
 * are used remotely, as `advice` now says. Where the backend has no remote access, never. */
bool ff__remote_fault(struct ff__remote_use *use, const struct ff_view *view,
                      const struct ff_fault_group *group, bool may_try,
                      struct ff_fault_advice *advice);

/* Whether the block of that range is used from the host, as its range is or as a witness. */
bool ff__remote_is(const struct ff__remote_use *use, uint32_t range, uint32_t block);

/* Whether nothing is known of the range yet, but will be: each of its blocks should wait for its
 * own fault. */
bool ff__remote_is_tried(const struct ff__remote_use *use, const struct ff_view *view,
                         uint32_t tier, uint32_t range);

/* Accesses; advises to bring blocks that are worth it. */
void ff__remote_access(struct ff__remote_use *use, const struct ff_view *view,
                       const struct ff_access_batch *batch, struct ff_advice_list *advice);

void ff__remote_range_freed(struct ff__remote_use *use, uint32_t range);
void ff__remote_block_freed(struct ff__remote_use *use, uint32_t block);

/* For a policy's `report`. */
bool ff__remote_report(const struct ff__remote_use *use, struct ff_finding *finding);

#endif
