/* What is expected: the running kernel of each device, the next N kernels, and the blocks that each
 * of them uses (DeepUM, section 4.2). It joins the two kinds of tables: the execution ID table
 * predicts one kernel after the other, and the block table of each tells its blocks.
 *
 * A device's launches are numbered. Of the running one and the predicted ones after it, each block
 * keeps a bit in a ring of 256, so that "which of them uses it first?" is a look-up of four words,
 * whatever N is. A kernel's blocks are marked when it is predicted and unmarked when it is over. */
#ifndef FF_POLICY_DEEPUM_EXPECTED_H
#define FF_POLICY_DEEPUM_EXPECTED_H

#include "policy/deepum/block_table.h"
#include "policy/deepum/history.h"

#include <farfault/policy.h>

#define FF__RING       256u
#define FF__RING_WORDS (FF__RING / 64)
#define FF__LOOK_MAX   (FF__RING - 2) /* the greatest N */

/* Which launches use a block on one device: bit n: the one whose number is n mod FF__RING. */
struct ff__uses {
    uint64_t launches[FF__RING_WORDS];
};

/* By block, zero at first. */
struct ff__expected_block {
    uint32_t freed;         /* when it was last freed, in a count of all blocks freed; 0: never */
    struct ff__uses uses[]; /* by device: the one of tier 1 first */
};

/* Bytes of a record where there are so many tiers. Block state is provided for FF_TIERS_MAX;
 * records lie in the front part of it, and what is behind them is never touched and costs nothing.
 */
#define FF__EXPECTED_BLOCK_SIZE(tiers)                                                             \
    (sizeof(struct ff__expected_block) + ((tiers)-1) * sizeof(struct ff__uses))

struct ff__expected_launch {
    uint32_t id;    /* FF_NONE: none yet */
    uint32_t table; /* FF_NONE: nothing is known of it, or there is no room */
};

/* One device's launches. */
struct ff__sequence {
    uint64_t now;         /* the number of the one that began last */
    uint32_t ahead;       /* so many after it are predicted */
    uint64_t retractions; /* how often predicted uses were retracted */
    uint32_t context[FF__CONTEXT];
    struct ff__expected_launch ring[FF__RING];
};

struct ff__expected {
    struct ff__tables tables;
    struct ff__history history;
    unsigned char *blocks; /* records; see ff__expected_block_at() */
    size_t stride;
    uint32_t tier_count;
    uint32_t limit; /* N */
    uint32_t frees; /* blocks that went */
    struct ff__sequence sequences[FF_TIERS_MAX];
};

static inline struct ff__expected_block *ff__expected_block_at(const struct ff__expected *expected,
                                                               uint32_t block) {
    return (struct ff__expected_block *)(void *)(expected->blocks + block * expected->stride);
}

static inline struct ff__expected_launch *ff__launch_at(struct ff__sequence *sequence,
                                                        uint64_t turn) {
    return &sequence->ring[turn % FF__RING];
}

/* The table of a launch in the ring, or NULL. */
static inline struct ff__block_table *ff__launch_table(struct ff__expected *expected, uint32_t tier,
                                                       uint64_t turn) {
    uint32_t table = ff__launch_at(&expected->sequences[tier], turn)->table;
    return table == FF_NONE ? NULL : &expected->tables.tables[table];
}

/* For what the policy is born with. The tables lie in its arena, of which an eighth is for the
 * history, whose `falls_back` is given. -ENOMEM: that is too little. */
int ff__expected_start(struct ff__expected *expected, const struct ff_policy_env *env,
                       const struct ff__tables_shape *shape, bool falls_back);

/* A kernel begins on the device; what comes after it is predicted anew, or further. False: it was
 * not the one that was predicted. */
bool ff__expected_launch(struct ff__expected *expected, uint32_t tier, uint32_t id);

/* A fault of a launch of the ID, or of any other kernel, after one on `before` (FF_NONE). NULL:
 * there is no room for a table; else the kernel's table. */
struct ff__block_table *ff__expected_fault(struct ff__expected *expected, uint32_t tier,
                                           uint32_t id, uint32_t before, uint32_t block,
                                           struct ff__recorded *recorded);

/* The block's range is gone: nothing that was learned of it holds for what will have its number.
 * Tables of launches to come forget it at once, others when they are used again. */
void ff__expected_forget(struct ff__expected *expected, uint32_t block);

/* The number of the running or a predicted launch of the ID, the first of them; false: there is
 * none. */
bool ff__expected_find(struct ff__expected *expected, uint32_t tier, uint32_t id, uint64_t *turn);

/* Advises what the device lacks of a block, for a launch; the list has room. Returns how many pages
 * that is: 0, too, if the block is busy. */
uint32_t ff__expected_advise(struct ff__expected *expected, const struct ff_view *view,
                             uint32_t tier, uint64_t turn, uint32_t block,
                             struct ff_advice_list *list);

/* The first launch from `turn` on, the running one or a later one, that is expected to use the
 * block; FF_NO_USE: none. */
uint64_t ff__expected_next(const struct ff__expected *expected, uint32_t tier, uint32_t block,
                           uint64_t turn);

#endif
