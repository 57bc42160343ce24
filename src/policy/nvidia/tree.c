/* The tree prefetcher of the NVIDIA driver and its thrashing detection, as a policy: the driver's
 * tree (tree_mask.h) asked as the driver asks it (595.45.04, uvm_perf_prefetch.c). */
#include "policy/nvidia/thrash.h"
#include "policy/nvidia/tree_mask.h"
#include "policy/registry.h"

struct tree {
    struct tree_block *blocks;
    uint32_t threshold, min_faults;
    bool thrashing, quirk;
    struct ff__thrash detector;
};

struct tree_block {
    struct ff__thrash_block thrash;
    uint16_t fault_count; /* to last_tier; wraps as in the driver */
    uint8_t last_tier;    /* plus one; 0: none yet */
};

enum {
    THRESHOLD,
    MIN_FAULTS,
    THRASHING,
    QUIRK,
    THRASH_THRESHOLD,
    THRASH_PIN_THRESHOLD,
    THRASH_LAPSE,
    THRASH_NAP,
    THRASH_EPOCH,
    THRASH_PIN,
    THRASH_MAX_RESETS,
    PARAMS
};

/* Defaults and ranges are the driver's. */
static const struct ff_param params[PARAMS + 1] = {
    [THRESHOLD] = {"threshold", FF_PARAM_INT, FF__TREE_THRESHOLD, 0, 100,
                   "percent of a subtree's pages above which all of it migrates"},
    [MIN_FAULTS] = {"min_faults", FF_PARAM_INT, 1, 1, 20,
                    "faults of a block to one tier before anything is prefetched there"},
    [THRASHING] = {"thrashing", FF_PARAM_BOOL, 1, 0, 1,
                   "detect thrashing pages; throttle or pin them"},
    [QUIRK] = {"quirk", FF_PARAM_BOOL, 1, 0, 1,
               "leave out pages at the start of a misaligned block, as the driver does"},
    [THRASH_THRESHOLD] = {"thrash_threshold", FF_PARAM_INT, 3, 1, 7,
                          "consecutive migrations that make a page a thrashing one"},
    [THRASH_PIN_THRESHOLD] = {"thrash_pin_threshold", FF_PARAM_INT, 10, 1, 255,
                              "throttlings before a thrashing page is pinned"},
    [THRASH_LAPSE] = {"thrash_lapse", FF_PARAM_NS, 500000, 1000, INT64_C(1000) * UINT32_MAX,
                      "migrations at most this far apart are consecutive; adapts unless set"},
    [THRASH_NAP] = {"thrash_nap", FF_PARAM_INT, 1, 1, 100,
                    "how long a throttled processor waits, in units of thrash_lapse"},
    [THRASH_EPOCH] =
        {"thrash_epoch", FF_PARAM_INT, 2000, 1, UINT32_MAX,
         "time without thrashing that resets a block's history, in units of thrash_lapse"},
    [THRASH_PIN] = {"thrash_pin", FF_PARAM_INT, 300, 0, UINT32_MAX,
                    "how long a page stays pinned, in units of thrash_lapse; 0: for good"},
    [THRASH_MAX_RESETS] = {"thrash_max_resets", FF_PARAM_INT, 4, 0, UINT32_MAX,
                           "how often a block's history may be reset"},
};

static int init(void *state, const struct ff_policy_env *env) {
    struct tree *tree = state;
    const int64_t *value = env->params;
    tree->blocks = env->block_state;
    tree->threshold = (uint32_t)value[THRESHOLD];
    tree->min_faults = (uint32_t)value[MIN_FAULTS];
    tree->thrashing = value[THRASHING] != 0;
    tree->quirk = value[QUIRK] != 0;
    struct ff__thrash_settings settings = {
        .threshold = (uint32_t)value[THRASH_THRESHOLD],
        .pin_threshold = (uint32_t)value[THRASH_PIN_THRESHOLD],
        .lapse_ns = (uint64_t)value[THRASH_LAPSE],
        .nap = (uint64_t)value[THRASH_NAP],
        .epoch = (uint64_t)value[THRASH_EPOCH],
        .pin = (uint64_t)value[THRASH_PIN],
        .max_resets = (uint32_t)value[THRASH_MAX_RESETS],
    };
    ff__thrash_start(&tree->detector, &settings);
    return 0;
}

static void block_freed(void *state, uint32_t block) {
    struct tree_block *record = &((struct tree *)state)->blocks[block];
    ff__thrash_forget(&record->thrash);
    if (record->last_tier == 0) /* never used: let it cost nothing */
        return;
    record->fault_count = 0;
    record->last_tier = 0;
}

/* Pages of one group may have to wait for different times; they are told the earliest, and a page
 * that is too early then is simply told to wait again. */
