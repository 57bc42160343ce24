#include "policy/deepum/forecast.h"

#include <errno.h>
#include <string.h>

#define HISTORY_SHARE 8u
#define SCORE         8
#define LEAPT         4u  /* faults after which a leap is believed; ours */
#define FADES         16u /* parts of what lasts longer, of which an execution takes one */
#define OVER          (UINT32_MAX / 2) /* progress of a kernel that has ended */

int ff__forecast_start(struct ff__forecast *forecast, const struct ff_policy_env *env,
                       const struct ff__tables_shape *shape) {
    size_t size = env->arena_size, history = size / HISTORY_SHARE / 64 * 64;
    if (history < FF__HISTORY_BUCKET * sizeof(struct ff__record))
        return -ENOMEM;
    ff__history_start(&forecast->history, env->arena, history);
    forecast->blocks = env->block_state;
    forecast->stride = FF__FORECAST_BLOCK_SIZE(env->tier_count);
    forecast->tier_count = env->tier_count;
    for (uint32_t tier = 0; tier < FF_TIERS_MAX; tier++) {
        struct ff__sequence *sequence = &forecast->sequences[tier];
        memset(sequence->context, 0xff, sizeof sequence->context);
        for (uint32_t i = 0; i < FF__RING; i++)
            sequence->ring[i] = (struct ff__launch){FF_NONE, FF_NONE};
    }
    return ff__tables_start(&forecast->tables, (unsigned char *)env->arena + history,
                            size - history, shape);
}

/* ---- the ring ---- */

static struct ff__uses *uses_of(const struct ff__forecast *forecast, uint32_t tier,
                                uint32_t block) {
    return &ff__forecast_block_at(forecast, block)->uses[tier - 1];
}

static void mark(struct ff__forecast *forecast, uint32_t tier, uint64_t turn, uint32_t block,
                 bool used) {
    uint64_t bit = UINT64_C(1) << (turn % 64);
    uint64_t *word = &uses_of(forecast, tier, block)->launches[turn % FF__RING / 64];
    *word = used ? *word | bit : *word & ~bit;
}

static void mark_all(struct ff__forecast *forecast, uint32_t tier, uint64_t turn, bool used) {
    const struct ff__tables *tables = &forecast->tables;
    const struct ff__table *table = ff__launch_table(forecast, tier, turn);
    for (uint32_t row = table ? table->first : FF_NONE; row != FF_NONE;) {
        const struct ff__row *at = ff__row_at(tables, table, row);
        mark(forecast, tier, turn, at->block, used);
        row = at->after;
    }
}

/* Takes blocks that are gone since `swept` out of a row's successors. */
static void forget_successors(const struct ff__forecast *forecast, struct ff__row *row,
                              uint32_t swept) {
    uint32_t kept = 0, count = forecast->tables.successors;
    for (uint32_t i = 0; i < count && row->successor[i] != FF_NONE; i++)
        if (ff__forecast_block_at(forecast, row->successor[i])->freed <= swept)
            row->successor[kept++] = row->successor[i];
    while (kept < count)
        row->successor[kept++] = FF_NONE;
}

/* Takes rows of blocks that are gone, and what others name as their successors, out of a table. */
static void sweep(const struct ff__forecast *forecast, struct ff__table *table) {
    const struct ff__tables *tables = &forecast->tables;
    if (table->swept == forecast->frees)
        return;
    for (uint32_t row = table->first; row != FF_NONE;) {
        struct ff__row *at = ff__row_at(tables, table, row);
        uint32_t after = at->after;
        if (ff__forecast_block_at(forecast, at->block)->freed > table->swept)
            ff__table_remove(tables, table, row);
        else
            forget_successors(forecast, at, table->swept);
        row = after;
    }
    table->swept = forecast->frees;
}

static void hold(struct ff__forecast *forecast, struct ff__launch *launch,
                 struct ff__table *table) {
    launch->table = table ? (uint32_t)(table - forecast->tables.tables) : FF_NONE;
    if (table)
        table->holds++;
}

