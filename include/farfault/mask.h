/* farfault/mask.h - sets of the pages of one block: 512 bits, page i of the block is bit i.
 *
 * Every question about pages ("which are resident", "which faulted") is asked and answered with a
 * mask, so that a block costs a few vector instructions and never a loop over pages. */
#ifndef FARFAULT_MASK_H
#define FARFAULT_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __SSE4_1__
#include <smmintrin.h>
#endif

#define FF_PAGE_SIZE   4096u
#define FF_PAGE_SHIFT  12
#define FF_LEAF_PAGES  16u  /* 64 KiB: a leaf, or basic block */
#define FF_BLOCK_PAGES 512u /* 2 MiB: a block */
#define FF_BLOCK_SIZE  (FF_BLOCK_PAGES * FF_PAGE_SIZE)
#define FF_BLOCK_SHIFT 21
#define FF_LEAF_SIZE   (FF_LEAF_PAGES * FF_PAGE_SIZE)
#define FF_MASK_WORDS  8

/* 64-byte aligned: one cache line, one AVX-512 register. */
struct ff_mask {
    uint64_t word[FF_MASK_WORDS] __attribute__((aligned(64)));
};

/* Eight words are a few vector instructions, if the compiler unrolls the loop. */
#if defined(__GNUC__) && !defined(__clang__)
#define FF_MASK_FOR_EACH_WORD(i) _Pragma("GCC unroll 8") for (int i = 0; i < FF_MASK_WORDS; i++)
#else
#define FF_MASK_FOR_EACH_WORD(i) for (int i = 0; i < FF_MASK_WORDS; i++)
#endif

/* Pages [first, end), a half-open run. */
struct ff_run {
    uint32_t first, end;
};

static inline void ff_mask_clear(struct ff_mask *m) {
    FF_MASK_FOR_EACH_WORD(i)
    m->word[i] = 0;
}

static inline bool ff_mask_empty(const struct ff_mask *m) {
    uint64_t any = 0;
    FF_MASK_FOR_EACH_WORD(i)
    any |= m->word[i];
    return any == 0;
}

static inline bool ff_mask_test(const struct ff_mask *m, uint32_t page) {
    return (m->word[page / 64] >> (page % 64)) & 1;
}

static inline void ff_mask_set(struct ff_mask *m, uint32_t page) {
    m->word[page / 64] |= UINT64_C(1) << (page % 64);
}

static inline void ff_mask_unset(struct ff_mask *m, uint32_t page) {
    m->word[page / 64] &= ~(UINT64_C(1) << (page % 64));
}

/* The bits of word `i` that lie in [first, end). */
static inline uint64_t ff_mask_word_of_run(int i, uint32_t first, uint32_t end) {
    uint32_t low = (uint32_t)i * 64, high = low + 64;
    uint32_t from = first > low ? first : low, to = end < high ? end : high;
    if (from >= to)
        return 0;
    uint64_t below_end = to == high ? ~UINT64_C(0) : (UINT64_C(1) << (to - low)) - 1;
    return below_end & (~UINT64_C(0) << (from - low));
}

/* Sets the pages [first, end); an empty or inverted run sets nothing. */
static inline void ff_mask_set_run(struct ff_mask *m, uint32_t first, uint32_t end) {
    FF_MASK_FOR_EACH_WORD(i)
    m->word[i] |= ff_mask_word_of_run(i, first, end);
}

static inline void ff_mask_unset_run(struct ff_mask *m, uint32_t first, uint32_t end) {
    FF_MASK_FOR_EACH_WORD(i)
    m->word[i] &= ~ff_mask_word_of_run(i, first, end);
}

/* ff_mask_of_page(): the mask of one page. It is written in pairs of words, because some functions
 * read it so: a read that is wider than the preceding write stalls the processor. ff_mask_words():
 * which words are not empty: bit 2 * i for word i. */
