#include "policy/adaptive/density.h"

#include "base/leaves.h"
#include "policy/adaptive/density_grain.h"

#include <stdio.h>
#include <string.h>

/* Ours, all of them. */
/* times that a block comes back during a launch before it can be a witness */
#define OFTEN        3u
#define WITNESS_PART 4u /* a witness may cost this part of what its block has cost whole */
#define PART         4u /* this part of a device's memory is counted: see latest_there() */
#define LATEST_LEAST 2u /* blocks of that part, at least: one, and the one before it */
#define DENSE        2u /* if more leaves of a witness are used whole, all that are used come so */
#define ALONG        4u /* so many pages that come along with a fault cost as much as a fault */

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

/* ---- what is used of a block in pages ---- */

static uint32_t touched_of(const struct ff__density_block *block, uint32_t leaf) {
    return block->touched[leaf / 2] >> leaf % 2 * 4 & 15;
}

static void touch(struct ff__density_block *block, uint32_t page) {
    uint32_t leaf = page / FF_LEAF_PAGES, one = 1u << leaf % 2 * 4;
    if (touched_of(block, leaf) < 15)
        block->touched[leaf / 2] = (uint8_t)(block->touched[leaf / 2] + one);
    block->leaves |= 1u << leaf;
}

/* If more pages of a leaf are used, all of it comes: they have cost more than it does. */
static uint32_t leaf_limit(const struct ff__density_break_even *break_even) {
    uint32_t limit = 3 * ff__density_leaf_cost(break_even), most = FF_LEAF_PAGES * 3 / 4;
    return limit < most ? limit : most;
}

static void forget_use(struct ff__density_block *block) {
    block->leaves = 0;
    memset(block->touched, 0, sizeof block->touched);
    block->used = block->cost = 0;
    block->is_full = false;
}

/* The leaves of which that many are used. */
static uint32_t full_leaves(const struct ff__density_block *block,
                            const struct ff__density_break_even *break_even) {
    uint32_t leaves = 0;
    for (uint32_t leaf = 0; leaf < FF_CHUNK_LEAVES; leaf++)
        leaves |= (uint32_t)(touched_of(block, leaf) > leaf_limit(break_even)) << leaf;
    return leaves;
}

/* What a witness may cost until it comes whole, in pages: a quarter of what it has cost as a whole
 * block before, and at least as much as one. Where there is one because blocks of the range have
 * cost as much as all its pages would, its own has cost as much as its pages. */
static uint32_t witness_limit(const struct ff__density_range *range,
                              const struct ff__density_block *block,
                              const struct ff__density_break_even *break_even) {
    uint32_t often = block->is_across ? FF_BLOCK_PAGES / break_even->pages : block->times;
    uint32_t times = often >> range->failed_stays;
    return break_even->pages * (times > WITNESS_PART ? times : WITNESS_PART) / WITNESS_PART;
}

/* ---- faults ---- */

/* How many of the latest blocks would be on the device if all came whole. Uses of what is there are
 * not seen, so that the clock is slow; it is right for a part of the device's memory. A program
 * that goes through blocks needs few at a time. */
static uint32_t latest_there(const struct ff_view *view, uint32_t tier) {
    uint32_t part = (uint32_t)(view->capacity[tier] / FF_BLOCK_PAGES / PART);
    return part > LATEST_LEAST ? part : LATEST_LEAST;
}

static bool would_be_there(const struct ff__density *density, const struct ff_view *view,
                           uint32_t tier, const struct ff__density_block *block) {
    return block->stamp > 0 && density->clock[tier] + 1 - block->stamp < latest_there(view, tier);
}

/* On a small device each block that is used may take another's memory at once, so that what is used
 * of it until it leaves says little. */
static bool is_small(const struct ff_view *view, uint32_t tier) {
    return view->capacity[tier] / FF_BLOCK_PAGES < PART * LATEST_LEAST;
}

/* A block comes back; whether it has so often that it can be a witness: on a small device, that all
 * of its pages would have cost less. */
static bool comes_often(struct ff__density *density, const struct ff_view *view, uint32_t tier,
                        struct ff__density_block *block) {
    block->times = block->launch == density->launches ? block->times : 0;
    block->launch = density->launches;
    block->times = (uint8_t)(block->times + (block->times < UINT8_MAX));
    if (is_small(view, tier))
        return 2 * block->times * ff__density_break_even_of(density, view, tier)->pages >
               3 * FF_BLOCK_PAGES;
    return block->times >= OFTEN;
}

