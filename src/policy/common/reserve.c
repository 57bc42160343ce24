#include "policy/common/reserve.h"

#define BLOCKS_MAX 8u  /* blocks, ... */
#define SHARE      32u /* ... or a 32nd of the device if that is less */

const struct ff_param ff__reserve_params[FF__RESERVE_PARAMS + 1] = {FF__RESERVE_ROWS};

void ff__reserve_start(struct ff__reserve *reserve, const struct ff_policy_env *env) {
    reserve->tier = env->tier;
    reserve->on = env->params[FF__RESERVE_ON] != 0;
}

/* A fault may bring a whole block. A smaller reserve would save it no eviction; on a small device a block would be too
 * much to have nothing in. */
uint64_t ff__reserve_pages(const struct ff__reserve *reserve, const struct ff_view *view) {
    uint64_t share = view->capacity[reserve->tier] / SHARE;
    uint64_t most = (uint64_t)BLOCKS_MAX * FF_BLOCK_PAGES;
    if (!reserve->on || share < FF_BLOCK_PAGES)
        return 0;
    return share < most ? share : most;
}
