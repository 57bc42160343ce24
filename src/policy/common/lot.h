/* Units of a device, blocks or pages, of which victims are drawn by lot.
 *
 * The units that are there stand in an array without order, so that a draw is one look-up. The
 * array lies in the units' own records: place i in record i. A unit joins or leaves at the cost of
 * a few words: the last unit takes the place of the one that leaves. */
#ifndef FF_POLICY_COMMON_LOT_H
#define FF_POLICY_COMMON_LOT_H

#include "base/random.h"
#include "policy/common/evictor.h"

#include <farfault/policy.h>

/* By unit, zero at first. */
struct ff__lot_record {
    uint32_t place; /* of this unit in the array, plus one; 0: none */
    uint32_t unit;  /* which has this place */
};

struct ff__lot {
    unsigned char *records; /* the one of unit 0 */
    size_t stride;          /* bytes from one unit's record to the next one's */
    uint32_t unit_pages;    /* 1: a unit is a page, FF_BLOCK_PAGES: a block */
    uint32_t count;         /* units that are there */
    struct ff__random random;
};

static inline struct ff__lot_record *ff__lot_at(const struct ff__lot *lot, uint32_t unit) {
    return (struct ff__lot_record *)(void *)(lot->records + unit * lot->stride);
}

static inline bool ff__lot_has(const struct ff__lot *lot, uint32_t unit) {
    return ff__lot_at(lot, unit)->place > 0;
}

/* Nothing if it is there already. */
static inline void ff__lot_add(struct ff__lot *lot, uint32_t unit) {
    if (ff__lot_has(lot, unit))
        return;
    ff__lot_at(lot, lot->count++)->unit = unit;
    ff__lot_at(lot, unit)->place = lot->count;
}

/* Nothing if it is not there. */
static inline void ff__lot_remove(struct ff__lot *lot, uint32_t unit) {
    if (!ff__lot_has(lot, unit))
        return;
    struct ff__lot_record *record = ff__lot_at(lot, unit);
    uint32_t last = ff__lot_at(lot, --lot->count)->unit;
    ff__lot_at(lot, record->place - 1)->unit = last;
    ff__lot_at(lot, last)->place = record->place;
    record->place = 0;
}

/* ---- victims ---- */

/* Whether a policy would let a unit go that could. */
enum ff__lot_answer { FF__LOT_NO, FF__LOT_IF_NOBODY_ELSE, FF__LOT_YES };
typedef enum ff__lot_answer (*ff__lot_ask)(const void *state,
                                           const struct ff_evict_request *request, uint32_t unit);

struct ff__lot_question {
    const struct ff__naming *naming;
    ff__lot_ask ask;
    const void *state;
};

static inline bool ff__lot_is_named(const struct ff__lot *lot, const struct ff_victim_list *victims,
                                    uint32_t block, uint32_t page) {
    for (uint32_t i = 0; i < victims->count; i++)
        if (victims->items[i].block == block &&
            (lot->unit_pages > 1 || ff_mask_test(&victims->items[i].pages, page)))
            return true;
    return false;
}

static inline uint32_t ff__lot_block_of(const struct ff__lot *lot, uint32_t unit) {
    return lot->unit_pages > 1 ? unit : unit / FF_BLOCK_PAGES;
}

static inline enum ff__lot_answer
ff__lot_can_go(const struct ff__lot *lot, const struct ff__lot_question *question, uint32_t unit) {
    const struct ff__naming *naming = question->naming;
    uint32_t block = ff__lot_block_of(lot, unit);
    if ((block == naming->request->for_block && lot->unit_pages > 1) ||
        !ff__may_name(naming, block) ||
        ff__lot_is_named(lot, naming->victims, block, unit % FF_BLOCK_PAGES))
        return FF__LOT_NO;
    return question->ask(question->state, naming->request, unit);
}

#define FF__LOT_DRAWS 64u /* before the first unit in the array that can go is taken */

/* A unit that can go; FF_NONE: none can. */
static inline uint32_t ff__lot_draw(struct ff__lot *lot, const struct ff__lot_question *question) {
    if (lot->count == 0)
        return FF_NONE;
    for (uint32_t i = 0; i < FF__LOT_DRAWS; i++) {
        uint32_t unit = ff__lot_at(lot, ff__random_below(&lot->random, lot->count))->unit;
        if (ff__lot_can_go(lot, question, unit) == FF__LOT_YES)
            return unit;
    }
    uint32_t first = ff__random_below(&lot->random, lot->count), otherwise = FF_NONE;
    for (uint32_t i = 0; i < lot->count; i++) {
        uint32_t unit = ff__lot_at(lot, (first + i) % lot->count)->unit;
        enum ff__lot_answer answer = ff__lot_can_go(lot, question, unit);
        if (answer == FF__LOT_YES)
            return unit;
        if (answer == FF__LOT_IF_NOBODY_ELSE)
            otherwise = unit;
    }
    return otherwise;
}

static inline void ff__lot_name(const struct ff__lot *lot, struct ff__naming *naming,
                                uint32_t unit) {
    uint32_t block = ff__lot_block_of(lot, unit);
    struct ff_mask page = ff_mask_of_page(unit % FF_BLOCK_PAGES);
    const struct ff_mask *all = ff_view_resident(naming->view, naming->request->tier, block);
    ff__name(naming, block, lot->unit_pages > 1 ? all : &page);
}

/* Names what is drawn. Where single pages leave, as many units as make room; elsewhere the first is
 * enough, as others would only be second choices. `ask` gets `state`. */
static inline void ff__lot_pick(struct ff__lot *lot, ff__lot_ask ask, const void *state,
                                const struct ff_view *view, const struct ff_evict_request *request,
                                struct ff_victim_list *victims) {
    struct ff__naming naming = ff__naming_of(view, request, victims);
    const struct ff__lot_question question = {&naming, ask, state};
    while (!ff__naming_done(&naming)) {
        uint32_t unit = ff__lot_draw(lot, &question);
        if (unit == FF_NONE)
            return;
        ff__lot_name(lot, &naming, unit);
        if (!ff__names_pages(view))
            return;
    }
}

#endif
