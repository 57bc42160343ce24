/* Whether the blocks of a range migrate, or are used from the host. Ours.
 *
 * A block that migrates costs a fault and a transfer. One that is used remotely occupies the link
 * for each access. The break-even point of a block is the number of remote accesses that cost as
 * much as its migration. What decides is whether a block gets that many before it would leave.
 *
 * A range whose blocks migrate: if memory is too small for all, some of the blocks that come are
 * witnesses, at most three at a time. A witness is used remotely until one of these happens:
 *   - It has reached the break-even point, or would reach it if all of its leaves were used like
 *     those that were; then it migrates after all.
 *   - It would have left.
 * Three witnesses decide.
 *
 * A range that is remote: all blocks that the host has are used remotely. One that reaches the
 * break-even point before it would have left migrates. If most do, the range migrates again. While
 * memory is not full none would have left: then all accesses of a block count.
 *
 * If all blocks of a remote range are used at once, none reaches the break-even point in its time,
 * because they wait for the link; and if they migrated, each would be used up while others wait. So
 * remote accesses also add up over as long as the block is in use. Once they have cost twice a
 * migration (its own, and that of what leaves for it), the block migrates; if it is used remotely
 * again, it takes twice as much the next time. This is the rule for the ski rental problem: to rent
 * until the rent has cost as much as to buy.
 *
 * Blocks would leave in the order in which they came: each when a number of others has come since.
 */
#ifndef FF_POLICY_ADAPTIVE_REMOTE_USE_H
#define FF_POLICY_ADAPTIVE_REMOTE_USE_H

#include <farfault/model.h>

/* By block, zero at first. */
struct ff__remote_block {
    uint32_t stamp;   /* 1 + the tier's `clock` when it came, or would have come, last; 0: never */
    uint32_t count;   /* remote accesses since then */
    uint32_t leaves;  /* bit i: there were such accesses to leaf i */
    uint8_t brought;  /* times that it has come because remote accesses had cost too much */
    uint64_t spent;   /* remote accesses since it came, or since a pause in its use */
    uint64_t used_ns; /* time of its last remote access */
};

#define FF__REMOTE_WITNESSES 3u /* of a range, that decide */

/* By range, zero at first. */
struct ff__remote_range {
    uint32_t witnesses[FF__REMOTE_WITNESSES]; /* 1 + their blocks; 0: none */
    uint32_t countdown;                       /* blocks that come until the next witness */
    uint32_t interval;                        /* blocks that come from one witness to the next */
    uint32_t came;                            /* evidence: blocks that would have come */
    uint32_t paid;                            /* those of them that reached the break-even point */
    bool is_remote;
    bool is_known; /* a witness has reached the break-even point, or three have decided */
};

struct ff__remote_use {
    unsigned char *blocks, *ranges;       /* the records of block 0 and range 0 */
    size_t block_stride, range_stride;    /* bytes from one record to the next */
    uint32_t clock[FF_TIERS_MAX];         /* by tier: blocks that have, or would have, come */
    bool is_full[FF_TIERS_MAX];           /* by tier: blocks that had to leave have come back */
    uint32_t became_remote, became_local; /* times that a range became so */
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

/* Counts accesses; advises to bring blocks for which migration costs less. */
void ff__remote_access(struct ff__remote_use *use, const struct ff_view *view,
                       const struct ff_access_batch *batch, struct ff_advice_list *advice);

void ff__remote_range_freed(struct ff__remote_use *use, uint32_t range);
void ff__remote_block_freed(struct ff__remote_use *use, uint32_t block);

/* For a policy's `report`. */
bool ff__remote_report(const struct ff__remote_use *use, struct ff_finding *finding);

#endif
