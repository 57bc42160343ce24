/* How much memory DeepUM's evictions keep free for faults; sizes are ours. */
#ifndef FF_POLICY_EVICT_STOCK_H
#define FF_POLICY_EVICT_STOCK_H

#include <farfault/policy.h>

#define FF__STOCK_BLOCKS 8u  /* at most, */
#define FF__STOCK_SHARE  32u /* and no more than this part of the device */

/* In pages. A fault brings a whole block: where memory is handed out by the page, less than that in stock
 * saves no fault an eviction, but takes pages from blocks that are in use. */
static inline uint64_t ff__stock(const struct ff_view *view, uint32_t tier) {
    uint64_t share = view->capacity[tier] / FF__STOCK_SHARE;
    uint64_t most = (uint64_t)FF__STOCK_BLOCKS * FF_BLOCK_PAGES;
    if (view->by_page && share < FF_BLOCK_PAGES)
        return 0;
    return share < most ? share : most;
}

#endif
