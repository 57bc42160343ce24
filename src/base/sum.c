#include "base/sum.h"

#include "base/random.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

/* A word of memory of any type. */
typedef uint64_t any_word __attribute__((may_alias));

static uint64_t product(uint64_t pair, uint64_t key) {
    uint32_t first = (uint32_t)pair + (uint32_t)key;
    uint32_t second = (uint32_t)(pair >> 32) + (uint32_t)(key >> 32);
    return (uint64_t)first * second;
}

static void sum_portable(char *to, const char *from, uint32_t pages,
                         const struct ff__sum_keys *keys, struct ff__sum *sums) {
    for (size_t page = 0; page < pages; page++) {
        const any_word *pair = (const any_word *)(const void *)(from + page * FF_PAGE_SIZE);
        struct ff__sum sum = {0, 0};
        for (size_t i = 0; i < FF__PAGE_WORDS; i++) {
            sum.low += product(pair[i], keys->pair[i]);
            sum.high += product(pair[i], keys->pair[i + FF__SUM_SHIFT]);
        }
        sums[page] = sum;
    }
    if (to)
        memcpy(to, from, (size_t)pages * FF_PAGE_SIZE);
}

/* ---- x86-64: the same with vectors and with stores that bypass the caches ---- */

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f"))) static
#define AVX2   __attribute__((target("avx2"))) static

AVX2 uint64_t add_up_avx2(__m256i sums) {
    uint64_t sum[4];
    _mm256_storeu_si256((__m256i *)(void *)sum, sums);
    return sum[0] + sum[1] + sum[2] + sum[3];
}

/* _mm512_reduce_add_epi64 would do, but gcc's adds signed numbers, which UBSan reports. */
AVX512 uint64_t add_up_avx512(__m512i sums) {
    return add_up_avx2(
        _mm256_add_epi64(_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64(sums, 1)));
}

AVX512 inline __m512i add_products_avx512(__m512i sum, __m512i pairs, const void *keys) {
    __m512i keyed = _mm512_add_epi32(pairs, _mm512_load_si512(keys));
    return _mm512_add_epi64(sum, _mm512_mul_epu32(keyed, _mm512_srli_epi64(keyed, 32)));
}

/* `lines` of one page before the next one's. Where both are constants, all is unrolled and the sums
 * stay in registers: the fewer instructions, the more lines the processor asks the memory for at
 * once. */
AVX512 inline __attribute__((always_inline)) void sum_lines(char *to, const char *from,
                                                            uint32_t pages, size_t lines,
                                                            const struct ff__sum_keys *keys,
                                                            struct ff__sum *sums) {
    __m512i low[FF__SUM_STREAMS], high[FF__SUM_STREAMS];
#pragma GCC unroll 4
    for (size_t page = 0; page < pages; page++)
        low[page] = high[page] = _mm512_setzero_si512();
    for (size_t at = 0; at < FF_PAGE_SIZE; at += lines * 64) {
#pragma GCC unroll 4
        for (size_t page = 0; page < pages; page++) {
#pragma GCC unroll 8
            for (size_t i = at; i < at + lines * 64; i += 64) {
                const char *key = (const char *)keys->pair + i;
                __m512i line = _mm512_load_si512((const void *)(from + page * FF_PAGE_SIZE + i));
                if (to)
                    _mm512_stream_si512((void *)(to + page * FF_PAGE_SIZE + i), line);
                low[page] = add_products_avx512(low[page], line, key);
                high[page] = add_products_avx512(high[page], line, key + 64);
            }
        }
    }
#pragma GCC unroll 4
    for (size_t page = 0; page < pages; page++) {
        sums[page].low = add_up_avx512(low[page]);
        sums[page].high = add_up_avx512(high[page]);
    }
}

