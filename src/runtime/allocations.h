/* What the program has allocated, by address.
 *
 * An allocation of 64 KiB or more is a range of the engine, and its first page is the first of a
 * block. Smaller ones share ranges (slab.h). The pipeline's lock guards all of it.
 *
 * To find an allocation takes no lock, which would cost system calls (base/signals.h): what that
 * reads is atomic, and the memory of slabs stays memory of slabs. Of a pointer that another thread
 * frees meanwhile it may say what was or will be there. */
#ifndef FF_RUNTIME_ALLOCATIONS_H
#define FF_RUNTIME_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ff__slab;

struct ff__allocation {
    uint64_t page_count;
    uint64_t launches;   /* that named it */
    uint32_t range;      /* the engine's */
    uint32_t number;     /* in the order of allocation */
    uint16_t first_page; /* in the range: not 0 only in a slab, which is one block */
    uint16_t kernel;     /* the first that named it (moved.h); 0: none has */
    uint8_t home_tier;   /* in a slab: where kernels use it; 0: not said */
    bool is_strided;     /* some launch indexes it with a fixed stride */
    bool for_kernels;    /* ff_mem_alloc_for_kernels */
    bool is_kernels;     /* kernels and copies alone use it now; atomic */
    bool is_live;
};

struct ff__allocations {
    struct ff__allocation *alone; /* [range] what has a range of its own */
    uint32_t *first_of;           /* [block] its first block, and one; 0: there is none; atomic */
    uint64_t *pages_of;           /* [first block] atomic */
    struct ff__slab **slab_of;    /* [block]; NULL: it belongs to no slab; atomic */
    struct ff__slab *slabs;       /* the newest first */
    struct ff__slab *spare;       /* those that are used for nothing now */
    uint32_t block_limit;
    uint32_t count;       /* so far */
    uint64_t pages, peak; /* of all that are live: now, and at most */
};

/* 0 or -ENOMEM; fini may follow a failed init. */
int ff__allocations_init(struct ff__allocations *all, uint32_t block_limit);
void ff__allocations_fini(struct ff__allocations *all);

/* Where an allocation lies, in pages from the first block's first. */
struct ff__extent {
    uint64_t first_page, page_count;
};

/* The one that this page lies in; false: it is in none. Without the lock. */
bool ff__allocation_find(const struct ff__allocations *all, uint64_t page, struct ff__extent *out);

/* One that has a range of its own can be found from now on, or not any more. */
void ff__allocation_show(struct ff__allocations *all, uint32_t first_block, uint64_t page_count);
void ff__allocation_hide(struct ff__allocations *all, uint32_t first_block, uint64_t page_count);

/* The allocation exists from now on, with its place and size filled in; or ends. */
void ff__allocation_begin(struct ff__allocations *all, struct ff__allocation *allocation);
void ff__allocation_end(struct ff__allocations *all, struct ff__allocation *allocation);

#endif
