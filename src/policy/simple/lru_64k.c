/* The coldest 64 KiB leaf (UVMSmart's sequential-local eviction). */
#include "policy/common/groups.h"
#include "policy/registry.h"

static int init(void *state, const struct ff_policy_env *env) {
    return ff__groups_start(state, env, sizeof(struct ff__group));
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_advice_list *victims) {
    ff__groups_pick(state, FF__VICTIM_LEAF, view, request, victims);
}

const struct ff_evict_policy ff__evict_lru_64k = {
    .base =
        {
            .name = "lru-64k",
            .summary = "the coldest 64 KiB leaf (UVMSmart's sequential-local)",
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
