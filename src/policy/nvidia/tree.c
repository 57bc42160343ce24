/* The tree prefetcher of the NVIDIA driver (595.45.04, uvm_perf_prefetch.c), page for page.
 *
 * Over the pages of a block stands an implicit binary tree. A fault first fills its 64 KiB group;
 * then the widest subtree around it of which more than `threshold` percent is resident or coming is
 * brought in whole. There is no stored tree: the counts of its nodes are population counts of
 * aligned runs of one mask.
 *
 * Left out, because nothing here has it: preferred locations (with one, the driver prefetches the
 * whole of an untouched block, and nothing away from the location), range groups, HMM. */
#include "policy/nvidia/tree.h"

#include "policy/nvidia/thrash.h"
#include "policy/registry.h"

/* ---- the mask --------------------------------------------------------------------------- */

/* Leaf i stands for page i - offset, so that a 64 KiB group of memory is an aligned group of 16
 * leaves. A block without one whole such group is not shifted and is one group by itself. */
struct leaves {
    struct ff_mask set; /* resident or coming */
    uint32_t offset, count;
    bool one_group;
    uint32_t before_word[FF_MASK_WORDS + 1]; /* leaves set in the words before word i */
};

static void shape_leaves(struct leaves *leaves, const struct ff__tree_input *in) {
    uint32_t prefix = (-in->lead) % FF_LEAF_PAGES; /* pages before the first whole group */
    leaves->one_group = prefix + FF_LEAF_PAGES > in->page_count;
    leaves->offset = leaves->one_group ? 0 : (-prefix) % FF_LEAF_PAGES;
    leaves->count = in->page_count + leaves->offset;
}

/* Every group of 16 bits that is not zero, filled. */
static uint64_t fill_groups(uint64_t word) {
    const uint64_t low = UINT64_C(0x7fff7fff7fff7fff);
    uint64_t any = (((word & low) + low) | word) & ~low; /* the top bit of each such group */
    return any | (any - (any >> 15));
}

/* Fills the groups that a page faulted in and none thrashes in. */
static struct ff_mask grow_groups(const struct ff_mask *faulted, const struct ff_mask *thrashing) {
    struct ff_mask grown;
    for (int i = 0; i < FF_MASK_WORDS; i++)
        grown.word[i] = fill_groups(faulted->word[i]) & ~fill_groups(thrashing->word[i]);
    return grown;
}

static void set_leaves(struct leaves *leaves, const struct ff__tree_input *in,
                       const struct ff_mask *faulted, const struct ff_mask *thrashing) {
    struct ff_mask own = ff_mask_shift_up(in->resident, leaves->offset), grown = {0};
    if (!leaves->one_group)
        grown = grow_groups(faulted, thrashing);
    else if (ff_mask_empty(thrashing))
        grown = ff_mask_of_run(0, leaves->count);
    struct ff_mask valid = ff_mask_of_run(leaves->offset, leaves->count);
    uint32_t sum = 0;
    for (int i = 0; i < FF_MASK_WORDS; i++) {
        uint64_t word = (own.word[i] | faulted->word[i] | grown.word[i]) & valid.word[i];
        leaves->set.word[i] = word;
        leaves->before_word[i] = sum;
        sum += (uint32_t)__builtin_popcountll(word);
    }
    leaves->before_word[FF_MASK_WORDS] = sum;
}

/* `first` is a multiple of `size`, which is a power of two. */
static uint32_t count_subtree(const struct leaves *leaves, uint32_t first, uint32_t size) {
    if (size >= 64)
        return leaves->before_word[(first + size) / 64] - leaves->before_word[first / 64];
    uint64_t word = leaves->set.word[first / 64] >> (first % 64);
    return (uint32_t)__builtin_popcountll(word & ((UINT64_C(1) << size) - 1));
}

/* The driver climbs from the leaf and keeps the last subtree that passes; from the root down, that
 * is the first. The threshold is below 100, so a leaf that is set passes by itself. */
