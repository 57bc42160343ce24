/* Least recently migrated: the NVIDIA driver's eviction order. */
#include "policy/common/migration_order.h"

#include "policy/registry.h"

static int init(void *state, const struct ff_policy_env *env) {
    ff__order_start(state, env->block_state, sizeof(struct ff__order_link));
    return 0;
}

/* The cause does not matter: the driver has one order for all. */
static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    ff__order_name(state, view, request, victims);
}

const struct ff_evict_policy ff__evict_lrm = {
    .base =
        {
            .name = "lrm",
            .summary = "discarded blocks first, then the least recently migrated block (NVIDIA)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_VICTIMS,
            .state_size = sizeof(struct ff__order),
            .block_state_size = sizeof(struct ff__order_link),
            .init = init,
            .block_freed = ff__order_block_freed,
            .on_arrival = ff__order_on_arrival,
            .on_leave = ff__order_on_leave,
        },
    .pick = pick,
};
