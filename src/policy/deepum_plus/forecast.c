#include "policy/deepum_plus/forecast.h"

#include <string.h>

#define SCORE 8
#define LEAPT 4u               /* faults after which a leap is believed; ours */
#define FADES 16u              /* parts of what lasts longer, of which an execution takes one */
#define OVER  (UINT32_MAX / 2) /* progress of a kernel that has ended */

int ff__forecast_start(struct ff__forecast *forecast, const struct ff_policy_env *env,
                       const struct ff__tables_shape *shape, bool falls_back) {
    unsigned char *records = env->block_state;
    forecast->gaps =
        (void *)(records + env->block_limit * FF__EXPECTED_BLOCK_SIZE(env->tier_count));
    return ff__expected_start(&forecast->expected, env, shape, falls_back);
}

static struct ff__gap *gap_of(const struct ff__forecast *forecast, uint32_t tier, uint32_t block) {
    return &forecast->gaps[(size_t)block * (forecast->expected.tier_count - 1) + tier - 1];
}

/* ---- where the running kernel is ---- */

static bool is_late(const struct ff__forecast *forecast, const struct ff__kernel_progress *progress,
                    const struct ff__row *at) {
    return at->step + at->lasts + forecast->slack < progress->step;
}

/* The row of a block, FF_NONE if there is none, or no block: rows that are free have that number,
 * too. */
static uint32_t row_of(const struct ff__forecast *forecast, const struct ff__block_table *table,
                       uint32_t block) {
    return block == FF_NONE ? FF_NONE : ff__row_find(&forecast->expected.tables, table, block);
}

/* The place of the row in the order is where the kernel is now. */
static void move_here(struct ff__forecast *forecast, struct ff__kernel_progress *progress,
                      struct ff__block_table *table, uint32_t row) {
    struct ff__row *at = ff__row_at(&forecast->expected.tables, table, row);
    uint32_t front = row_of(forecast, table, progress->front);
    if (front == row)
        return;
    ff__table_move(&forecast->expected.tables, table, row, front);
    at->step = progress->step;
    at->lasts = 0;
    progress->front = at->block;
}

/* The row has come when it seemed to be over. Once more in this execution, and it lasts that long;
 * else its place is wrong. */
static void come_late(struct ff__forecast *forecast, struct ff__kernel_progress *progress,
                      struct ff__block_table *table, const struct ff__recorded *recorded) {
    struct ff__row *at = ff__row_at(&forecast->expected.tables, table, recorded->row);
    table->score -= table->score > 1 - SCORE ? 2 : 0;
    if (recorded->used > progress->began)
        at->lasts = progress->step - at->step;
    else
        move_here(forecast, progress, table, recorded->row);
}

static void watch_leap(struct ff__forecast *forecast, struct ff__kernel_progress *progress,
                       struct ff__block_table *table, const struct ff__row *at) {
    if (progress->leapt == 0) {
        if (at->step <= progress->step + forecast->slack)
            return;
        progress->leapt_from = progress->step;
        progress->leapt_front = progress->front;
    } else if (is_late(forecast, progress, at) &&
               at->step + at->lasts + forecast->slack >= progress->leapt_from) {
        uint32_t leaper = row_of(forecast, table, progress->front);
        progress->step = progress->leapt_from;
        progress->front = progress->leapt_front;
        if (leaper != FF_NONE)
            move_here(forecast, progress, table, leaper);
        progress->leapt = LEAPT;
    }
    progress->leapt = progress->leapt < LEAPT ? progress->leapt + 1 : 0;
}

void ff__forecast_progress(struct ff__forecast *forecast, uint32_t tier,
                           const struct ff__recorded *recorded) {
    struct ff__expected *expected = &forecast->expected;
    struct ff__kernel_progress *progress = &forecast->progress[tier];
    struct ff__block_table *table = ff__launch_table(expected, tier, expected->sequences[tier].now);
    struct ff__row *at = ff__row_at(&forecast->expected.tables, table, recorded->row);
    if (progress->step == OVER)
        return;
    watch_leap(forecast, progress, table, at);
    if (is_late(forecast, progress, at)) {
        come_late(forecast, progress, table, recorded);
        return;
    }
    if (at->step + forecast->slack >= progress->step)
        table->score += table->score < SCORE;
    if (at->step < progress->step)
        return;
    progress->step = at->step;
    progress->front = at->block;
}

