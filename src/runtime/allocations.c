#include "runtime/slab.h"

#include "base/lazy.h"

#include <errno.h>
#include <stdlib.h>

int ff__allocations_init(struct ff__allocations *all, uint32_t block_limit) {
    all->block_limit = block_limit;
    all->alone = ff__lazy_map(block_limit * sizeof *all->alone);
    all->slab_of = ff__lazy_map(block_limit * sizeof(struct ff__slab *));
    return all->alone && all->slab_of ? 0 : -ENOMEM;
}

void ff__allocations_fini(struct ff__allocations *all) {
    for (struct ff__slab *slab = all->slabs, *next; slab; slab = next) {
        next = slab->next;
        free(slab);
    }
    ff__lazy_unmap(all->alone, all->block_limit * sizeof *all->alone);
    ff__lazy_unmap((void *)all->slab_of, all->block_limit * sizeof(struct ff__slab *));
}

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
