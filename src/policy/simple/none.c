/* No prefetching: only the faulted pages move. */
#include "policy/registry.h"

const struct ff_prefetch_policy ff__prefetch_none = {
    .base =
        {
            .name = "none",
            .summary = "only the faulted pages migrate",
            .api = FF_POLICY_API,
        },
};
