#include "workload/dnn/allocator.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workload/model.h"

enum { LARGE, SMALL };

void ff__caching_init(struct ff__caching *pool, uint64_t limit) {
    memset(pool, 0, sizeof *pool);
    pool->limit = limit;
    pool->spare = pool->free_root[LARGE] = pool->free_root[SMALL] = FF__CACHING_NONE;
}

void ff__caching_fini(struct ff__caching *pool) {
    free(pool->blocks);
    free(pool->segments);
    memset(pool, 0, sizeof *pool);
}

/* round_size() and get_allocation_size() */
uint64_t ff__caching_round(uint64_t bytes) {
    return bytes < FF__CACHING_ROUND_SMALL
               ? FF__CACHING_ROUND_SMALL
               : ff__ceil_div(bytes, FF__CACHING_ROUND_SMALL) * FF__CACHING_ROUND_SMALL;
}

uint64_t ff__caching_segment_size(uint64_t rounded) {
    if (rounded <= FF__CACHING_SMALL_MAX)
        return FF__CACHING_SMALL_SEGMENT;
    if (rounded < FF__CACHING_LARGE_MIN)
        return FF__CACHING_LARGE_SEGMENT;
    return ff__ceil_div(rounded, FF__CACHING_ROUND) * FF__CACHING_ROUND;
}

/* ---- free blocks: a treap by size and address, whose priorities are hashes of addresses ---- */

static bool precedes(const struct ff__caching_block *a, const struct ff__caching_block *b) {
    return a->size != b->size ? a->size < b->size : a->address < b->address;
}

static bool outranks(const struct ff__caching *pool, uint32_t a, uint32_t b) {
    return ff__mix(pool->blocks[a].address) > ff__mix(pool->blocks[b].address);
}

/* Splits a tree into what precedes the block and what does not. */
static void split_tree(struct ff__caching *pool, uint32_t root, uint32_t at, uint32_t *low,
                       uint32_t *high) {
    struct ff__caching_block *blocks = pool->blocks;
    while (root != FF__CACHING_NONE) {
        if (precedes(&blocks[root], &blocks[at])) {
            *low = root;
            low = &blocks[root].right;
            root = *low;
        } else {
            *high = root;
            high = &blocks[root].left;
            root = *high;
        }
    }
    *low = *high = FF__CACHING_NONE;
}

static uint32_t *root_of(struct ff__caching *pool, uint32_t block) {
    bool is_small = pool->segments[pool->blocks[block].segment].small;
    return &pool->free_root[is_small ? SMALL : LARGE];
}

static void insert_free(struct ff__caching *pool, uint32_t block) {
    struct ff__caching_block *blocks = pool->blocks;
    uint32_t *link = root_of(pool, block);
    while (*link != FF__CACHING_NONE && outranks(pool, *link, block))
        link =
            precedes(&blocks[block], &blocks[*link]) ? &blocks[*link].left : &blocks[*link].right;
    uint32_t below = *link;
    *link = block;
    split_tree(pool, below, block, &blocks[block].left, &blocks[block].right);
    blocks[block].free = true;
}

static void remove_free(struct ff__caching *pool, uint32_t block) {
    struct ff__caching_block *blocks = pool->blocks;
    uint32_t *link = root_of(pool, block);
    while (*link != block)
        link =
            precedes(&blocks[block], &blocks[*link]) ? &blocks[*link].left : &blocks[*link].right;
    uint32_t a = blocks[block].left, b = blocks[block].right;
    while (a != FF__CACHING_NONE && b != FF__CACHING_NONE) {
        bool first = outranks(pool, a, b);
        *link = first ? a : b;
        link = first ? &blocks[a].right : &blocks[b].left;
        if (first)
            a = *link;
        else
            b = *link;
    }
    *link = a != FF__CACHING_NONE ? a : b;
    blocks[block].free = false;
}

/* The smallest free block that is large enough, of these the one with the lowest address. */
static uint32_t best_fit(const struct ff__caching *pool, bool is_small, uint64_t size) {
    uint32_t at = pool->free_root[is_small ? SMALL : LARGE], best = FF__CACHING_NONE;
    while (at != FF__CACHING_NONE) {
        bool fits = pool->blocks[at].size >= size;
        best = fits ? at : best;
        at = fits ? pool->blocks[at].left : pool->blocks[at].right;
    }
    return best;
}

/* ---- blocks and segments ---- */

static int new_block(struct ff__caching *pool, uint32_t *out) {
    if (pool->spare != FF__CACHING_NONE) {
        *out = pool->spare;
        pool->spare = pool->blocks[*out].after;
        return 0;
    }
    int status = ff__grow(&pool->blocks, pool->block_count, sizeof *pool->blocks);
    if (status)
        return status;
    *out = pool->block_count++;
    return 0;
}

static void drop_block(struct ff__caching *pool, uint32_t block) {
    pool->blocks[block] = (struct ff__caching_block){.after = pool->spare};
    pool->spare = block;
}

static int add_segment(struct ff__caching *pool, const struct ff__caching_segment *segment) {
    int status = ff__grow(&pool->segments, pool->segment_count, sizeof *pool->segments);
    if (status)
        return status;
    pool->segments[pool->segment_count++] = *segment;
    return 0;
}

