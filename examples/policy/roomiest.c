/* roomiest: a place policy in one file, to copy and change.
 *
 * Evicted blocks go to the device with the most free memory, as long as more than `spare` of its
 * memory is free; else to the host.
 *
 *     cc -shared -fPIC -Iinclude examples/policy/roomiest.c -o roomiest.so
 *     farfault run --policy ./roomiest.so --system nvidia-1:place=roomiest --devices 2 ./program */
#include <farfault/policy.h>

struct roomiest {
    uint64_t spare; /* percent */
};

static const struct ff_param params[] = {
    {"spare", FF_PARAM_INT, 50, 0, 100, "percent of a device's memory that it keeps for itself"},
    {0},
};

static int init(void *state, const struct ff_policy_env *env) {
    ((struct roomiest *)state)->spare = (uint64_t)env->params[0];
    return 0;
}

static uint32_t place(void *state, const struct ff_view *view, uint32_t block, uint32_t from,
                      uint32_t tiers[FF_TIERS_MAX]) {
    const struct roomiest *roomiest = state;
    uint64_t most = 0;
    uint32_t count = 0;
    (void)block;
    for (uint32_t tier = 1; tier < view->tier_count; tier++) {
        uint64_t room = ff_view_free_pages(view, tier);
        if (tier == from || room <= most || room * 100 <= view->capacity[tier] * roomiest->spare)
            continue;
        tiers[0] = tier;
        most = room;
        count = 1;
    }
    tiers[count++] = FF_TIER_HOST;
    return count;
}

static const struct ff_place_policy roomiest = {
    .base = {.name = "roomiest",
             .summary = "example: the device with the most free memory",
             .api = FF_POLICY_API,
             .state_size = sizeof(struct roomiest),
             .params = params,
             .init = init},
    .place = place,
};

const struct ff_policy_module ff_policy_module = {.api = FF_POLICY_API, .place = &roomiest};
