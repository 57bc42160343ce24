/* UVMSmart's smart runtime (DATE 2021), the part that evicts: whole blocks by last use until the
 * traffic shows reuse or an irregular pattern, tree pre-eviction from then on. */
#include "policy/common/groups.h"
#include "policy/registry.h"
#include "policy/uvmsmart/pattern.h"

struct uvmsmart_evict_block {
    struct ff__group group;
    struct ff__pattern_block pattern;
};

struct uvmsmart_evict {
    struct ff__groups groups;
    struct ff__pattern pattern;
};

static int init(void *state, const struct ff_policy_env *env) {
    struct uvmsmart_evict *smart = state;
    struct uvmsmart_evict_block *records = env->block_state;
    smart->pattern.blocks = (unsigned char *)&records->pattern;
    smart->pattern.stride = sizeof(struct uvmsmart_evict_block);
    return ff__groups_start(&smart->groups, env, sizeof(struct uvmsmart_evict_block));
}

static void block_freed(void *state, uint32_t block) {
    struct uvmsmart_evict *smart = state;
    ff__groups_block_freed(&smart->groups, block);
    ff__pattern_forget(&smart->pattern, block);
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    struct uvmsmart_evict *smart = state;
    ff__groups_on_arrival(&smart->groups, view, arrival);
    if (arrival->kind != FF_ARRIVAL_ALLOCATED)
        ff__pattern_arrival(&smart->pattern, view, arrival->block, arrival->pages);
}

static void on_launch(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice) {
    (void)view, (void)advice;
    ff__pattern_launch(&((struct uvmsmart_evict *)state)->pattern, event);
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    struct uvmsmart_evict *smart = state;
    bool by_tree = smart->pattern.irregular || smart->pattern.repeated;
    ff__groups_pick(&smart->groups, by_tree ? FF__VICTIM_TREE : FF__VICTIM_BLOCK, view, request,
                    victims);
}

const struct ff_evict_policy ff__evict_uvmsmart = {
    .base =
        {
            .name = "uvmsmart",
            .summary = "as lru-2m; as tree-half once the traffic is not purely linear (UVMSmart)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_VICTIMS,
            .state_size = sizeof(struct uvmsmart_evict),
            .block_state_size = sizeof(struct uvmsmart_evict_block),
            .params = ff__evictor_params,
            .init = init,
            .block_freed = block_freed,
            .on_arrival = on_arrival,
            .on_leave = ff__groups_on_leave,
            .on_launch = on_launch,
            .accesses = &ff__groups_accesses,
        },
    .reserve = ff__evictor_reserve,
    .pick = pick,
};