AVX512 void sum_by_page_avx512(char *to, const char *from, uint32_t pages,
                               const struct ff__sum_keys *keys, struct ff__sum *sums) {
    for (size_t page = 0; page < pages; page++)
        sum_lines(to ? to + page * FF_PAGE_SIZE : NULL, from + page * FF_PAGE_SIZE, 1, 8, keys,
                  &sums[page]);
    _mm_sfence();
}

/* Four lines of a page at a time keep the memory's own pages open. */
AVX512 void sum_side_by_side_avx512(char *to, const char *from, uint32_t pages,
                                    const struct ff__sum_keys *keys, struct ff__sum *sums) {
    if (pages == FF__SUM_STREAMS)
        sum_lines(to, from, FF__SUM_STREAMS, 4, keys, sums);
    else
        sum_by_page_avx512(to, from, pages, keys, sums);
    _mm_sfence();
}

AVX2 inline __m256i add_products_avx2(__m256i sum, __m256i pairs, const void *keys) {
    __m256i keyed = _mm256_add_epi32(pairs, _mm256_load_si256((const __m256i *)keys));
    return _mm256_add_epi64(sum, _mm256_mul_epu32(keyed, _mm256_srli_epi64(keyed, 32)));
}

AVX2 void sum_avx2(char *to, const char *from, uint32_t pages, const struct ff__sum_keys *keys,
                   struct ff__sum *sums) {
    for (size_t page = 0; page < pages; page++) {
        __m256i low = _mm256_setzero_si256(), high = low;
        for (size_t i = 0; i < FF_PAGE_SIZE; i += 32) {
            size_t at = page * FF_PAGE_SIZE + i;
            const char *key = (const char *)keys->pair + i;
            __m256i pairs = _mm256_load_si256((const __m256i *)(const void *)(from + at));
            if (to)
                _mm256_stream_si256((__m256i *)(void *)(to + at), pairs);
            low = add_products_avx2(low, pairs, key);
            high = add_products_avx2(high, pairs, key + 64);
        }
        sums[page] = (struct ff__sum){add_up_avx2(low), add_up_avx2(high)};
    }
    _mm_sfence();
}

#endif

/* ---- choosing ---- */

size_t ff__sum_ways(ff__sum_way *ways[FF__SUM_WAYS]) {
    size_t count = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        ways[count++] = sum_by_page_avx512;
        ways[count++] = sum_side_by_side_avx512;
    }
    if (__builtin_cpu_supports("avx2"))
        ways[count++] = sum_avx2;
#endif
    ways[count++] = sum_portable;
    return count;
}

static pthread_once_t chosen = PTHREAD_ONCE_INIT;
static ff__sum_way *fastest[FF__ORDERS];
static struct ff__sum_keys drawn;

static bool draw_from_kernel(void *keys, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t got = getrandom((char *)keys + done, size - done, 0);
        if (got < 0 && errno != EINTR)
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static void choose(void) {
    ff__sum_way *ways[FF__SUM_WAYS];
    size_t count = ff__sum_ways(ways);
    fastest[FF__BY_PAGE] = ways[0];
    fastest[FF__SIDE_BY_SIDE] = ways[count == FF__SUM_WAYS];
    if (draw_from_kernel(&drawn, sizeof drawn))
        return;
    uint64_t seed = 1;
    const void *given = (const void *)getauxval(AT_RANDOM); /* 16 bytes */
    if (given)
        memcpy(&seed, (const char *)given + 8, sizeof seed);
    struct ff__random random = ff__random_seeded(seed);
    for (size_t i = 0; i < FF__PAGE_WORDS + FF__SUM_SHIFT; i++)
        drawn.pair[i] = ff__random_next(&random);
}

void ff__sum_pages(enum ff__page_order order, void *to, const void *from, uint32_t pages,
                   struct ff__sum *sums) {
    pthread_once(&chosen, choose);
    fastest[order](to, from, pages, &drawn, sums);
}

struct ff__sum ff__page_sum(const void *page) {
    struct ff__sum sum;
    ff__sum_pages(FF__BY_PAGE, NULL, page, 1, &sum);
    return sum;
}
