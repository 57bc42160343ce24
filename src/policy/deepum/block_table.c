#include "policy/deepum/block_table.h"

#include <farfault/policy.h>

#include <errno.h>

#define UNIT_SETS    8u
#define BUCKET       4u  /* tables that an ID may lie in */
#define FULL_TABLES  4u  /* there is room for at least so many; if need be, of fewer rows */
#define TABLES_SHARE 16u /* one part in so many of the memory is for the tables' heads */

static size_t row_size(const struct ff__tables_shape *shape) {
    return sizeof(struct ff__row) + (shape->successors + shape->gaps) * sizeof(uint32_t);
}

static uint32_t log2_of(uint32_t n) {
    return 31u - (uint32_t)__builtin_clz(n);
}

int ff__tables_start(struct ff__tables *tables, void *memory, size_t size,
                     const struct ff__tables_shape *shape) {
    size_t buckets = 1;
    while (buckets * 2 * BUCKET * sizeof(struct ff__block_table) <= size / TABLES_SHARE)
        buckets *= 2;
    size_t heads = buckets * BUCKET * sizeof(struct ff__block_table);
    if (heads > size)
        return -ENOMEM;
    *tables = (struct ff__tables){
        .tables = memory,
        .bucket_mask = (uint32_t)(buckets - 1),
        .ways = shape->ways,
        .successors = shape->successors,
        .gaps = shape->gaps,
        .stride = (uint32_t)row_size(shape),
        .max_order = shape->rows > UNIT_SETS ? log2_of(shape->rows / UNIT_SETS) : 0,
        .least = FF_NONE,
        .most = FF_NONE,
    };
    size_t unit = (size_t)tables->stride * UNIT_SETS * shape->ways;
    while (tables->max_order > 0 && (unit << tables->max_order) > (size - heads) / FULL_TABLES)
        tables->max_order--;
    ff__buddy_start(&tables->regions, (unsigned char *)memory + heads, size - heads, unit,
                    tables->max_order);
    return tables->regions.count > 0 ? 0 : -ENOMEM;
}

/* ---- by launch ---- */

static uint32_t number_of(const struct ff__tables *tables, const struct ff__block_table *table) {
    return (uint32_t)(table - tables->tables);
}

static void leave_list(struct ff__tables *tables, const struct ff__block_table *table) {
    if (table->before == FF_NONE)
        tables->least = table->after;
    else
        tables->tables[table->before].after = table->after;
    if (table->after == FF_NONE)
        tables->most = table->before;
    else
        tables->tables[table->after].before = table->before;
}

static void join_list(struct ff__tables *tables, struct ff__block_table *table) {
    uint32_t number = number_of(tables, table);
    table->before = tables->most;
    table->after = FF_NONE;
    if (tables->most == FF_NONE)
        tables->least = number;
    else
        tables->tables[tables->most].after = number;
    tables->most = number;
}

void ff__table_touch(struct ff__tables *tables, struct ff__block_table *table) {
    leave_list(tables, table);
    join_list(tables, table);
}

static void drop(struct ff__tables *tables, struct ff__block_table *table) {
    leave_list(tables, table);
    ff__buddy_give(&tables->regions, table->unit, table->order);
    table->key = 0;
    tables->dropped++;
}

static bool drop_least(struct ff__tables *tables) {
    uint32_t at = tables->least;
    while (at != FF_NONE && tables->tables[at].holds > 0)
        at = tables->tables[at].after;
    if (at != FF_NONE)
        drop(tables, &tables->tables[at]);
    return at != FF_NONE;
}

/* ---- tables ---- */

static void clear_rows(const struct ff__tables *tables, const struct ff__block_table *table) {
    uint32_t count = (UNIT_SETS << table->order) * tables->ways;
    for (uint32_t i = 0; i < count; i++)
        ff__row_at(tables, table, i)->block = FF_NONE;
}

/* A region of free rows; others' tables make room. */
static bool take_rows(struct ff__tables *tables, struct ff__block_table *table, uint32_t order) {
    uint32_t unit;
    while ((unit = ff__buddy_take(&tables->regions, order)) == FF_NONE)
        if (!drop_least(tables))
            return false;
    table->unit = unit;
    table->order = order;
    table->first = table->last = FF_NONE;
    clear_rows(tables, table);
    return true;
}

