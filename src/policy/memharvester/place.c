/* memHarvester's hierarchical eviction (HUVM, section 4.1): a victim goes to a device that has idle
 * memory, else to the host; there into one page of 2 MiB, if `large` is on (section 4.2.2). */
#include "policy/memharvester/lenders.h"
#include "policy/registry.h"

struct memharvester_place {
    struct ff__lenders lenders;
    bool harvests, large;
};

enum { HARVEST, LARGE, LENDER, KEEP, PARAMS };

static const struct ff_param params[PARAMS + 1] = {
    [HARVEST] = {"harvest", FF_PARAM_BOOL, 1, 0, 1, "evict to devices with idle memory"},
    [LARGE] = {"large", FF_PARAM_BOOL, 1, 0, 1, "evict to the host in pages of 2 MiB"},
    [LENDER] = FF__LENDER_PARAM_CHOICE,
    [KEEP] = FF__LENDER_PARAM_KEEP,
};

static int init(void *state, const struct ff_policy_env *env) {
    struct memharvester_place *place = state;
    place->harvests = env->params[HARVEST];
    place->large = env->params[LARGE];
    place->lenders.choice = (enum ff__lender_choice)env->params[LENDER];
    place->lenders.keep = (uint64_t)env->params[KEEP] * FF_BLOCK_PAGES;
    return 0;
}

/* Only whole blocks go to devices: a part would take a whole chunk there. */
static uint32_t place(void *state, const struct ff_view *view, uint32_t block, uint32_t from,
                      uint32_t tiers[FF_TIERS_MAX]) {
    struct memharvester_place *place = state;
    bool whole = view->blocks[block].page_count == FF_BLOCK_PAGES;
    uint32_t count =
        place->harvests && whole ? ff__lenders_list(&place->lenders, view, from, tiers) : 0;
    tiers[count++] = FF_TIER_HOST;
    return count;
}

static bool uses_large_pages(const void *state) {
    return ((const struct memharvester_place *)state)->large;
}

static const struct ff_host_hooks host = {.uses_large_pages = uses_large_pages};

const struct ff_place_policy ff__place_memharvester = {
    .base =
        {
            .name = "memharvester",
            .summary = "evicted blocks go to a device with idle memory, else to the host",
            .api = FF_POLICY_API,
            .state_size = sizeof(struct memharvester_place),
            .params = params,
            .init = init,
        },
    .place = place,
    .host = &host,
};
