/* Uses of pages, as the access time tracker counts them: inline, as there is one for each access.
 */
#ifndef FF_BACKEND_SIM_DEVICE_TRACKER_USE_H
#define FF_BACKEND_SIM_DEVICE_TRACKER_USE_H

#include "backend/sim/simulation.h"

static inline uint32_t ff__tracker_range(const struct sim *sim, uint64_t page) {
    return sim->space->blocks[page / FF_BLOCK_PAGES].range;
}

static inline void ff__tracker_count(struct tracked *tracked, uint32_t *used, uint32_t pages,
                                     uint32_t uses) {
    uint32_t timer = tracked->timer;
    for (uint32_t i = 0; i < pages; i++)
        used[i] = timer += uses;
    tracked->timer = timer;
}

/* So many uses of each of these pages of a range, one page after the other, at that time, in ps.
 * True: they have interrupted. */
static inline bool ff__tracker_use(struct sim *sim, const struct device *device, uint64_t page,
                                   uint32_t pages, uint32_t uses, uint64_t time) {
    struct tracker *tracker = device->tracker;
    uint32_t range = ff__tracker_range(sim, page);
    struct tracked *tracked = &tracker->ranges[range];
    if (tracked->left <= (uint64_t)pages * uses)
        return ff__tracker_use_up(sim, device, page, pages, uses, time);
    tracked->left -= pages * uses;
    tracker->range_used[range] = ff__sim_ns(time);
    ff__tracker_count(tracked, &tracker->page_used[page], pages, uses);
    return false;
}

#endif
