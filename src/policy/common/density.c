#include "policy/common/density.h"

#include "policy/common/tree.h"

#include <stdio.h>

/* Ours, all of them. */
#define WORTH          8u /* without costs from the backend: what the software device measures */
#define OFTEN          4u /* times that a block comes back during a launch before it can be a witness */
#define INTERVAL_FIRST 8u  /* blocks that come back for each witness, */
#define INTERVAL_MAX   64u /* doubled by each one that shows dense use */
#define PART           4u  /* of its memory that is taken into account, for the reason below */
#define WITNESSES      3u  /* that decide */
#define MISSES         32u /* of a sparse range that decide */

void ff__density_start(struct ff__density *density, void *blocks, size_t block_stride, void *ranges,
                       size_t range_stride) {
    *density = (struct ff__density){.blocks = blocks,
                                    .block_stride = block_stride,
                                    .ranges = ranges,
                                    .range_stride = range_stride};
}

static struct ff__density_block *block_of(const struct ff__density *density, uint32_t block) {
    return (void *)(density->blocks + block * density->block_stride);
}

static struct ff__density_range *range_of(const struct ff__density *density, uint32_t range) {
    return (void *)(density->ranges + range * density->range_stride);
}

/* ---- costs ---- */

static uint64_t cost_of(const struct ff_view *view, uint32_t tier, uint64_t bytes) {
    const struct ff_link_cost *link = &view->links[FF_TIER_HOST * view->tier_count + tier];
    return view->fault_ns + link->latency_ns + bytes * 1000000000 / link->bytes_per_second;
}

static uint32_t worth_of(struct ff__density *density, const struct ff_view *view, uint32_t tier) {
    if (density->worth[tier] > 0)
        return density->worth[tier];
    const struct ff_link_cost *link = &view->links[FF_TIER_HOST * view->tier_count + tier];
    bool known = view->fault_ns > 0 && link->bytes_per_second > 0;
    uint64_t worth = known ? cost_of(view, tier, FF_BLOCK_PAGES * FF_PAGE_SIZE) /
                                 cost_of(view, tier, FF_LEAF_PAGES * FF_PAGE_SIZE)
                           : WORTH;
    return density->worth[tier] = worth > 1 ? (uint32_t)worth : 1;
}

/* ---- the two decisions ---- */

static void start_over(struct ff__density_range *range) {
    range->leaf_faults = range->misses = 0;
}

/* A range becomes sparse only if that saves a third: leaves are smaller pages for the device, too. */
static void end_witness(struct ff__density *density, struct ff__density_range *range,
                        uint32_t leaves, uint32_t worth) {
    range->interval = leaves <= worth ? INTERVAL_FIRST
                                      : range->interval * (range->interval < INTERVAL_MAX ? 2 : 1);
    range->leaf_faults += leaves;
    if (++range->misses < WITNESSES)
        return;
    if (range->leaf_faults * 3 < range->misses * worth * 2) {
        range->is_sparse = true;
        density->became_sparse++;
    }
    start_over(range);
}

static void judge_leaves(struct ff__density *density, struct ff__density_range *range,
                         uint32_t worth) {
    if (range->misses < MISSES)
        return;
    if (range->leaf_faults > range->misses * worth) {
        range->is_sparse = false;
        density->became_dense++;
        start_over(range);
    }
    range->leaf_faults /= 2;
    range->misses /= 2;
}

/* ---- faults ---- */

/* Whether the block would be there if all came whole. Uses of what is there are not seen, so that the clock is slow: for
 * a part of the device's memory it is right. Whoever goes through blocks needs few at a time. */
static bool would_be_there(const struct ff__density *density, const struct ff_view *view,
                           uint32_t tier, const struct ff__density_block *block) {
    uint32_t holds = (uint32_t)(view->capacity[tier] / FF_BLOCK_PAGES / PART);
    return block->stamp > 0 && density->clock[tier] + 1 - block->stamp < holds;
}

/* A block comes back; counts how often it has. */
static bool comes_often(const struct ff__density *density, struct ff__density_block *block) {
    block->times = block->launch == density->launches ? block->times : 0;
    block->launch = density->launches;
    block->times = (uint8_t)(block->times + (block->times < UINT8_MAX));
    return block->times >= OFTEN;
}

/* Of a dense range, a block that comes back often. */
static bool is_next_witness(struct ff__density_range *range) {
    if (range->interval == 0)
        range->interval = range->countdown = INTERVAL_FIRST;
    if (--range->countdown > 0)
        return false;
    range->countdown = range->interval;
    return true;
}

