/* Evictions go to the host, as in the NVIDIA driver, which never evicts to a peer. */
#include "policy/registry.h"

const struct ff_place_policy ff__place_host = {
    .base =
        {
            .name = "host",
            .summary = "evicted blocks go to the host",
            .api = FF_POLICY_API,
        },
};