/* What lasted longer than its place says may not always: it is forgotten unless it is seen again.
 */
static void fade(const struct ff__forecast *forecast, const struct ff__block_table *table) {
    for (uint32_t row = table->first; row != FF_NONE;) {
        struct ff__row *at = ff__row_at(&forecast->expected.tables, table, row);
        at->lasts -= (at->lasts + FADES - 1) / FADES;
        row = at->after;
    }
}

/* A launch that has ended used the block of this row: it tells how long that was after the launch
 * that used it before, and, with what was learned so, when it will be used again. */
static void learn_gap(struct ff__forecast *forecast, uint32_t tier, uint32_t id,
                      struct ff__row *row) {
    struct ff__tables *tables = &forecast->expected.tables;
    struct ff__gap *uses = gap_of(forecast, tier, row->block);
    uint32_t now = (uint32_t)forecast->expected.sequences[tier].now, last = uses->last;
    uint32_t gap = *ff__row_gap(tables, row);
    const struct ff__block_table *before = last > 0 ? ff__table_find(tables, uses->id) : NULL;
    uint32_t at = before ? ff__row_find(tables, before, row->block) : FF_NONE;
    if (at != FF_NONE)
        *ff__row_gap(tables, ff__row_at(tables, before, at)) = now - last;
    uses->last = now;
    uses->next = gap > 0 ? now + gap : 0;
    uses->id = id;
}

static void learn_gaps(struct ff__forecast *forecast, uint32_t tier,
                       const struct ff__block_table *table) {
    const struct ff__tables *tables = &forecast->expected.tables;
    for (uint32_t row = tables->gaps ? table->first : FF_NONE; row != FF_NONE;) {
        struct ff__row *at = ff__row_at(tables, table, row);
        learn_gap(forecast, tier, table->key - 1, at);
        row = at->after;
    }
}

static void finish_running(struct ff__forecast *forecast, uint32_t tier) {
    struct ff__expected *expected = &forecast->expected;
    struct ff__block_table *table = ff__launch_table(expected, tier, expected->sequences[tier].now);
    if (!table)
        return;
    table->runs++;
    fade(forecast, table);
    learn_gaps(forecast, tier, table);
    ff__table_number(&expected->tables, table);
}

/* Nothing is known of the blocks that a kernel uses in its first run, and resident blocks leave no
 * faults to learn from. As long as it runs, nothing is predicted: blocks leave, fault again, and
 * its table becomes complete. */
static bool is_trusted(const struct ff__forecast *forecast, const struct ff__sequence *sequence) {
    uint32_t table = sequence->ring[sequence->now % FF__RING].table;
    return table != FF_NONE && forecast->expected.tables.tables[table].runs > 0;
}

bool ff__forecast_launch(struct ff__forecast *forecast, uint32_t tier, uint32_t id) {
    struct ff__expected *expected = &forecast->expected;
    finish_running(forecast, tier);
    forecast->progress[tier] =
        (struct ff__kernel_progress){.front = FF_NONE, .began = expected->tables.clock};
    bool right = ff__expected_launch(expected, tier, id);
    expected->sequences[tier].retractions +=
        right && !is_trusted(forecast, &expected->sequences[tier]);
    return right;
}

void ff__forecast_end(struct ff__forecast *forecast, uint32_t tier, uint32_t id) {
    struct ff__sequence *sequence = &forecast->expected.sequences[tier];
    if (ff__launch_at(sequence, sequence->now)->id == id)
        forecast->progress[tier].step = OVER;
}

/* ---- faults, and blocks that go ---- */

