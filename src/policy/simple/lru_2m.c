/* The block whose last use is longest ago (UVMSmart's LRU 2MB). */
#include "policy/common/groups.h"
#include "policy/registry.h"

static int init(void *state, const struct ff_policy_env *env) {
    return ff__groups_start(state, env, sizeof(struct ff__group));
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_advice_list *victims) {
    ff__groups_pick(state, FF__VICTIM_BLOCK, view, request, victims);
}

const struct ff_evict_policy ff__evict_lru_2m = {
    .base =
        {
            .name = "lru-2m",
            .summary = "the block whose last use is longest ago (UVMSmart)",
            .api = FF_POLICY_API,
            .needs = FF_SEES_FAULTS,
            .state_size = sizeof(struct ff__groups),
            .block_state_size = sizeof(struct ff__group),
            .params = ff__evictor_params,
            .init = init,
            .block_freed = ff__groups_block_freed,
        },
    .on_used = ff__groups_on_used,
    .on_access = ff__groups_on_access,
    .on_release = ff__groups_on_release,
    .stock = ff__evictor_stock,
    .pick = pick,
};
