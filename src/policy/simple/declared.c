/* A page is dead only if the application said so. */
#include "policy/registry.h"

const struct ff_discard_policy ff__discard_declared = {
    .base =
        {
            .name = "declared",
            .summary = "only pages that the application declared dead are dropped",
            .api = FF_POLICY_API,
        },
};