static void enter(struct ff__forecast *forecast, uint32_t tier, uint64_t turn, uint32_t id) {
    struct ff__launch *launch = ff__launch_at(&forecast->sequences[tier], turn);
    struct ff__table *table = ff__table_find(&forecast->tables, id);
    launch->id = id;
    hold(forecast, launch, table);
    if (table) {
        sweep(forecast, table);
        ff__table_number(&forecast->tables, table);
    }
    mark_all(forecast, tier, turn, true);
}

static void leave(struct ff__forecast *forecast, uint32_t tier, uint64_t turn) {
    struct ff__table *table = ff__launch_table(forecast, tier, turn);
    mark_all(forecast, tier, turn, false);
    if (table)
        table->holds--;
    *ff__launch_at(&forecast->sequences[tier], turn) = (struct ff__launch){FF_NONE, FF_NONE};
}

/* ---- launches ---- */

/* A table that has just been made is that of launches in the ring. */
static struct ff__table *make_table(struct ff__forecast *forecast, uint32_t id) {
    struct ff__table *table = ff__table_make(&forecast->tables, id);
    if (table)
        table->swept = forecast->frees;
    for (uint32_t tier = 1; tier < forecast->tier_count && table; tier++) {
        struct ff__sequence *sequence = &forecast->sequences[tier];
        for (uint32_t i = 0; i <= sequence->ahead; i++) {
            struct ff__launch *launch = ff__launch_at(sequence, sequence->now + i);
            if (launch->id == id)
                hold(forecast, launch, table);
        }
    }
    return table;
}

/* Predicts as far as it goes, each kernel from the four before it. */
static void extend(struct ff__forecast *forecast, uint32_t tier) {
    struct ff__sequence *sequence = &forecast->sequences[tier];
    uint32_t context[FF__CONTEXT];
    memcpy(context, sequence->context, sizeof context);
    for (uint32_t i = 1; i <= sequence->ahead; i++)
        ff__context_push(context, ff__launch_at(sequence, sequence->now + i)->id);
    while (sequence->ahead < forecast->limit) {
        uint32_t next = ff__history_predict(&forecast->history, context);
        if (next == FF_NONE)
            break;
        enter(forecast, tier, sequence->now + ++sequence->ahead, next);
        ff__context_push(context, next);
    }
}

static bool is_late(const struct ff__forecast *forecast, const struct ff__sequence *sequence,
                    const struct ff__row *at) {
    return at->step + at->lasts + forecast->slack < sequence->progress;
}

/* The row of a block, FF_NONE if there is none, or no block: rows that are free have that number, too. */
static uint32_t row_of(const struct ff__forecast *forecast, const struct ff__table *table,
                       uint32_t block) {
    return block == FF_NONE ? FF_NONE : ff__row_find(&forecast->tables, table, block);
}

/* The place of the row in the order is where the kernel is now. */
static void move_here(struct ff__forecast *forecast, struct ff__sequence *sequence,
                      struct ff__table *table, uint32_t row) {
    struct ff__row *at = ff__row_at(&forecast->tables, table, row);
    uint32_t front = row_of(forecast, table, sequence->front);
    if (front == row)
        return;
    ff__table_move(&forecast->tables, table, row, front);
    at->step = sequence->progress;
    at->lasts = 0;
    sequence->front = at->block;
}

/* The row has come when it seemed to be over. Once more in this execution, and it lasts that long; else
 * its place is wrong. */
static void come_late(struct ff__forecast *forecast, struct ff__sequence *sequence,
                      struct ff__table *table, const struct ff__recorded *recorded) {
    struct ff__row *at = ff__row_at(&forecast->tables, table, recorded->row);
    table->score -= table->score > 1 - SCORE ? 2 : 0;
    if (recorded->used > sequence->began)
        at->lasts = sequence->progress - at->step;
    else
        move_here(forecast, sequence, table, recorded->row);
}

