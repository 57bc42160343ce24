/* A fault brings its whole block, which is the most efficient transfer; except in ranges that are
 * used sparsely (adaptive/sparse.h). Ours. */
#include "policy/adaptive/sparse.h"
#include "policy/registry.h"

static const struct ff_param params[FF__SPARSE_PARAMS + 1] = {FF__SPARSE_ROWS};

static int init(void *state, const struct ff_policy_env *env) {
    ff__sparse_start(state, env, sizeof(struct ff__sparse_block), sizeof(struct ff__sparse_range),
                     0);
    return 0;
}

static void on_launch(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice) {
    (void)view, (void)advice;
    ff__sparse_launch(state, event);
}

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    if (!ff__sparse_fault(state, view, group, advice))
        advice->prefetch = ff_view_pages(view, group->block);
}

static void on_access(void *state, const struct ff_view *view, const struct ff_access_batch *batch,
                      struct ff_advice_list *advice) {
    ff__sparse_access(state, view, batch, advice);
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    ff__sparse_leave(state, view, leave);
}

static void range_freed(void *state, uint32_t range) {
    ff__sparse_range_freed(state, range);
}

static void block_freed(void *state, uint32_t block) {
    ff__sparse_block_freed(state, block);
}

static bool report(const void *state, uint32_t index, struct ff_finding *finding) {
    return ff__sparse_report(state, index, finding);
}

static const struct ff_access_hooks accesses = {.on_access = on_access, .remote_only = true};

const struct ff_prefetch_policy ff__prefetch_whole = {
    .base =
        {
            .name = "whole",
            .summary = "the whole block of each fault; 64 or 4 KiB, or remote use, where little of "
                       "it is used",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_FAULTS,
            .state_size = sizeof(struct ff__sparse),
            .block_state_size = sizeof(struct ff__sparse_block),
            .range_state_size = sizeof(struct ff__sparse_range),
            .params = params,
            .init = init,
            .on_launch = on_launch,
            .on_leave = on_leave,
            .range_freed = range_freed,
            .block_freed = block_freed,
            .report = report,
            .accesses = &accesses,
        },
    .on_fault = on_fault,
};
