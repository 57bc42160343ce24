/* Migration by access counters: the NVIDIA driver 595.45.04, uvm_gpu_access_counters.c, where it is
 * enabled.
 *
 * The first touch of a page that the host has content for maps it there. The device counts remote
 * accesses by 2 MiB, here by block, and remembers in which 64 KiB they were. At the threshold it
 * notifies the driver, which migrates what the host has of these 64 KiB pieces, with what the
 * prefetch tree adds, and clears the counter.
 *
 * What is left out: a notification names one address, and if the host's memory there is not one
 * physical chunk of 2 MiB, the driver migrates only that page. Here it always takes the pieces. */
#include "base/leaves.h"
#include "policy/nvidia/tree_mask.h"
#include "policy/registry.h"

struct counter {
    uint32_t count, leaves;
};

struct counters {
    struct counter *counters; /* by block, and then by the device that accesses */
    uint32_t devices, threshold, tree;
};

enum { THRESHOLD, TREE, PARAMS };

static const struct ff_param params[PARAMS + 1] = {
    [THRESHOLD] = {"threshold", FF_PARAM_INT, 256, 1, 65535,
                   "remote accesses to a block before its accessed pieces migrate"},
    [TREE] = {"tree", FF_PARAM_INT, 51, 0, 100,
              "percent of a subtree's pages above which all of it migrates; 100: never"},
};

static int init(void *state, const struct ff_policy_env *env) {
    struct counters *counters = state;
    counters->counters = env->block_state;
    counters->devices = env->tier_count - 1;
    counters->threshold = (uint32_t)env->params[THRESHOLD];
    counters->tree = (uint32_t)env->params[TREE];
    return 0;
}

static struct counter *counter_of(const struct counters *counters, uint32_t tier, uint32_t block) {
    return &counters->counters[(size_t)block * counters->devices + tier - 1];
}

static void block_freed(void *state, uint32_t block) {
    for (uint32_t tier = 1; tier <= ((struct counters *)state)->devices; tier++)
        *counter_of(state, tier, block) = (struct counter){0};
}

static struct ff_mask tree_of(const struct counters *counters, const struct ff_view *view,
                              uint32_t block, const struct ff_mask *faulted,
                              const struct ff_mask *there) {
    struct ff_mask pages;
    struct ff__tree_input in = {
        .faulted = faulted,
        .resident = there,
        .page_count = view->blocks[block].page_count,
        .lead = view->blocks[block].lead,
        .threshold = counters->tree,
        .quirk = true,
    };
    ff__tree_mask(&in, &pages);
    return ff_mask_minus(&pages, there);
}

/* Pages without content come; so do their neighbours, unless the host has them, which then are
 * mapped there when they are touched. */
static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    const struct ff_mask *host = ff_view_resident(view, FF_TIER_HOST, group->block);
    advice->remote = ff_mask_and(&group->faulted, host);
    struct ff_mask coming = ff_mask_minus(&group->faulted, host);
    if (ff_mask_empty(&coming))
        return;
    struct ff_mask there = ff_view_expected(view, group->tier, group->block);
    struct ff_mask pages = tree_of(state, view, group->block, &coming, &there);
    advice->prefetch = ff_mask_minus(&pages, host);
}

/* False: no advice is taken any more, and the counter stays full until the next access. */
static bool notify(struct counters *counters, const struct ff_view *view,
                   const struct ff_access *access, uint32_t leaves, struct ff_advice_list *list) {
    uint32_t block = access->block;
    struct ff_advice advice = {.block = block, .tier = access->tier, .launch = FF_NONE};
    struct ff_mask there = ff_view_expected(view, access->tier, block);
    struct ff_mask pages = ff__leaf_pages(leaves, view->blocks[block].page_count);
    pages = ff_mask_and(&pages, ff_view_resident(view, FF_TIER_HOST, block));
    pages = ff_mask_minus(&pages, &there);
    if (ff_mask_empty(&pages))
        return true;
    struct ff_mask more = tree_of(counters, view, block, &pages, &there);
    advice.pages = ff_mask_or(&pages, &more);
    return ff_advice_add(list, &advice);
}

static void on_access(void *state, const struct ff_view *view, const struct ff_access_batch *batch,
                      struct ff_advice_list *advice) {
    struct counters *counters = state;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct ff_access *access = &batch->items[i];
        if (!(access->flags & FF_ACCESS_REMOTE))
            continue;
        struct counter *counter = counter_of(counters, access->tier, access->block);
        counter->leaves |= 1u << access->page / FF_LEAF_PAGES;
        uint32_t left = counters->threshold - counter->count;
        counter->count += access->more + 1 < left ? access->more + 1 : left;
        if (counter->count == counters->threshold &&
            notify(counters, view, access, counter->leaves, advice))
            *counter = (struct counter){0};
    }
}

static const struct ff_access_hooks accesses = {.on_access = on_access, .remote_only = true};

const struct ff_prefetch_policy ff__prefetch_counters = {
    .base =
        {
            .name = "counters",
            .summary = "remote access first, migration after 256 accesses (NVIDIA access counters)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_REMOTE,
            .controls = FF_CONTROLS_FAULTS,
            .state_size = sizeof(struct counters),
            .block_state_size =
                (FF_TIERS_MAX - 1) * sizeof(struct counter), /* at most; the rest is not touched */
            .params = params,
            .init = init,
            .block_freed = block_freed,
            .accesses = &accesses,
        },
    .on_fault = on_fault,
};
