/* stride: a complete farfault policy in one file, to copy and change.
 *
 * It learns the distance between the blocks that fault one after another, and once the same
 * distance has come twice, brings the next `depth` blocks at that distance in ahead of time.
 * Build and use it:
 *
 *     cc -shared -fPIC -Iinclude examples/policy/stride.c -o stride.so
 *     farfault run --policy ./stride.so --system nvidia-1:prefetch=stride,depth=4 -- ./program
 *
 * All state lies in one struct that the engine allocates, zeroed. No hook allocates, locks, or
 * reads a clock. */
#include <farfault/policy.h>

struct stride {
    uint32_t depth;
    uint32_t last;     /* the block that faulted last */
    uint32_t from;     /* where the next plan starts */
    int64_t distance;  /* between the last two */
    uint32_t repeated; /* how often that distance came in a row */
    uint32_t tier;
    bool started, news;
};

static const struct ff_param params[] = {
    {"depth", FF_PARAM_INT, 2, 1, 32, "blocks to bring in ahead"},
    {0},
};

static int init(void *state, const struct ff_policy_env *env) {
    struct stride *stride = state;
    stride->depth = (uint32_t)env->params[0];
    return 0;
}

/* With the fault itself: the rest of its block. */
static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    (void)state;
    ff_mask_set_run(&advice->prefetch, 0, view->blocks[group->block].page_count);
}

/* In the correlator thread: events, oldest first. */
static void learn(void *state, const struct ff_view *view, const struct ff_event *events,
                  uint32_t count) {
    struct stride *stride = state;
    (void)view;
    for (uint32_t i = 0; i < count; i++) {
        if (events[i].kind != FF_EVENT_FAULT)
            continue;
        int64_t distance = (int64_t)events[i].block - (int64_t)stride->last;
        bool same = stride->started && distance == stride->distance && distance != 0;
        stride->repeated = same ? stride->repeated + 1 : 0;
        stride->distance = distance;
        stride->last = stride->from = events[i].block;
        stride->tier = events[i].tier;
        stride->started = stride->news = true;
    }
}

/* In the prefetching thread: what to bring in next. */
static void plan(void *state, const struct ff_view *view, struct ff_advice_list *advice) {
    struct stride *stride = state;
    if (!stride->news || stride->repeated == 0)
        return;
    stride->news = false;
    for (uint32_t i = 1; i <= stride->depth; i++) {
        int64_t block = (int64_t)stride->from + stride->distance * i;
        if (block < 0 || block >= view->block_limit || view->blocks[block].page_count == 0)
            return;
        struct ff_advice next = {.block = (uint32_t)block, .tier = stride->tier, .launch = FF_NONE};
        ff_mask_set_run(&next.pages, 0, view->blocks[block].page_count);
        if (!ff_advice_add(advice, &next))
            return;
    }
}

static const struct ff_prefetch_policy policy = {
    .base =
        {
            .name = "stride",
            .summary = "the rest of the block, and blocks at a repeated distance",
            .api = FF_POLICY_API,
            .needs = FF_SEES_FAULTS,
            .state_size = sizeof(struct stride),
            .params = params,
            .init = init,
        },
    .on_fault = on_fault,
    .learn = learn,
    .plan = plan,
};

extern const struct ff_policy_module ff_policy_module;
__attribute__((visibility("default"))) const struct ff_policy_module ff_policy_module = {
    .api = FF_POLICY_API,
    .prefetch = &policy,
};
