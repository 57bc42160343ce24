/* Pages of what kernels alone use leave all at once: protected, copied where they are, and dropped.
 * Two TLB shoot-downs do for as many pages as there are, and none of them has to lie beside another
 * one; a move takes one for each run. Only for such memory: nothing else drops it, waits for a
 * message about that, or pins it for input, which would be lost.
 *
 * Linux 6.16 drops several runs with one shoot-down. */
#ifndef FF_SOFT_DROP_H
#define FF_SOFT_DROP_H

#include "backend/soft/move.h"

/* Whether the kernel can do that. */
bool ff__drop_probe(const struct ff__uffd *uffd, const char *page);

/* Whether it is the better way for what is left of the move. */
bool ff__drop_pays(const struct ff__soft *soft, const struct ff__move *move);

/* From now on threads that write to the block wait. False: the pages that are left cannot all be
 * read, or the kernel refuses; nothing has changed. */
bool ff__drop_begin(struct ff__soft *soft, const struct ff__move *move);

/* Drops what is left of the move, and lets those threads go on. Returns the pages that are gone. */
struct ff_mask ff__drop_end(struct ff__soft *soft, const struct ff__move *move);

#endif
