#include "policy/common/reserve.h"

/* The reserve is so many blocks, or this part of the device if that is less. It is one block on a
 * device for which that part is less than one, if the device has at least LEAST blocks. */
#define BLOCKS_MAX 8u
#define SHARE      32u
#define LEAST      8u

/* On such a device there is a reserve while more than this share of the blocks that come is waited
 * for, in a moving average with this weight of the latest. Ours. */
#define WAITED_FOR 0.5
#define WEIGHT     (1.0 / 16.0)

const struct ff_param ff__reserve_params[FF__RESERVE_PARAMS + 1] = {FF__RESERVE_ROWS};

void ff__reserve_start(struct ff__reserve *reserve, const struct ff_policy_env *env) {
    reserve->tier = env->tier;
    reserve->on = env->params[FF__RESERVE_ON] != 0;
    reserve->waited_for = 1;
}

void ff__reserve_arrival(struct ff__reserve *reserve, const struct ff_view *view,
                         const struct ff_arrival *arrival) {
    if (arrival->kind != FF_ARRIVAL_ALLOCATED || arrival->tier != reserve->tier)
        return;
    const struct ff_mask *remote = &ff_view_facts(view, arrival->block)->tier[arrival->tier].remote;
    double latest = !view->copies_on_processors && ff_mask_empty(remote) ? 1 : 0;
    reserve->waited_for += WEIGHT * (latest - reserve->waited_for);
}

/* A fault may bring a whole block. A smaller reserve would save it no eviction. */
uint64_t ff__reserve_pages(const struct ff__reserve *reserve, const struct ff_view *view) {
    uint64_t memory = view->capacity[reserve->tier], share = memory / SHARE;
    uint64_t most = (uint64_t)BLOCKS_MAX * FF_BLOCK_PAGES;
    if (!reserve->on)
        return 0;
    if (share >= FF_BLOCK_PAGES)
        return share < most ? share : most;
    bool has_room = memory >= (uint64_t)LEAST * FF_BLOCK_PAGES;
    return has_room && reserve->waited_for >= WAITED_FOR ? FF_BLOCK_PAGES : 0;
}
