/* follow: a prefetch policy that learns in the background, in one file.
 *
 * With a fault it brings the rest of the block. It remembers for each block which one faulted after it. `learn` follows these successors `depth` blocks ahead of
 * each fault, without the engine's lock; `publish` hands the blocks over to `plan`, which prefetches them.
 *
 *     cc -shared -fPIC -Iinclude examples/policy/follow.c -o follow.so
 *     farfault run --policy ./follow.so --system nvidia-1:prefetch=follow ./program */
#include <farfault/policy.h>

#define DEPTH_MAX 16u

/* What to prefetch to one device: blocks plus one; 0: no more. */
struct ahead {
    uint32_t blocks[DEPTH_MAX];
};

struct follow {
    uint32_t depth;
    /* learning's: only `learn` and `publish` look at these */
    uint32_t *successor; /* [block] the block that faulted after it, plus one; 0: not known */
    uint32_t last[FF_TIERS_MAX];
    struct ahead learned[FF_TIERS_MAX];
    /* for `plan` */
    struct ahead published[FF_TIERS_MAX];
};

static const struct ff_param params[] = {
    {"depth", FF_PARAM_INT, 4, 1, DEPTH_MAX, "blocks to prefetch ahead of a fault"},
    {0},
};

static int init(void *state, const struct ff_policy_env *env) {
    struct follow *follow = state;
    follow->depth = (uint32_t)env->params[0];
    follow->successor = env->block_state;
    return 0;
}

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    (void)state;
    advice->prefetch = ff_view_pages(view, group->block);
}

static struct ahead ahead_of(const struct follow *follow, uint32_t block) {
    struct ahead ahead = {{0}};
    uint32_t next = follow->successor[block];
    for (uint32_t i = 0; i < follow->depth && next != 0; i++) {
        ahead.blocks[i] = next;
        next = follow->successor[next - 1];
    }
    return ahead;
}

static void learn(void *state, const struct ff_event *events, uint32_t count) {
    struct follow *follow = state;
    for (uint32_t i = 0; i < count; i++) {
        const struct ff_event *event = &events[i];
        if (event->kind != FF_EVENT_FAULT)
            continue;
        uint32_t *last = &follow->last[event->tier], fault = event->block + 1;
        if (*last != 0 && *last != fault)
            follow->successor[*last - 1] = fault;
        *last = fault;
        follow->learned[event->tier] = ahead_of(follow, event->block);
    }
}

/* Blocks may have been freed since they were learned: ff_advise_block() passes over those that do not exist. */
static void publish(void *state, const struct ff_event *events, uint32_t count) {
    struct follow *follow = state;
    for (uint32_t i = 0; i < count; i++)
        if (events[i].kind == FF_EVENT_FAULT)
            follow->published[events[i].tier] = follow->learned[events[i].tier];
}

static void plan(void *state, const struct ff_view *view, struct ff_advice_list *advice) {
    struct follow *follow = state;
    for (uint32_t tier = 1; tier < view->tier_count; tier++) {
        const struct ahead *ahead = &follow->published[tier];
        for (uint32_t i = 0; i < follow->depth && ahead->blocks[i] != 0; i++)
            if (!ff_advise_block(advice, view, FF_BRING, ahead->blocks[i] - 1, tier))
                return;
        follow->published[tier] = (struct ahead){{0}};
    }
}

static const struct ff_learn_hooks learning = {.learn = learn, .publish = publish, .plan = plan};

static const struct ff_prefetch_policy follow = {
    .base = {.name = "follow",
             .summary = "example: the blocks that faulted after this one last time",
             .api = FF_POLICY_API,
             .sees = FF_SEES_FAULTS,
             .controls = FF_CONTROLS_FAULTS,
             .state_size = sizeof(struct follow),
             .block_state_size = sizeof(uint32_t),
             .params = params,
             .init = init},
    .on_fault = on_fault,
    .learning = &learning,
};

const struct ff_policy_module ff_policy_module = {.api = FF_POLICY_API, .prefetch = &follow};