static void throttle_page(struct ff_fault_advice *advice, uint32_t page, uint64_t until_ns) {
    if (ff_mask_empty(&advice->throttle) || until_ns < advice->throttle_until_ns)
        advice->throttle_until_ns = until_ns;
    ff_mask_set(&advice->throttle, page);
}

/* A page can only be pinned where the requester reaches it, so elsewhere means the host. Returns
 * where the pages go: to the requester, or to where the last of those is pinned that are not to
 * move. */
static uint32_t ask_detector(struct tree *tree, struct tree_block *record,
                             const struct ff_view *view, const struct ff_fault_group *group,
                             struct ff_fault_advice *advice) {
    uint32_t tier = group->tier;
    FF_MASK_FOR_EACH_PAGE(&group->faulted, page) {
        struct ff__thrash_hint hint =
            ff__thrash_ask(&tree->detector, &record->thrash, view, group->block, page, group->tier);
        if (hint.action == FF__THRASH_THROTTLE) {
            throttle_page(advice, page, hint.until_ns);
        } else if (hint.action == FF__THRASH_PIN && hint.tier != group->tier) {
            ff_mask_set(&advice->remote, page);
            tier = hint.tier;
        }
    }
    return tier;
}

/* Counts faults to one destination. Before the minimum is tested, so that a minimum of 1 holds
 * except when the counter wraps to 0; and again for each try, if the engine asks again. */
static bool has_min_faults(const struct tree *tree, struct tree_block *record, uint32_t tier,
                           const struct ff_mask *served) {
    if (record->last_tier != tier + 1) {
        record->last_tier = (uint8_t)(tier + 1);
        record->fault_count = 0;
    }
    record->fault_count = (uint16_t)(record->fault_count + ff_mask_count(served));
    return record->fault_count >= tree->min_faults;
}

/* What the driver calls resident. A host page beside a device's is the clean copy of that page,
 * which the driver would not have kept. */
static struct ff_mask resident_at(const struct ff_view *view, uint32_t tier, uint32_t block) {
    struct ff_mask resident = tier == FF_TIER_HOST ? *ff_view_resident(view, tier, block)
                                                   : ff_view_expected(view, tier, block);
    if (tier != FF_TIER_HOST)
        return resident;
    for (uint32_t device = 1; device < view->tier_count; device++)
        resident = ff_mask_minus(&resident, ff_view_resident(view, device, block));
    return resident;
}

static void advise_prefetch(const struct tree *tree, const struct tree_block *record,
                            const struct ff_view *view, const struct ff_fault_group *group,
                            const struct ff_mask *served, struct ff_fault_advice *advice) {
    const struct ff_block *block = &view->blocks[group->block];
    struct ff_mask resident = resident_at(view, group->tier, group->block);
    struct ff__tree_input in = {
        .faulted = served,
        .resident = &resident,
        .thrashing = ff__thrash_pages(&record->thrash),
        .page_count = block->page_count,
        .lead = block->lead,
        .threshold = tree->threshold,
        .quirk = tree->quirk,
    };
    ff__tree_mask(&in, &advice->prefetch);
    /* The driver drops the host's own pages if the host has them mapped, and here it always has. A
     * device's own stay in the mask: there is nothing to copy, but they get mapped. */
    if (group->tier == FF_TIER_HOST)
        advice->prefetch = ff_mask_minus(&advice->prefetch, &resident);
}

/* The driver prefetches only if all the pages it serves go to one place. If that place is not the
 * faulting tier but the host, where all of them are pinned, it would prefetch to the host; advice
 * cannot say that, so nothing comes along, but the faults count. */
static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    struct tree *tree = state;
    struct tree_block *record = &tree->blocks[group->block];
    uint32_t tier =
        record->thrash.tracked ? ask_detector(tree, record, view, group, advice) : group->tier;
    struct ff_mask served = ff_mask_minus(&group->faulted, &advice->throttle);
    struct ff_mask local = ff_mask_minus(&served, &advice->remote);
    bool is_remote = !ff_mask_empty(&advice->remote);
    if (ff_mask_empty(&served) || (is_remote && !ff_mask_empty(&local)))
        return;
    if (has_min_faults(tree, record, tier, &served) && !is_remote)
        advise_prefetch(tree, record, view, group, &served, advice);
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    struct tree *tree = state;
    if (tree->thrashing && arrival->kind == FF_ARRIVAL_SERVED)
        ff__thrash_arrival(&tree->detector, &tree->blocks[arrival->block].thrash, arrival->tier,
                           arrival->pages, arrival->faulted, view->now_ns);
}

const struct ff_prefetch_policy ff__prefetch_tree = {
    .base =
        {
            .name = "tree",
            .summary = "the NVIDIA driver's tree prefetcher and its thrashing detection",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_FAULTS,
            .state_size = sizeof(struct tree),
            .block_state_size = sizeof(struct tree_block),
            .params = params,
            .init = init,
            .block_freed = block_freed,
            .on_arrival = on_arrival,
        },
    .on_fault = on_fault,
};