static struct ff_run widest_subtree(const struct leaves *leaves, uint32_t leaf,
                                    uint32_t threshold) {
    for (uint32_t size = FF_BLOCK_PAGES; size > 1; size /= 2) {
        uint32_t first = leaf & -size;
        uint32_t end = first + size < leaves->count ? first + size : leaves->count;
        if (count_subtree(leaves, first, size) * 100 > (end - first) * threshold)
            return (struct ff_run){first, end};
    }
    return (struct ff_run){leaf, leaf + 1};
}

/* Back to pages. The driver takes a subtree that starts left of the block to start at page `offset`
 * and not at page 0; that loses pages, and turns a short run inside out, which is then no run. */
static struct ff_run pages_of(const struct leaves *leaves, struct ff_run subtree, bool quirk) {
    uint32_t first = subtree.first - leaves->offset;
    if (subtree.first < leaves->offset)
        first = quirk ? leaves->offset : 0;
    return (struct ff_run){first, subtree.end - leaves->offset};
}

/* The driver climbs once for each faulted page. Here a page inside the subtree found for an earlier
 * one is skipped: its own widest subtree is the same. For it passes and contains the page; and any
 * wider one that contains the page contains all of it, so also the earlier page, whose widest it
 * would then have been. */
static void add_subtrees(const struct leaves *leaves, const struct ff_mask *scan,
                         const struct ff__tree_input *in, struct ff_mask *out) {
    uint32_t leaf = ff_mask_next(scan, 0);
    while (leaf < FF_BLOCK_PAGES) {
        struct ff_run subtree = widest_subtree(leaves, leaf, in->threshold);
        struct ff_run pages = pages_of(leaves, subtree, in->quirk);
        ff_mask_set_run(out, pages.first, pages.end);
        leaf = ff_mask_next(scan, subtree.end);
    }
}

void ff__tree_mask(const struct ff__tree_input *in, struct ff_mask *out) {
    static const struct ff_mask none;
    const struct ff_mask *thrashing_pages = in->thrashing ? in->thrashing : &none;
    ff_mask_clear(out);
    if (in->threshold >= 100) /* nothing is more than all of it; not even a group is filled then */
        return;

    struct leaves leaves;
    shape_leaves(&leaves, in);
    struct ff_mask faulted = ff_mask_shift_up(in->faulted, leaves.offset);
    struct ff_mask thrashing = ff_mask_shift_up(thrashing_pages, leaves.offset);
    struct ff_mask scan = ff_mask_minus(&faulted, &thrashing);
    if (ff_mask_empty(&scan))
        return;
    set_leaves(&leaves, in, &faulted, &thrashing);
    add_subtrees(&leaves, &scan, in, out);
    *out = ff_mask_minus(out, in->faulted);
    *out = ff_mask_minus(out, thrashing_pages);
}

/* ---- the policy ------------------------------------------------------------------------- */

struct tree {
    struct block *blocks;
    uint32_t threshold, min_faults;
    bool thrashing, quirk;
    struct ff__thrash detector;
};

struct block {
    struct ff__thrash_block thrash;
    uint16_t fault_count; /* to last_tier; wraps as in the driver */
    uint8_t last_tier;    /* plus one; 0: none yet */
};

