#include "policy/common/inner.h"

#include "base/lazy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int64_t value_of(const struct ff_param *param, const struct ff__inner_param *params) {
    for (; params->name; params++)
        if (strcmp(params->name, param->name) == 0)
            return params->value;
    return param->initial;
}

static int allocate(struct ff__inner *inner, const struct ff_policy_env *env,
                    const int64_t *params) {
    const struct ff_policy *policy = inner->policy;
    inner->block_size = policy->block_state_size * env->block_limit;
    inner->range_size = policy->range_state_size * env->range_limit;
    inner->arena_size = policy->arena_size ? policy->arena_size(params) : 0;
    inner->block_state = ff__lazy_map(inner->block_size);
    inner->range_state = ff__lazy_map(inner->range_size);
    inner->arena = ff__lazy_map(inner->arena_size);
    inner->state = calloc(1, policy->state_size ? policy->state_size : 1);
    return inner->block_state && inner->range_state && inner->arena && inner->state ? 0 : -ENOMEM;
}

static void release(struct ff__inner *inner) {
    if (inner->block_state)
        ff__lazy_unmap(inner->block_state, inner->block_size);
    if (inner->range_state)
        ff__lazy_unmap(inner->range_state, inner->range_size);
    if (inner->arena)
        ff__lazy_unmap(inner->arena, inner->arena_size);
    free(inner->state);
    *inner = (struct ff__inner){0};
}

int ff__inners_start(struct ff__inners *inners, const struct ff_policy *policy,
                     const struct ff__inner_param *params, const struct ff_policy_env *env) {
    int64_t values[FF_PARAMS_MAX] = {0};
    for (uint32_t i = 0; policy->params && policy->params[i].name; i++)
        values[i] = value_of(&policy->params[i], params);
    return ff__inners_start_with(inners, policy, values, env);
}

int ff__inners_start_with(struct ff__inners *inners, const struct ff_policy *policy,
                          const int64_t *values, const struct ff_policy_env *env) {
    struct ff__inner *inner = &inners->at[inners->count];
    *inner = (struct ff__inner){.policy = policy};
    int status = allocate(inner, env, values);
    if (!status && policy->init) {
        struct ff_policy_env own = *env;
        own.block_state = inner->block_state;
        own.range_state = inner->range_state;
        own.arena = inner->arena;
        own.arena_size = inner->arena_size;
        own.params = values;
        status = policy->init(inner->state, &own);
    }
    if (status)
        release(inner);
    else
        inners->count++;
    return status;
}

void ff__inners_fini(void *state) {
    struct ff__inners *inners = state;
    for (; inners->count > 0; inners->count--) {
        struct ff__inner *inner = &inners->at[inners->count - 1];
        if (inner->policy->fini)
            inner->policy->fini(inner->state);
        release(inner);
    }
}

static void on_samples(void *state, const struct ff_view *view, const struct ff_sample_round *round,
                       struct ff_advice_list *advice) {
    const struct ff__inners *inners = state;
    for (uint32_t i = 0; i < inners->count; i++)
        if (inners->at[i].policy->samples)
            inners->at[i].policy->samples->on_samples(inners->at[i].state, view, round, advice);
}

const struct ff_sample_hooks ff__inners_samples = {.on_samples = on_samples};
