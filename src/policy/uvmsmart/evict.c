/* UVMSmart's smart runtime (DATE 2021), the part that evicts: whole blocks by last use until the
 * traffic shows reuse or an irregular pattern, tree pre-eviction from then on. */
#include "policy/common/groups.h"
#include "policy/registry.h"
#include "policy/uvmsmart/pattern.h"

struct record {
    struct ff__group group;
    struct ff__pattern_block pattern;
};

struct uvmsmart {
    struct ff__groups groups;
    struct ff__pattern pattern;
};

static int init(void *state, const struct ff_policy_env *env) {
    struct uvmsmart *smart = state;
    struct record *records = env->block_state;
    smart->pattern.blocks = (unsigned char *)&records->pattern;
    smart->pattern.stride = sizeof(struct record);
    return ff__groups_start(&smart->groups, env, sizeof(struct record));
}

static void block_freed(void *state, uint32_t block) {
    struct uvmsmart *smart = state;
    ff__groups_block_freed(&smart->groups, block);
    ff__pattern_forget(&smart->pattern, block);
}

static void on_used(void *state, const struct ff_view *view, uint32_t block,
                    const struct ff_mask *pages) {
    struct uvmsmart *smart = state;
    ff__groups_on_used(&smart->groups, view, block, pages);
    ff__pattern_arrival(&smart->pattern, view, block, pages);
}

static void on_launch(void *state, const struct ff_view *view, const struct ff_event *event) {
    (void)view;
    ff__pattern_launch(&((struct uvmsmart *)state)->pattern, event);
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_advice_list *victims) {
    struct uvmsmart *smart = state;
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
            .needs = FF_SEES_FAULTS,
            .state_size = sizeof(struct uvmsmart),
            .block_state_size = sizeof(struct record),
            .params = ff__evictor_params,
            .init = init,
            .block_freed = block_freed,
        },
    .on_used = on_used,
    .on_access = ff__groups_on_access,
    .on_release = ff__groups_on_release,
    .on_launch = on_launch,
    .stock = ff__evictor_stock,
    .pick = pick,
};