static void watch_leap(struct ff__forecast *forecast, struct ff__sequence *sequence,
                       struct ff__table *table, const struct ff__row *at) {
    if (sequence->leapt == 0) {
        if (at->step <= sequence->progress + forecast->slack)
            return;
        sequence->leapt_from = sequence->progress;
        sequence->leapt_front = sequence->front;
    } else if (is_late(forecast, sequence, at) &&
               at->step + at->lasts + forecast->slack >= sequence->leapt_from) {
        uint32_t leaper = row_of(forecast, table, sequence->front);
        sequence->progress = sequence->leapt_from;
        sequence->front = sequence->leapt_front;
        if (leaper != FF_NONE)
            move_here(forecast, sequence, table, leaper);
        sequence->leapt = LEAPT;
    }
    sequence->leapt = sequence->leapt < LEAPT ? sequence->leapt + 1 : 0;
}

void ff__forecast_progress(struct ff__forecast *forecast, uint32_t tier,
                           const struct ff__recorded *recorded) {
    struct ff__sequence *sequence = &forecast->sequences[tier];
    struct ff__table *table = ff__launch_table(forecast, tier, sequence->now);
    struct ff__row *at = ff__row_at(&forecast->tables, table, recorded->row);
    if (sequence->progress == OVER)
        return;
    watch_leap(forecast, sequence, table, at);
    if (is_late(forecast, sequence, at)) {
        come_late(forecast, sequence, table, recorded);
        return;
    }
    if (at->step + forecast->slack >= sequence->progress)
        table->score += table->score < SCORE;
    if (at->step < sequence->progress)
        return;
    sequence->progress = at->step;
    sequence->front = at->block;
}

/* What lasted longer than its place says may not always: it is forgotten unless it is seen again. */
static void fade(const struct ff__forecast *forecast, const struct ff__table *table) {
    for (uint32_t row = table->first; row != FF_NONE;) {
        struct ff__row *at = ff__row_at(&forecast->tables, table, row);
        at->lasts -= (at->lasts + FADES - 1) / FADES;
        row = at->after;
    }
}

/* A launch that has ended used the block of this row: it tells how long that was after the launch that
 * used it before, and, with what was learned so, when it will be used again. */
static void learn_gap(struct ff__forecast *forecast, uint32_t tier, uint32_t id,
                      struct ff__row *row) {
    struct ff__tables *tables = &forecast->tables;
    struct ff__uses *uses = uses_of(forecast, tier, row->block);
    uint32_t now = (uint32_t)forecast->sequences[tier].now, last = uses->last;
    uint32_t gap = *ff__row_gap(tables, row);
    const struct ff__table *before = last > 0 ? ff__table_find(tables, uses->id) : NULL;
    uint32_t at = before ? ff__row_find(tables, before, row->block) : FF_NONE;
    if (at != FF_NONE)
        *ff__row_gap(tables, ff__row_at(tables, before, at)) = now - last;
    uses->last = now;
    uses->next = gap > 0 ? now + gap : 0;
    uses->id = id;
}

static void learn_gaps(struct ff__forecast *forecast, uint32_t tier,
                       const struct ff__table *table) {
    const struct ff__tables *tables = &forecast->tables;
    for (uint32_t row = tables->gaps ? table->first : FF_NONE; row != FF_NONE;) {
        struct ff__row *at = ff__row_at(tables, table, row);
        learn_gap(forecast, tier, table->key - 1, at);
        row = at->after;
    }
}

static void finish_running(struct ff__forecast *forecast, uint32_t tier) {
    struct ff__sequence *sequence = &forecast->sequences[tier];
    struct ff__table *table = ff__launch_table(forecast, tier, sequence->now);
    if (table) {
        table->runs++;
        fade(forecast, table);
        learn_gaps(forecast, tier, table);
        ff__table_number(&forecast->tables, table);
    }
    leave(forecast, tier, sequence->now);
}

/* Nothing is known of the blocks that a kernel uses in its first run, and resident blocks leave no faults to learn
 * from. As long as it runs, nothing is predicted: blocks leave, fault again, and its table becomes complete. */
static bool is_trusted(const struct ff__forecast *forecast, const struct ff__sequence *sequence) {
    uint32_t table = sequence->ring[sequence->now % FF__RING].table;
    return table != FF_NONE && forecast->tables.tables[table].runs > 0;
}

