/* Least recently migrated: the NVIDIA driver's eviction order. */
#include "policy/common/migration_order.h"

#include "policy/registry.h"

static int init(void *state, const struct ff_policy_env *env) {
    ff__order_start(state, env->block_state, sizeof(struct ff__order_link));
    return 0;
}

/* The cause does not matter: the driver has one order, whoever asks. Costs the victims and the busy
 * blocks passed over, not the blocks there are. */
static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_advice_list *victims) {
    const struct ff__order *order = state;
    struct ff_advice victim = {.tier = request->tier, .launch = FF_NONE};
    for (uint32_t block = ff__order_next(order, FF_NONE);
         block != FF_NONE && victims->count < victims->capacity;
         block = ff__order_next(order, block)) {
        if (block == request->for_block || !ff_view_evictable(view, request->tier, block))
            continue;
        victim.block = block;
        ff_advice_add(victims, &victim);
    }
}

const struct ff_evict_policy ff__evict_lrm = {
    .base =
        {
            .name = "lrm",
            .summary = "discarded blocks first, then the least recently migrated block (NVIDIA)",
            .api = FF_POLICY_API,
            .needs = FF_SEES_FAULTS,
            .state_size = sizeof(struct ff__order),
            .block_state_size = sizeof(struct ff__order_link),
            .init = init,
            .block_freed = ff__order_block_freed,
        },
    .on_activate = ff__order_on_activate,
    .on_used = ff__order_on_used,
    .on_discarded = ff__order_on_discarded,
    .on_release = ff__order_on_release,
    .pick = pick,
};
