/* A policy inside of another policy, which tells it what happens, and lets it answer when it chooses to: `auto` holds several
 * of each kind. */
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

/* `env` is the outer policy's. -ENOMEM, or what the policy's `init` returned; ff__inner_stop() may follow. */
int ff__inner_start(struct ff__inner *inner, const struct ff_policy *policy,
                    const struct ff__inner_param *params, const struct ff_policy_env *env);

/* The same with a value for each parameter. */
int ff__inner_start_with(struct ff__inner *inner, const struct ff_policy *policy,
                         const int64_t *values, const struct ff_policy_env *env);
void ff__inner_stop(struct ff__inner *inner);

/* The hooks of all policies, of `count` of them; one that has none is passed over. */

static inline void ff__inner_on_launch(const struct ff__inner *inner, uint32_t count,
                                       const struct ff_view *view,
                                       const struct ff_launch_event *event,
                                       struct ff_advice_list *advice) {
    for (uint32_t i = 0; i < count; i++)
        if (inner[i].policy->on_launch)
            inner[i].policy->on_launch(inner[i].state, view, event, advice);
}

static inline void ff__inner_on_arrival(const struct ff__inner *inner, uint32_t count,
                                        const struct ff_view *view,
                                        const struct ff_arrival *arrival) {
    for (uint32_t i = 0; i < count; i++)
        if (inner[i].policy->on_arrival)
            inner[i].policy->on_arrival(inner[i].state, view, arrival);
}

static inline void ff__inner_on_leave(const struct ff__inner *inner, uint32_t count,
                                      const struct ff_view *view, const struct ff_leave *leave) {
    for (uint32_t i = 0; i < count; i++)
        if (inner[i].policy->on_leave)
            inner[i].policy->on_leave(inner[i].state, view, leave);
}

static inline void ff__inner_on_samples(const struct ff__inner *inner, uint32_t count,
                                        const struct ff_view *view,
                                        const struct ff_sample_round *round,
                                        struct ff_advice_list *advice) {
    for (uint32_t i = 0; i < count; i++)
        if (inner[i].policy->samples)
            inner[i].policy->samples->on_samples(inner[i].state, view, round, advice);
}

static inline void ff__inner_range_added(const struct ff__inner *inner, uint32_t count,
                                         const struct ff_view *view, uint32_t range) {
    for (uint32_t i = 0; i < count; i++)
        if (inner[i].policy->range_added)
            inner[i].policy->range_added(inner[i].state, view, range);
}

static inline void ff__inner_range_freed(const struct ff__inner *inner, uint32_t count,
                                         uint32_t range) {
    for (uint32_t i = 0; i < count; i++)
        if (inner[i].policy->range_freed)
            inner[i].policy->range_freed(inner[i].state, range);
}

static inline void ff__inner_block_freed(const struct ff__inner *inner, uint32_t count,
                                         uint32_t block) {
    for (uint32_t i = 0; i < count; i++)
        if (inner[i].policy->block_freed)
            inner[i].policy->block_freed(inner[i].state, block);
}

#endif