/* Bit i: a page of leaf i is set. */
static uint32_t leaves_of(const struct ff_mask *pages) {
    uint32_t leaves = 0;
    for (uint32_t leaf = 0; leaf < FF_CHUNK_LEAVES; leaf++)
        if (ff_mask_count_run(pages, leaf * FF_LEAF_PAGES, (leaf + 1) * FF_LEAF_PAGES) > 0)
            leaves |= 1u << leaf;
    return leaves;
}

static void bring_leaves(const struct ff_view *view, const struct ff_fault_group *group, bool all,
                         struct ff_fault_advice *advice) {
    struct ff_mask there = ff_view_expected(view, group->tier, group->block);
    struct ff_mask pages = ff_view_pages(view, group->block);
    if (!all) {
        struct ff_mask leaves = ff__tree_leaves_of(&group->faulted, FF_LEAF_PAGES);
        pages = ff_mask_and(&pages, &leaves);
    }
    pages = ff_mask_minus(&pages, &there);
    advice->prefetch = ff_mask_minus(&pages, &group->faulted);
    advice->granule = FF_LEAF_PAGES;
}

/* What the block that is faulted on comes in. */
static bool comes_in_leaves(const struct ff__density *density, struct ff__density_range *range,
                            const struct ff_view *view, const struct ff_fault_group *group,
                            struct ff__density_block *block) {
    if (ff_view_holds(view, group->tier, group->block))
        return block->in_leaves;
    bool back = !ff_mask_empty(&ff_view_facts(view, group->block)->evicted);
    bool often = back && comes_often(density, block);
    block->is_witness = !range->is_sparse && often && is_next_witness(range);
    if (block->is_witness)
        block->leaves = 0;
    return block->in_leaves = range->is_sparse || block->is_witness;
}

static void has_come(struct ff__density *density, uint32_t tier, struct ff__density_block *block) {
    block->stamp = ++density->clock[tier];
    block->leaves = 0;
}

/* Whether a whole block would have come for this fault. */
static bool would_miss(struct ff__density *density, const struct ff_view *view,
                       const struct ff_fault_group *group, struct ff__density_block *block,
                       uint32_t leaves) {
    if (would_be_there(density, view, group->tier, block) && !(block->leaves & leaves))
        return false;
    has_come(density, group->tier, block);
    return true;
}

bool ff__density_fault(struct ff__density *density, const struct ff_view *view,
                       const struct ff_fault_group *group, struct ff_fault_advice *advice) {
    struct ff__density_block *block = block_of(density, group->block);
    struct ff__density_range *range = range_of(density, view->blocks[group->block].range);
    if (!comes_in_leaves(density, range, view, group, block)) {
        has_come(density, group->tier, block);
        return false;
    }
    uint32_t worth = worth_of(density, view, group->tier), leaves = leaves_of(&group->faulted);
    bool missed = !block->is_witness && would_miss(density, view, group, block, leaves);
    block->leaves |= leaves;
    if (!block->is_witness) {
        range->misses += missed;
        range->leaf_faults += (uint32_t)__builtin_popcount(leaves);
        judge_leaves(density, range, worth);
    }
    bring_leaves(view, group, (uint32_t)__builtin_popcount(block->leaves) > worth, advice);
    return true;
}

uint32_t ff__density_times(const struct ff__density *density, uint32_t block) {
    const struct ff__density_block *record = block_of(density, block);
    return record->launch == density->launches ? record->times : 0;
}

bool ff__density_is_sparse(const struct ff__density *density, uint32_t range) {
    return range_of(density, range)->is_sparse;
}

/* ---- what leaves ---- */

void ff__density_leave(struct ff__density *density, const struct ff_view *view,
                       const struct ff_leave *leave) {
    struct ff__density_block *block = block_of(density, leave->block);
    uint32_t number = view->blocks[leave->block].range;
    if (leave->kind != FF_LEAVE_RELEASED)
        return;
    struct ff__density_range *range = number == FF_NONE ? NULL : range_of(density, number);
    if (block->is_witness && range && !range->is_sparse)
        end_witness(density, range, (uint32_t)__builtin_popcount(block->leaves),
                    worth_of(density, view, leave->tier));
    block->is_witness = block->in_leaves = false;
}

void ff__density_range_freed(struct ff__density *density, uint32_t range) {
    *range_of(density, range) = (struct ff__density_range){0};
}

void ff__density_block_freed(struct ff__density *density, uint32_t block) {
    *block_of(density, block) = (struct ff__density_block){0};
}

bool ff__density_report(const struct ff__density *density, uint32_t index,
                        struct ff_finding *finding) {
    if (index > 0 || density->became_sparse == 0)
        return false;
    finding->launch = finding->range = FF_NONE;
    snprintf(finding->text, sizeof finding->text,
             "%u times little was used of a range's blocks: 64 KiB came at a time; %u times all "
             "was used again",
             density->became_sparse, density->became_dense);
    return true;
}