static struct ff__block_table *bucket_of(struct ff__tables *tables, uint32_t id) {
    return &tables->tables[(id & tables->bucket_mask) * BUCKET];
}

struct ff__block_table *ff__table_find(struct ff__tables *tables, uint32_t id) {
    struct ff__block_table *bucket = bucket_of(tables, id);
    for (uint32_t i = 0; i < BUCKET; i++)
        if (bucket[i].key == id + 1)
            return &bucket[i];
    return NULL;
}

struct ff__block_table *ff__table_make(struct ff__tables *tables, uint32_t id) {
    struct ff__block_table *bucket = bucket_of(tables, id), *table = NULL;
    for (uint32_t i = 0; i < BUCKET && !table; i++)
        if (bucket[i].key == 0)
            table = &bucket[i];
    for (uint32_t i = 0; i < BUCKET && !table; i++) {
        if (bucket[i].holds > 0)
            continue;
        drop(tables, &bucket[i]);
        table = &bucket[i];
    }
    struct ff__block_table made = {.key = id + 1, .start = FF_NONE, .end = FF_NONE};
    if (!table || !take_rows(tables, &made, 0))
        return NULL;
    *table = made;
    join_list(tables, table);
    return table;
}

/* ---- rows ---- */

static uint32_t first_way(const struct ff__tables *tables, const struct ff__block_table *table,
                          uint32_t block) {
    return (block & ((UNIT_SETS << table->order) - 1)) * tables->ways;
}

uint32_t ff__row_find(const struct ff__tables *tables, const struct ff__block_table *table,
                      uint32_t block) {
    uint32_t first = first_way(tables, table, block);
    for (uint32_t row = first; row < first + tables->ways; row++)
        if (ff__row_at(tables, table, row)->block == block)
            return row;
    return FF_NONE;
}

/* Links a row into the order, behind `before` or in front of all. */
static void link_row(const struct ff__tables *tables, struct ff__block_table *table, uint32_t row,
                     uint32_t before) {
    struct ff__row *at = ff__row_at(tables, table, row);
    at->before = before;
    at->after = before == FF_NONE ? table->first : ff__row_at(tables, table, before)->after;
    at->step = before == FF_NONE ? 0 : ff__row_at(tables, table, before)->step;
    if (before == FF_NONE)
        table->first = row;
    else
        ff__row_at(tables, table, before)->after = row;
    if (at->after == FF_NONE)
        table->last = row;
    else
        ff__row_at(tables, table, at->after)->before = row;
    table->count++;
    table->unnumbered = true;
}

static void unlink_row(const struct ff__tables *tables, struct ff__block_table *table,
                       uint32_t row) {
    const struct ff__row *at = ff__row_at(tables, table, row);
    if (at->before == FF_NONE)
        table->first = at->after;
    else
        ff__row_at(tables, table, at->before)->after = at->after;
    if (at->after == FF_NONE)
        table->last = at->before;
    else
        ff__row_at(tables, table, at->after)->before = at->before;
    table->count--;
}

static uint32_t free_way(const struct ff__tables *tables, const struct ff__block_table *table,
                         uint32_t block) {
    uint32_t first = first_way(tables, table, block);
    for (uint32_t row = first; row < first + tables->ways; row++)
        if (ff__row_at(tables, table, row)->block == FF_NONE)
            return row;
    return FF_NONE;
}

/* Every row moves to a region of twice the size, where each set's rows have two sets to be in. */
static bool grow(struct ff__tables *tables, struct ff__block_table *table) {
    if (table->order == tables->max_order)
        return false;
    struct ff__block_table old = *table, larger = *table;
    table->holds++;
    bool taken = take_rows(tables, &larger, old.order + 1);
    table->holds--;
    if (!taken)
        return false;
    larger.before = table->before; /* others may have left the list */
    larger.after = table->after;
    larger.count = 0;
    for (uint32_t row = old.first; row != FF_NONE;) {
        const struct ff__row *from = ff__row_at(tables, &old, row);
        uint32_t to = free_way(tables, &larger, from->block), words = tables->stride / 4;
        for (uint32_t i = 0; i < words; i++)
            ((uint32_t *)ff__row_at(tables, &larger, to))[i] = ((const uint32_t *)from)[i];
        link_row(tables, &larger, to, larger.last);
        ff__row_at(tables, &larger, to)->step = from->step;
        row = from->after;
    }
    ff__buddy_give(&tables->regions, old.unit, old.order);
    *table = larger;
    return true;
}