#ifdef __SSE4_1__
static inline struct ff_mask ff_mask_of_page(uint32_t page) {
    struct ff_mask m;
    __m128i bit = _mm_set1_epi64x((int64_t)(UINT64_C(1) << (page % 64)));
    __m128i word = _mm_set1_epi64x(page / 64), pair = _mm_set_epi64x(1, 0);
    for (int i = 0; i < FF_MASK_WORDS / 2; i++) {
        __m128i here = _mm_cmpeq_epi64(word, pair);
        _mm_store_si128((__m128i *)m.word + i, _mm_and_si128(here, bit));
        pair = _mm_add_epi64(pair, _mm_set1_epi64x(2));
    }
    return m;
}

static inline __m128i ff_mask_empty_pair(const struct ff_mask *m, int i) {
    return _mm_cmpeq_epi64(_mm_load_si128((const __m128i *)m->word + i), _mm_setzero_si128());
}

static inline uint32_t ff_mask_words(const struct ff_mask *m) {
    __m128i low = _mm_packs_epi32(ff_mask_empty_pair(m, 0), ff_mask_empty_pair(m, 1));
    __m128i high = _mm_packs_epi32(ff_mask_empty_pair(m, 2), ff_mask_empty_pair(m, 3));
    return ~(uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high)) & 0x5555;
}
#else
static inline struct ff_mask ff_mask_of_page(uint32_t page) {
    struct ff_mask m = {{0}};
    ff_mask_set(&m, page);
    return m;
}

static inline uint32_t ff_mask_words(const struct ff_mask *m) {
    uint32_t words = 0;
    FF_MASK_FOR_EACH_WORD(i)
    words |= (uint32_t)(m->word[i] != 0) << 2 * i;
    return words;
}
#endif

static inline struct ff_mask ff_mask_of_run(uint32_t first, uint32_t end) {
    const uint64_t all = ~UINT64_C(0);
    struct ff_mask m = {{all, all, all, all, all, all, all, all}};
    if (first == 0 && end == FF_BLOCK_PAGES) /* the most frequent case: the whole block */
        return m;
    FF_MASK_FOR_EACH_WORD(i)
    m.word[i] = ff_mask_word_of_run(i, first, end);
    return m;
}

