/* Which pages that are on a device have been used, where the kernel tells: by the read-write
 * protection of userfaultfd (UFFDIO_REGISTER_MODE_RWP), announced for Linux 7.2. A page is watched:
 * it has no access rights, and the kernel gives them back at the first access, without a message.
 * PAGEMAP_SCAN tells afterwards which pages have theirs (PAGE_IS_ACCESSED). A huge page that is
 * watched as a whole stays one, and has one answer.
 *
 * Pages that come by UFFDIO_MOVE are watched from the start, and cost their first access a fault in
 * the kernel; those that come by UFFDIO_COPY are not. So only what looks for use pays for that: see
 * `open` in engine/backend.h. */
#ifndef FF_SOFT_ACCESSED_H
#define FF_SOFT_ACCESSED_H

#include "backend/soft/device.h"

/* Tries on a few pages of its own all that is needed: whether the kernel watches, says so, moves
 * what is watched, and lets it be used. 0. -ENOSYS: it has no such protection, or there is no right
 * to use userfaultfd. -EPROTO, or another negative errno: it has, but not as it is used here. */
int ff__accessed_probe(void);

/* The pages of a range, which has just been opened, can be watched from now on. */
void ff__accessed_open_range(struct ff__soft *soft, uint32_t first_block, uint64_t page_count);

#endif
