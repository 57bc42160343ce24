#include "ptx/regions.h"

#include <errno.h>
#include <string.h>

static void *need(const struct ff__ptx_flow *flow, size_t count, size_t size) {
    return ff__ptx_arena_alloc(flow->arena, count, size);
}

/* ---- regions ---- */

bool ff__ptx_passes(const struct ff__ptx_flow *flow, const struct ff__ptx_block *block) {
    const struct ff__ptx_instruction *last = &flow->function->instructions[block->end - 1];
    return !ff__ptx_suspends(last) || last->guard != FF__PTX_NONE;
}

static void fill_region(const struct ff__ptx_flow *flow, const struct ff__ptx_regions *regions,
                        struct ff__ptx_region_plan *region, uint32_t *stack) {
    memset(region->blocks, 0, flow->block_words * sizeof *region->blocks);
    uint32_t depth = 0;
    if (region->start != flow->block_count) {
        stack[depth++] = region->start;
        ff__ptx_put(region->blocks, region->start);
    }
    while (depth != 0) {
        const struct ff__ptx_block *block = &flow->blocks[stack[--depth]];
        if (!ff__ptx_passes(flow, block))
            continue;
        for (uint32_t k = 0; k < block->successor_count; k++) {
            uint32_t next = block->successors[k];
            if (regions->cut[next] || ff__ptx_in(region->blocks, next))
                continue;
            ff__ptx_put(region->blocks, next);
            stack[depth++] = next;
        }
    }
}

static void add_region(const struct ff__ptx_flow *flow, struct ff__ptx_regions *regions,
                       uint32_t start, uint32_t suspend) {
    struct ff__ptx_region_plan *region = &regions->plans[regions->count++];
    *region = (struct ff__ptx_region_plan){
        .start = start,
        .suspend = suspend,
        .blocks = need(flow, flow->block_words, sizeof *region->blocks)};
}

/* Regions in the order of the text, the first one first. */
static bool find_regions(const struct ff__ptx_flow *flow, struct ff__ptx_regions *regions) {
    const struct ff__ptx_function *function = flow->function;
    uint32_t most = 1;
    for (uint32_t i = 0; i < flow->block_count; i++)
        most +=
            regions->cut[i] + ff__ptx_suspends(&function->instructions[flow->blocks[i].end - 1]);
    regions->plans = need(flow, most, sizeof *regions->plans);
    regions->of_suspend = need(flow, function->instruction_count, sizeof *regions->of_suspend);
    regions->of_cut = need(flow, flow->block_count, sizeof *regions->of_cut);
    uint32_t *stack = need(flow, flow->block_count, sizeof *stack);
    if (stack == NULL)
        return false;
    regions->count = 0;
    add_region(flow, regions, 0, FF__PTX_NONE);
    for (uint32_t i = 0; i < flow->block_count; i++) {
        const struct ff__ptx_block *block = &flow->blocks[i];
        if (regions->cut[i]) {
            regions->of_cut[i] = regions->count;
            add_region(flow, regions, i, FF__PTX_NONE);
        }
        if (ff__ptx_suspends(&function->instructions[block->end - 1])) {
            regions->of_suspend[block->end - 1] = regions->count;
            add_region(flow, regions, i + 1, block->end - 1);
        }
    }
    for (uint32_t i = 0; i < regions->count; i++) {
        if (regions->plans[i].blocks == NULL)
            return false;
        fill_region(flow, regions, &regions->plans[i], stack);
    }
    return true;
}

/* Code that several regions share stands in each of them. Where that makes too much of it, what
 * begins in one region and is entered from another becomes a region of its own. */
#define MOST_COPIES 3u

static bool too_long(const struct ff__ptx_flow *flow, const struct ff__ptx_regions *regions) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < regions->count; i++)
        for (uint32_t k = 0; k < flow->block_count; k++)
            if (ff__ptx_in(regions->plans[i].blocks, k))
                total += flow->blocks[k].end - flow->blocks[k].first;
    return total > (uint64_t)MOST_COPIES * flow->function->instruction_count + 200;
}

static uint32_t regions_with(const struct ff__ptx_regions *regions, uint32_t block) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < regions->count; i++)
        count += ff__ptx_in(regions->plans[i].blocks, block);
    return count;
}

static bool cut_shared(const struct ff__ptx_flow *flow, struct ff__ptx_regions *regions) {
    uint32_t *counts = need(flow, flow->block_count, sizeof *counts);
    if (counts == NULL)
        return false;
    for (uint32_t i = 0; i < flow->block_count; i++)
        counts[i] = regions_with(regions, i);
    for (uint32_t i = 0; i < flow->block_count; i++) {
        const struct ff__ptx_block *block = &flow->blocks[i];
        for (uint32_t k = 0; k < block->successor_count; k++) {
            uint32_t next = block->successors[k];
            if (counts[next] > 1 && (counts[i] < counts[next] || !ff__ptx_passes(flow, block)))
                regions->cut[next] = true;
        }
    }
    return true;
}

int ff__ptx_find_regions(const struct ff__ptx_flow *flow, const struct ff__ptx_shapes *shapes,
                         bool all_loops, struct ff__ptx_regions *out) {
    *out = (struct ff__ptx_regions){.cut = need(flow, flow->block_count + 1ul, 1),
                                    .loop = need(flow, flow->block_count + 1ul, 1),
                                    .in_order = need(flow, flow->block_count + 1ul, 1)};
    if (out->cut == NULL || out->loop == NULL || out->in_order == NULL)
        return -ENOMEM;
    if (!ff__ptx_cut_spins(flow, shapes, all_loops, out->cut) ||
        !ff__ptx_cut_uniform_loops(flow, shapes, out) || !find_regions(flow, out))
        return -ENOMEM;
    if (too_long(flow, out) && (!cut_shared(flow, out) || !find_regions(flow, out)))
        return -ENOMEM;
    return 0;
}
