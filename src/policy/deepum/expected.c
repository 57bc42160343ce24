#include "policy/deepum/expected.h"

#include <errno.h>
#include <string.h>

#define HISTORY_SHARE 8u

int ff__expected_start(struct ff__expected *expected, const struct ff_policy_env *env,
                       const struct ff__tables_shape *shape, bool falls_back) {
    size_t size = env->arena_size, history = size / HISTORY_SHARE / 64 * 64;
    if (history < FF__HISTORY_BUCKET * sizeof(struct ff__record))
        return -ENOMEM;
    ff__history_start(&expected->history, env->arena, history, falls_back);
    expected->blocks = env->block_state;
    expected->stride = FF__EXPECTED_BLOCK_SIZE(env->tier_count);
    expected->tier_count = env->tier_count;
    for (uint32_t tier = 0; tier < FF_TIERS_MAX; tier++) {
        struct ff__sequence *sequence = &expected->sequences[tier];
        memset(sequence->context, 0xff, sizeof sequence->context);
        for (uint32_t i = 0; i < FF__RING; i++)
            sequence->ring[i] = (struct ff__expected_launch){FF_NONE, FF_NONE};
    }
    return ff__tables_start(&expected->tables, (unsigned char *)env->arena + history,
                            size - history, shape);
}

/* ---- the ring ---- */

static struct ff__uses *uses_of(const struct ff__expected *expected, uint32_t tier,
                                uint32_t block) {
    return &ff__expected_block_at(expected, block)->uses[tier - 1];
}

static void mark(struct ff__expected *expected, uint32_t tier, uint64_t turn, uint32_t block,
                 bool used) {
    uint64_t bit = UINT64_C(1) << (turn % 64);
    uint64_t *word = &uses_of(expected, tier, block)->launches[turn % FF__RING / 64];
    *word = used ? *word | bit : *word & ~bit;
}

static void mark_all(struct ff__expected *expected, uint32_t tier, uint64_t turn, bool used) {
    const struct ff__tables *tables = &expected->tables;
    const struct ff__block_table *table = ff__launch_table(expected, tier, turn);
    for (uint32_t row = table ? table->first : FF_NONE; row != FF_NONE;) {
        const struct ff__row *at = ff__row_at(tables, table, row);
        mark(expected, tier, turn, at->block, used);
        row = at->after;
    }
}

/* Takes blocks that are gone since `swept` out of a row's successors. */
static void forget_successors(const struct ff__expected *expected, struct ff__row *row,
                              uint32_t swept) {
    uint32_t kept = 0, count = expected->tables.successors;
    for (uint32_t i = 0; i < count && row->successor[i] != FF_NONE; i++)
        if (ff__expected_block_at(expected, row->successor[i])->freed <= swept)
            row->successor[kept++] = row->successor[i];
    while (kept < count)
        row->successor[kept++] = FF_NONE;
}

/* Takes rows of blocks that are gone, and what others name as their successors, out of a table. */
static void sweep(const struct ff__expected *expected, struct ff__block_table *table) {
    const struct ff__tables *tables = &expected->tables;
    if (table->swept == expected->frees)
        return;
    for (uint32_t row = table->first; row != FF_NONE;) {
        struct ff__row *at = ff__row_at(tables, table, row);
        uint32_t after = at->after;
        if (ff__expected_block_at(expected, at->block)->freed > table->swept)
            ff__table_remove(tables, table, row);
        else
            forget_successors(expected, at, table->swept);
        row = after;
    }
    table->swept = expected->frees;
}

static void hold(struct ff__expected *expected, struct ff__expected_launch *launch,
                 struct ff__block_table *table) {
    launch->table = table ? (uint32_t)(table - expected->tables.tables) : FF_NONE;
    if (table)
        table->holds++;
}

static void enter(struct ff__expected *expected, uint32_t tier, uint64_t turn, uint32_t id) {
    struct ff__expected_launch *launch = ff__launch_at(&expected->sequences[tier], turn);
    struct ff__block_table *table = ff__table_find(&expected->tables, id);
    launch->id = id;
    hold(expected, launch, table);
    if (table) {
        sweep(expected, table);
        ff__table_number(&expected->tables, table);
    }
    mark_all(expected, tier, turn, true);
}

static void leave(struct ff__expected *expected, uint32_t tier, uint64_t turn) {
    struct ff__block_table *table = ff__launch_table(expected, tier, turn);
    mark_all(expected, tier, turn, false);
    if (table)
        table->holds--;
    *ff__launch_at(&expected->sequences[tier], turn) =
        (struct ff__expected_launch){FF_NONE, FF_NONE};
}

/* ---- launches ---- */

/* A table that has just been made is that of launches in the ring. */
static struct ff__block_table *make_table(struct ff__expected *expected, uint32_t id) {
    struct ff__block_table *table = ff__table_make(&expected->tables, id);
    if (table)
        table->swept = expected->frees;
    for (uint32_t tier = 1; tier < expected->tier_count && table; tier++) {
        struct ff__sequence *sequence = &expected->sequences[tier];
        for (uint32_t i = 0; i <= sequence->ahead; i++) {
            struct ff__expected_launch *launch = ff__launch_at(sequence, sequence->now + i);
            if (launch->id == id)
                hold(expected, launch, table);
        }
    }
    return table;
}

/* Predicts as far as it goes, each kernel from the four before it. */
static void extend(struct ff__expected *expected, uint32_t tier) {
    struct ff__sequence *sequence = &expected->sequences[tier];
    uint32_t context[FF__CONTEXT];
    memcpy(context, sequence->context, sizeof context);
    for (uint32_t i = 1; i <= sequence->ahead; i++)
        ff__context_push(context, ff__launch_at(sequence, sequence->now + i)->id);
    while (sequence->ahead < expected->limit) {
        uint32_t next = ff__history_predict(&expected->history, context);
        if (next == FF_NONE)
            break;
        enter(expected, tier, sequence->now + ++sequence->ahead, next);
        ff__context_push(context, next);
    }
}

