/* Memory kept free ahead of need, as DeepUM's pre-eviction does (section 5.1): a parameter and the hook
 * of the policies that have it. How much is ours. */
#ifndef FF_POLICY_DEEPUM_AHEAD_H
#define FF_POLICY_DEEPUM_AHEAD_H

#include <farfault/policy.h>

struct ff__ahead {
    uint32_t tier;
    bool on;
};

extern const struct ff_param ff__ahead_params[];

void ff__ahead_start(struct ff__ahead *ahead, const struct ff_policy_env *env);

/* Pages to keep free. */
uint64_t ff__ahead_stock(const struct ff__ahead *ahead, const struct ff_view *view);

#endif
