/* memHarvester's pre-eviction (HUVM, section 4.2.1): the NVIDIA driver's order of eviction, and a
 * thread that evicts ahead of need while fewer than `reserve` chunks are free. */
#include "policy/common/migration_order.h"
#include "policy/registry.h"

struct evict {
    struct ff__order order;
    uint64_t reserve; /* pages */
};

static const struct ff_param params[] = {
    {"reserve", FF_PARAM_INT, 50, 0, 100000,
     "chunks of 2 MiB that pre-eviction keeps free for faults; 0: no pre-eviction"},
    {0},
};

static int init(void *state, const struct ff_policy_env *env) {
    struct evict *evict = state;
    ff__order_start(&evict->order, env->block_state, sizeof(struct ff__order_link));
    evict->reserve = (uint64_t)env->params[0] * FF_BLOCK_PAGES;
    return 0;
}

/* A quarter of the memory at most, so that a small device can be used. Ours. */
static uint64_t reserve(void *state, const struct ff_view *view) {
    uint64_t most = UINT64_MAX, wanted = ((const struct evict *)state)->reserve;
    for (uint32_t tier = 1; tier < view->tier_count; tier++)
        if (!view->lending[tier].guests_only)
            most = view->capacity[tier] / 4 < most ? view->capacity[tier] / 4 : most;
    return wanted < most ? wanted : most;
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    ff__order_name(state, view, request, victims);
}

const struct ff_evict_policy ff__evict_memharvester = {
    .base =
        {
            .name = "memharvester",
            .summary = "as lrm, with a reserve of free chunks (memHarvester's pre-eviction)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_VICTIMS,
            .state_size = sizeof(struct evict),
            .block_state_size = sizeof(struct ff__order_link),
            .params = params,
            .init = init,
            .block_freed = ff__order_block_freed,
            .on_arrival = ff__order_on_arrival,
            .on_leave = ff__order_on_leave,
        },
    .reserve = reserve,
    .pick = pick,
};
