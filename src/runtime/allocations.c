#include "runtime/slab.h"

#include "base/lazy.h"

#include <errno.h>
#include <stdlib.h>

int ff__allocations_init(struct ff__allocations *all, uint32_t block_limit) {
    all->block_limit = block_limit;
    all->alone = ff__lazy_map(block_limit * sizeof *all->alone);
    all->first_of = ff__lazy_map(block_limit * sizeof *all->first_of);
    all->pages_of = ff__lazy_map(block_limit * sizeof *all->pages_of);
    all->slab_of = ff__lazy_map(block_limit * sizeof(struct ff__slab *));
    return all->alone && all->first_of && all->pages_of && all->slab_of ? 0 : -ENOMEM;
}

static void free_slabs(struct ff__slab *slab) {
    for (struct ff__slab *next; slab; slab = next) {
        next = slab->next;
        free(slab);
    }
}

void ff__allocations_fini(struct ff__allocations *all) {
    free_slabs(all->slabs);
    free_slabs(all->spare);
    ff__lazy_unmap(all->alone, all->block_limit * sizeof *all->alone);
    ff__lazy_unmap(all->first_of, all->block_limit * sizeof *all->first_of);
    ff__lazy_unmap(all->pages_of, all->block_limit * sizeof *all->pages_of);
    ff__lazy_unmap((void *)all->slab_of, all->block_limit * sizeof(struct ff__slab *));
}

/* ---- finding ---- */

static bool find_alone(const struct ff__allocations *all, uint64_t page, struct ff__extent *out) {
    uint32_t first = __atomic_load_n(&all->first_of[page / FF_BLOCK_PAGES], __ATOMIC_ACQUIRE);
    if (first == 0)
        return false;
    out->first_page = (uint64_t)(first - 1) * FF_BLOCK_PAGES;
    out->page_count = __atomic_load_n(&all->pages_of[first - 1], __ATOMIC_RELAXED);
    return page - out->first_page < out->page_count;
}

bool ff__allocation_find(const struct ff__allocations *all, uint64_t page, struct ff__extent *out) {
    uint64_t block = page / FF_BLOCK_PAGES;
    const struct ff__slab *slab = __atomic_load_n(&all->slab_of[block], __ATOMIC_ACQUIRE);
    uint32_t first;
    if (!slab)
        return find_alone(all, page, out);
    if (!ff__slab_place(slab, (uint32_t)(page % FF_BLOCK_PAGES), &first, &out->page_count))
        return false;
    out->first_page = block * FF_BLOCK_PAGES + first;
    return true;
}

static uint64_t blocks_of(uint64_t page_count) {
    return (page_count + FF_BLOCK_PAGES - 1) / FF_BLOCK_PAGES;
}

void ff__allocation_show(struct ff__allocations *all, uint32_t first_block, uint64_t page_count) {
    __atomic_store_n(&all->pages_of[first_block], page_count, __ATOMIC_RELAXED);
    for (uint64_t i = 0; i < blocks_of(page_count); i++)
        __atomic_store_n(&all->first_of[first_block + i], first_block + 1, __ATOMIC_RELEASE);
}

void ff__allocation_hide(struct ff__allocations *all, uint32_t first_block, uint64_t page_count) {
    for (uint64_t i = 0; i < blocks_of(page_count); i++)
        __atomic_store_n(&all->first_of[first_block + i], 0, __ATOMIC_RELAXED);
}

/* ---- counting ---- */

void ff__allocation_begin(struct ff__allocations *all, struct ff__allocation *allocation) {
    allocation->number = all->count++;
    allocation->is_live = true;
    all->pages += allocation->page_count;
    if (all->pages > all->peak)
        all->peak = all->pages;
}

void ff__allocation_end(struct ff__allocations *all, struct ff__allocation *allocation) {
    allocation->is_live = false;
    all->pages -= allocation->page_count;
}
