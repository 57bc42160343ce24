/* A policy that throttles, as `pause`; others can be made of its parts. */
#ifndef FF_TESTS_ENGINE_PAUSE_H
#define FF_TESTS_ENGINE_PAUSE_H

#include <farfault/policy.h>

struct pause {
    struct ff_mask *seen;
    uint64_t ns;
};

static const struct ff_param pause_params[] = {
    {"pause", FF_PARAM_NS, 2000000, 0, INT64_C(3600000000000),
     "how long a page's first fault waits"},
    {0},
};

static inline int pause_init(void *policy_state, const struct ff_policy_env *env) {
    struct pause *pause = policy_state;
    pause->seen = env->block_state;
    pause->ns = (uint64_t)env->params[0];
    return 0;
}

static inline void pause_on_fault(void *policy_state, const struct ff_view *view,
                                  const struct ff_fault_group *group,
                                  struct ff_fault_advice *advice) {
    struct pause *pause = policy_state;
    struct ff_mask *seen = &pause->seen[group->block];
    advice->throttle = ff_mask_minus(&group->faulted, seen);
    advice->throttle_until_ns = view->now_ns + pause->ns;
    *seen = ff_mask_or(seen, &group->faulted);
}

static const struct ff_prefetch_policy pause_policy = {
    .base = {.name = "pause",
             .summary = "each page's first fault waits",
             .api = FF_POLICY_API,
             .state_size = sizeof(struct pause),
             .block_state_size = sizeof(struct ff_mask),
             .params = pause_params,
             .init = pause_init},
    .on_fault = pause_on_fault,
};

#endif
