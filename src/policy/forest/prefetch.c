/* Forest's prefetcher (ISCA 2025): with each faulted page comes its leaf, and then every node of
 * the tree of which more than half is there; the size of leaves and trees depends on how the range
 * is used (profile.h).
 *
 * Trees of 4 MiB lie in two blocks. What such a tree wants of a block that has no fault itself is
 * advised, as an answer to a fault is about one block. A range whose first block is cut off has
 * trees of 2 MiB there at most (ours). */
#include "policy/forest/pairs.h"
#include "policy/forest/profile.h"
#include "policy/registry.h"

struct forest_prefetch {
    struct ff__profile profile;
    struct ff__pairs pairs; /* of whole blocks */
    bool whole;
};

enum { WHOLE = FF__PROFILE_PARAMS, PARAMS };

static const struct ff_param params[PARAMS + 1] = {
    FF__PROFILE_ROWS,
    [WHOLE] =
        {"whole", FF_PARAM_BOOL, 0, 0, 1,
         "a fault migrates its whole block, the device's best transfer, whatever the tree (ours)"},
};

static int init(void *state, const struct ff_policy_env *env) {
    struct forest_prefetch *forest = state;
    forest->whole = env->params[WHOLE] != 0;
    ff__pairs_start(&forest->pairs, env->block_state);
    return ff__profile_start(&forest->profile, env, sizeof(struct ff__profile_range));
}

/* ---- faults ---- */

/* The blocks whose pages a tree counts. */
struct tree_span {
    uint32_t first, count, page_count;
};

static struct tree_span span_of(const struct ff_view *view, const struct ff__tree_shape *shape,
                                uint32_t block) {
    const struct ff_range *range = &view->ranges[view->blocks[block].range];
    uint32_t number = block - range->first_block, first = block - number % FF__TREE_MASKS;
    bool alone = shape->span_pages <= FF_BLOCK_PAGES ||
                 first + 1 == range->first_block + range->block_count ||
                 view->blocks[first].page_count < FF_BLOCK_PAGES;
    if (alone)
        return (struct tree_span){block, 1, view->blocks[block].page_count};
    return (struct tree_span){first, 2, FF_BLOCK_PAGES + view->blocks[first + 1].page_count};
}

/* Takes out the trees that have no fault, of which a block has several. */
static void leave_faulted_trees(const struct ff_mask *faulted, uint32_t tree_pages,
                                struct ff_mask *wanted) {
    for (uint32_t first = 0; first < FF_BLOCK_PAGES; first += tree_pages)
        if (ff_mask_count_run(faulted, first, first + tree_pages) == 0)
            ff_mask_unset_run(wanted, first, first + tree_pages);
}

/* What the trees around these faults want, by block of the span, whether it is there or not. */
static void grow(const struct forest_prefetch *forest, const struct ff_view *view,
                 const struct ff__tree_shape *shape, const struct tree_span *span,
                 const struct ff_fault_group *group, struct ff_mask wanted[FF__TREE_MASKS]) {
    const uint32_t own = group->block - span->first;
    struct ff_mask leaves = forest->whole ? ff_view_pages(view, group->block)
                                          : ff__tree_leaves_of(&group->faulted, shape->leaf_pages);
    struct ff_mask set[FF__TREE_MASKS];
    struct ff__tree tree;
    for (uint32_t i = 0; i < span->count; i++)
        set[i] = ff_view_expected(view, group->tier, span->first + i);
    ff_mask_unset_run(&leaves, view->blocks[group->block].page_count, FF_BLOCK_PAGES);
    set[own] = ff_mask_or(&set[own], &leaves);
    ff__tree_start(&tree, shape, set, span->page_count);
    ff__tree_fill(&tree, wanted);
    if (shape->span_pages < FF_BLOCK_PAGES)
        leave_faulted_trees(&group->faulted, shape->span_pages, &wanted[own]);
    wanted[own] = ff_mask_or(&wanted[own], &leaves);
}

/* Without pages beyond the block's end, and those that are there. */
static struct ff_mask absent_of(const struct ff_view *view, uint32_t tier, uint32_t block,
                                const struct ff_mask *pages) {
    struct ff_mask there = ff_view_expected(view, tier, block);
    struct ff_mask absent = ff_view_pages(view, block);
    absent = ff_mask_and(&absent, pages);
    return ff_mask_minus(&absent, &there);
}

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    const struct forest_prefetch *forest = state;
    struct ff__tree_shape shape =
        ff__profile_shape(&forest->profile, view->blocks[group->block].range);
    struct tree_span span = span_of(view, &shape, group->block);
    struct ff_mask wanted[FF__TREE_MASKS];
    grow(forest, view, &shape, &span, group, wanted);
    advice->prefetch =
        absent_of(view, group->tier, group->block, &wanted[group->block - span.first]);
    advice->prefetch = ff_mask_minus(&advice->prefetch, &group->faulted);
}

