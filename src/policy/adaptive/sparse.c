#include "policy/adaptive/sparse.h"

void ff__sparse_start(struct ff__sparse *sparse, const struct ff_policy_env *env, size_t block_size,
                      size_t range_size, uint32_t often) {
    sparse->often = often;
    struct ff__sparse_block *blocks = env->block_state;
    struct ff__sparse_range *ranges = env->range_state;
    sparse->by_density = env->params[FF__SPARSE_DENSITY] != 0;
    sparse->may_be_remote = env->params[FF__SPARSE_REMOTE] != 0;
    ff__density_start(&sparse->density, &blocks->density, block_size, &ranges->density, range_size);
    ff__remote_start(&sparse->remote_use, &blocks->remote, block_size, &ranges->remote, range_size);
}

void ff__sparse_launch(struct ff__sparse *sparse, const struct ff_launch_event *event) {
    ff__density_launch(&sparse->density, event);
}

static bool may_try_remote(const struct ff__sparse *sparse, uint32_t block) {
    return sparse->often == 0 || ff__density_times(&sparse->density, block) >= sparse->often;
}

bool ff__sparse_fault(struct ff__sparse *sparse, const struct ff_view *view,
                      const struct ff_fault_group *group, struct ff_fault_advice *advice) {
    return (sparse->may_be_remote &&
            ff__remote_fault(&sparse->remote_use, view, group, may_try_remote(sparse, group->block),
                             advice)) ||
           (sparse->by_density && ff__density_fault(&sparse->density, view, group, advice));
}

bool ff__sparse_is(const struct ff__sparse *sparse, const struct ff_view *view, uint32_t block) {
    uint32_t range = view->blocks[block].range;
    return ff__remote_is(&sparse->remote_use, range, block) ||
           ff__density_is_sparse(&sparse->density, range);
}

bool ff__sparse_is_tried(const struct ff__sparse *sparse, const struct ff_view *view, uint32_t tier,
                         uint32_t block) {
    return sparse->may_be_remote && sparse->often == 0 &&
           ff__remote_is_tried(&sparse->remote_use, view, tier, view->blocks[block].range);
}

void ff__sparse_access(struct ff__sparse *sparse, const struct ff_view *view,
                       const struct ff_access_batch *batch, struct ff_advice_list *advice) {
    ff__remote_access(&sparse->remote_use, view, batch, advice);
}

void ff__sparse_leave(struct ff__sparse *sparse, const struct ff_view *view,
                      const struct ff_leave *leave) {
    ff__density_leave(&sparse->density, view, leave);
}

void ff__sparse_range_freed(struct ff__sparse *sparse, uint32_t range) {
    ff__density_range_freed(&sparse->density, range);
    ff__remote_range_freed(&sparse->remote_use, range);
}

void ff__sparse_block_freed(struct ff__sparse *sparse, uint32_t block) {
    ff__density_block_freed(&sparse->density, block);
    ff__remote_block_freed(&sparse->remote_use, block);
}

bool ff__sparse_report(const struct ff__sparse *sparse, uint32_t index,
                       struct ff_finding *finding) {
    bool first = ff__density_report(&sparse->density, 0, finding);
    if (first && index == 0)
        return true;
    return index == first && ff__remote_report(&sparse->remote_use, finding);
}