bool ff__forecast_launch(struct ff__forecast *forecast, uint32_t tier, uint32_t id) {
    struct ff__sequence *sequence = &forecast->sequences[tier];
    uint64_t next = sequence->now + 1;
    bool right = sequence->ahead > 0 && ff__launch_at(sequence, next)->id == id;
    finish_running(forecast, tier);
    for (uint32_t i = 1; i <= sequence->ahead && !right; i++)
        leave(forecast, tier, sequence->now + i);
    ff__history_learn(&forecast->history, sequence->context, id);
    ff__context_push(sequence->context, id);
    sequence->now = next;
    sequence->ahead = right ? sequence->ahead - 1 : 0;
    sequence->progress = 0;
    sequence->front = FF_NONE;
    sequence->leapt = 0;
    sequence->began = forecast->tables.clock;
    if (!right)
        enter(forecast, tier, next, id);
    struct ff__table *table = ff__launch_table(forecast, tier, next);
    if (!table)
        table = make_table(forecast, id);
    if (table) {
        ff__table_touch(&forecast->tables, table);
        ff__table_number(&forecast->tables, table);
    }
    extend(forecast, tier);
    sequence->retractions += !right || !is_trusted(forecast, sequence);
    return right;
}

void ff__forecast_end(struct ff__forecast *forecast, uint32_t tier, uint32_t id) {
    struct ff__sequence *sequence = &forecast->sequences[tier];
    if (ff__launch_at(sequence, sequence->now)->id == id)
        sequence->progress = OVER;
}

/* ---- blocks that go ---- */

static void forget_in(struct ff__forecast *forecast, uint32_t tier, uint64_t turn, uint32_t block) {
    struct ff__table *table = ff__launch_table(forecast, tier, turn);
    uint32_t row = table ? ff__row_find(&forecast->tables, table, block) : FF_NONE;
    if (row != FF_NONE)
        ff__table_remove(&forecast->tables, table, row);
}

void ff__forecast_forget(struct ff__forecast *forecast, uint32_t block) {
    struct ff__forecast_block *seen = ff__forecast_block_at(forecast, block);
    for (uint32_t tier = 1; tier < forecast->tier_count; tier++) {
        struct ff__sequence *sequence = &forecast->sequences[tier];
        bool predicted = ff__forecast_next(forecast, tier, block) != FF_NO_USE;
        for (uint32_t i = 0; i <= sequence->ahead; i++)
            forget_in(forecast, tier, sequence->now + i, block);
        sequence->retractions += predicted;
    }
    memset(seen, 0, forecast->stride);
    seen->freed = ++forecast->frees;
}

/* ---- faults ---- */

static void mark_row(struct ff__forecast *forecast, uint32_t number,
                     const struct ff__recorded *recorded, uint32_t block) {
    for (uint32_t tier = 1; tier < forecast->tier_count; tier++) {
        struct ff__sequence *sequence = &forecast->sequences[tier];
        for (uint32_t i = 0; i <= sequence->ahead; i++) {
            if (ff__launch_at(sequence, sequence->now + i)->table != number)
                continue;
            mark(forecast, tier, sequence->now + i, block, true);
            if (recorded->replaced != FF_NONE) {
                mark(forecast, tier, sequence->now + i, recorded->replaced, false);
                sequence->retractions++;
            }
        }
    }
}

bool ff__forecast_fault(struct ff__forecast *forecast, uint32_t tier, uint32_t id, uint32_t before,
                        uint32_t block, struct ff__recorded *recorded) {
    struct ff__launch *running =
        ff__launch_at(&forecast->sequences[tier], forecast->sequences[tier].now);
    struct ff__table *table = running->id == id && running->table != FF_NONE
                                  ? &forecast->tables.tables[running->table]
                                  : ff__table_find(&forecast->tables, id);
    if (!table)
        table = make_table(forecast, id);
    if (!table)
        return false;
    sweep(forecast, table);
    bool is_numbered = !table->unnumbered;
    *recorded = ff__table_record(&forecast->tables, table, before, block);
    if (recorded->is_new && table->runs > 0 && is_numbered && recorded->replaced == FF_NONE)
        ff__table_number_new(&forecast->tables, table, recorded->row);
    else if (recorded->is_new && table->runs > 0)
        ff__table_number(&forecast->tables, table);
    if (recorded->is_new)
        mark_row(forecast, (uint32_t)(table - forecast->tables.tables), recorded, block);
    return true;
}

