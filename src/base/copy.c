#include "base/copy.h"

#include "base/faster.h"

#include <string.h>

#define STREAMS FF__SUM_STREAMS /* pages side by side: as for sums */
#define LINES   4               /* as for sums */

/* Orders of pages. Copies of whole blocks are timed; for sums the same one is faster. */
static struct ff__faster orders;

/* ---- x86-64: stores that bypass the caches ---- */

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx512f"))) static void copy_lines_avx512(char *to, const char *from) {
    __m512i line[LINES];
    for (size_t i = 0; i < LINES; i++)
        line[i] = _mm512_load_si512((const void *)(from + i * 64));
    for (size_t i = 0; i < LINES; i++)
        _mm512_stream_si512((void *)(to + i * 64), line[i]);
}

__attribute__((target("avx512f"))) static void copy_by_page_avx512(char *to, const char *from,
                                                                   uint32_t pages) {
    for (size_t at = 0; at < pages * (size_t)FF_PAGE_SIZE; at += 64)
        _mm512_stream_si512((void *)(to + at), _mm512_load_si512((const void *)(from + at)));
}

__attribute__((target("avx512f"))) static void copy_side_by_side_avx512(char *to, const char *from,
                                                                        uint32_t pages) {
    uint32_t page = 0;
    for (; page + STREAMS <= pages; page += STREAMS)
        for (size_t i = 0; i < FF_PAGE_SIZE; i += LINES * 64)
            for (size_t s = 0; s < STREAMS; s++)
                copy_lines_avx512(to + (page + s) * (size_t)FF_PAGE_SIZE + i,
                                  from + (page + s) * (size_t)FF_PAGE_SIZE + i);
    copy_by_page_avx512(to + page * (size_t)FF_PAGE_SIZE, from + page * (size_t)FF_PAGE_SIZE,
                        pages - page);
}

static void copy_avx512(char *to, const char *from, uint32_t pages) {
    struct ff__piece piece = ff__faster_begin(&orders, pages == FF_BLOCK_PAGES);
    if (piece.way == FF__BY_PAGE)
        copy_by_page_avx512(to, from, pages);
    else
        copy_side_by_side_avx512(to, from, pages);
    _mm_sfence();
    ff__faster_end(&orders, &piece);
}

__attribute__((target("avx"))) static void copy_avx(char *to, const char *from, uint32_t pages) {
    for (size_t at = 0; at < pages * (size_t)FF_PAGE_SIZE; at += 32)
        _mm256_stream_si256((__m256i *)(void *)(to + at),
                            _mm256_load_si256((const __m256i *)(const void *)(from + at)));
    _mm_sfence();
}

__attribute__((target("avx"))) static void zero_avx(char *to, uint32_t pages) {
    for (size_t at = 0; at < pages * (size_t)FF_PAGE_SIZE; at += 32)
        _mm256_stream_si256((__m256i *)(void *)(to + at), _mm256_setzero_si256());
    _mm_sfence();
}

#define HAS_AVX    __builtin_cpu_supports("avx")
#define HAS_AVX512 __builtin_cpu_supports("avx512f")

#endif

void ff__copy_pages(void *to, const void *from, uint32_t pages) {
#if defined(__x86_64__)
    if (HAS_AVX512) {
        copy_avx512(to, from, pages);
        return;
    }
    if (HAS_AVX) {
        copy_avx(to, from, pages);
        return;
    }
#endif
    memcpy(to, from, (size_t)pages * FF_PAGE_SIZE);
}

void ff__zero_pages(void *to, uint32_t pages) {
#if defined(__x86_64__)
    if (HAS_AVX) {
        zero_avx(to, pages);
        return;
    }
#endif
    memset(to, 0, (size_t)pages * FF_PAGE_SIZE);
}

/* ---- copying what changed ---- */

static bool is_same_sum(const struct ff__sum *sum, const struct ff__sum *known) {
    return (known->low || known->high) && sum->low == known->low && sum->high == known->high;
}

/* ff__copy_changed for pages [first, first + count), count at most STREAMS. `eager`: copy first,
 * look later. Returns whether all had changed. */
static bool copy_changed_pages(char *to, const char *from, uint32_t first, uint32_t count,
                               const struct ff_mask *compare, struct ff__sum *known, bool eager,
                               enum ff__page_order order, struct ff_mask *copied) {
    struct ff__sum sums[STREAMS];
    uint32_t changed = 0;
    size_t offset = (size_t)first * FF_PAGE_SIZE;
    ff__sum_pages(order, eager ? to + offset : NULL, from + offset, count, sums);
    for (uint32_t i = 0; i < count; i++) {
        struct ff__sum *before = &known[first + i];
        bool same = ff_mask_test(compare, first + i) && is_same_sum(&sums[i], before);
        changed += !same;
        if (!same || eager)
            ff_mask_set(copied, first + i);
        *before = sums[i];
    }
    struct ff_run run = {first, first};
    while (!eager && run.end < first + count && ff_mask_next_run(copied, &run))
        ff__copy_pages(to + (size_t)run.first * FF_PAGE_SIZE,
                       from + (size_t)run.first * FF_PAGE_SIZE, run.end - run.first);
    return changed == count;
}

struct ff_mask ff__copy_changed(void *to, const void *from, const struct ff_mask *wanted,
                                const struct ff_mask *compare,
                                struct ff__sum sums[FF_BLOCK_PAGES]) {
    struct ff_mask copied = {{0}}, certain = ff_mask_minus(wanted, compare);
    enum ff__page_order order = ff__faster_begin(&orders, false).way;
    bool eager = !ff_mask_empty(&certain);
    FF_MASK_FOR_EACH_RUN(wanted, run) {
        /* writes come in runs: after changed pages the next few are copied while they are
         * summed, in one pass over memory instead of two */
        for (uint32_t page = run.first; page < run.end; page += STREAMS) {
            uint32_t left = run.end - page, count = left < STREAMS ? left : STREAMS;
            eager = copy_changed_pages(to, from, page, count, compare, sums, eager, order, &copied);
        }
    }
    return copied;
}

/* ---- copying and comparing ---- */

/* ff__copy_compared for a run of pages, all of which are compared. */
static void copy_compared_run(char *to, const char *from, struct ff_run run,
                              const struct ff__sum *known, struct ff_mask *same) {
    struct ff__sum sums[STREAMS];
    for (uint32_t page = run.first; page < run.end; page += STREAMS) {
        uint32_t left = run.end - page, count = left < STREAMS ? left : STREAMS;
        size_t offset = (size_t)page * FF_PAGE_SIZE;
        ff__sum_pages(FF__BY_PAGE, to + offset, from + offset, count, sums);
        for (uint32_t i = 0; i < count; i++)
            if (is_same_sum(&sums[i], &known[page + i]))
                ff_mask_set(same, page + i);
    }
}

struct ff_mask ff__copy_compared(void *to, const void *from, const struct ff_mask *wanted,
                                 const struct ff_mask *compare,
                                 const struct ff__sum sums[FF_BLOCK_PAGES]) {
    struct ff_mask same = {{0}}, compared = ff_mask_and(wanted, compare),
                   plain = ff_mask_minus(wanted, compare);
    FF_MASK_FOR_EACH_RUN(&plain, run) {
        size_t offset = (size_t)run.first * FF_PAGE_SIZE;
        ff__copy_pages((char *)to + offset, (const char *)from + offset, run.end - run.first);
    }
    FF_MASK_FOR_EACH_RUN(&compared, run) {
        copy_compared_run(to, from, run, sums, &same);
    }
    return same;
}
