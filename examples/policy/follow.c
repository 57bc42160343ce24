/* follow: a prefetch policy that learns in the background, in one file.
 *
 * It remembers which block faulted after each. `learn` follows these successors of a fault without
 * the engine's lock; `publish` hands them over to `plan`, which prefetches them.
 *
 *     cc -shared -fPIC -Iinclude examples/policy/follow.c -o follow.so
 *     farfault run --policy ./follow.so --system nvidia-1:prefetch=follow ./program */
#include <farfault/policy.h>

#define DEPTH 4u /* blocks ahead of a fault */

struct follow {
    /* Learning's: only `learn` and `publish` look at these. Blocks are numbered from 1 on. */
    uint32_t *successor; /* [block - 1] the block that faulted after it; 0: not known */
    uint32_t last[FF_TIERS_MAX], learned[FF_TIERS_MAX][DEPTH];
    uint32_t published[FF_TIERS_MAX][DEPTH]; /* for `plan` */
};

static int init(void *state, const struct ff_policy_env *env) {
    ((struct follow *)state)->successor = env->block_state;
    return 0;
}

static void learn(void *state, const struct ff_event *events, uint32_t count) {
    struct follow *follow = state;
    for (uint32_t i = 0; i < count; i++) {
        if (events[i].kind != FF_EVENT_FAULT)
            continue;
        uint32_t tier = events[i].tier, next = events[i].block + 1;
        if (follow->last[tier] != 0 && follow->last[tier] != next)
            follow->successor[follow->last[tier] - 1] = next;
        follow->last[tier] = next;
        for (uint32_t ahead = 0; ahead < DEPTH; ahead++) {
            next = next ? follow->successor[next - 1] : 0;
            follow->learned[tier][ahead] = next;
        }
    }
}

/* Blocks may have been freed since they were learned; ff_advise_block() passes over those. */
static void publish(void *state, const struct ff_event *events, uint32_t count) {
    struct follow *follow = state;
    for (uint32_t i = 0; i < count; i++)
        if (events[i].kind == FF_EVENT_FAULT)
            memcpy(follow->published, follow->learned, sizeof follow->learned);
}

static void plan(void *state, const struct ff_view *view, struct ff_advice_list *advice) {
    struct follow *follow = state;
    for (uint32_t tier = 1; tier < view->tier_count; tier++)
        for (uint32_t ahead = 0; ahead < DEPTH && follow->published[tier][ahead]; ahead++)
            ff_advise_block(advice, view, FF_BRING, follow->published[tier][ahead] - 1, tier);
    memset(follow->published, 0, sizeof follow->published);
}

static const struct ff_learn_hooks learning = {.learn = learn, .publish = publish, .plan = plan};

static const struct ff_prefetch_policy follow = {
    .base = {.name = "follow",
             .summary = "example: the blocks that faulted after this one last time",
             .api = FF_POLICY_API,
             .sees = FF_SEES_FAULTS,
             .state_size = sizeof(struct follow),
             .block_state_size = sizeof(uint32_t),
             .init = init},
    .learning = &learning,
};

const struct ff_policy_module ff_policy_module = {.api = FF_POLICY_API, .prefetch = &follow};