bool ff__expected_launch(struct ff__expected *expected, uint32_t tier, uint32_t id) {
    struct ff__sequence *sequence = &expected->sequences[tier];
    uint64_t next = sequence->now + 1;
    bool right = sequence->ahead > 0 && ff__launch_at(sequence, next)->id == id;
    leave(expected, tier, sequence->now);
    for (uint32_t i = 1; i <= sequence->ahead && !right; i++)
        leave(expected, tier, sequence->now + i);
    ff__history_learn(&expected->history, sequence->context, id);
    ff__context_push(sequence->context, id);
    sequence->now = next;
    sequence->ahead = right ? sequence->ahead - 1 : 0;
    sequence->retractions += !right;
    if (!right)
        enter(expected, tier, next, id);
    struct ff__block_table *table = ff__launch_table(expected, tier, next);
    if (!table)
        table = make_table(expected, id);
    if (table) {
        ff__table_touch(&expected->tables, table);
        ff__table_number(&expected->tables, table);
    }
    extend(expected, tier);
    return right;
}

/* ---- faults ---- */

static void mark_row(struct ff__expected *expected, uint32_t number,
                     const struct ff__recorded *recorded, uint32_t block) {
    for (uint32_t tier = 1; tier < expected->tier_count; tier++) {
        struct ff__sequence *sequence = &expected->sequences[tier];
        for (uint32_t i = 0; i <= sequence->ahead; i++) {
            if (ff__launch_at(sequence, sequence->now + i)->table != number)
                continue;
            mark(expected, tier, sequence->now + i, block, true);
            if (recorded->replaced != FF_NONE) {
                mark(expected, tier, sequence->now + i, recorded->replaced, false);
                sequence->retractions++;
            }
        }
    }
}

struct ff__block_table *ff__expected_fault(struct ff__expected *expected, uint32_t tier,
                                           uint32_t id, uint32_t before, uint32_t block,
                                           struct ff__recorded *recorded) {
    struct ff__expected_launch *running =
        ff__launch_at(&expected->sequences[tier], expected->sequences[tier].now);
    struct ff__block_table *table = running->id == id && running->table != FF_NONE
                                        ? &expected->tables.tables[running->table]
                                        : ff__table_find(&expected->tables, id);
    if (!table)
        table = make_table(expected, id);
    if (!table)
        return NULL;
    sweep(expected, table);
    *recorded = ff__table_record(&expected->tables, table, before, block);
    if (recorded->is_new)
        mark_row(expected, (uint32_t)(table - expected->tables.tables), recorded, block);
    return table;
}

/* ---- blocks that go ---- */

static void forget_in(struct ff__expected *expected, uint32_t tier, uint64_t turn, uint32_t block) {
    struct ff__block_table *table = ff__launch_table(expected, tier, turn);
    uint32_t row = table ? ff__row_find(&expected->tables, table, block) : FF_NONE;
    if (row != FF_NONE)
        ff__table_remove(&expected->tables, table, row);
}

void ff__expected_forget(struct ff__expected *expected, uint32_t block) {
    struct ff__expected_block *seen = ff__expected_block_at(expected, block);
    for (uint32_t tier = 1; tier < expected->tier_count; tier++) {
        struct ff__sequence *sequence = &expected->sequences[tier];
        bool predicted = ff__expected_next(expected, tier, block, sequence->now) != FF_NO_USE;
        for (uint32_t i = 0; i <= sequence->ahead; i++)
            forget_in(expected, tier, sequence->now + i, block);
        sequence->retractions += predicted;
    }
    memset(seen, 0, expected->stride);
    seen->freed = ++expected->frees;
}

/* ---- advice ---- */

bool ff__expected_find(struct ff__expected *expected, uint32_t tier, uint32_t id, uint64_t *turn) {
    struct ff__sequence *sequence = &expected->sequences[tier];
    for (*turn = sequence->now; *turn <= sequence->now + sequence->ahead; ++*turn)
        if (ff__launch_at(sequence, *turn)->id == id)
            return id != FF_NONE;
    return false;
}

uint32_t ff__expected_advise(struct ff__expected *expected, const struct ff_view *view,
                             uint32_t tier, uint64_t turn, uint32_t block,
                             struct ff_advice_list *list) {
    struct ff_mask pages = ff_view_pages(view, block), there = ff_view_expected(view, tier, block);
    pages = ff_mask_minus(&pages, &there);
    uint32_t count = ff_view_facts(view, block)->busy ? 0 : ff_mask_count(&pages);
    if (count > 0)
        list->items[list->count++] =
            (struct ff_advice){.action = FF_BRING,
                               .block = block,
                               .tier = tier,
                               .pages = pages,
                               .launch = ff__launch_at(&expected->sequences[tier], turn)->id};
    return count;
}

/* ---- who uses a block ---- */

uint64_t ff__expected_next(const struct ff__expected *expected, uint32_t tier, uint32_t block,
                           uint64_t turn) {
    const struct ff__sequence *sequence = &expected->sequences[tier];
    const uint64_t *launches = uses_of(expected, tier, block)->launches;
    uint64_t end = sequence->now + sequence->ahead;
    for (; turn <= end; turn = (turn / 64 + 1) * 64) {
        uint64_t bits = launches[turn % FF__RING / 64] >> turn % 64;
        uint64_t first = turn + (bits ? (uint64_t)__builtin_ctzll(bits) : 64);
        if (bits)
            return first <= end ? first : FF_NO_USE;
    }
    return FF_NO_USE;
}
