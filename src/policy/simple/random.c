/* UVMSmart's random prefetcher: with each fault one page drawn from its tree, unless it is there. */
#include "policy/common/neighbours.h"
#include "policy/registry.h"

static int init(void *state, const struct ff_policy_env *env) {
    struct ff__random *random = state;
    *random = ff__random_seeded(env->seed);
    return 0;
}

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    ff__neighbours_advise(FF__NEIGHBOURS_RANDOM, view, group, state, advice);
}

const struct ff_prefetch_policy ff__prefetch_random = {
    .base =
        {
            .name = "random",
            .summary = "with each fault one page drawn from its block (UVMSmart)",
            .api = FF_POLICY_API,
            .needs = FF_SEES_FAULTS,
            .state_size = sizeof(struct ff__random),
            .init = init,
        },
    .on_fault = on_fault,
};