static uint32_t least_used_way(const struct ff__tables *tables, const struct ff__block_table *table,
                               uint32_t block) {
    uint32_t first = first_way(tables, table, block), least = first;
    for (uint32_t row = first; row < first + tables->ways; row++)
        if (ff__row_at(tables, table, row)->used < ff__row_at(tables, table, least)->used)
            least = row;
    return least;
}

static uint32_t add_row(struct ff__tables *tables, struct ff__block_table *table, uint32_t before,
                        uint32_t block, uint32_t *replaced) {
    uint32_t row;
    while ((row = free_way(tables, table, block)) == FF_NONE && grow(tables, table))
        ;
    if (row == FF_NONE) {
        row = least_used_way(tables, table, block);
        *replaced = ff__row_at(tables, table, row)->block;
        unlink_row(tables, table, row);
    }
    struct ff__row *at = ff__row_at(tables, table, row);
    at->block = block;
    at->walked = at->lasts = 0;
    for (uint32_t i = 0; i < tables->successors; i++)
        at->successor[i] = FF_NONE;
    if (tables->gaps)
        *ff__row_gap(tables, at) = 0;
    /* a block that has been freed since its last fault would come behind itself */
    bool has_none = before == FF_NONE || before == block;
    uint32_t behind = has_none ? FF_NONE : ff__row_find(tables, table, before);
    link_row(tables, table, row, behind);
    return row;
}

/* Puts the block in front of the others. */
static void add_successor(const struct ff__tables *tables, struct ff__row *row, uint32_t block) {
    uint32_t moved = block;
    for (uint32_t i = 0; i < tables->successors; i++) {
        uint32_t here = row->successor[i];
        row->successor[i] = moved;
        if (here == block || here == FF_NONE)
            break;
        moved = here;
    }
}

struct ff__recorded ff__table_record(struct ff__tables *tables, struct ff__block_table *table,
                                     uint32_t before, uint32_t block) {
    struct ff__recorded done = {.row = ff__row_find(tables, table, block),
                                .replaced = FF_NONE,
                                .was_numbered = !table->unnumbered};
    done.is_new = done.row == FF_NONE;
    if (done.is_new)
        done.row = add_row(tables, table, before, block, &done.replaced);
    else
        done.used = ff__row_at(tables, table, done.row)->used;
    ff__row_at(tables, table, done.row)->used = ++tables->clock;
    uint32_t from =
        before == FF_NONE || before == block ? FF_NONE : ff__row_find(tables, table, before);
    if (from != FF_NONE)
        add_successor(tables, ff__row_at(tables, table, from), block);
    return done;
}

void ff__table_remove(const struct ff__tables *tables, struct ff__block_table *table,
                      uint32_t row) {
    struct ff__row *at = ff__row_at(tables, table, row);
    unlink_row(tables, table, row);
    table->unnumbered = true;
    table->start = table->start == at->block ? FF_NONE : table->start;
    table->end = table->end == at->block ? FF_NONE : table->end;
    at->block = FF_NONE;
}

void ff__table_move(const struct ff__tables *tables, struct ff__block_table *table, uint32_t row,
                    uint32_t behind) {
    unlink_row(tables, table, row);
    link_row(tables, table, row, behind);
}

static void number_from(const struct ff__tables *tables, struct ff__block_table *table,
                        uint32_t row, uint32_t step) {
    for (; row != FF_NONE; row = ff__row_at(tables, table, row)->after)
        ff__row_at(tables, table, row)->step = step++;
    table->unnumbered = false;
}

void ff__table_number(const struct ff__tables *tables, struct ff__block_table *table) {
    if (table->unnumbered)
        number_from(tables, table, table->first, 0);
}

void ff__table_number_new(const struct ff__tables *tables, struct ff__block_table *table,
                          uint32_t row) {
    uint32_t before = ff__row_at(tables, table, row)->before;
    number_from(tables, table, row,
                before == FF_NONE ? 0 : ff__row_at(tables, table, before)->step + 1);
}
