/* The UM block correlation tables: which blocks a kernel uses, and which block follows which
 * (DeepUM, section 4.2, Figure 7). There is one table an execution ID, made when its first fault is
 * seen.
 *
 * A table is set-associative and has a single level. A row is one block's: its successors, most
 * recent first. `start` and `end` are the blocks that faulted first and last in an execution.
 *
 * Two things are ours. A table begins with 8 sets and doubles when a set overflows, up to the
 * paper's size: most kernels use few blocks, and a full table of 2048 rows takes 180 KiB. And its
 * rows are linked in the order in which the kernel first touched them. Successors are learned from
 * faults. Once prefetching works, few faults remain, and pairs of them skip the blocks between. The
 * order stays the same, except for rows that turn out to be touched later.
 *
 * All memory is the owner's, and is written to only where there are tables. When it is used up, the
 * table of the least recently launched kernel is dropped, except those that are held. */
#ifndef FF_POLICY_DEEPUM_BLOCK_TABLE_H
#define FF_POLICY_DEEPUM_BLOCK_TABLE_H

#include "policy/deepum/buddy.h"

#include <stdbool.h>

struct ff__row {
    uint32_t block;         /* FF_NONE: a free row */
    uint32_t before, after; /* rows, in the order of first touch */
    uint32_t step;          /* its place there, when it was numbered last */
    uint32_t lasts;         /* so many places after its own it was still in use */
    uint32_t used;          /* when: the least recently used row of a set is replaced */
    uint32_t walked;        /* the walk that has passed last */
    uint32_t successor[];   /* blocks; FF_NONE: no more. Behind them, if tables have that: ... */
};

struct ff__block_table {
    uint32_t key;           /* the execution ID plus one; 0: no table here */
    uint32_t unit, order;   /* its rows' region */
    uint32_t count;         /* rows in use */
    uint32_t first, last;   /* rows, in the order of first touch */
    uint32_t start, end;    /* blocks */
    uint32_t before, after; /* tables, by launch */
    uint16_t holds;         /* at most one for each launch in each ring */
    bool unnumbered;        /* steps are out of date */
    uint32_t runs;          /* executions that have ended */
    int32_t score;          /* whether faults follow the order, from -8 to 8 */
    uint32_t swept; /* when rows of blocks that are gone were taken out last: the owner's count */
};

struct ff__tables {
    struct ff__buddy regions;
    struct ff__block_table *tables;
    uint32_t bucket_mask;
    uint32_t ways, successors, stride, max_order;
    bool gaps;            /* rows have ff__row_gap() */
    uint32_t least, most; /* tables, least and most recently launched */
    uint32_t clock, dropped;
};

struct ff__tables_shape {
    uint32_t rows, ways, successors; /* rows: sets, a power of two */
    bool gaps;
};

/* `memory`: zeroed. -ENOMEM: not even one table finds room. */
int ff__tables_start(struct ff__tables *tables, void *memory, size_t size,
                     const struct ff__tables_shape *shape);

static inline struct ff__row *ff__row_at(const struct ff__tables *tables,
                                         const struct ff__block_table *table, uint32_t row) {
    unsigned char *rows = ff__buddy_at(&tables->regions, table->unit);
    return (struct ff__row *)(void *)(rows + (size_t)row * tables->stride);
}

/* ... launches from one that uses the block to the next one that does; 0: not known. */
static inline uint32_t *ff__row_gap(const struct ff__tables *tables, struct ff__row *row) {
    return &row->successor[tables->successors];
}

/* The table of an execution ID, NULL if there is none. `make` makes it; NULL then: no room. */
struct ff__block_table *ff__table_find(struct ff__tables *tables, uint32_t id);
struct ff__block_table *ff__table_make(struct ff__tables *tables, uint32_t id);

/* The kernel of the table was launched: the table is the last to be evicted. */
void ff__table_touch(struct ff__tables *tables, struct ff__block_table *table);

/* A row's number, FF_NONE if the block has none. */
uint32_t ff__row_find(const struct ff__tables *tables, const struct ff__block_table *table,
                      uint32_t block);

/* What a record has changed. */
struct ff__recorded {
    uint32_t row, replaced; /* the block whose row it took, FF_NONE */
    uint32_t used;          /* when it was used before, by the clock */
    bool is_new;
    bool was_numbered; /* the table's steps were up to date before */
};

/* A fault on `block`, the one before it having been on `before` (FF_NONE: none in this execution).
 * Rows may move. */
struct ff__recorded ff__table_record(struct ff__tables *tables, struct ff__block_table *table,
                                     uint32_t before, uint32_t block);

/* The row's block is gone. */
void ff__table_remove(const struct ff__tables *tables, struct ff__block_table *table, uint32_t row);

/* Moves a row to behind another one, in the order of first touch. */
void ff__table_move(const struct ff__tables *tables, struct ff__block_table *table, uint32_t row,
                    uint32_t behind);

/* Brings the steps up to date; ..._new: where they were until this row came, and took no other's
 * place. */
void ff__table_number(const struct ff__tables *tables, struct ff__block_table *table);
void ff__table_number_new(const struct ff__tables *tables, struct ff__block_table *table,
                          uint32_t row);

#endif
