/* The fewest misses that demand paging can have, whatever it evicts: Belady's MIN, for uses that
 * come in a fixed order, or in groups within which they may come in any order.
 *
 * A use needs its page in one of the frames, where the page stays until it is evicted. A use whose
 * page is not there is a miss; only some misses count, for example those of pages that have content
 * to fetch. */
#ifndef FF_TRACE_MODEL_LEAST_H
#define FF_TRACE_MODEL_LEAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ff__page_use {
    uint32_t page;  /* dense */
    uint32_t group; /* never decreases; a page occurs at most once in a group */
    bool counts;    /* as a miss, if the page has not stayed since its last use */
};

/* The fewest misses that count. Where every group is one use, this is MIN. In a group of several
 * uses a missed page may also be used without a frame, so that the result is at most what any order
 * of the group needs. Uses are fewer than 2^32, frames at least 1. -ENOMEM. */
int ff__least_misses(const struct ff__page_use *uses, size_t count, uint32_t pages, uint64_t frames,
                     uint64_t *out);

#define FF__LEAST_NO_USE UINT32_MAX

/* The same the other way round: the most uses that find their page. next[i]: the next use of the
 * page of use i, or FF__LEAST_NO_USE if there is none that may find it. Every use is a group of its
 * own. */
int ff__least_most_hits(const uint32_t *next, size_t count, uint64_t frames, uint64_t *out);

#endif
