/* UVMSmart's sequential-local prefetcher: the whole 64 KiB leaf of each fault. */
#include "policy/common/neighbours.h"
#include "policy/registry.h"

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    (void)state;
    ff__neighbours_advise(FF__NEIGHBOURS_SEQUENTIAL, view, group, NULL, advice);
}

const struct ff_prefetch_policy ff__prefetch_sequential = {
    .base =
        {
            .name = "sequential",
            .summary = "the whole 64 KiB leaf of each fault (UVMSmart's sequential-local)",
            .api = FF_POLICY_API,
            .needs = FF_SEES_FAULTS,
        },
    .on_fault = on_fault,
};