/* Nothing is known to run on a device, where launches are told: it is the program itself. */
static bool is_between_launches(const struct ff__density *density) {
    return density->launches > 0 && density->running == 0;
}

/* The pages of these leaves, or of the whole block. */
static void bring(const struct ff_view *view, const struct ff_fault_group *group, uint32_t leaves,
                  uint32_t granule, struct ff_fault_advice *advice) {
    advice->prefetch = ff__leaf_pages(leaves, view->blocks[group->block].page_count);
    advice->granule = granule;
}

/* What the block that is faulted on comes in. */
static enum ff__grain grain_of(struct ff__density *density, struct ff__density_range *range,
                               const struct ff_view *view, const struct ff_fault_group *group,
                               struct ff__density_block *block) {
    if (ff_view_holds(view, group->tier, group->block))
        return (enum ff__grain)block->grain;
    bool back = !ff_mask_empty(&ff_view_facts(view, group->block)->evicted);
    bool first = back && block->launch != density->launches;
    bool often =
        back && (comes_often(density, view, group->tier, block) || range->grain == FF__GRAIN_LEAF);
    bool between = is_between_launches(density);
    block->is_witness = range->grain != FF__GRAIN_PAGE && !between && (first || often) &&
                        ff__density_next_witness(density, view, group->tier, range, often);
    block->is_across = !often;
    if (block->is_witness)
        forget_use(block);
    if (block->is_witness || (range->grain == FF__GRAIN_PAGE && !between))
        block->grain = FF__GRAIN_PAGE;
    else
        block->grain = range->grain == FF__GRAIN_LEAF ? FF__GRAIN_LEAF : FF__GRAIN_BLOCK;
    return (enum ff__grain)block->grain;
}

static void visit_begins(struct ff__density *density, uint32_t tier,
                         struct ff__density_block *block) {
    block->stamp = ++density->clock[tier];
    forget_use(block);
}

/* Whether a whole block would have come for this fault. */
static bool would_miss(struct ff__density *density, const struct ff_view *view,
                       const struct ff_fault_group *group, struct ff__density_block *block,
                       uint32_t again) {
    if (would_be_there(density, view, group->tier, block) && !(block->leaves & again))
        return false;
    visit_begins(density, group->tier, block);
    return true;
}

static void fault_on_leaves(struct ff__density *density, const struct ff_view *view,
                            const struct ff_fault_group *group, struct ff__density_range *range,
                            struct ff__density_block *block, struct ff_fault_advice *advice) {
    const struct ff__density_break_even *break_even =
        ff__density_break_even_of(density, view, group->tier);
    uint32_t leaves = ff__leaves_of(&group->faulted);
    range->visits += would_miss(density, view, group, block, leaves);
    block->leaves |= leaves;
    range->faults += (uint32_t)__builtin_popcount(leaves);
    if (range->grain == FF__GRAIN_LEAF)
        ff__density_judge(density, range, break_even);
    bool all = (uint32_t)__builtin_popcount(block->leaves) > break_even->leaves;
    bring(view, group, all ? UINT32_MAX : leaves, FF_LEAF_PAGES, advice);
}

/* Pages of a block in pages are faulted on, and others are about to be used. The leaves that come
 * as wholes: those of which much is used, and of a witness of which much is used each. If they are
 * many, the block is full. */
static uint32_t use_pages(const struct ff__density_range *range, struct ff__density_block *block,
                          const struct ff__density_break_even *break_even,
                          const struct ff_mask *faulted, const struct ff_mask *ahead) {
    struct ff_mask used = ff_mask_or(faulted, ahead);
    uint32_t leaves = ff__leaves_of(&used), full;
    FF_MASK_FOR_EACH_PAGE(&used, page) {
        touch(block, page);
    }
    block->used += ff_mask_count(&used);
    block->cost += ff_mask_count(faulted) + (ff_mask_count(ahead) + ALONG - 1) / ALONG;
    full = full_leaves(block, break_even);
    bool much = (uint32_t)__builtin_popcount(full) > DENSE ||
                block->cost > witness_limit(range, block, break_even);
    uint32_t whole = block->is_witness && much ? block->leaves : full;
    block->is_full |= (uint32_t)__builtin_popcount(whole) > break_even->leaves;
    leaves &= whole;
    block->cost += block->is_full
                       ? break_even->pages
                       : (uint32_t)__builtin_popcount(leaves) * ff__density_leaf_cost(break_even);
    return leaves;
}