struct ff__block_table *ff__forecast_fault(struct ff__forecast *forecast, uint32_t tier,
                                           uint32_t id, uint32_t before, uint32_t block,
                                           struct ff__recorded *recorded) {
    struct ff__expected *expected = &forecast->expected;
    struct ff__block_table *table = ff__expected_fault(expected, tier, id, before, block, recorded);
    if (!table || !recorded->is_new || table->runs == 0)
        return table;
    if (recorded->was_numbered && recorded->replaced == FF_NONE)
        ff__table_number_new(&expected->tables, table, recorded->row);
    else
        ff__table_number(&expected->tables, table);
    return table;
}

void ff__forecast_forget(struct ff__forecast *forecast, uint32_t block) {
    struct ff__expected *expected = &forecast->expected;
    for (uint32_t tier = 1; tier < expected->tier_count; tier++) {
        expected->sequences[tier].retractions +=
            ff__forecast_next(forecast, tier, block) != FF_NO_USE;
        *gap_of(forecast, tier, block) = (struct ff__gap){0};
    }
    ff__expected_forget(expected, block);
}

/* ---- the forecast ---- */

/* Of the running kernel: whether it is done with the block, and else at which step it is needed,
 * which is at once if it has been in use and is used again. */
static bool is_over(const struct ff__forecast *forecast, const struct ff__kernel_progress *progress,
                    const struct ff__row *row, uint32_t *step) {
    if (progress->step == OVER || is_late(forecast, progress, row))
        return true;
    *step = row->step < progress->step ? progress->step : row->step;
    return false;
}

/* Whether the launch, whose table has the block, uses it from now on; a kernel that keeps no order
 * may use it at any time, from its start to its end. */
static bool is_used(const struct ff__forecast *forecast, uint32_t tier, uint64_t turn,
                    uint32_t block, uint32_t *step) {
    const struct ff__sequence *sequence = &forecast->expected.sequences[tier];
    const struct ff__kernel_progress *progress = &forecast->progress[tier];
    const struct ff__tables *tables = &forecast->expected.tables;
    const struct ff__block_table *table = &tables->tables[sequence->ring[turn % FF__RING].table];
    bool running = turn == sequence->now;
    *step = 0;
    if (!ff__table_is_ordered(table)) {
        *step = running && progress->step != OVER ? progress->step : 0;
        return !running || progress->step != OVER;
    }
    uint32_t number = ff__row_find(tables, table, block);
    if (number == FF_NONE)
        return false;
    const struct ff__row *row = ff__row_at(tables, table, number);
    *step = row->step;
    return !running || !is_over(forecast, progress, row, step);
}

/* Of the running launch it is not enough that its table has the block. */
uint64_t ff__forecast_next_launch(const struct ff__forecast *forecast, uint32_t tier,
                                  uint32_t block) {
    const struct ff__expected *expected = &forecast->expected;
    const struct ff__sequence *sequence = &expected->sequences[tier];
    uint32_t step;
    if (!is_trusted(forecast, sequence))
        return FF_NO_USE;
    uint64_t next = ff__expected_next(expected, tier, block, sequence->now);
    if (next == sequence->now && !is_used(forecast, tier, next, block, &step))
        next = ff__expected_next(expected, tier, block, sequence->now + 1);
    return next;
}

/* When a block that none of the predicted launches uses is used again, if it comes as it came
 * before. */
static uint64_t next_beyond(const struct ff__forecast *forecast, uint32_t tier, uint32_t block) {
    const struct ff__sequence *sequence = &forecast->expected.sequences[tier];
    uint64_t next = gap_of(forecast, tier, block)->next;
    return next > sequence->now + sequence->ahead ? next << 32 : FF_NO_USE;
}

uint64_t ff__forecast_next(const struct ff__forecast *forecast, uint32_t tier, uint32_t block) {
    uint64_t launch = ff__forecast_next_launch(forecast, tier, block);
    uint32_t step;
    if (launch == FF_NO_USE)
        return next_beyond(forecast, tier, block);
    is_used(forecast, tier, launch, block, &step);
    return launch << 32 | step;
}

uint64_t ff__forecast_now(const struct ff__forecast *forecast, uint32_t tier) {
    uint32_t step = forecast->progress[tier].step;
    step = step > forecast->slack ? step - forecast->slack : 0;
    return forecast->expected.sequences[tier].now << 32 | step;
}
