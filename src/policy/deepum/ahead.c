#include "policy/deepum/ahead.h"

#define STOCK_MAX   8u  /* blocks, ... */
#define STOCK_SHARE 32u /* ... or a 32nd of the device if that is less */

enum param { ON, PARAMS };

const struct ff_param ff__ahead_params[PARAMS + 1] = {
    [ON] = {"preevict", FF_PARAM_BOOL, 1, 0, 1, "keep free memory in stock for faults"},
};

void ff__ahead_start(struct ff__ahead *ahead, const struct ff_policy_env *env) {
    ahead->tier = env->tier;
    ahead->on = env->params[ON] != 0;
}

/* A fault brings a whole block: where memory is handed out by the page, less than that in stock saves
 * no fault an eviction, but takes pages from blocks that are in use. */
uint64_t ff__ahead_stock(const struct ff__ahead *ahead, const struct ff_view *view) {
    uint64_t share = view->capacity[ahead->tier] / STOCK_SHARE;
    uint64_t most = (uint64_t)STOCK_MAX * FF_BLOCK_PAGES;
    if (!ahead->on || (view->by_page && share < FF_BLOCK_PAGES))
        return 0;
    return share < most ? share : most;
}