static void fault_on_pages(struct ff__density *density, const struct ff_view *view,
                           const struct ff_fault_group *group, struct ff__density_range *range,
                           struct ff__density_block *block, struct ff_fault_advice *advice) {
    const struct ff__density_break_even *break_even =
        ff__density_break_even_of(density, view, group->tier);
    bool missed = !block->is_witness && would_miss(density, view, group, block, 0);
    uint32_t before = block->cost, was_full = block->is_full, known = block->leaves;
    struct ff_mask there = ff_view_expected(view, group->tier, group->block);
    struct ff_mask ahead = ff__sweeps_fault(&density->sweeps, view, group);
    there = ff_mask_or(&there, &group->faulted);
    ahead = ff_mask_minus(&ahead, &there);
    uint32_t leaves = use_pages(range, block, break_even, &group->faulted, &ahead);
    bring(view, group, block->is_full ? UINT32_MAX : leaves, 1, advice);
    advice->prefetch = ff_mask_or(&advice->prefetch, &ahead);
    if (block->is_witness || range->grain != FF__GRAIN_PAGE)
        return;
    range->visits += missed;
    range->faults += block->cost - before;
    range->full += block->is_full && !was_full;
    range->leaves += (uint32_t)__builtin_popcount(block->leaves & ~known);
    ff__density_judge(density, range, break_even);
}

/* The range is in use. */
static void count_range(struct ff__density *density, const struct ff_view *view, uint32_t number,
                        struct ff__density_range *range) {
    if (range->pages > 0)
        return;
    range->pages = view->ranges[number].page_count;
    density->pages += range->pages;
}

bool ff__density_fault(struct ff__density *density, const struct ff_view *view,
                       const struct ff_fault_group *group, struct ff_fault_advice *advice) {
    struct ff__density_block *block = block_of(density, group->block);
    uint32_t number = view->blocks[group->block].range;
    struct ff__density_range *range = range_of(density, number);
    count_range(density, view, number, range);
    ff__density_renew(density, range);
    block->is_witness = block->is_witness && range->grain != FF__GRAIN_PAGE; /* it was decided */
    switch (grain_of(density, range, view, group, block)) {
    case FF__GRAIN_LEAF:
        fault_on_leaves(density, view, group, range, block, advice);
        return true;
    case FF__GRAIN_PAGE:
        if (is_between_launches(density) || (range->grain == FF__GRAIN_BLOCK && !block->is_witness))
            bring(view, group, UINT32_MAX, 1, advice);
        else
            fault_on_pages(density, view, group, range, block, advice);
        return true;
    case FF__GRAIN_BLOCK:
        break;
    }
    visit_begins(density, group->tier, block);
    return false;
}

uint32_t ff__density_times(const struct ff__density *density, uint32_t block) {
    const struct ff__density_block *record = block_of(density, block);
    return record->launch == density->launches ? record->times : 0;
}

bool ff__density_is_sparse(const struct ff__density *density, uint32_t range) {
    return range_of(density, range)->grain != FF__GRAIN_BLOCK;
}

/* ---- what leaves ---- */

void ff__density_leave(struct ff__density *density, const struct ff_view *view,
                       const struct ff_leave *leave) {
    struct ff__density_block *block = block_of(density, leave->block);
    uint32_t number = view->blocks[leave->block].range;
    if (leave->kind != FF_LEAVE_RELEASED)
        return;
    struct ff__density_range *range = number == FF_NONE ? NULL : range_of(density, number);
    if (block->is_witness && range && range->grain != FF__GRAIN_PAGE)
        ff__density_end_witness(density, view, leave->tier, range, block);
    block->is_witness = false;
    block->grain = FF__GRAIN_BLOCK;
}

void ff__density_range_freed(struct ff__density *density, uint32_t range) {
    density->pages -= range_of(density, range)->pages;
    *range_of(density, range) = (struct ff__density_range){0};
}

void ff__density_block_freed(struct ff__density *density, uint32_t block) {
    *block_of(density, block) = (struct ff__density_block){0};
}

bool ff__density_report(const struct ff__density *density, uint32_t index,
                        struct ff_finding *finding) {
    uint32_t leaves = density->became[FF__GRAIN_LEAF], pages = density->became[FF__GRAIN_PAGE];
    if (index > 0 || leaves + pages == 0)
        return false;
    finding->launch = finding->range = FF_NONE;
    snprintf(finding->text, sizeof finding->text,
             "%u times little was used of a range's blocks: 64 KiB came at a time; %u times 4 KiB; "
             "%u times all was used again",
             leaves, pages, density->became[FF__GRAIN_BLOCK]);
    return true;
}
