/* The 64 KiB leaves of a block, as the bits of a word: bit i is leaf i. */
#ifndef FF_BASE_LEAVES_H
#define FF_BASE_LEAVES_H

#include <farfault/mask.h>

#define FF__BLOCK_LEAVES (FF_BLOCK_PAGES / FF_LEAF_PAGES)

/* The leaves that have a page in the mask. */
uint32_t ff__leaves_of(const struct ff_mask *pages);

/* All pages of these leaves that a block of `page_count` pages has. */
struct ff_mask ff__leaf_pages(uint32_t leaves, uint32_t page_count);

#endif
