/* A fault brings its whole block, the transfer that devices do best; where that is waste (common/density.h), its leaf of
 * 64 KiB. Ours. */
#include "policy/common/density.h"
#include "policy/registry.h"

#include <stdio.h>

enum param { PARAM_DENSITY, PARAMS };
static const struct ff_param params[PARAMS + 1] = {
    [PARAM_DENSITY] = {"density", FF_PARAM_BOOL, 1, 0, 1,
                       "only 64 KiB of ranges of which little is used while it is on the device"},
};

struct whole {
    struct ff__density density; /* has to be first */
    bool by_density;
};

static int init(void *state, const struct ff_policy_env *env) {
    struct whole *whole = state;
    ff__density_start(&whole->density, env->block_state, sizeof(struct ff__density_block),
                      env->range_state, sizeof(struct ff__density_range));
    whole->by_density = env->params[PARAM_DENSITY] != 0;
    return 0;
}

static void on_launch(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice) {
    (void)view, (void)advice;
    ff__density_launch(&((struct whole *)state)->density, event);
}

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    struct whole *whole = state;
    if (whole->by_density && ff__density_fault(&whole->density, view, group, advice))
        return;
    struct ff_mask there = ff_view_expected(view, group->tier, group->block);
    struct ff_mask pages = ff_view_pages(view, group->block);
    pages = ff_mask_minus(&pages, &there);
    advice->prefetch = ff_mask_minus(&pages, &group->faulted);
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    ff__density_leave(&((struct whole *)state)->density, view, leave);
}

static void range_freed(void *state, uint32_t range) {
    ff__density_range_freed(&((struct whole *)state)->density, range);
}

static void block_freed(void *state, uint32_t block) {
    ff__density_block_freed(&((struct whole *)state)->density, block);
}

static bool report(const void *state, uint32_t index, struct ff_finding *finding) {
    return ff__density_report(&((const struct whole *)state)->density, index, finding);
}

const struct ff_prefetch_policy ff__prefetch_whole = {
    .base =
        {
            .name = "whole",
            .summary = "the whole block of each fault; 64 KiB of ranges that are used sparsely",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_FAULTS,
            .state_size = sizeof(struct whole),
            .block_state_size = sizeof(struct ff__density_block),
            .range_state_size = sizeof(struct ff__density_range),
            .params = params,
            .init = init,
            .on_launch = on_launch,
            .on_leave = on_leave,
            .range_freed = range_freed,
            .block_freed = block_freed,
            .report = report,
        },
    .on_fault = on_fault,
};
