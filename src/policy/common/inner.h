/* A policy inside of another policy, which tells it what happens, and lets it answer when it
 * chooses to: `auto` holds several of each kind. */
#ifndef FF_POLICY_COMMON_INNER_H
#define FF_POLICY_COMMON_INNER_H

#include <farfault/policy.h>

struct ff__inner {
    const struct ff_policy *policy;
    void *state, *block_state, *range_state, *arena;
    size_t block_size, range_size, arena_size; /* bytes of these */
};

/* A parameter that differs from its policy's default. The last one has no name. */
struct ff__inner_param {
    const char *name;
    int64_t value;
};

#define FF__INNERS_MAX 3u

/* The head of such a policy's state: the policies inside of it, in the order in which they
 * started. */
struct ff__inners {
    struct ff__inner at[FF__INNERS_MAX];
    uint32_t count;
};

/* Starts one more; `env` is the outer policy's. -ENOMEM, or what the policy's `init` returned. */
int ff__inners_start(struct ff__inners *inners, const struct ff_policy *policy,
                     const struct ff__inner_param *params, const struct ff_policy_env *env);

/* As ff__inners_start(), with a value for each parameter. */
int ff__inners_start_with(struct ff__inners *inners, const struct ff_policy *policy,
                          const int64_t *values, const struct ff_policy_env *env);

/* ---- hooks, for a policy whose state begins with this: each tells all of them ---- */

void ff__inners_fini(void *inners);

static inline void ff__inners_on_launch(void *state, const struct ff_view *view,
                                        const struct ff_launch_event *event,
                                        struct ff_advice_list *advice) {
    const struct ff__inners *inners = state;
    for (uint32_t i = 0; i < inners->count; i++)
        if (inners->at[i].policy->on_launch)
            inners->at[i].policy->on_launch(inners->at[i].state, view, event, advice);
}

static inline void ff__inners_on_arrival(void *state, const struct ff_view *view,
                                         const struct ff_arrival *arrival) {
    const struct ff__inners *inners = state;
    for (uint32_t i = 0; i < inners->count; i++)
        if (inners->at[i].policy->on_arrival)
            inners->at[i].policy->on_arrival(inners->at[i].state, view, arrival);
}

static inline void ff__inners_on_leave(void *state, const struct ff_view *view,
                                       const struct ff_leave *leave) {
    const struct ff__inners *inners = state;
    for (uint32_t i = 0; i < inners->count; i++)
        if (inners->at[i].policy->on_leave)
            inners->at[i].policy->on_leave(inners->at[i].state, view, leave);
}

static inline void ff__inners_range_added(void *state, const struct ff_view *view, uint32_t range) {
    const struct ff__inners *inners = state;
    for (uint32_t i = 0; i < inners->count; i++)
        if (inners->at[i].policy->range_added)
            inners->at[i].policy->range_added(inners->at[i].state, view, range);
}

static inline void ff__inners_range_freed(void *state, uint32_t range) {
    const struct ff__inners *inners = state;
    for (uint32_t i = 0; i < inners->count; i++)
        if (inners->at[i].policy->range_freed)
            inners->at[i].policy->range_freed(inners->at[i].state, range);
}

static inline void ff__inners_block_freed(void *state, uint32_t block) {
    const struct ff__inners *inners = state;
    for (uint32_t i = 0; i < inners->count; i++)
        if (inners->at[i].policy->block_freed)
            inners->at[i].policy->block_freed(inners->at[i].state, block);
}

extern const struct ff_sample_hooks ff__inners_samples;

#endif
