/* What a launch was predicted to access, and whether it faulted where that says. */
#ifndef FF_ENGINE_PREDICTION_H
#define FF_ENGINE_PREDICTION_H

#include <farfault/mask.h>

#define FF__INTERVALS 16u

/* Addresses: the first byte, and behind the last. */
struct ff__interval {
    uint64_t low, high;
};

struct ff__intervals {
    uint32_t count;
    struct ff__interval of[FF__INTERVALS]; /* none within the gap of another */
};

/* Zero at first. Whoever launches owns it until the launch has ended; meanwhile the engine's lock
 * guards what it counts. */
struct ff__prediction {
    struct ff__intervals intervals; /* in whole pages */
    uint64_t faults, outside; /* pages that the launch faulted on while nothing else ran on its
                                 device; of these, those in no interval */
    bool has_company;         /* atomic: something else ran, and the counts are not of all */
};

/* Counters, which are there as long as the pipeline: of orders to bring pages of a block, of those
 * that were dropped, and of pages that came. */
struct ff__order_counts {
    uint64_t *orders, *dropped, *pages; /* atomic */
};

/* Adds an interval, together with those that are at most `gap` bytes from it, in the place of the
 * first of them. False: there is no room for one more. */
bool ff__intervals_add(struct ff__intervals *intervals, struct ff__interval interval, uint64_t gap);

/* Adds the pages that the bytes are in. Without room for one more interval the nearest one grows up
 * to them. */
void ff__prediction_add(struct ff__prediction *prediction, struct ff__interval bytes);

uint64_t ff__prediction_pages(const struct ff__prediction *prediction);

/* The launch has faulted on these pages of a block, which begins at the address. */
void ff__prediction_fault(struct ff__prediction *prediction, uint64_t address,
                          const struct ff_mask *faulted);

static inline void ff__prediction_disturb(struct ff__prediction *prediction) {
    __atomic_store_n(&prediction->has_company, true, __ATOMIC_RELAXED);
}

/* Whether the counts are of the whole launch. Once it has ended. */
static inline bool ff__prediction_is_alone(const struct ff__prediction *prediction) {
    return !__atomic_load_n(&prediction->has_company, __ATOMIC_RELAXED);
}

#endif
