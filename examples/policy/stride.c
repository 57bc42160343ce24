/* stride: a prefetch policy in one file, to copy and change.
 *
 * With a fault it brings the rest of the block. When the blocks that fault lie at the same distance
 * from each other twice in a row, it brings the next `depth` blocks at that distance ahead of time.
 *
 *     cc -shared -fPIC -Iinclude examples/policy/stride.c -o stride.so
 *     farfault run --policy ./stride.so --system nvidia-1:prefetch=stride,depth=4 ./program */
#include <farfault/policy.h>

struct stride {
    uint32_t depth, last; /* the block that faulted last */
    int64_t distance;     /* from the one before it */
};

static const struct ff_param params[] = {
    {"depth", FF_PARAM_INT, 2, 1, 32, "blocks to bring in ahead"},
    {0},
};

static int init(void *state, const struct ff_policy_env *env) {
    ((struct stride *)state)->depth = (uint32_t)env->params[0];
    return 0;
}

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    (void)state;
    advice->prefetch = ff_view_pages(view, group->block);
}

static void on_batch(void *state, const struct ff_view *view, const struct ff_fault_group *groups,
                     uint32_t count, struct ff_advice_list *advice) {
    struct stride *stride = state;
    for (uint32_t i = 0; i < count; i++) {
        int64_t distance = (int64_t)groups[i].block - stride->last;
        bool again = distance == stride->distance && distance != 0;
        stride->distance = distance;
        stride->last = groups[i].block;
        for (uint32_t ahead = 1; again && ahead <= stride->depth; ahead++) {
            int64_t block = stride->last + distance * ahead;
            if (block >= 0 && block < view->block_limit)
                ff_advise_block(advice, view, FF_BRING, (uint32_t)block, groups[i].tier);
        }
    }
}

static const struct ff_prefetch_policy stride = {
    .base = {.name = "stride",
             .summary = "example: blocks at the distance at which they fault",
             .api = FF_POLICY_API,
             .sees = FF_SEES_FAULTS,
             .controls = FF_CONTROLS_FAULTS,
             .state_size = sizeof(struct stride),
             .params = params,
             .init = init},
    .on_batch = on_batch,
    .on_fault = on_fault,
};

const struct ff_policy_module ff_policy_module = {.api = FF_POLICY_API, .prefetch = &stride};