#ifdef __POPCNT__
static inline uint32_t ff_mask_count(const struct ff_mask *m) {
    uint32_t n = 0;
    FF_MASK_FOR_EACH_WORD(i)
    n += (uint32_t)__builtin_popcountll(m->word[i]);
    return n;
}
#else
/* Without a popcount instruction: counts in the bytes of all words in parallel. */
static inline uint32_t ff_mask_count(const struct ff_mask *m) {
    const uint64_t ones = UINT64_C(0x5555555555555555), twos = UINT64_C(0x3333333333333333);
    uint64_t bytes = 0; /* up to 64 each */
    FF_MASK_FOR_EACH_WORD(i) {
        uint64_t word = m->word[i];
        word -= word >> 1 & ones;
        word = (word & twos) + (word >> 2 & twos);
        bytes += (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    }
    bytes = (bytes & UINT64_C(0x00ff00ff00ff00ff)) + (bytes >> 8 & UINT64_C(0x00ff00ff00ff00ff));
    return (uint32_t)(bytes * UINT64_C(0x0001000100010001) >> 48);
}
#endif

static inline uint32_t ff_mask_count_run(const struct ff_mask *m, uint32_t first, uint32_t end) {
    struct ff_mask counted;
    FF_MASK_FOR_EACH_WORD(i)
    counted.word[i] = m->word[i] & ff_mask_word_of_run(i, first, end);
    return ff_mask_count(&counted);
}

static inline struct ff_mask ff_mask_and(const struct ff_mask *a, const struct ff_mask *b) {
    struct ff_mask m;
    FF_MASK_FOR_EACH_WORD(i)
    m.word[i] = a->word[i] & b->word[i];
    return m;
}

static inline struct ff_mask ff_mask_or(const struct ff_mask *a, const struct ff_mask *b) {
    struct ff_mask m;
    FF_MASK_FOR_EACH_WORD(i)
    m.word[i] = a->word[i] | b->word[i];
    return m;
}

/* a without b */
static inline struct ff_mask ff_mask_minus(const struct ff_mask *a, const struct ff_mask *b) {
    struct ff_mask m;
    FF_MASK_FOR_EACH_WORD(i)
    m.word[i] = a->word[i] & ~b->word[i];
    return m;
}

static inline bool ff_mask_equal(const struct ff_mask *a, const struct ff_mask *b) {
    uint64_t differ = 0;
    FF_MASK_FOR_EACH_WORD(i)
    differ |= a->word[i] ^ b->word[i];
    return differ == 0;
}

/* Whether every page of a is also in b. */
static inline bool ff_mask_within(const struct ff_mask *a, const struct ff_mask *b) {
    struct ff_mask outside = ff_mask_minus(a, b);
    return ff_mask_empty(&outside);
}

/* As ff_mask_next(), for callers that already have `words`, the ff_mask_words() of the mask; `from`
 * must be below FF_BLOCK_PAGES. It goes directly to the next word that is not empty: the end of a
 * loop over empty words would be a mispredicted branch. */
static inline uint32_t ff_mask_next_in(const struct ff_mask *m, uint32_t words, uint32_t from) {
    uint32_t i = from / 64;
    uint64_t word = m->word[i] & (~UINT64_C(0) << (from % 64));
    words &= ~UINT32_C(3) << 2 * i;
    if (word == 0 && words != 0) {
        i = (uint32_t)__builtin_ctz(words) / 2;
        word = m->word[i];
    }
    return word ? i * 64 + (uint32_t)__builtin_ctzll(word) : FF_BLOCK_PAGES;
}

/* The first page >= `from` that is in the mask; FF_BLOCK_PAGES if there is none. */
static inline uint32_t ff_mask_next(const struct ff_mask *m, uint32_t from) {
    return from < FF_BLOCK_PAGES ? ff_mask_next_in(m, ff_mask_words(m), from) : FF_BLOCK_PAGES;
}

/* An iterator over the pages of a mask, word by word. It does not see pages that are added to or
 * removed from the current word. */
struct ff_mask_walk {
    uint32_t words, first; /* words ahead; the first page of the current word */
    uint64_t word;         /* the pages of it that remain */
};

static inline bool ff_mask_walk_on(const struct ff_mask *m, struct ff_mask_walk *walk,
                                   uint32_t *page) {
    while (walk->word == 0) {
        if (walk->words == 0)
            return false;
        uint32_t i = (uint32_t)__builtin_ctz(walk->words) / 2;
        walk->words &= walk->words - 1;
        walk->first = i * 64;
        walk->word = m->word[i];
    }
    *page = walk->first + (uint32_t)__builtin_ctzll(walk->word);
    walk->word &= walk->word - 1;
    return true;
}

/* The first page >= `from` that is not in the mask; FF_BLOCK_PAGES if there is none. */
static inline uint32_t ff_mask_next_gap(const struct ff_mask *m, uint32_t from) {
    if (from >= FF_BLOCK_PAGES)
        return FF_BLOCK_PAGES;
    uint32_t i = from / 64;
    uint64_t word = ~m->word[i] & (~UINT64_C(0) << (from % 64));
    while (word == 0) {
        if (++i == FF_MASK_WORDS)
            return FF_BLOCK_PAGES;
        word = ~m->word[i];
    }
    return i * 64 + (uint32_t)__builtin_ctzll(word);
}

/* Finds the next run of pages at or after run->end; start with {0, 0}. False when there are no
 * more. */
static inline bool ff_mask_next_run(const struct ff_mask *m, struct ff_run *run) {
    run->first = ff_mask_next(m, run->end);
    if (run->first == FF_BLOCK_PAGES)
        return false;
    run->end = ff_mask_next_gap(m, run->first);
    return true;
}

#define FF_MASK_FOR_EACH_RUN(mask, run)                                                            \
    for (struct ff_run run = {0, 0}; ff_mask_next_run((mask), &run);)

/* The outer loop runs once: it holds the iterator, so that `break` in the body ends both. */
#define FF_MASK_FOR_EACH_PAGE(mask, page)                                                          \
    for (struct ff_mask_walk page##_walk = {ff_mask_words(mask), 0, 0},                            \
                             *page##_once = &page##_walk;                                          \
         page##_once; page##_once = NULL)                                                          \
        for (uint32_t page; ff_mask_walk_on((mask), &page##_walk, &page);)

#endif
