/* Ganguly's tree-based neighbourhood prefetcher (ISCA 2019), as UVMSmart has it: a fault brings its
 * whole 64 KiB leaf, and any node of the block's tree that is then more than half valid fills up. */
#include "policy/common/neighbours.h"
#include "policy/registry.h"

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    (void)state;
    ff__neighbours_advise(FF__NEIGHBOURS_TREE, view, group, NULL, advice);
}

const struct ff_prefetch_policy ff__prefetch_tree_half = {
    .base =
        {
            .name = "tree-half",
            .summary = "tree neighbourhood: nodes more than half valid fill up (Ganguly)",
            .api = FF_POLICY_API,
            .needs = FF_SEES_FAULTS,
        },
    .on_fault = on_fault,
};
