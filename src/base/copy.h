/* Copying pages at the speed of memory. */
#ifndef FF_BASE_COPY_H
#define FF_BASE_COPY_H

#include "base/sum.h"

#include <farfault/mask.h>
#include <stddef.h>

/* Copies whole pages past the caches: a block is larger than what the caches should give up for
 * it, and stores that bypass them need not read the line first. `to` and `from` are page aligned
 * and do not overlap. */
void ff__copy_pages(void *to, const void *from, uint32_t pages);

/* Zeroes whole pages, likewise. */
void ff__zero_pages(void *to, uint32_t pages);

/* Copies the pages of `wanted` that changed from one block to another: those whose sum is not
 * the one in sums[page]. Pages outside `compare` are copied in any case. Updates the sums, and
 * returns the pages copied.
 *
 * Finding a page unchanged costs one read of it. The alternative, comparing with the
 * destination, would cost two: on a machine whose memory is the bottleneck that is slower than
 * copying. */
struct ff_mask ff__copy_changed(void *to, const void *from, const struct ff_mask *wanted,
                                const struct ff_mask *compare, struct ff__sum sums[FF_BLOCK_PAGES]);

/* Copies the pages of `wanted` from one block to another. Returns those of `compare` that are as
 * sums[page] says. */
struct ff_mask ff__copy_compared(void *to, const void *from, const struct ff_mask *wanted,
                                 const struct ff_mask *compare,
                                 const struct ff__sum sums[FF_BLOCK_PAGES]);

#endif