/* cudaMalloc; the new block is free in no tree. */
static int new_segment(struct ff__caching *pool, uint64_t size, bool is_small, uint32_t *block) {
    if (pool->limit && pool->reserved + size > pool->limit)
        return -ENOSPC;
    struct ff__caching_segment segment = {pool->next_address, size, is_small, true};
    int status = new_block(pool, block);
    if (!status)
        status = add_segment(pool, &segment);
    if (status)
        return status;
    pool->blocks[*block] = (struct ff__caching_block){.address = segment.address,
                                                      .size = size,
                                                      .segment = pool->segment_count - 1,
                                                      .before = FF__CACHING_NONE,
                                                      .after = FF__CACHING_NONE};
    pool->next_address += ff__ceil_div(size, FF__CACHING_ROUND) * FF__CACHING_ROUND;
    pool->reserved += size;
    if (pool->reserved > pool->reserved_peak)
        pool->reserved_peak = pool->reserved;
    if (pool->on_segment)
        pool->on_segment(pool->self, pool->segment_count - 1, true);
    return 0;
}

void ff__caching_empty_cache(struct ff__caching *pool) {
    for (uint32_t i = 0; i < pool->block_count; i++) {
        const struct ff__caching_block *block = &pool->blocks[i];
        if (!block->free || block->before != FF__CACHING_NONE || block->after != FF__CACHING_NONE)
            continue;
        uint32_t segment = block->segment;
        remove_free(pool, i);
        drop_block(pool, i);
        pool->reserved -= pool->segments[segment].size;
        pool->segments[segment].live = false;
        if (pool->on_segment)
            pool->on_segment(pool->self, segment, false);
    }
}

/* ---- allocating ---- */

/* should_split(): what is left must be worth it. */
static bool is_worth(bool is_small, uint64_t rest) {
    return is_small ? rest >= FF__CACHING_ROUND_SMALL : rest > FF__CACHING_SMALL_MAX;
}

static int split(struct ff__caching *pool, uint32_t block, uint64_t size) {
    uint32_t rest;
    int status = new_block(pool, &rest);
    if (status)
        return status;
    struct ff__caching_block *first = &pool->blocks[block];
    pool->blocks[rest] = (struct ff__caching_block){.address = first->address + size,
                                                    .size = first->size - size,
                                                    .segment = first->segment,
                                                    .before = block,
                                                    .after = first->after};
    if (first->after != FF__CACHING_NONE)
        pool->blocks[first->after].before = rest;
    first->after = rest;
    first->size = size;
    insert_free(pool, rest);
    return 0;
}

/* Cuts off what is too much of a block that is in no tree, and hands it out. */
static int hand_out(struct ff__caching *pool, uint32_t block, uint64_t size) {
    int status = 0;
    if (is_worth(size <= FF__CACHING_SMALL_MAX, pool->blocks[block].size - size))
        status = split(pool, block, size);
    pool->active += pool->blocks[block].size;
    if (pool->active > pool->active_peak)
        pool->active_peak = pool->active;
    if (pool->on_block)
        pool->on_block(pool->self, block, true);
    return status;
}

int ff__caching_reuse(struct ff__caching *pool, uint64_t bytes, uint32_t *out) {
    uint64_t size = ff__caching_round(bytes);
    *out = best_fit(pool, size <= FF__CACHING_SMALL_MAX, size);
    if (*out == FF__CACHING_NONE)
        return -ENOSPC;
    remove_free(pool, *out);
    return hand_out(pool, *out, size);
}

int ff__caching_extend(struct ff__caching *pool, uint64_t bytes, uint32_t *out) {
    uint64_t size = ff__caching_round(bytes);
    int status =
        new_segment(pool, ff__caching_segment_size(size), size <= FF__CACHING_SMALL_MAX, out);
    return status ? status : hand_out(pool, *out, size);
}

int ff__caching_allocate(struct ff__caching *pool, uint64_t bytes, uint32_t *out) {
    int status = ff__caching_reuse(pool, bytes, out);
    if (status == -ENOSPC)
        status = ff__caching_extend(pool, bytes, out);
    if (status == -ENOSPC) {
        ff__caching_empty_cache(pool);
        status = ff__caching_extend(pool, bytes, out);
    }
    return status;
}

/* The block swallows its free neighbour, if it has one on that side. */
static void merge(struct ff__caching *pool, uint32_t block, uint32_t neighbour) {
    if (neighbour == FF__CACHING_NONE || !pool->blocks[neighbour].free)
        return;
    remove_free(pool, neighbour);
    struct ff__caching_block *keeps = &pool->blocks[block];
    const struct ff__caching_block *goes = &pool->blocks[neighbour];
    if (goes->address < keeps->address) {
        keeps->address = goes->address;
        keeps->before = goes->before;
        if (keeps->before != FF__CACHING_NONE)
            pool->blocks[keeps->before].after = block;
    } else {
        keeps->after = goes->after;
        if (keeps->after != FF__CACHING_NONE)
            pool->blocks[keeps->after].before = block;
    }
    keeps->size += goes->size;
    drop_block(pool, neighbour);
}

void ff__caching_release(struct ff__caching *pool, uint32_t block) {
    pool->active -= pool->blocks[block].size;
    if (pool->on_block)
        pool->on_block(pool->self, block, false);
    merge(pool, block, pool->blocks[block].before);
    merge(pool, block, pool->blocks[block].after);
    insert_free(pool, block);
}

uint64_t ff__caching_state(const struct ff__caching *pool) {
    uint64_t state = ff__mix(pool->reserved);
    for (uint32_t i = 0; i < pool->block_count; i++) {
        const struct ff__caching_block *block = &pool->blocks[i];
        if (block->size > 0)
            state += ff__mix(block->address + ff__mix(block->size * 2 + block->free));
    }
    return state;
}
