#include "base/copy.h"

#include <string.h>

/* Four pages side by side keep four of the hardware's prefetchers running, which stop at the end
 * of a page. */
#define STREAMS 4
/* Independent chains in a page's sum: they hide the multiplier's latency. */
#define CHAINS 4
/* Odd, so that multiplying by it is a bijection and no single change can be lost. */
#define SUM_FACTOR UINT64_C(0x9E3779B97F4A7C15)

/* A word of memory of any type. */
typedef uint64_t any_word __attribute__((may_alias));

static uint64_t mix(uint64_t state, uint64_t word) {
    uint64_t mixed = (state ^ word) * SUM_FACTOR;
    return mixed ^ (mixed >> 32);
}

/* Folds a page into eight independent 64-bit lanes: chains of lines, then the chains into one. */
static void sum_lanes(const char *page, uint64_t lanes[8]) {
    uint64_t chain[CHAINS][8];
    for (uint64_t c = 0; c < CHAINS; c++)
        for (int i = 0; i < 8; i++)
            chain[c][i] = c + 1;
    for (size_t at = 0; at < FF_PAGE_SIZE; at += CHAINS * 64) {
        for (size_t c = 0; c < CHAINS; c++) {
            const any_word *line = (const any_word *)(const void *)(page + at + c * 64);
            for (int i = 0; i < 8; i++)
                chain[c][i] = mix(chain[c][i], line[i]);
        }
    }
    for (int c = 1; c < CHAINS; c++)
        for (int i = 0; i < 8; i++)
            chain[0][i] = mix(chain[0][i], chain[c][i]);
    memcpy(lanes, chain[0], sizeof chain[0]);
}

/* ---- x86-64: the same with vectors and with stores that bypass the caches ---- */

#if defined(__x86_64__)
#include <immintrin.h>

/* A few lines of one page before the next stream's: enough to keep the memory's own pages open. */
__attribute__((target("avx512f"))) static void copy_lines_avx512(char *to, const char *from) {
    __m512i line[CHAINS];
    for (size_t i = 0; i < CHAINS; i++)
        line[i] = _mm512_load_si512((const void *)(from + i * 64));
    for (size_t i = 0; i < CHAINS; i++)
        _mm512_stream_si512((void *)(to + i * 64), line[i]);
}

__attribute__((target("avx512f"))) static void copy_avx512(char *to, const char *from,
                                                           uint32_t pages) {
    uint32_t page = 0;
    for (; page + STREAMS <= pages; page += STREAMS)
        for (size_t i = 0; i < FF_PAGE_SIZE; i += CHAINS * 64)
            for (size_t s = 0; s < STREAMS; s++)
                copy_lines_avx512(to + (page + s) * (size_t)FF_PAGE_SIZE + i,
                                  from + (page + s) * (size_t)FF_PAGE_SIZE + i);
    for (; page < pages; page++)
        for (size_t i = 0; i < FF_PAGE_SIZE; i += CHAINS * 64)
            copy_lines_avx512(to + page * (size_t)FF_PAGE_SIZE + i,
                              from + page * (size_t)FF_PAGE_SIZE + i);
    _mm_sfence();
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

/* sum_lanes of STREAMS pages in a row, which it copies on the way unless `to` is NULL. */
__attribute__((target("avx512f,avx512dq"))) static void sum_avx512(char *to, const char *pages,
                                                                   uint64_t lanes[STREAMS][8]) {
    const __m512i odd = _mm512_set1_epi64((long long)SUM_FACTOR);
    __m512i chain[STREAMS][CHAINS];
    for (int s = 0; s < STREAMS; s++)
        for (int c = 0; c < CHAINS; c++)
            chain[s][c] = _mm512_set1_epi64(c + 1);
    for (size_t at = 0; at < FF_PAGE_SIZE; at += CHAINS * 64) {
        for (size_t s = 0; s < STREAMS; s++) {
            for (size_t c = 0; c < CHAINS; c++) {
                size_t line = s * FF_PAGE_SIZE + at + c * 64;
                __m512i word = _mm512_load_si512((const void *)(pages + line));
                if (to)
                    _mm512_stream_si512((void *)(to + line), word);
                __m512i mixed = _mm512_mullo_epi64(_mm512_xor_si512(chain[s][c], word), odd);
                chain[s][c] = _mm512_xor_si512(mixed, _mm512_srli_epi64(mixed, 32));
            }
        }
    }
    for (int s = 0; s < STREAMS; s++) {
        for (int c = 1; c < CHAINS; c++) {
            __m512i mixed = _mm512_mullo_epi64(_mm512_xor_si512(chain[s][0], chain[s][c]), odd);
            chain[s][0] = _mm512_xor_si512(mixed, _mm512_srli_epi64(mixed, 32));
        }
        _mm512_storeu_si512((void *)lanes[s], chain[s][0]);
    }
}

#define HAS_AVX    __builtin_cpu_supports("avx")
#define HAS_AVX512 (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))

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

/* Both halves take in every lane, in opposite orders: what cancels out in one shows in the
 * other. */
static struct ff__sum fold(const uint64_t lanes[8]) {
    struct ff__sum sum = {0, 1};
    for (int i = 0; i < 8; i++) {
        sum.low = mix(sum.low, lanes[i]);
        sum.high = mix(sum.high, lanes[7 - i]);
    }
    sum.low |= 1; /* never "not known"; `high` alone still shows a change of one lane */
    return sum;
}

struct ff__sum ff__page_sum(const void *page) {
    uint64_t lanes[8];
    sum_lanes(page, lanes);
    return fold(lanes);
}

/* Sums of up to STREAMS pages in a row. Copies them, too, unless `to` is NULL; then it leaves
 * them in the cache. */
static void sum_pages(char *to, const char *from, uint32_t pages, struct ff__sum sums[STREAMS]) {
    uint64_t lanes[STREAMS][8];
    bool done = false;
#if defined(__x86_64__)
    done = pages == STREAMS && HAS_AVX512;
    if (done)
        sum_avx512(to, from, lanes);
#endif
    for (uint32_t i = 0; i < pages && !done; i++)
        sum_lanes(from + i * (size_t)FF_PAGE_SIZE, lanes[i]);
    if (to && !done)
        ff__copy_pages(to, from, pages);
    for (uint32_t i = 0; i < pages; i++)
        sums[i] = fold(lanes[i]);
}

/* ff__copy_changed for pages [first, first + count), count at most STREAMS. `eager`: copy first,
 * look later. Returns whether all had changed. */
static bool copy_changed_pages(char *to, const char *from, uint32_t first, uint32_t count,
                               const struct ff_mask *compare, struct ff__sum *known, bool eager,
                               struct ff_mask *copied) {
    struct ff__sum sums[STREAMS];
    uint32_t changed = 0;
    size_t offset = (size_t)first * FF_PAGE_SIZE;
    sum_pages(eager ? to + offset : NULL, from + offset, count, sums);
    for (uint32_t i = 0; i < count; i++) {
        struct ff__sum *before = &known[first + i];
        bool same = ff_mask_test(compare, first + i) && sums[i].low == before->low &&
                    sums[i].high == before->high;
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
    bool eager = !ff_mask_empty(&certain);
    FF_MASK_FOR_EACH_RUN(wanted, run) {
        /* writes come in runs: after changed pages the next few are copied while they are
         * summed, in one pass over memory instead of two */
        for (uint32_t page = run.first; page < run.end; page += STREAMS) {
            uint32_t left = run.end - page, count = left < STREAMS ? left : STREAMS;
            eager = copy_changed_pages(to, from, page, count, compare, sums, eager, &copied);
        }
    }
    return copied;
}
