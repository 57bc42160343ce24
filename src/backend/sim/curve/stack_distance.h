/* Stack distances: how many pages have been used since a page was used last, itself included. A
 * memory of k pages that evicts the least recently used one misses just the accesses whose distance
 * is more than k, so that one pass tells the misses of every size (Mattson et al., IBM Systems
 * Journal 9(2), 1970).
 *
 * Accesses are numbered. A bit for each number, a mark, says that it is the latest use of a page;
 * the distance is the number of marks from that of the page's last use on. Counts of marks at four
 * levels make this a few look-ups. When the numbers run out, the marks are moved together.
 *
 * A page that is removed leaves a hole at its place. A hole is a free frame of every memory that is
 * large enough to reach it: the next page that comes from deeper takes it, and leaves a hole where
 * it was (Thompson and Smith, ACM TOCS 7(1), 1989).
 *
 * Memory: some 13 bytes for each page, however many accesses there are. */
#ifndef FF_BACKEND_SIM_CURVE_STACK_DISTANCE_H
#define FF_BACKEND_SIM_CURVE_STACK_DISTANCE_H

#include <stdint.h>

#define FF__STACK_BATCH 256u /* accesses at a time, at most */
#define FF__STACK_AHEAD 40u  /* accesses: the caller has the records of the first ones fetched */
#define FF__STACK_PAGES (UINT32_C(1) << 29) /* numbers have 32 bits */

struct ff__stack {
    uint64_t page_count;
    /* [distance] accesses; [0]: to pages that had not been used, or had been removed */
    uint64_t *uses;
    uint32_t depth; /* no distance is more */

    uint32_t *last;      /* [page] the number of its last use; 0: none, or removed */
    uint32_t now, limit; /* the next number; they are less than the limit */
    uint64_t *marks;     /* [number / 64] */
    uint16_t *in_row;    /* [word of marks] marks before it in its row of 32 words */
    uint16_t *in_square; /* [row] in its square of 32 rows */
    uint32_t *in_cube;   /* [square] in its cube of 16 squares */
    uint32_t *in_all;    /* [cube] before it */
    uint64_t *holes;     /* [number / 64] marks that are of holes */
    uint64_t hole_count;
    uint32_t hole_word; /* no later word has holes */
};

/* -EFBIG: more than FF__STACK_PAGES pages; -ENOMEM. To be ended in any case. */
int ff__stack_init(struct ff__stack *stack, uint64_t page_count);
void ff__stack_fini(struct ff__stack *stack);

/* Uses pages in turn, FF__STACK_BATCH at most, and says at which distances they were; 0 as in
 * `uses`. */
void ff__stack_use(struct ff__stack *stack, const uint32_t *pages, uint32_t count,
                   uint32_t *distances);

/* The page is in no memory any more. Nothing if it has not been used. */
void ff__stack_remove(struct ff__stack *stack, uint32_t page);

#endif
