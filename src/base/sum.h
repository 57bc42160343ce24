/* Sums that tell whether a page changed.
 *
 * A sum is two passes of NH (Black, Halevi, Krawczyk, Krovetz, Rogaway: UMAC, CRYPTO '99). With the
 * page as 512 pairs (a, b) of 32-bit words and the keys as as many pairs (x, y), each pass is
 *
 *     NH = sum over the pairs of ((a + x) mod 2^32) * ((b + y) mod 2^32), mod 2^64.
 *
 * Both take the same keys, the second from eight pairs later on (the Toeplitz shift).
 *
 * Theorem: any two different pages, chosen without knowledge of the keys, have the same sum with a
 * chance of at most 2^-64 over the draw of the keys.
 *
 * One pass, one pair. Let (a, b) and (c, d) differ and e be any number. Then
 * (a + x)(b + y) - (c + x)(d + y) = e mod 2^64, each factor mod 2^32, with a chance of at most
 * 2^-32: let b and d differ, or else exchange the roles of the two words. Draw y first; now the
 * second factors are fixed, B and D, and differ. If x and x', different, both fit, then
 * p * B = q * D mod 2^64, where p and q are what the first factors change by from x to x'. Each is
 * either r or r - 2^32, with r = (x' - x) mod 2^32. If p = q, p * (B - D) is a multiple of 2^64,
 * but neither factor is 0 or reaches 2^32. Otherwise r * B + (2^32 - r) * D, or that with B and D
 * exchanged, is a multiple of 2^64, but it is more than 0, as B and D are not both 0, and less than
 * 2^32 * 2^32. So at most one x of the 2^32 fits.
 *
 * Two passes. Pairs that are the same in both pages add the same to both sums. Take the last pair
 * that differs and draw its key of the second pass, eight pairs on, last of all: nothing else that
 * decides depends on it, as other pairs that differ come earlier and the first pass's keys, too.
 * So whatever the first pass does, the second is the same for both with a chance of at most 2^-32.
 * Likewise the first pass, whose key of that pair is the last of those that decide it.
 *
 * Addition mod 2^64 may be done in any order: vectors of partial sums add up to the very same. */
#ifndef FF_BASE_SUM_H
#define FF_BASE_SUM_H

#include <farfault/mask.h>
#include <stddef.h>

/* All zero: not known. A page may have that sum, too; then it counts as changed. */
struct ff__sum {
    uint64_t low, high; /* the first and the second pass */
};

/* So many pages side by side keep as many of the hardware's prefetchers running, where these stop
 * at the end of a page. */
#define FF__SUM_STREAMS 4u
/* Eight pairs: keys a whole cache line later are as good as those of the next pair, and aligned. */
#define FF__SUM_SHIFT  8u
#define FF__PAGE_WORDS (FF_PAGE_SIZE / sizeof(uint64_t))

/* A pair of 32-bit words each. */
struct ff__sum_keys {
    _Alignas(64) uint64_t pair[FF__PAGE_WORDS + FF__SUM_SHIFT];
};

/* In which pages in a row are read. Which is faster depends on how the processor prefetches: by
 * more than half, either way. */
enum ff__page_order { FF__BY_PAGE, FF__SIDE_BY_SIDE, FF__ORDERS };

struct ff__sum ff__page_sum(const void *page);

/* Sums of pages in a row, at most FF__SUM_STREAMS. Copies them, too, unless `to` is NULL. All are
 * page aligned. The keys are drawn at the first call, once for the process: from getrandom(2), or
 * where that is not to be had (an old kernel, a sandbox) from the 64 random bits of AT_RANDOM that
 * the kernel gives every program, expanded. Then the bound holds as far as xorshift64* looks like
 * chance. */
void ff__sum_pages(enum ff__page_order order, void *to, const void *from, uint32_t pages,
                   struct ff__sum *sums);

/* ---- for tests ---- */

typedef void ff__sum_way(char *to, const char *from, uint32_t pages,
                         const struct ff__sum_keys *keys, struct ff__sum *sums);

#define FF__SUM_WAYS 4

/* The ways to find sums that this machine has, the fastest first, or second; returns how many. All
 * give the same. */
size_t ff__sum_ways(ff__sum_way *ways[FF__SUM_WAYS]);

#endif
