/* Zero copy: nothing ever migrates, every page is used from the host. A backend that cannot map
 * remotely migrates the faulted pages. */
#include "policy/registry.h"

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    (void)state, (void)view;
    advice->remote = group->faulted;
}

const struct ff_prefetch_policy ff__prefetch_remote = {
    .base =
        {
            .name = "remote",
            .summary =
                "nothing migrates: pages are accessed on the host, over the link (zero copy)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_FAULTS,
        },
    .on_fault = on_fault,
};
