/* A policy inside of another policy: `auto` holds several of each kind, tells all of them what happens, and lets one of them
 * answer. */
#ifndef FF_POLICY_AUTO_RIVAL_H
#define FF_POLICY_AUTO_RIVAL_H

#include <farfault/policy.h>

struct ff__rival {
    const struct ff_policy *policy;
    void *state, *block_state, *range_state, *arena;
    size_t block_size, range_size, arena_size; /* bytes of these */
};

/* A parameter that differs from its policy's default. The last one has no name. */
struct ff__rival_param {
    const char *name;
    int64_t value;
};

/* `env` is the outer policy's. -ENOMEM, or what the policy's `init` returned; ff__rival_stop() may follow. */
int ff__rival_start(struct ff__rival *rival, const struct ff_policy *policy,
                    const struct ff__rival_param *params, const struct ff_policy_env *env);
void ff__rival_stop(struct ff__rival *rival);

/* The hooks of all policies; a rival that has none is passed over. */

static inline void ff__rival_on_launch(const struct ff__rival *rival, const struct ff_view *view,
                                       const struct ff_launch_event *event,
                                       struct ff_advice_list *advice) {
    if (rival->policy->on_launch)
        rival->policy->on_launch(rival->state, view, event, advice);
}

static inline void ff__rival_on_arrival(const struct ff__rival *rival, const struct ff_view *view,
                                        const struct ff_arrival *arrival) {
    if (rival->policy->on_arrival)
        rival->policy->on_arrival(rival->state, view, arrival);
}

static inline void ff__rival_on_leave(const struct ff__rival *rival, const struct ff_view *view,
                                      const struct ff_leave *leave) {
    if (rival->policy->on_leave)
        rival->policy->on_leave(rival->state, view, leave);
}

static inline void ff__rival_range_added(const struct ff__rival *rival, const struct ff_view *view,
                                         uint32_t range) {
    if (rival->policy->range_added)
        rival->policy->range_added(rival->state, view, range);
}

static inline void ff__rival_range_freed(const struct ff__rival *rival, uint32_t range) {
    if (rival->policy->range_freed)
        rival->policy->range_freed(rival->state, range);
}

static inline void ff__rival_block_freed(const struct ff__rival *rival, uint32_t block) {
    if (rival->policy->block_freed)
        rival->policy->block_freed(rival->state, block);
}

static inline void ff__rival_on_samples(const struct ff__rival *rival, const struct ff_view *view,
                                        const struct ff_sample_round *round,
                                        struct ff_advice_list *advice) {
    if (rival->policy->samples)
        rival->policy->samples->on_samples(rival->state, view, round, advice);
}

#endif
