/* UVMSmart's three hardware prefetchers: what comes along with a fault is near it, in the same
 * block. They differ in which pages these are (common/neighbours.h): the whole 64 KiB leaf and the
 * nodes of the block's tree that are then more than half valid (Ganguly, ISCA 2019), the leaf
 * alone, or one page drawn from the tree. */
#include "policy/common/neighbours.h"
#include "policy/registry.h"

static int init(void *state, const struct ff_policy_env *env) {
    struct ff__random *random = state;
    *random = ff__random_seeded(env->seed);
    return 0;
}

#define NEAR_FAULT_POLICY(id, called, kind, says)                                                  \
    static void on_fault_##id(void *state, const struct ff_view *view,                             \
                              const struct ff_fault_group *group,                                  \
                              struct ff_fault_advice *advice) {                                    \
        ff__neighbours_advise(kind, view, group, state, advice);                                   \
    }                                                                                              \
    const struct ff_prefetch_policy ff__prefetch_##id = {                                          \
        .base =                                                                                    \
            {                                                                                      \
                .name = called,                                                                    \
                .summary = says,                                                                   \
                .api = FF_POLICY_API,                                                              \
                .sees = FF_SEES_FAULTS,                                                            \
                .controls = FF_CONTROLS_FAULTS,                                                    \
                .state_size = sizeof(struct ff__random),                                           \
                .init = init,                                                                      \
            },                                                                                     \
        .on_fault = on_fault_##id,                                                                 \
    };

NEAR_FAULT_POLICY(tree_half, "tree-half", FF__NEIGHBOURS_TREE,
                  "each fault's leaf, and tree nodes that are more than half valid (Ganguly)")
NEAR_FAULT_POLICY(sequential, "sequential", FF__NEIGHBOURS_SEQUENTIAL,
                  "the whole 64 KiB leaf of each fault (UVMSmart's sequential-local)")
NEAR_FAULT_POLICY(random, "random", FF__NEIGHBOURS_RANDOM,
                  "one random page of each fault's tree (UVMSmart)")
