#include "policy/deepum_plus/by_tree.h"

#include "policy/nvidia/tree_mask.h"

/* Ours, all of them. */
#define INTERVAL  64u /* blocks of a range that come for each witness: see by_tree.h */
#define WITNESSES 3u  /* witnesses that decide whether a range comes by the tree */
#define MANY      32u /* witnesses that decide whether it still should */

/* ---- costs ---- */

/* Whether a page of the block is anywhere but on the device. */
static bool has_content(const struct ff_view *view, uint32_t tier, uint32_t block) {
    for (uint32_t from = 0; from < view->tier_count; from++)
        if (from != tier && !ff_mask_empty(ff_view_resident(view, from, block)))
            return true;
    return false;
}

/* Of a whole block, with its way out. */
static uint64_t cost_of_stay(const struct ff_view *view, uint32_t tier, uint32_t block) {
    const struct ff_link_cost *out = ff_view_link(view, tier, FF_TIER_HOST);
    uint32_t count = view->blocks[block].page_count;
    uint64_t in = ff_view_faults_ns(view, tier, 1, has_content(view, tier, block) ? count : 0);
    return in + out->latency_ns +
           (uint64_t)count * FF_PAGE_SIZE * 1000000000 / out->bytes_per_second;
}

/* ---- the decision ---- */

static void judge(struct ff__tree_range *range) {
    if (!range->by_tree && range->witnesses >= WITNESSES) {
        range->by_tree = range->tree_ns * 3 < range->whole_ns * 2;
        range->tree_ns = range->whole_ns = range->witnesses = 0;
    } else if (range->witnesses >= MANY) {
        range->by_tree = range->tree_ns < range->whole_ns;
        range->tree_ns /= 2;
        range->whole_ns /= 2;
        range->witnesses /= 2;
    }
}

/* The witness has shown what it costs. */
static void end_witness(struct ff__tree_block *block, struct ff__tree_range *range,
                        uint64_t tree_ns, uint64_t whole_ns) {
    block->is_witness = false;
    range->tree_ns += tree_ns;
    range->whole_ns += whole_ns;
    range->witnesses++;
    judge(range);
}

/* ---- faults, and what leaves ---- */

/* The block comes to the device. */
static void come(struct ff__tree_block *block, struct ff__tree_range *range) {
    range->came++;
    *block = (struct ff__tree_block){.is_witness = range->by_tree || range->came % INTERVAL == 0};
}

static void bring_by_tree(struct ff__tree_block *block, const struct ff_view *view,
                          const struct ff_fault_group *group, struct ff_fault_advice *advice) {
    struct ff_mask there = ff_view_expected(view, group->tier, group->block);
    ff__tree_prefetch(view, group, advice);
    struct ff_mask pages = ff_mask_or(&group->faulted, &advice->prefetch);
    pages = ff_mask_minus(&pages, &there);
    block->faults++;
    block->pages += ff_mask_count(&pages);
}

/* Whether enough of the block's pages have faulted for it to come whole; see by_tree.h. */
static bool is_worth_it(const struct ff__tree_block *block, const struct ff_view *view,
                        const struct ff_fault_group *group, bool is_large) {
    if (!is_large && has_content(view, group->tier, group->block))
        return true;
    return ff_view_faults_ns(view, group->tier, block->faulted, 0) >=
           cost_of_stay(view, group->tier, group->block);
}

bool ff__by_tree_fault(struct ff__by_tree *by_tree, const struct ff_view *view,
                       const struct ff_fault_group *group, bool is_large,
                       struct ff_fault_advice *advice) {
    struct ff__tree_block *block = &by_tree->blocks[group->block];
    struct ff__tree_range *range = &by_tree->ranges[view->blocks[group->block].range];
    if (view->allocated <= view->capacity[group->tier] || view->parts_cost_more)
        return false; /* nothing has to leave, or parts of a block cost more */
    if (!ff_view_holds(view, group->tier, group->block))
        come(block, range);
    block->faulted += ff_mask_count(&group->faulted);
    if (!block->is_witness && is_worth_it(block, view, group, is_large))
        return false;
    bring_by_tree(block, view, group, advice);
    if (!block->is_witness)
        return true;
    uint64_t tree_ns = ff_view_faults_ns(view, group->tier, block->faults, block->pages),
             whole_ns =
                 ff_view_faults_ns(view, group->tier, 1, view->blocks[group->block].page_count);
    if (tree_ns < whole_ns)
        return true;
    end_witness(block, range, tree_ns + whole_ns, whole_ns);
    return false;
}

void ff__by_tree_leave(struct ff__by_tree *by_tree, const struct ff_view *view,
                       const struct ff_leave *leave) {
    struct ff__tree_block *block = &by_tree->blocks[leave->block];
    uint32_t range = view->blocks[leave->block].range;
    if (leave->kind != FF_LEAVE_RELEASED || !block->is_witness)
        return;
    block->is_witness = false;
    if (range != FF_NONE)
        end_witness(block, &by_tree->ranges[range],
                    ff_view_faults_ns(view, leave->tier, block->faults, block->pages),
                    ff_view_faults_ns(view, leave->tier, 1, view->blocks[leave->block].page_count));
}
