/* Evictions go to the host, as in the NVIDIA driver, which never evicts to a peer. */
#include "policy/registry.h"

static uint32_t place(void *state, const struct ff_view *view, uint32_t block, uint32_t from_tier) {
    (void)state, (void)view, (void)block, (void)from_tier;
    return FF_TIER_HOST;
}

const struct ff_place_policy ff__place_host = {
    .base =
        {
            .name = "host",
            .summary = "evicted blocks go to the host",
            .api = FF_POLICY_API,
        },
    .place = place,
};
