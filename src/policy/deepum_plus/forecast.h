/* The forecast of `deepum-plus`: which of the expected kernels uses a block next, and where in its
 * order. Ours; the paper's tables alone (deepum/expected.h) tell the kernel, not the place.
 *
 * A row's place in the order of first touch is its step. The running kernel's progress is the step
 * at which it was seen last. From both follows what it still needs, and when. */
#ifndef FF_POLICY_DEEPUM_PLUS_FORECAST_H
#define FF_POLICY_DEEPUM_PLUS_FORECAST_H

#include "policy/deepum/expected.h"

/* A block's uses, if the tables have gaps; zero at first. By block and device, the one of tier 1
 * first. */
struct ff__gap {
    uint32_t last; /* the number of the launch that used it last; 0: none */
    uint32_t next; /* of the one that is expected to use it next; 0: not known */
    uint32_t id;   /* the former's execution ID */
};

/* Bytes of block state, for FF_TIERS_MAX: the records of expected.h, and behind those of all blocks
 * the gaps. */
#define FF__FORECAST_BLOCK_SIZE                                                                    \
    (FF__EXPECTED_BLOCK_SIZE(FF_TIERS_MAX) + (FF_TIERS_MAX - 1) * sizeof(struct ff__gap))

/* Of the running kernel of a device. */
struct ff__kernel_progress {
    uint32_t step;  /* of its table where it was seen last */
    uint32_t front; /* the block there, FF_NONE: not seen yet */
    uint32_t began; /* when, by the tables' clock */
    /* If `leapt` is not 0: so many faults ago, that one among them, it was far behind, there. */
    uint32_t leapt, leapt_from, leapt_front;
};

struct ff__forecast {
    struct ff__expected expected;
    struct ff__gap *gaps;
    uint32_t slack; /* steps behind the last sign of a kernel that it may still use */
    struct ff__kernel_progress progress[FF_TIERS_MAX];
};

/* Whether a kernel is known to use its blocks in the table's order. */
static inline bool ff__table_is_ordered(const struct ff__block_table *table) {
    return table->runs > 0 && table->score >= 0;
}

/* See ff__expected_start(). */
int ff__forecast_start(struct ff__forecast *forecast, const struct ff_policy_env *env,
                       const struct ff__tables_shape *shape, bool falls_back);

/* See ff__expected_launch(). */
bool ff__forecast_launch(struct ff__forecast *forecast, uint32_t tier, uint32_t id);

/* The launch has ended: it uses none of its blocks any more. */
void ff__forecast_end(struct ff__forecast *forecast, uint32_t tier, uint32_t id);

/* See ff__expected_forget(). */
void ff__forecast_forget(struct ff__forecast *forecast, uint32_t block);

/* See ff__expected_fault(). */
struct ff__block_table *ff__forecast_fault(struct ff__forecast *forecast, uint32_t tier,
                                           uint32_t id, uint32_t before, uint32_t block,
                                           struct ff__recorded *recorded);

/* The running kernel has been seen at a row of its table, which it must have. What comes back when
 * it seemed to be over is in use for longer, which is remembered. What has been on no device since
 * the kernel began, and comes when it seemed to be over, has a wrong place in the order and gets
 * that where the kernel is now: of a kernel on many processors, each with its part of the data, one
 * part may have been on the device, and left no faults, when the order was learned. Of random
 * accesses, which have no order, all rows come late: the table's score falls by two, and rises by
 * one for what is in order. A kernel that seems to have leapt ahead, and within a few faults is
 * seen where it had been, has used a single block out of its order. That gets its place there, and
 * the progress is set back. */
void ff__forecast_progress(struct ff__forecast *forecast, uint32_t tier,
                           const struct ff__recorded *recorded);

uint64_t ff__forecast_next(const struct ff__forecast *forecast, uint32_t tier, uint32_t block);
uint64_t ff__forecast_next_launch(const struct ff__forecast *forecast, uint32_t tier,
                                  uint32_t block);
uint64_t ff__forecast_now(const struct ff__forecast *forecast, uint32_t tier);

#endif
