/* Ganguly's tree pre-eviction (ISCA 2019), as UVMSmart has it: the coldest 64 KiB leaf goes, and any
 * node of its block's tree that is then less than half valid loses the rest of its whole leaves. */
#include "policy/common/groups.h"
#include "policy/registry.h"

static int init(void *state, const struct ff_policy_env *env) {
    return ff__groups_start(state, env, sizeof(struct ff__group));
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_advice_list *victims) {
    ff__groups_pick(state, FF__VICTIM_TREE, view, request, victims);
}

const struct ff_evict_policy ff__evict_tree_half = {
    .base =
        {
            .name = "tree-half",
            .summary = "tree pre-eviction: nodes less than half valid drain (Ganguly)",
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
