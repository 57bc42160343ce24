/* Which blocks should lie on the device when, and which are used from the host meanwhile, by a
 * recorded run: so that migrations and remote accesses occupy the link as little as possible. The
 * recording is cut into windows of equally many uses. Residences, of one block over some windows in
 * a row, are chosen one by one: of those that there is memory for the one that saves most link time
 * for each window. Ours.
 *
 * One device; by block. */
#ifndef FF_POLICY_BOUNDS_RESIDENCE_H
#define FF_POLICY_BOUNDS_RESIDENCE_H

#include <farfault/model.h>

#define FF__WINDOWS 32u

/* By block, zero at first. */
struct ff__residence_block {
    uint32_t uses[FF__WINDOWS];
    uint32_t resident;   /* a bit for each window */
    uint32_t pages;      /* that are used at all */
    uint32_t first, end; /* the best residence that is not chosen yet, in windows */
    double gain;         /* what it saves, in ns for each window; 0: nothing */
};

struct ff__residence {
    struct ff__residence_block *blocks;
    uint64_t load[FF__WINDOWS]; /* pages that are chosen to be resident */
    uint64_t window_uses;
    uint32_t block_count;
    uint32_t tier;
    bool is_tight; /* memory is too small for all */
};

/* False: there is nothing to choose, as costs are not known or there is no remote access. `blocks`:
 * [view->block_limit]. */
bool ff__residence_make(struct ff__residence *residence, const struct ff_view *view, uint32_t tier,
                        const struct ff_future *future, struct ff__residence_block *blocks,
                        uint32_t block_count);
/* The window of a position. */
uint32_t ff__residence_window(const struct ff__residence *residence, uint64_t position);
bool ff__residence_is_resident(const struct ff__residence *residence, uint32_t block,
                               uint32_t window);

#endif
