/* Sums of pages: every way gives what the definition says, and changes show. */
#include "cases.h"

#include "base/random.h"
#include "base/sum.h"

#include <sys/wait.h>
#include <unistd.h>

#define PAGES FF__SUM_STREAMS
#define WORDS FF__PAGE_WORDS
#define KEYS  (WORDS + FF__SUM_SHIFT)

struct pages {
    _Alignas(FF_PAGE_SIZE) uint64_t word[PAGES + 1][WORDS]; /* the last for nobody to touch */
};

static struct pages from, to;
static struct ff__sum_keys keys;

static bool same_sum(struct ff__sum a, struct ff__sum b) {
    return a.low == b.low && a.high == b.high;
}

/* ---- keys ---- */

/* The sum of a page of zeros that a process with keys of its own finds. */
static struct ff__sum sum_of_another_process(void) {
    int ends[2];
    struct ff__sum sum;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sum = ff__page_sum(to.word[0]);
        _exit(write(ends[1], &sum, sizeof sum) != sizeof sum);
    }
    close(ends[1]); /* so that reading ends should the child die */
    assert_int_equal(read(ends[0], &sum, sizeof sum), sizeof sum);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    return sum;
}

/* The first test: no keys have been drawn in this process, so that its children draw theirs. */
static void test_every_process_draws_keys(void **state) {
    (void)state;
    memset(&to, 0, sizeof to);
    struct ff__sum one = sum_of_another_process(), other = sum_of_another_process();
    struct ff__sum own = ff__page_sum(to.word[0]);
    assert_false(same_sum(one, other) || same_sum(one, own) || same_sum(other, own));
    assert_true(same_sum(own, ff__page_sum(to.word[0]))); /* once drawn, they stay */
}

/* ---- against the definition ---- */

static uint64_t naive_pass(const uint64_t *page, const uint64_t *key) {
    uint64_t sum = 0;
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t first = ((page[i] & UINT32_MAX) + (key[i] & UINT32_MAX)) & UINT32_MAX;
        uint64_t second = ((page[i] >> 32) + (key[i] >> 32)) & UINT32_MAX;
        sum += first * second;
    }
    return sum;
}

static struct ff__sum naive(const uint64_t *page) {
    return (struct ff__sum){naive_pass(page, keys.pair), naive_pass(page, keys.pair + 8)};
}

/* Words where carries and signs would go wrong, or any. */
static uint64_t some_word(struct ff__random *random) {
    static const uint64_t edges[] = {0,
                                     1,
                                     UINT32_MAX,
                                     UINT64_C(1) << 31,
                                     UINT64_C(1) << 32,
                                     UINT64_C(1) << 63,
                                     UINT64_MAX - UINT32_MAX,
                                     UINT64_MAX};
    uint32_t pick = ff__random_below(random, 12);
    return pick < 8 ? edges[pick] : ff__random_next(random);
}

static void fill(uint64_t *words, size_t count, struct ff__random *random) {
    for (size_t i = 0; i < count; i++)
        words[i] = some_word(random);
}

static void check_way(ff__sum_way *way, uint32_t pages, bool copy) {
    struct ff__sum sums[PAGES + 1];
    memset(sums, 0xC5, sizeof sums);
    memset(&to, 0xC5, sizeof to);
    way(copy ? (char *)to.word : NULL, (const char *)from.word, pages, &keys, sums);
    for (uint32_t page = 0; page < pages; page++) {
        assert_true(same_sum(sums[page], naive(from.word[page])));
        if (copy)
            assert_memory_equal(to.word[page], from.word[page], FF_PAGE_SIZE);
    }
    assert_true(sums[pages].low == UINT64_C(0xC5C5C5C5C5C5C5C5));
    for (size_t i = 0; i < WORDS; i++)
        assert_true(to.word[copy ? pages : 0][i] == UINT64_C(0xC5C5C5C5C5C5C5C5));
}

static void test_every_way_follows_the_definition(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(1);
    ff__sum_way *ways[FF__SUM_WAYS];
    size_t count = ff__sum_ways(ways);
    print_message("%zu ways\n", count);
    for (unsigned long i = 0, cases = scaled_cases(300, 20); i < cases; i++) {
        fill(from.word[0], PAGES * WORDS, &random);
        fill(keys.pair, KEYS, &random);
        for (size_t way = 0; way < count; way++)
            for (uint32_t pages = 0; pages <= PAGES; pages++)
                for (int copy = 0; copy < 2; copy++)
                    check_way(ways[way], pages, copy);
    }
}

