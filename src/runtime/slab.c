#include "runtime/slab.h"

#include "runtime/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Ours: dead pages of a slab are given back once they are so many, or all that there are. */
#define DEAD_MAX 32u

static void lock(struct ff_context *context) {
    ff__pipeline_lock(&context->pipeline);
}

static void unlock(struct ff_context *context) {
    ff__pipeline_unlock(&context->pipeline);
}

/* ---- places ---- */

/* What place[] has of each page of an allocation. */
static uint16_t place_of(uint32_t first, uint64_t page_count) {
    return (uint16_t)(first * FF_LEAF_PAGES + page_count);
}

static void set_place(struct ff__slab *slab, uint32_t first, uint64_t page_count, uint16_t place) {
    for (uint32_t page = first; page < first + page_count; page++)
        __atomic_store_n(&slab->place[page], place, __ATOMIC_RELAXED);
}

bool ff__slab_place(const struct ff__slab *slab, uint32_t page, uint32_t *first,
                    uint64_t *page_count) {
    uint16_t place = __atomic_load_n(&slab->place[page], __ATOMIC_RELAXED);
    *first = (place - 1u) / FF_LEAF_PAGES;
    *page_count = (place - 1u) % FF_LEAF_PAGES + 1;
    return place != 0;
}

struct ff__allocation *ff__slab_find(struct ff__slab *slab, uint32_t page) {
    uint64_t page_count;
    uint32_t first;
    return ff__slab_place(slab, page, &first, &page_count) ? &slab->of[first] : NULL;
}

/* ---- room ---- */

/* The first page at or behind `from` where so many are free; FF_NONE: nowhere. */
static uint32_t find_free(const struct ff__slab *slab, uint32_t from, uint32_t count) {
    uint32_t first = from;
    for (uint32_t page = from; page < slab->page_count; page++) {
        if (ff_mask_test(&slab->taken, page))
            first = page + 1;
        else if (page + 1 - first == count)
            return first;
    }
    return FF_NONE;
}

/* Behind what was allocated last, else before it. */
static uint32_t find_room(const struct ff__slab *slab, uint32_t count) {
    if (slab->page_count - ff_mask_count(&slab->taken) < count)
        return FF_NONE;
    uint32_t first = find_free(slab, slab->end, count);
    return first == FF_NONE ? find_free(slab, 0, count) : first;
}

/* A launch has begun since the last allocation: the next leaf begins, unless leaves would stay
 * nearly empty. */
static void begin_phase(struct ff__slab *slab, uint64_t launches) {
    if (slab->launches == launches)
        return;
    slab->launches = launches;
    if (slab->phase_pages < FF_LEAF_PAGES)
        return;
    slab->phase_pages = 0;
    slab->end = (slab->end + FF_LEAF_PAGES - 1) / FF_LEAF_PAGES * FF_LEAF_PAGES;
}

/* The newest slab with room; the lock is held. */
static struct ff__slab *find_slab(struct ff_context *context, uint32_t count, uint32_t *first) {
    FF__ASSERT(ff__lock_is_held(&context->pipeline.lock));
    struct ff__slab *slab = context->allocations.slabs;
    if (slab)
        begin_phase(slab, context->space->stats.launches);
    for (; slab; slab = slab->next)
        if ((*first = find_room(slab, count)) != FF_NONE)
            return slab;
    return NULL;
}

/* As large as all slabs so far: what a program has few of takes little. */
static uint32_t next_size(const struct ff__allocations *all) {
    uint32_t pages = 0;
    for (const struct ff__slab *slab = all->slabs; slab && pages < FF_BLOCK_PAGES;
         slab = slab->next)
        pages += slab->page_count;
    return pages < FF_LEAF_PAGES ? FF_LEAF_PAGES : pages > FF_BLOCK_PAGES ? FF_BLOCK_PAGES : pages;
}

/* Empty, and with all of its places so. NULL: no memory. */
static struct ff__slab *make_slab(struct ff_context *context) {
    struct ff__allocations *all = &context->allocations;
    lock(context);
    struct ff__slab *slab = all->spare;
    uint32_t page_count = next_size(all);
    if (slab)
        all->spare = slab->next;
    unlock(context);
    if (slab)
        memset(slab, 0, offsetof(struct ff__slab, place));
    else
        slab = calloc(1, sizeof *slab);
    if (slab)
        slab->page_count = page_count;
    return slab;
}

/* It may still be read. */
static void forget_slab(struct ff_context *context, struct ff__slab *slab) {
    lock(context);
    slab->next = context->allocations.spare;
    context->allocations.spare = slab;
    unlock(context);
}

