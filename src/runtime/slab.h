/* Small allocations share ranges.
 *
 * Device memory is allocated by chunks of 2 MiB and by leaves of 64 KiB, so what is smaller than a
 * leaf shares one: a slab is a range of one block that is cut up by the page. A page belongs to one
 * allocation, so hints, residency and what moved are exact for each. To the engine and to
 * policies a slab is a range like any other.
 *
 * Allocations lie in the order in which they were made, and what is allocated after a launch begins
 * in a leaf of its own, because what is made together is used together: by which kernels is not
 * known before they run. */
#ifndef FF_RUNTIME_SLAB_H
#define FF_RUNTIME_SLAB_H

#include "runtime/allocations.h"

#include <farfault/view.h>

struct ff_context;

/* Allocations of fewer bytes than a leaf lie in slabs. */
static inline bool ff__slab_is_for(uint64_t size) {
    return size < FF_LEAF_SIZE;
}

struct ff__slab {
    struct ff__slab *next; /* an older one */
    uint32_t range, block, page_count;
    uint32_t end;         /* behind the page that was allocated last */
    uint32_t phase_pages; /* pages that were allocated since the launch before */
    uint64_t launches;    /* that had begun by then */
    struct ff_mask taken; /* pages that are in use, or dead */
    struct ff_mask dead;  /* freed, and not given back yet: several at a time cost as much as one */
    uint16_t homed[FF_TIERS_MAX]; /* [tier] pages of allocations with that home; [0]: not said */
    struct ff__allocation of[FF_BLOCK_PAGES]; /* [first page] */
    uint16_t place[FF_BLOCK_PAGES];           /* [page] see slab.c; 0: in none; atomic */
};

/* The allocation that the page is in, by its first page and their number. False: it is in none.
 * Without the lock. */
bool ff__slab_place(const struct ff__slab *slab, uint32_t page, uint32_t *first,
                    uint64_t *page_count);

/* The allocation that the page is in; NULL: none. */
struct ff__allocation *ff__slab_find(struct ff__slab *slab, uint32_t page);

/* Allocates pages, fewer than FF_LEAF_PAGES + 1, that read as zeros. -ENOMEM, and errors of a new
 * range. The lock is not held. */
int ff__slab_alloc(struct ff_context *context, uint32_t page_count, void **out);

/* The lock is held. Returns whether dead pages are to be given back once it is not. */
bool ff__slab_free_locked(struct ff_context *context, struct ff__slab *slab,
                          struct ff__allocation *allocation);
void ff__slab_give_back(struct ff_context *context, uint32_t block);

/* Kernels use the allocation on this tier. Returns the home of most of the slab's pages. The lock
 * is held. */
uint32_t ff__slab_set_home(struct ff__slab *slab, struct ff__allocation *allocation, uint32_t tier);

#endif
