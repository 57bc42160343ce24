#include "base/copy.h"

#include <string.h>

/* Odd, so that multiplying by it is a bijection and no single change can be lost. */
#define SUM_FACTOR UINT64_C(0x9E3779B97F4A7C15)

static uint64_t mix(uint64_t state, uint64_t word) {
    uint64_t mixed = (state ^ word) * SUM_FACTOR;
    return mixed ^ (mixed >> 32);
}

/* Folds a page into eight independent 64-bit lanes: four chains of lines, then the chains into one.
 */
static void sum_lanes(const char *page, uint64_t lanes[8]) {
    uint64_t chain[4][8];
    for (uint64_t c = 0; c < 4; c++)
        for (int i = 0; i < 8; i++)
            chain[c][i] = c + 1;
    for (size_t at = 0; at < FF_PAGE_SIZE; at += 4 * 64) {
        for (size_t c = 0; c < 4; c++) {
            uint64_t line[8];
            memcpy(line, page + at + c * 64, sizeof line);
            for (int i = 0; i < 8; i++)
                chain[c][i] = mix(chain[c][i], line[i]);
        }
    }
    for (int c = 1; c < 4; c++)
        for (int i = 0; i < 8; i++)
            chain[0][i] = mix(chain[0][i], chain[c][i]);
    memcpy(lanes, chain[0], sizeof chain[0]);
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Four pages side by side keep four DRAM pages open and their hardware prefetchers running. */
#define STREAMS 4

__attribute__((target("avx512f"))) static void copy_avx512(char *to, const char *from,
                                                           uint32_t pages) {
    uint32_t page = 0;
    for (; page + STREAMS <= pages; page += STREAMS) {
        for (size_t i = 0; i < FF_PAGE_SIZE; i += 64) {
            for (size_t s = 0; s < STREAMS; s++) {
                size_t at = (page + s) * (size_t)FF_PAGE_SIZE + i;
                _mm512_stream_si512((void *)(to + at),
                                    _mm512_load_si512((const void *)(from + at)));
            }
        }
    }
    for (size_t at = page * (size_t)FF_PAGE_SIZE; at < pages * (size_t)FF_PAGE_SIZE; at += 64)
        _mm512_stream_si512((void *)(to + at), _mm512_load_si512((const void *)(from + at)));
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

/* Eight lanes a line; four chains hide the multiplier's latency. */
__attribute__((target("avx512f,avx512dq"))) static void sum_lanes_avx512(const char *page,
                                                                         uint64_t lanes[8]) {
    const __m512i odd = _mm512_set1_epi64((long long)SUM_FACTOR);
    __m512i chain[4];
    for (int c = 0; c < 4; c++)
        chain[c] = _mm512_set1_epi64(c + 1);
    for (size_t at = 0; at < FF_PAGE_SIZE; at += 4 * 64) {
        for (size_t c = 0; c < 4; c++) {
            __m512i line = _mm512_load_si512((const void *)(page + at + c * 64));
            __m512i mixed = _mm512_mullo_epi64(_mm512_xor_si512(chain[c], line), odd);
            chain[c] = _mm512_xor_si512(mixed, _mm512_srli_epi64(mixed, 32));
        }
    }
    for (int c = 1; c < 4; c++) {
        __m512i mixed = _mm512_mullo_epi64(_mm512_xor_si512(chain[0], chain[c]), odd);
        chain[0] = _mm512_xor_si512(mixed, _mm512_srli_epi64(mixed, 32));
    }
    _mm512_storeu_si512((void *)lanes, chain[0]);
}

static bool has_avx(void) {
    return __builtin_cpu_supports("avx");
}
static bool has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}

#else

static bool has_avx(void) {
    return false;
}
static bool has_avx512(void) {
    return false;
}
static void copy_avx512(char *to, const char *from, uint32_t pages) {
    memcpy(to, from, (size_t)pages * FF_PAGE_SIZE);
}
static void copy_avx(char *to, const char *from, uint32_t pages) {
    copy_avx512(to, from, pages);
}
static void zero_avx(char *to, uint32_t pages) {
    memset(to, 0, (size_t)pages * FF_PAGE_SIZE);
}
static void sum_lanes_avx512(const char *page, uint64_t lanes[8]) {
    sum_lanes(page, lanes);
}

#endif

void ff__copy_pages(void *to, const void *from, uint32_t pages) {
    if (has_avx512())
        copy_avx512(to, from, pages);
    else if (has_avx())
        copy_avx(to, from, pages);
    else
        memcpy(to, from, (size_t)pages * FF_PAGE_SIZE);
}

void ff__zero_pages(void *to, uint32_t pages) {
    if (has_avx())
        zero_avx(to, pages);
    else
        memset(to, 0, (size_t)pages * FF_PAGE_SIZE);
}

struct ff__sum ff__page_sum(const void *page) {
    uint64_t lanes[8];
    if (has_avx512())
        sum_lanes_avx512(page, lanes);
    else
        sum_lanes(page, lanes);
    struct ff__sum sum = {0, 1};
    for (int i = 0; i < 8; i += 2) {
        sum.low = mix(sum.low, lanes[i]);
        sum.high = mix(sum.high, lanes[i + 1]);
    }
    sum.low |= 1; /* never "not known" */
    return sum;
}

struct ff_mask ff__copy_changed(void *to, const void *from, const struct ff_mask *wanted,
                                const struct ff_mask *compare,
                                struct ff__sum sums[FF_BLOCK_PAGES]) {
    struct ff_mask copied = *wanted;
    FF_MASK_FOR_EACH_PAGE(wanted, page) {
        const char *source = (const char *)from + (size_t)page * FF_PAGE_SIZE;
        struct ff__sum sum = ff__page_sum(source); /* leaves the page in the cache for the copy */
        if (ff_mask_test(compare, page) && sum.low == sums[page].low &&
            sum.high == sums[page].high) {
            ff_mask_unset(&copied, page);
            continue;
        }
        ff__copy_pages((char *)to + (size_t)page * FF_PAGE_SIZE, source, 1);
        sums[page] = sum;
    }
    return copied;
}
