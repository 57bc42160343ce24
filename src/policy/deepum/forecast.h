/* The forecast that DeepUM's two kinds of tables make: the next N kernels of each device, which of them will use
 * each block, and in which order.
 *
 * A device's launches are numbered. Of the running one and the predicted ones after it, each block
 * keeps a bit in a ring of 256, so that a block's next use is a look-up of four words, whatever their
 * number. A kernel's blocks are marked when it is predicted and unmarked when it is over. */
#ifndef FF_POLICY_DEEPUM_FORECAST_H
#define FF_POLICY_DEEPUM_FORECAST_H

#include "policy/deepum/block_table.h"
#include "policy/deepum/history.h"

#include <farfault/policy.h>

#define FF__RING       256u
#define FF__RING_WORDS (FF__RING / 64)
#define FF__LOOK_MAX   (FF__RING - 2) /* the greatest N */

/* What is known of a block's uses on one device. */
struct ff__uses {
    /* bit n: used by the launch whose number is n mod FF__RING */
    uint64_t launches[FF__RING_WORDS];
    /* only if the tables have gaps: the number of the launch that used it last, 0 for none, of the one
     * that is expected to use it next, 0 for not known, and the former's execution ID */
    uint32_t last, next, id;
};

/* By block, zero at first. */
struct ff__forecast_block {
    struct ff_mask touched; /* pages that have ever faulted */
    uint32_t freed;         /* which of the blocks that went it was, when it went last; 0: never */
    struct ff__uses uses[]; /* by device: the one of tier 1 first */
};

/* Bytes of a record where there are so many tiers. Block state is provided for FF_TIERS_MAX; records lie in the front part
 * of it, and what is behind them is never touched and costs nothing. */
#define FF__FORECAST_BLOCK_SIZE(tiers)                                                             \
    ((offsetof(struct ff__forecast_block, uses) + ((tiers)-1) * sizeof(struct ff__uses) +          \
      sizeof(struct ff_mask) - 1) /                                                                \
     sizeof(struct ff_mask) * sizeof(struct ff_mask))

struct ff__launch {
    uint32_t id;    /* FF_NONE: none yet */
    uint32_t table; /* FF_NONE: nothing is known of it, or there is no room */
};

/* One device's launches. */
struct ff__sequence {
    uint64_t now;         /* the number of the one that began last */
    uint32_t ahead;       /* so many after it are predicted */
    uint32_t progress;    /* the step of its table where it was seen last */
    uint32_t front;       /* the block there, FF_NONE: not seen yet */
    uint32_t began;       /* when, by the tables' clock */
    uint64_t retractions; /* how often predicted uses were retracted */
    /* If `leapt` is not 0: so many faults ago, that one among them, it was far behind, there. */
    uint32_t leapt, leapt_from, leapt_front;
    uint32_t context[FF__CONTEXT];
    struct ff__launch ring[FF__RING];
};

struct ff__forecast {
    struct ff__tables tables;
    struct ff__history history;
    unsigned char *blocks; /* records; see ff__forecast_block_at() */
    size_t stride;
    uint32_t tier_count;
    uint32_t limit; /* N */
    uint32_t slack; /* steps behind the last sign of a kernel that it may still use */
    uint32_t frees; /* blocks that went */
    struct ff__sequence sequences[FF_TIERS_MAX];
};

static inline struct ff__forecast_block *ff__forecast_block_at(const struct ff__forecast *forecast,
                                                               uint32_t block) {
    return (struct ff__forecast_block *)(void *)(forecast->blocks + block * forecast->stride);
}

static inline struct ff__launch *ff__launch_at(struct ff__sequence *sequence, uint64_t turn) {
    return &sequence->ring[turn % FF__RING];
}

/* The table of a launch in the ring, or NULL. */
static inline struct ff__table *ff__launch_table(struct ff__forecast *forecast, uint32_t tier,
                                                 uint64_t turn) {
    uint32_t table = ff__launch_at(&forecast->sequences[tier], turn)->table;
    return table == FF_NONE ? NULL : &forecast->tables.tables[table];
}

/* Whether a kernel is known to use its blocks in the table's order. */
static inline bool ff__table_is_ordered(const struct ff__table *table) {
    return table->runs > 0 && table->score >= 0;
}

/* For what the policy is born with. The tables lie in its arena, of which an eighth is for the history. -ENOMEM: that is
 * too little. */
int ff__forecast_start(struct ff__forecast *forecast, const struct ff_policy_env *env,
                       const struct ff__tables_shape *shape);

/* A kernel begins on the device; what comes after it is predicted anew, or further. False: it was not
 * the one that was predicted. */
bool ff__forecast_launch(struct ff__forecast *forecast, uint32_t tier, uint32_t id);

/* The block's range is gone: nothing that was learned of it holds for what will have its number. Tables of launches to
 * come forget it at once, others when they are used again. */
void ff__forecast_forget(struct ff__forecast *forecast, uint32_t block);

/* It has ended: it uses none of its blocks any more. */
void ff__forecast_end(struct ff__forecast *forecast, uint32_t tier, uint32_t id);

/* A fault of a launch of the ID, or of any other kernel, after one on `before` (FF_NONE). False: there
 * is no room for a table. */
bool ff__forecast_fault(struct ff__forecast *forecast, uint32_t tier, uint32_t id, uint32_t before,
                        uint32_t block, struct ff__recorded *recorded);

/* The running kernel has been seen at a row of its table, which it must have. What comes back when it
 * seemed to be over is in use for longer, which is remembered. What has been on no device since the
 * kernel began, and comes when it seemed to be over, has a wrong place in the order and gets that where
 * the kernel is now: of a kernel on many processors, each with its part of the data, one part may have
 * been on the device, and left no faults, when the order was learned. Of random accesses, which have no
 * order, all rows come late: the table's score falls by two, and rises by one for what is in order.
 * A kernel that seems to have leapt ahead, and within a few faults is seen where it had been, has used a
 * single block out of its order. That gets its place there, and the progress is taken back. */
void ff__forecast_progress(struct ff__forecast *forecast, uint32_t tier,
                           const struct ff__recorded *recorded);

uint64_t ff__forecast_next(const struct ff__forecast *forecast, uint32_t tier, uint32_t block);
uint64_t ff__forecast_next_launch(const struct ff__forecast *forecast, uint32_t tier,
                                  uint32_t block);
uint64_t ff__forecast_now(const struct ff__forecast *forecast, uint32_t tier);

#endif
