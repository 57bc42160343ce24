#include "policy/auto/rival.h"

#include "base/lazy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int64_t value_of(const struct ff_param *param, const struct ff__rival_param *params) {
    for (; params->name; params++)
        if (strcmp(params->name, param->name) == 0)
            return params->value;
    return param->initial;
}

static int allocate(struct ff__rival *rival, const struct ff_policy_env *env,
                    const int64_t *params) {
    const struct ff_policy *policy = rival->policy;
    rival->block_size = policy->block_state_size * env->block_limit;
    rival->range_size = policy->range_state_size * env->range_limit;
    rival->arena_size = policy->arena_size ? policy->arena_size(params) : 0;
    rival->block_state = ff__lazy_map(rival->block_size);
    rival->range_state = ff__lazy_map(rival->range_size);
    rival->arena = ff__lazy_map(rival->arena_size);
    rival->state = calloc(1, policy->state_size ? policy->state_size : 1);
    return rival->block_state && rival->range_state && rival->arena && rival->state ? 0 : -ENOMEM;
}

static void release(struct ff__rival *rival) {
    if (rival->block_state)
        ff__lazy_unmap(rival->block_state, rival->block_size);
    if (rival->range_state)
        ff__lazy_unmap(rival->range_state, rival->range_size);
    if (rival->arena)
        ff__lazy_unmap(rival->arena, rival->arena_size);
    free(rival->state);
    *rival = (struct ff__rival){0};
}

int ff__rival_start(struct ff__rival *rival, const struct ff_policy *policy,
                    const struct ff__rival_param *params, const struct ff_policy_env *env) {
    int64_t values[FF_PARAMS_MAX] = {0};
    *rival = (struct ff__rival){.policy = policy};
    for (uint32_t i = 0; policy->params && policy->params[i].name; i++)
        values[i] = value_of(&policy->params[i], params);
    int status = allocate(rival, env, values);
    if (!status && policy->init) {
        struct ff_policy_env inner = *env;
        inner.block_state = rival->block_state;
        inner.range_state = rival->range_state;
        inner.arena = rival->arena;
        inner.arena_size = rival->arena_size;
        inner.params = values;
        status = policy->init(rival->state, &inner);
    }
    if (status)
        release(rival);
    return status;
}

void ff__rival_stop(struct ff__rival *rival) {
    if (rival->state && rival->policy->fini)
        rival->policy->fini(rival->state);
    release(rival);
}
