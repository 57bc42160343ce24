/* When pages will be used, by a recorded run, and which resident unit is needed last. Eviction
 * takes that one (Belady); prefetching, with an instance of its own, brings nothing that is needed
 * later than what would have to leave.
 *
 * A live run is not quite the recorded one: warps take turns in another order, and the more so the
 * more they wait for pages. But each page is used as often. So every page has a place in the
 * recording of its own: what was used n times is needed next where the recording uses it for the n
 * + 1st time, and if others are far beyond that, it is overdue, and needed first of all.
 *
 * A unit is a page where single pages leave, and elsewhere a block, which then goes by the number
 * of its first page and is needed when the first of its pages is. */
#ifndef FF_POLICY_BOUNDS_BELADY_H
#define FF_POLICY_BOUNDS_BELADY_H

#include "base/heap.h"

#include <farfault/model.h>

#define FF__NEVER UINT64_MAX

/* By page, zero at first. A block state is FF_BLOCK_PAGES of them. */
struct ff__use {
    struct ff__heap_place place; /* by next use */
    uint64_t next;               /* position of the next use, plus one; 0: not looked up yet */
    uint32_t passed;             /* uses so far */
    uint32_t link;               /* in the one list this unit may be on */
};

struct ff__belady {
    const struct ff_future *future;
    struct ff__use *uses;
    struct ff__heap heap; /* units on the device */
    uint64_t at;          /* uses so far, and about where the live run is in the recorded one */
    uint32_t stale;       /* blocks whose key is to be looked up again */
    uint32_t aside;       /* units that a search has taken out of the heap */
};

/* Pages of a unit. */
static inline uint32_t ff__belady_unit(const struct ff_view *view) {
    return view->unit == 1 ? 1 : FF_BLOCK_PAGES;
}

/* -EINVAL: no future, or not of this address space. */
int ff__belady_start(struct ff__belady *belady, const struct ff_policy_env *env);

/* Accesses of the live run. */
void ff__belady_access(struct ff__belady *belady, const struct ff_view *view,
                       const struct ff_access *accesses, uint32_t count);

/* Pages have come to the device, or left it. */
void ff__belady_arrival(struct ff__belady *belady, const struct ff_view *view, uint32_t block,
                        const struct ff_mask *pages);
void ff__belady_departure(struct ff__belady *belady, uint32_t block, const struct ff_mask *pages);

/* The position of the page's next use, FF__NEVER if there is none. */
uint64_t ff__belady_next(struct ff__belady *belady, uint32_t page);

/* These pages of a block by their next uses, the soonest first. Returns how many they are. */
struct ff__next_use {
    uint64_t next; /* FF__NEVER: none */
    uint32_t page; /* of the block */
};
uint32_t ff__belady_sort(struct ff__belady *belady, uint32_t block, const struct ff_mask *pages,
                         struct ff__next_use sorted[FF_BLOCK_PAGES]);

/* Units from the one needed last on: each is taken out of the heap and set aside. False: no more.
 * Then ff__belady_put_back, which brings back all but those that were dropped right after they were
 * found. */
bool ff__belady_last(struct ff__belady *belady, const struct ff_view *view, uint32_t *unit,
                     uint64_t *next);
void ff__belady_drop(struct ff__belady *belady);
void ff__belady_put_back(struct ff__belady *belady, const struct ff_view *view);

#endif
