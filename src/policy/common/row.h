/* Units (blocks, or pages) of a device in a row, so that one can be drawn by lot. A unit joins and leaves at the
 * cost of a few words, for which the order is of no account: who is last takes the place of who leaves. The row
 * lies in the units' own records: its place i in record i. */
#ifndef FF_POLICY_COMMON_ROW_H
#define FF_POLICY_COMMON_ROW_H

#include "base/random.h"

#include <farfault/policy.h>

struct ff__row_record {
    uint32_t place; /* of this unit in the row, plus one; 0: none */
    uint32_t unit;  /* whose place this is */
};

struct ff__row {
    unsigned char
        *records; /* the one of unit 0, `stride` bytes before that of unit 1; zero at first */
    size_t stride;
    uint32_t count;
    struct ff__random random;
};

static inline struct ff__row_record *ff__row_at(const struct ff__row *row, uint32_t unit) {
    return (struct ff__row_record *)(void *)(row->records + unit * row->stride);
}

static inline bool ff__row_has(const struct ff__row *row, uint32_t unit) {
    return ff__row_at(row, unit)->place > 0;
}

static inline void ff__row_add(struct ff__row *row, uint32_t unit) {
    if (ff__row_has(row, unit))
        return;
    ff__row_at(row, row->count++)->unit = unit;
    ff__row_at(row, unit)->place = row->count;
}

static inline void ff__row_remove(struct ff__row *row, uint32_t unit) {
    if (!ff__row_has(row, unit))
        return;
    struct ff__row_record *record = ff__row_at(row, unit);
    uint32_t last = ff__row_at(row, --row->count)->unit;
    ff__row_at(row, record->place - 1)->unit = last;
    ff__row_at(row, last)->place = record->place;
    record->place = 0;
}

enum ff__row_answer { FF__ROW_NO, FF__ROW_IF_NOBODY_ELSE, FF__ROW_YES };
typedef enum ff__row_answer (*ff__row_ask)(const void *self, uint32_t unit);

#define FF__ROW_DRAWS 64u /* by lot, before the first one in the row that can go is taken */

/* One of those that can go; FF_NONE: nobody can. */
static inline uint32_t ff__row_draw(struct ff__row *row, ff__row_ask ask, const void *self) {
    if (row->count == 0)
        return FF_NONE;
    for (uint32_t i = 0; i < FF__ROW_DRAWS; i++) {
        uint32_t unit = ff__row_at(row, ff__random_below(&row->random, row->count))->unit;
        if (ask(self, unit) == FF__ROW_YES)
            return unit;
    }
    uint32_t first = ff__random_below(&row->random, row->count), otherwise = FF_NONE;
    for (uint32_t i = 0; i < row->count; i++) {
        uint32_t unit = ff__row_at(row, (first + i) % row->count)->unit;
        enum ff__row_answer answer = ask(self, unit);
        if (answer == FF__ROW_YES)
            return unit;
        if (answer == FF__ROW_IF_NOBODY_ELSE)
            otherwise = unit;
    }
    return otherwise;
}

#endif