/* ---- the forecast ---- */

/* Of the running kernel: whether it is done with the block, and else at which step it is needed, which
 * is at once if it has been in use and is used again. */
static bool is_over(const struct ff__forecast *forecast, const struct ff__sequence *sequence,
                    const struct ff__row *row, uint32_t *step) {
    if (sequence->progress == OVER || row->step + row->lasts + forecast->slack < sequence->progress)
        return true;
    *step = row->step < sequence->progress ? sequence->progress : row->step;
    return false;
}

/* Whether the launch uses the block from now on; a kernel that keeps no order may use it at any time,
 * from its start to its end. */
static bool is_used(const struct ff__forecast *forecast, const struct ff__sequence *sequence,
                    uint64_t turn, uint32_t block, uint32_t *step) {
    const struct ff__table *table = &forecast->tables.tables[sequence->ring[turn % FF__RING].table];
    bool running = turn == sequence->now;
    *step = 0;
    if (!ff__table_is_ordered(table)) {
        *step = running && sequence->progress != OVER ? sequence->progress : 0;
        return !running || sequence->progress != OVER;
    }
    uint32_t number = ff__row_find(&forecast->tables, table, block);
    if (number == FF_NONE)
        return false;
    const struct ff__row *row = ff__row_at(&forecast->tables, table, number);
    *step = row->step;
    return !running || !is_over(forecast, sequence, row, step);
}

/* The first launch from `turn` to `end` that uses the block, of those whose bits share a word with that
 * of `turn`. A bit tells that the table has the block; of the running launch's that is not enough. */
static uint64_t next_in_word(const struct ff__forecast *forecast,
                             const struct ff__sequence *sequence, uint32_t block, uint64_t bits,
                             uint64_t turn, uint64_t end) {
    uint32_t step;
    for (bits >>= turn % 64; bits; bits &= bits - 1) {
        uint64_t at = turn + (uint64_t)__builtin_ctzll(bits);
        if (at > end)
            break;
        if (at > sequence->now || is_used(forecast, sequence, at, block, &step))
            return at;
    }
    return FF_NO_USE;
}

uint64_t ff__forecast_next_launch(const struct ff__forecast *forecast, uint32_t tier,
                                  uint32_t block) {
    const struct ff__sequence *sequence = &forecast->sequences[tier];
    const uint64_t *launches = uses_of(forecast, tier, block)->launches;
    uint64_t end = sequence->now + sequence->ahead, next = FF_NO_USE;
    if (!is_trusted(forecast, sequence))
        return FF_NO_USE;
    for (uint64_t turn = sequence->now; turn <= end && next == FF_NO_USE;
         turn = (turn / 64 + 1) * 64)
        next = next_in_word(forecast, sequence, block, launches[turn % FF__RING / 64], turn, end);
    return next;
}

/* When a block that none of the predicted launches uses is used again, if it comes as it came before. */
static uint64_t next_beyond(const struct ff__forecast *forecast, uint32_t tier, uint32_t block) {
    const struct ff__sequence *sequence = &forecast->sequences[tier];
    uint64_t next = uses_of(forecast, tier, block)->next;
    return next > sequence->now + sequence->ahead ? next << 32 : FF_NO_USE;
}

uint64_t ff__forecast_next(const struct ff__forecast *forecast, uint32_t tier, uint32_t block) {
    uint64_t launch = ff__forecast_next_launch(forecast, tier, block);
    uint32_t step;
    if (launch == FF_NO_USE)
        return next_beyond(forecast, tier, block);
    is_used(forecast, &forecast->sequences[tier], launch, block, &step);
    return launch << 32 | step;
}

uint64_t ff__forecast_now(const struct ff__forecast *forecast, uint32_t tier) {
    const struct ff__sequence *sequence = &forecast->sequences[tier];
    uint32_t step = sequence->progress > forecast->slack ? sequence->progress - forecast->slack : 0;
    return sequence->now << 32 | step;
}
