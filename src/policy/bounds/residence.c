#include "policy/bounds/residence.h"

static double in_ns(const struct ff_view *view, uint32_t tier, uint64_t pages) {
    return (double)ff_view_faults_ns(view, tier, 1, pages);
}

static double out_ns(const struct ff_view *view, uint32_t tier, uint64_t pages) {
    const struct ff_link_cost *link = ff_view_link(view, tier, FF_TIER_HOST);
    return (double)link->latency_ns +
           (double)(pages * FF_PAGE_SIZE) * 1e9 / (double)link->bytes_per_second;
}

static uint64_t size_of(const struct ff_view *view, uint32_t block) {
    return view->unit == FF_BLOCK_PAGES ? FF_BLOCK_PAGES : view->blocks[block].page_count;
}

static bool is_in(const struct ff__residence_block *block, uint32_t window) {
    return window < FF__WINDOWS && block->resident >> window & 1;
}

/* The block's best residence in windows where it is not resident yet and there is memory. */
static void find_best(const struct ff__residence *residence, const struct ff_view *view,
                      uint32_t number) {
    struct ff__residence_block *block = &residence->blocks[number];
    double in = in_ns(view, residence->tier, block->pages);
    double out = residence->is_tight ? out_ns(view, residence->tier, block->pages) : 0;
    double access = (double)ff_view_link(view, FF_TIER_HOST, residence->tier)->access_ps / 1000;
    block->gain = 0;
    for (uint32_t first = 0; first < FF__WINDOWS; first++) {
        bool before = first > 0 && is_in(block, first - 1);
        double saved = before ? 0 : -(in + out);
        for (uint32_t w = first; w < FF__WINDOWS; w++) {
            if (is_in(block, w) ||
                residence->load[w] + size_of(view, number) > view->capacity[residence->tier])
                break;
            saved += block->uses[w] * access;
            double gain = (saved + (is_in(block, w + 1) ? in + out : 0)) / (w + 1 - first);
            if (gain > block->gain) {
                block->gain = gain;
                block->first = first;
                block->end = w + 1;
            }
        }
    }
}

static void choose(struct ff__residence *residence, const struct ff_view *view, uint32_t number) {
    struct ff__residence_block *block = &residence->blocks[number];
    for (uint32_t w = block->first; w < block->end; w++) {
        block->resident |= 1u << w;
        residence->load[w] += size_of(view, number);
    }
}

static bool overlap(const struct ff__residence_block *a, const struct ff__residence_block *b) {
    return a->first < b->end && b->first < a->end;
}

static uint32_t best_of(const struct ff__residence *residence) {
    uint32_t best = FF_NONE;
    for (uint32_t i = 0; i < residence->block_count; i++)
        if (residence->blocks[i].gain > 0 &&
            (best == FF_NONE || residence->blocks[i].gain > residence->blocks[best].gain))
            best = i;
    return best;
}

/* Counts uses, and used pages. */
static void count(struct ff__residence *residence, const struct ff_future *future) {
    for (uint64_t i = 0; i < future->length; i++) {
        uint64_t block = future->order[i] / FF_BLOCK_PAGES;
        if (block < residence->block_count)
            residence->blocks[block].uses[ff__residence_window(residence, i)]++;
    }
    for (uint64_t page = 0; page < future->page_count; page++)
        if (page / FF_BLOCK_PAGES < residence->block_count)
            residence->blocks[page / FF_BLOCK_PAGES].pages +=
                future->first[page + 1] > future->first[page];
}

bool ff__residence_make(struct ff__residence *residence, const struct ff_view *view, uint32_t tier,
                        const struct ff_future *future, struct ff__residence_block *blocks,
                        uint32_t block_count) {
    const struct ff_link_cost *link = ff_view_link(view, FF_TIER_HOST, tier);
    uint64_t size = 0;
    if (link->access_ps == 0)
        return false;
    *residence = (struct ff__residence){.blocks = blocks,
                                        .block_count = block_count,
                                        .tier = tier,
                                        .window_uses = future->length / FF__WINDOWS + 1};
    count(residence, future);
    for (uint32_t i = 0; i < block_count; i++)
        size += blocks[i].pages > 0 ? size_of(view, i) : 0;
    residence->is_tight = size > view->capacity[tier];
    for (uint32_t i = 0; i < block_count; i++)
        find_best(residence, view, i);
    for (uint32_t best; (best = best_of(residence)) != FF_NONE;) {
        struct ff__residence_block chosen = blocks[best];
        choose(residence, view, best);
        for (uint32_t i = 0; i < block_count; i++)
            if (i == best || (blocks[i].gain > 0 && overlap(&blocks[i], &chosen)))
                find_best(residence, view, i);
    }
    return true;
}

uint32_t ff__residence_window(const struct ff__residence *residence, uint64_t position) {
    uint64_t window = position / residence->window_uses;
    return window < FF__WINDOWS ? (uint32_t)window : FF__WINDOWS - 1;
}

bool ff__residence_is_resident(const struct ff__residence *residence, uint32_t block,
                               uint32_t window) {
    return block >= residence->block_count || is_in(&residence->blocks[block], window);
}
