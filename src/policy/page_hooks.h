/* Hooks of evict policies for one page, without masks: the simulator's fast path, which moves pages one at a
 * time, asks these instead of on_arrival, on_leave and pick. A policy has all three. */
#ifndef FF_POLICY_PAGE_HOOKS_H
#define FF_POLICY_PAGE_HOOKS_H

#include <farfault/policy.h>

struct ff__page_hooks {
    void (*on_page_used)(void *state, uint32_t block, uint32_t page);
    void (*on_page_leave)(void *state, uint32_t block, uint32_t page);
    /* What `pick` would name first for a fault. False: nothing. The probable victim after it goes to
     * *next, its block FF_NONE if that is not known: it is not taken, but has its records fetched. */
    bool (*pick_page)(void *state, const struct ff_view *view, struct ff_page *victim,
                      struct ff_page *next);
};

#endif
