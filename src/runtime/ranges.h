/* Allocations and their ranges by address, and pieces of them by block. */
#ifndef FF_RUNTIME_RANGES_H
#define FF_RUNTIME_RANGES_H

#include "runtime/context.h"

/* A live allocation, and the range of the engine that it is or lies in. */
struct ff__span {
    struct ff__allocation *allocation;
    uint32_t range, first_block, block_count;
    uint32_t first_page; /* in the first block */
    uint64_t page_count;
};

/* The allocation that `pointer` lies in. False: it is in none. */
bool ff__range_find(struct ff_context *context, const void *pointer, struct ff__span *out);

/* As ff__range_find(), with the pipeline's lock held. */
bool ff__range_find_locked(const struct ff_context *context, const void *pointer,
                           struct ff__span *out);

/* Whether [pointer, pointer + size) lies in one allocation. Without the lock. */
bool ff__range_covers(const struct ff_context *context, const void *pointer, size_t size);

enum ff__range_use {
    FF__RANGE_ANY,
    FF__RANGE_SHARED,  /* of several allocations: what moved is counted by the page */
    FF__RANGE_KERNELS, /* of kernels alone, where the backend makes a difference */
};

/* Makes a range, with addresses that can be used and read as zeros, and fills in its place.
 * -ENOMEM, -ENOSPC. */
int ff__range_make(struct ff_context *context, uint64_t page_count, enum ff__range_use use,
                   struct ff__span *out);

/* Ends a range. Within a call of the pipeline. */
void ff__range_unmake(struct ff_context *context, uint32_t range);

/* Has pages moved for the program, and returns when that is done: on its own thread where such
 * threads move pages anyway, because its caches then have what it touches next. */
void ff__context_move(struct ff_context *context, void (*run)(void *argument), void *argument);

/* Makes `tier` the home of the allocation. If that changes the home of its range, what lies at the
 * old one is evicted. */
void ff__context_set_home(struct ff_context *context, const struct ff__span *range, uint32_t tier);

/* As ff__context_set_home(), with the pipeline's lock held, which it gives up to evict. */
void ff__context_set_home_locked(struct ff_context *context, const struct ff__span *range,
                                 uint32_t tier);

/* The first managed address of a block's window. */
static inline char *ff__window_address(const struct ff_context *context, uint32_t block) {
    return (char *)(uintptr_t)context->description.base + ((size_t)block << FF_BLOCK_SHIFT);
}

/* Where the allocation begins. */
static inline char *ff__span_address(const struct ff_context *context,
                                     const struct ff__span *span) {
    return ff__window_address(context, span->first_block) + (size_t)span->first_page * FF_PAGE_SIZE;
}

/* ---- pieces ---- */

/* Called for each block that some bytes touch, with those of it: [first, end) of its window. */
typedef void (*ff__piece_fn)(struct ff_context *context, uint32_t block, size_t first, size_t end,
                             void *argument);

/* For [pointer, pointer + size), which lies in a range. */
void ff__for_each_piece(struct ff_context *context, const void *pointer, size_t size,
                        ff__piece_fn call, void *argument);

/* The pages that lie wholly in [first, end), and those that are touched at all. */
static inline struct ff_mask ff__pages_inside(size_t first, size_t end) {
    return ff_mask_of_run((uint32_t)((first + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE),
                          (uint32_t)(end / FF_PAGE_SIZE));
}

static inline struct ff_mask ff__pages_touched(size_t first, size_t end) {
    return ff_mask_of_run((uint32_t)(first / FF_PAGE_SIZE),
                          (uint32_t)((end + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE));
}

#endif