static int add_slab(struct ff_context *context) {
    struct ff__allocations *all = &context->allocations;
    struct ff__slab *slab = make_slab(context);
    struct ff__span range;
    if (!slab)
        return -ENOMEM;
    int status = ff__range_make(context, slab->page_count, FF__RANGE_SHARED, &range);
    if (status) {
        forget_slab(context, slab);
        return status;
    }
    slab->range = range.range;
    slab->block = range.first_block;
    lock(context);
    slab->launches = context->space->stats.launches;
    slab->next = all->slabs;
    all->slabs = slab;
    __atomic_store_n(&all->slab_of[slab->block], slab, __ATOMIC_RELEASE);
    unlock(context);
    return 0;
}

static struct ff__allocation *cut(struct ff__slab *slab, uint32_t first, uint32_t count) {
    struct ff__allocation *allocation = &slab->of[first];
    ff_mask_set_run(&slab->taken, first, first + count);
    set_place(slab, first, count, place_of(first, count));
    slab->end = first + count;
    slab->phase_pages += count;
    slab->homed[0] += (uint16_t)count;
    *allocation = (struct ff__allocation){
        .page_count = count, .range = slab->range, .first_page = (uint16_t)first};
    return allocation;
}

int ff__slab_alloc(struct ff_context *context, uint32_t page_count, void **out) {
    uint32_t first;
    struct ff__slab *slab;
    lock(context);
    while (!(slab = find_slab(context, page_count, &first))) {
        unlock(context);
        int status = add_slab(context);
        if (status)
            return status;
        lock(context);
    }
    ff__allocation_begin(&context->allocations, cut(slab, first, page_count));
    *out = ff__window_address(context, slab->block) + (size_t)first * FF_PAGE_SIZE;
    unlock(context);
    return 0;
}

/* ---- freeing ---- */

struct slab_errand {
    struct ff_context *context;
    uint32_t block;
};

/* The lock is held. */
static void unlink_slab(struct ff__allocations *all, struct ff__slab *slab) {
    struct ff__slab **link = &all->slabs;
    while (*link != slab)
        link = &(*link)->next;
    *link = slab->next;
    __atomic_store_n(&all->slab_of[slab->block], NULL, __ATOMIC_RELAXED);
}

/* Returns the slab if nothing is left in it. The newest stays: there the next allocations are made.
 */
static struct ff__slab *settle(struct ff_context *context, struct ff__slab *slab,
                               const struct ff_mask *pages) {
    struct ff__allocations *all = &context->allocations;
    lock(context);
    slab->taken = ff_mask_minus(&slab->taken, pages);
    slab->dead = ff_mask_minus(&slab->dead, pages);
    bool is_empty = ff_mask_empty(&slab->taken) && slab != all->slabs;
    if (is_empty)
        unlink_slab(all, slab);
    unlock(context);
    return is_empty ? slab : NULL;
}

/* One at a time, so that pages are given back once. An earlier one may have given back all. */
static void give_back(void *argument) {
    struct slab_errand *it = argument;
    struct ff_context *context = it->context;
    lock(context);
    struct ff__slab *slab = context->allocations.slab_of[it->block];
    struct ff_mask dead = slab ? slab->dead : (struct ff_mask){{0}};
    unlock(context);
    if (ff_mask_empty(&dead))
        return;
    ff__pipeline_free_pages(&context->pipeline, it->block, &dead);
    slab = settle(context, slab, &dead);
    if (slab) {
        ff__range_unmake(context, slab->range);
        forget_slab(context, slab);
    }
}

bool ff__slab_free_locked(struct ff_context *context, struct ff__slab *slab,
                          struct ff__allocation *allocation) {
    FF__ASSERT(ff__lock_is_held(&context->pipeline.lock));
    uint32_t first = allocation->first_page;
    ff__moved_end(context, allocation);
    set_place(slab, first, allocation->page_count, 0);
    slab->homed[allocation->home_tier] -= (uint16_t)allocation->page_count;
    ff_mask_set_run(&slab->dead, first, first + (uint32_t)allocation->page_count);
    uint32_t dead = ff_mask_count(&slab->dead);
    return dead >= DEAD_MAX || dead == ff_mask_count(&slab->taken);
}

void ff__slab_give_back(struct ff_context *context, uint32_t block) {
    struct slab_errand errand = {context, block};
    ff__pipeline_call(&context->pipeline, give_back, &errand);
}

/* ---- homes ---- */

uint32_t ff__slab_set_home(struct ff__slab *slab, struct ff__allocation *allocation,
                           uint32_t tier) {
    slab->homed[allocation->home_tier] -= (uint16_t)allocation->page_count;
    slab->homed[tier] += (uint16_t)allocation->page_count;
    allocation->home_tier = (uint8_t)tier;
    uint32_t most = tier;
    for (uint32_t other = 1; other < FF_TIERS_MAX; other++)
        if (slab->homed[other] > slab->homed[most])
            most = other;
    return most;
}
