/* When a fault brings what the driver's prefetch tree brings, instead of its whole block. Ours.
 *
 * A whole block costs one fault and a transfer of 2 MiB. By the tree, it costs a fault for each
 * part that is used before the block leaves again, and the transfers of these parts. Where all
 * ranges fit, blocks come whole. Otherwise there are two rules.
 *
 * By range, measured:
 *   - Of the blocks of a range that come, one in 64 comes by the tree. It is a witness of what that
 *     costs until it leaves.
 *   - If three witnesses cost less than two thirds of what whole blocks would have, all of the
 *     range's blocks come by the tree, and all are witnesses, until they cost more.
 *   - A block whose parts have cost as much as the whole one comes whole after all, so that it
 *     costs at most twice as much. One in 64 then slows a range of which all is used by 1.6 % at
 *     most.
 *
 * By block, where witnesses show too little:
 *   - A block without content costs no transfer on its way in, but all of it has to leave again,
 *     used or not. No witness shows that before memory is full.
 *   - A block that is a large part of the device's memory leaves before much of it has been used.
 *   - Such a block comes by the tree until so many of its pages have faulted that, with a fault for
 *     each, they would have cost as much as the whole block with its way out. Where much of a block
 *     is used, as many fault at once. */
#ifndef FF_POLICY_DEEPUM_PLUS_BY_TREE_H
#define FF_POLICY_DEEPUM_PLUS_BY_TREE_H

#include <farfault/policy.h>

/* By block, zero at first. */
struct ff__tree_block {
    uint32_t faults;  /* groups of faults since it came */
    uint32_t pages;   /* that came with these groups */
    uint32_t faulted; /* those of `pages` that had faulted */
    bool is_witness;
};

/* By range, zero at first. */
struct ff__tree_range {
    uint64_t tree_ns;   /* what its witnesses have cost */
    uint64_t whole_ns;  /* what they would have cost whole */
    uint32_t witnesses; /* how many; halved with both sums now and then */
    uint32_t came;      /* blocks of it that have come */
    bool by_tree;       /* all of its blocks come by the tree */
};

/* The caller's arrays. */
struct ff__by_tree {
    struct ff__tree_block *blocks; /* [block] */
    struct ff__tree_range *ranges; /* [range] */
};

/* Before the faults of a group are served. `is_large`: a block is a large part of the device's
 * memory. True: `advice` says what the tree brings; false: the whole block is to come. */
bool ff__by_tree_fault(struct ff__by_tree *by_tree, const struct ff_view *view,
                       const struct ff_fault_group *group, bool is_large,
                       struct ff_fault_advice *advice);
void ff__by_tree_leave(struct ff__by_tree *by_tree, const struct ff_view *view,
                       const struct ff_leave *leave);

#endif
