/* Threads that go through a range with a fixed stride, such as one that reads a column of a matrix
 * and uses one page of each row. Where a range comes in single pages, such a sweep has a fault for
 * each; so its next pages of a block come with the first of them. Ours: a stride prefetcher like
 * those of processors (Chen and Baer, IEEE Transactions on Computers, 1995), by thread and range
 * instead of by instruction.
 *
 * A fault shows only the page. Rows need not be whole pages long, so the stride, and the place in
 * the page, are known between bounds, which each fault narrows. What is there already has no fault,
 * so the next one may be several strides on. */
#ifndef FF_POLICY_ADAPTIVE_SWEEP_H
#define FF_POLICY_ADAPTIVE_SWEEP_H

#include <farfault/policy.h>

/* Bounds of an address or a stride, both included, in parts of a page: FF__SWEEP_PAGE. */
struct ff__bounds {
    int64_t low, high;
};

/* A thread's faults in a range. */
struct ff__thread_sweep {
    uint32_t range, thread;
    int64_t page;             /* of the latest fault: its number among all addresses */
    struct ff__bounds place;  /* of the latest fault: its address */
    struct ff__bounds stride; /* from place to place */
    struct ff__bounds origin; /* an earlier place, from which the stride is measured */
    uint32_t steps;           /* strides from there to the latest fault */
    uint32_t seen;            /* strides so far; 0: no stride is known */
    uint32_t ahead;           /* strides from the latest place for which pages have come */
    int64_t width;            /* used at a place, at least, if it crosses into the next page; 0 */
    bool is_lost;             /* the latest fault was not where it should have been */
};

#define FF__SWEEPS     64u
#define FF__SWEEP_PAGE (1 << 20)

/* All zero at first. Of two sweeps that would have the same element the later one has it. */
struct ff__sweeps {
    struct ff__thread_sweep of[FF__SWEEPS];
};

/* The pages of the group's block that the thread is going to use next, as far as that is known;
 * some of them may be there, or faulted. */
struct ff_mask ff__sweeps_fault(struct ff__sweeps *sweeps, const struct ff_view *view,
                                const struct ff_fault_group *group);

#endif