enum param {
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

/* Standards and ranges are the driver's. */
static const struct ff_param params[PARAMS + 1] = {
    [THRESHOLD] = {"threshold", FF_PARAM_INT, 51, 0, 100,
                   "percent of a subtree that must be exceeded to bring all of it"},
    [MIN_FAULTS] = {"min_faults", FF_PARAM_INT, 1, 1, 20,
                    "faults of a block to one place before anything is prefetched there"},
    [THRASHING] = {"thrashing", FF_PARAM_BOOL, 1, 0, 1, "detect and calm thrashing pages"},
    [QUIRK] = {"quirk", FF_PARAM_BOOL, 1, 0, 1,
               "leave out pages at the start of a misaligned block, as the driver does"},
    [THRASH_THRESHOLD] = {"thrash_threshold", FF_PARAM_INT, 3, 1, 7,
                          "migrations in a row that make a page thrash"},
    [THRASH_PIN_THRESHOLD] = {"thrash_pin_threshold", FF_PARAM_INT, 10, 1, 255,
                              "throttlings before a thrashing page is pinned"},
    [THRASH_LAPSE] = {"thrash_lapse", FF_PARAM_NS, 500000, 1000, INT64_C(1000) * UINT32_MAX,
                      "migrations at most this far apart count; adapts if left alone"},
    [THRASH_NAP] = {"thrash_nap", FF_PARAM_INT, 1, 1, 100,
                    "lapses that a throttled processor waits"},
    [THRASH_EPOCH] = {"thrash_epoch", FF_PARAM_INT, 2000, 1, UINT32_MAX,
                      "lapses without thrashing after which a block's history is forgotten"},
    [THRASH_PIN] = {"thrash_pin", FF_PARAM_INT, 300, 0, UINT32_MAX,
                    "lapses that a page stays pinned; 0: for good"},
    [THRASH_MAX_RESETS] = {"thrash_max_resets", FF_PARAM_INT, 4, 0, UINT32_MAX,
                           "times that a block's history may be forgotten"},
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
    struct block *record = &((struct tree *)state)->blocks[block];
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

/* A page can only be pinned where the requester reaches it, so elsewhere means the host. */
static void ask_detector(struct tree *tree, struct block *record, const struct ff_view *view,
                         const struct ff_fault_group *group, struct ff_fault_advice *advice) {
    FF_MASK_FOR_EACH_PAGE(&group->faulted, page) {
        struct ff__thrash_hint hint =
            ff__thrash_ask(&tree->detector, &record->thrash, view, group->block, page, group->tier);
        if (hint.action == FF__THRASH_THROTTLE) {
            throttle_page(advice, page, hint.until_ns);
        } else if (hint.action == FF__THRASH_PIN && hint.tier != group->tier) {
            ff_mask_set(&advice->remote, page);
            advice->remote_tier = hint.tier;
        }
    }
}

/* Counts faults to one destination. Before the minimum is tested, so that a minimum of 1 holds
 * except when the counter wraps to 0; and again for each try, if the engine asks again. */
static bool has_min_faults(const struct tree *tree, struct block *record, uint32_t tier,
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

static void advise_prefetch(const struct tree *tree, const struct block *record,
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
    struct block *record = &tree->blocks[group->block];
    if (record->thrash.tracked)
        ask_detector(tree, record, view, group, advice);
    struct ff_mask served = ff_mask_minus(&group->faulted, &advice->throttle);
    struct ff_mask local = ff_mask_minus(&served, &advice->remote);
    bool is_remote = !ff_mask_empty(&advice->remote);
    if (ff_mask_empty(&served) || (is_remote && !ff_mask_empty(&local)))
        return;
    uint32_t tier = is_remote ? advice->remote_tier : group->tier;
    if (has_min_faults(tree, record, tier, &served) && !is_remote)
        advise_prefetch(tree, record, view, group, &served, advice);
}

static void on_arrival(void *state, const struct ff_view *view, uint32_t block, uint32_t tier,
                       const struct ff_mask *pages, bool faulted) {
    struct tree *tree = state;
    if (tree->thrashing)
        ff__thrash_arrival(&tree->detector, &tree->blocks[block].thrash, tier, pages, faulted,
                           view->now_ns);
}

const struct ff_prefetch_policy ff__prefetch_tree = {
    .base =
        {
            .name = "tree",
            .summary = "the NVIDIA driver's tree prefetcher and its thrashing detection",
            .api = FF_POLICY_API,
            .needs = FF_SEES_FAULTS,
            .state_size = sizeof(struct tree),
            .block_state_size = sizeof(struct block),
            .params = params,
            .init = init,
            .block_freed = block_freed,
        },
    .on_fault = on_fault,
    .on_arrival = on_arrival,
};
