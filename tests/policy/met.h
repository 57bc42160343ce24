/* Which policies have run as part of a system with a name. Under sanitizers, where all is slow, those need not run once more
 * with another system's other parts: how parts get on with each other is for the builds without. */
#ifndef FF_TESTS_POLICY_MET_H
#define FF_TESTS_POLICY_MET_H

#include "base/cases.h"

#include "policy/registry.h"

#define MET_MAX 256u

static const struct ff_policy *met[MET_MAX];
static unsigned met_count;

static inline bool is_met(const struct ff_policy *policy) {
    unsigned i = 0;
    while (i < met_count && met[i] != policy)
        i++;
    return i < met_count;
}

static inline void meet(const struct ff__system *system) {
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        if (is_met(system->policy[slot]))
            continue;
        assert_true(met_count < MET_MAX);
        met[met_count++] = system->policy[slot];
    }
}

static inline bool need_not_run(const struct ff_policy *policy) {
    return SANITIZED && is_met(policy);
}

#endif