/* By hand: the last pair counts in the first pass with its own key, in the second with that of
 * eight pairs on, where its own goes to pair 503. */
static void test_example(void **state) {
    (void)state;
    struct ff__sum sum;
    memset(&from, 0, sizeof from);
    memset(&keys, 0, sizeof keys);
    from.word[0][511] = UINT64_C(3) << 32 | UINT32_MAX;
    keys.pair[511] = UINT64_C(4) << 32 | 6;
    keys.pair[519] = UINT64_C(1) << 32 | 11;
    ff__sum_way *ways[FF__SUM_WAYS];
    for (size_t way = 0, count = ff__sum_ways(ways); way < count; way++) {
        ways[way](NULL, (const char *)from.word, 1, &keys, &sum);
        assert_int_equal(sum.low, 5 * 7);
        assert_int_equal(sum.high, 10 * 4 + 6 * 4);
    }
}

/* ---- changes show, with the keys of this process ---- */

/* Flips bits of two words; restores them. */
static void check_flip(uint64_t *page, size_t a, uint64_t flip_a, size_t b, uint64_t flip_b) {
    struct ff__sum before = ff__page_sum(page);
    page[a] ^= flip_a;
    page[b] ^= flip_b;
    assert_false(same_sum(before, ff__page_sum(page)));
    page[b] ^= flip_b;
    page[a] ^= flip_a;
    assert_true(same_sum(before, ff__page_sum(page)));
}

/* Signs of floating point numbers, in two words any number of words apart. */
static void test_changes_of_signs_show(void **state) {
    (void)state;
    static const uint64_t signs[] = {UINT64_C(1) << 63, UINT64_C(1) << 31,
                                     UINT64_C(1) << 63 | UINT64_C(1) << 31};
    struct ff__random random = ff__random_seeded(2);
    for (int content = 0; content < 2; content++) {
        memset(&from, 0, sizeof from);
        if (content)
            fill(from.word[0], WORDS, &random);
        for (size_t apart = 1; apart < WORDS; apart++) {
            size_t a = ff__random_below(&random, (uint32_t)(WORDS - apart));
            for (size_t i = 0; i < 9; i++)
                check_flip(from.word[0], a, signs[i / 3], a + apart, signs[i % 3]);
        }
    }
}

/* Every single bit, and with it another one. */
static void test_flips_show(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(3);
    fill(from.word[0], WORDS, &random);
    for (size_t bit = 0; bit < WORDS * 64; bit++) {
        size_t a = bit / 64, b = ff__random_below(&random, WORDS);
        check_flip(from.word[0], a, UINT64_C(1) << bit % 64, b, 0);
        if (b != a)
            check_flip(from.word[0], a, UINT64_C(1) << bit % 64, b,
                       UINT64_C(1) << ff__random_below(&random, 64));
    }
}

/* Words and lines that trade places. */
static void check_swap(uint64_t *page, size_t a, size_t b, size_t words) {
    uint64_t saved[8];
    struct ff__sum before = ff__page_sum(page);
    memcpy(saved, page + a, words * 8);
    memcpy(page + a, page + b, words * 8);
    memcpy(page + b, saved, words * 8);
    assert_false(same_sum(before, ff__page_sum(page)));
}

static void test_order_counts(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(4);
    for (size_t i = 0; i < WORDS; i++)
        from.word[0][i] = ff__random_next(&random);
    for (size_t a = 0; a < WORDS; a += 8)
        for (size_t b = a + 8; b < WORDS; b += 8)
            check_swap(from.word[0], a, b, 8);
    for (size_t a = 0; a < WORDS; a += 5)
        for (size_t b = a + 1; b < WORDS; b += 7)
            check_swap(from.word[0], a, b, 1);
    for (size_t a = 0; a < WORDS; a++) { /* the halves of a word */
        uint64_t word = from.word[0][a];
        check_flip(from.word[0], a, word ^ (word >> 32 | word << 32), 0, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_process_draws_keys),
        cmocka_unit_test(test_every_way_follows_the_definition),
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_changes_of_signs_show),
        cmocka_unit_test(test_flips_show),
        cmocka_unit_test(test_order_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
