/* Frees the page tables of managed blocks that have come page by page.
 *
 * UFFDIO_MOVE moves a huge page as one, in some 2 us, only to where the kernel has no page table.
 * An empty one is enough for it to split the huge page and to move 512 small ones, in some 350 us;
 * and these stay small wherever they are moved from then on. A page table remains when its last
 * page has left, until MADV_DONTNEED of all that it maps (Linux 6.14; before that it remains for
 * good, and what is here gains nothing). */
#ifndef FF_SOFT_PAGE_TABLES_H
#define FF_SOFT_PAGE_TABLES_H

#include "backend/soft/told.h"

struct ff__page_tables {
    struct ff__changes *changes;
    struct ff__told *told;
    bool *has_table; /* [block] pages have come one by one since it was freed */
};

/* 0 or -ENOMEM. Zeroed before; fini may follow a failed init. */
int ff__page_tables_init(struct ff__page_tables *tables, struct ff__changes *changes,
                         struct ff__told *told);
void ff__page_tables_fini(struct ff__page_tables *tables);

/* Pages of the block come one by one. */
static inline void ff__page_tables_note(struct ff__page_tables *tables, uint32_t block) {
    tables->has_table[block] = true;
}

/* Whether the block's pages are, or may be, small ones. */
static inline bool ff__page_tables_has(const struct ff__page_tables *tables, uint32_t block) {
    return tables->has_table[block];
}

/* Nothing of the block is there, and nothing comes meanwhile. Faults that are read meanwhile are
 * kept for the next read. */
void ff__page_tables_free(struct ff__page_tables *tables, uint32_t block);

#endif
