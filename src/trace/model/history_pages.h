/* Where the pages of a recorded run are, and what each did last. */
#ifndef FF_TRACE_MODEL_HISTORY_PAGES_H
#define FF_TRACE_MODEL_HISTORY_PAGES_H

#include "base/map.h"

#include <farfault/mask.h>
#include <stddef.h>

/* A page: what is not known is 0. */
struct ff__history_page {
    uint32_t left_at;    /* how many pages had left the devices when it did, itself included */
    uint32_t arrived_in; /* launch */
    uint16_t used_in;    /* slice, and one */
    bool held, left;
};

struct ff__history_pages {
    struct ff__map index; /* range and block: number of the block */
    struct ff__history_page (**blocks)[FF_BLOCK_PAGES];
    size_t count;
};

/* NULL: no memory. */
struct ff__history_page *ff__history_page(struct ff__history_pages *pages, uint32_t range,
                                          uint64_t page);

/* Forgets the pages of a range of so many bytes; returns how many of them were held. */
uint64_t ff__history_pages_forget(struct ff__history_pages *pages, uint32_t range, uint64_t bytes);

void ff__history_pages_fini(struct ff__history_pages *pages);

#endif