static void bring(const struct ff_view *view, uint32_t tier, uint32_t block,
                  const struct ff_mask *pages, struct ff_advice_list *list) {
    struct ff_advice advice = {.action = FF_BRING, .block = block, .tier = tier, .launch = FF_NONE};
    advice.pages = absent_of(view, tier, block, pages);
    if (!ff_mask_empty(&advice.pages))
        ff_advice_add(list, &advice);
}

/* What the tree that spans two blocks wants of the one without the fault. */
static void bring_other(struct forest_prefetch *forest, const struct ff_view *view,
                        const struct ff_fault_group *group, struct ff_advice_list *advice) {
    struct ff__tree_shape shape =
        ff__profile_shape(&forest->profile, view->blocks[group->block].range);
    struct tree_span span = span_of(view, &shape, group->block);
    struct ff_mask wanted[FF__TREE_MASKS];
    if (span.count == 1 || (forest->whole && !ff__pairs_next(&forest->pairs)))
        return;
    grow(forest, view, &shape, &span, group, wanted);
    uint32_t other = span.first + (group->block == span.first);
    ff__pairs_advised(&forest->pairs, other);
    bring(view, group->tier, other, &wanted[other - span.first], advice);
}

static void on_batch(void *state, const struct ff_view *view, const struct ff_fault_group *groups,
                     uint32_t count, struct ff_advice_list *advice) {
    struct forest_prefetch *forest = state;
    for (uint32_t i = 0; i < count; i++) {
        if (!ff_view_holds(view, groups[i].tier, groups[i].block))
            ff__pairs_fault(&forest->pairs, groups[i].block);
        bring_other(forest, view, &groups[i], advice);
    }
}

/* ---- what happens ---- */

static void on_launch(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice) {
    ff__pairs_launch(&((struct forest_prefetch *)state)->pairs, event);
    ff__profile_on_launch(state, view, event, advice);
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    (void)view;
    ff__pairs_arrival(&((struct forest_prefetch *)state)->pairs, arrival);
}

static void block_freed(void *state, uint32_t block) {
    ((struct forest_prefetch *)state)->pairs.blocks[block] = (struct ff__pair_block){0};
}

/* ---- samples ---- */

/* The leaves of the range that are there in part. */
static void complete_leaves(const struct ff_view *view, uint32_t range, uint32_t tier,
                            uint32_t leaf_pages, struct ff_advice_list *advice) {
    const struct ff_range *r = &view->ranges[range];
    for (uint32_t block = r->first_block; block < r->first_block + r->block_count; block++) {
        struct ff_mask there = ff_view_expected(view, tier, block);
        struct ff_mask leaves = ff__tree_leaves_of(&there, leaf_pages);
        bring(view, tier, block, &leaves, advice);
    }
}

/* A leaf that grows is completed at once; but not where the default tree comes back with a launch
 * of which nothing is known (ours). */
static void on_samples(void *state, const struct ff_view *view, const struct ff_sample_round *round,
                       struct ff_advice_list *advice) {
    struct forest_prefetch *forest = state;
    struct ff__tree_shape before;
    if (!ff__profile_samples(&forest->profile, view, round, advice, &before))
        return;
    struct ff__tree_shape after = ff__profile_shape(&forest->profile, round->range);
    if (after.leaf_pages > before.leaf_pages)
        complete_leaves(view, round->range, round->tier, after.leaf_pages, advice);
}

static const struct ff_sample_hooks samples = {.on_samples = on_samples};

const struct ff_prefetch_policy ff__prefetch_forest = {
    .base =
        {
            .name = "forest",
            .summary =
                "trees shaped by how each range is used: linear, coverage, intensity (Forest)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_LAUNCHES | FF_SEES_SAMPLES,
            .controls = FF_CONTROLS_FAULTS | FF_CONTROLS_SAMPLING,
            .state_size = sizeof(struct forest_prefetch),
            .block_state_size = sizeof(struct ff__pair_block),
            .range_state_size = sizeof(struct ff__profile_range),
            .arena_size = ff__profile_arena_size,
            .params = params,
            .init = init,
            .report = ff__profile_report,
            .on_launch = on_launch,
            .on_arrival = on_arrival,
            .block_freed = block_freed,
            .range_added = ff__profile_range_added,
            .range_freed = ff__profile_range_freed,
            .samples = &samples,
        },
    .on_batch = on_batch,
    .on_fault = on_fault,
};
