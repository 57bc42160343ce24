/* Every operation on masks against a plain array of bool. */
#include "cases.h"

#include "base/random.h"
#include "policy/nvidia/tree_mask.h"

#include <farfault/mask.h>

#define PAGES FF_BLOCK_PAGES

struct twin {
    bool page[PAGES];
};

/* Ends of runs that lie on, before and behind the borders of words and leaves. */
static const uint32_t edges[] = {0,   1,   2,   15,  16,  17,  31,  32,  62,  63,  64,
                                 65,  100, 126, 127, 128, 129, 191, 192, 255, 256, 257,
                                 319, 320, 383, 384, 447, 448, 449, 495, 510, 511, 512};

#define EDGES (sizeof edges / sizeof edges[0])

static struct ff_mask mask_of_twin(const struct twin *twin) {
    struct ff_mask mask;
    memset(&mask, 0, sizeof mask);
    for (uint32_t i = 0; i < PAGES; i++)
        if (twin->page[i])
            mask.word[i / 64] |= UINT64_C(1) << (i % 64);
    return mask;
}

static void check_same(const struct ff_mask *mask, const struct twin *twin) {
    struct ff_mask expected = mask_of_twin(twin);
    assert_memory_equal(mask->word, expected.word, sizeof expected.word);
}

static void set_twin_run(struct twin *twin, uint32_t first, uint32_t end, bool value) {
    for (uint32_t i = first; i < end; i++)
        twin->page[i] = value;
}

/* Runs of all lengths, so that words are empty, full and mixed. */
static struct twin random_twin(struct ff__random *random) {
    struct twin twin;
    uint32_t style = ff__random_below(random, 4), longest = style == 0 ? 3 : style == 1 ? 40 : 300;
    bool value = ff__random_below(random, 2) != 0;
    for (uint32_t at = 0; at < PAGES; value = !value) {
        uint32_t length = 1 + ff__random_below(random, longest);
        for (uint32_t i = 0; i < length && at < PAGES; i++)
            twin.page[at++] = value;
    }
    if (style == 3)
        memset(&twin, value, sizeof twin);
    return twin;
}

/* ---- runs ---- */

static void check_run(const struct twin *before, uint32_t first, uint32_t end) {
    struct twin set = *before, unset = *before, alone;
    memset(&alone, 0, sizeof alone);
    set_twin_run(&set, first, end, true);
    set_twin_run(&unset, first, end, false);
    set_twin_run(&alone, first, end, true);
    struct ff_mask mask = mask_of_twin(before), other = mask;
    ff_mask_set_run(&mask, first, end);
    check_same(&mask, &set);
    ff_mask_unset_run(&other, first, end);
    check_same(&other, &unset);
    struct ff_mask run = ff_mask_of_run(first, end);
    check_same(&run, &alone);
    for (int word = 0; word < FF_MASK_WORDS; word++)
        assert_int_equal(ff_mask_word_of_run(word, first, end), run.word[word]);
    uint32_t inside = 0;
    for (uint32_t i = first; i < end; i++)
        inside += before->page[i];
    struct ff_mask counted = mask_of_twin(before);
    assert_int_equal(ff_mask_count_run(&counted, first, end), inside);
}

static void test_runs_at_every_edge(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(1);
    for (size_t a = 0; a < EDGES; a++) {
        for (size_t b = 0; b < EDGES; b++) { /* inverted ones, too: they are empty */
            struct twin twin = random_twin(&random);
            check_run(&twin, edges[a], edges[b]);
        }
    }
}

static void test_random_runs(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(2);
    for (unsigned long i = 0, count = scaled_cases(100000, 5000); i < count; i++) {
        struct twin twin = random_twin(&random);
        uint32_t first = ff__random_below(&random, PAGES + 1);
        check_run(&twin, first, ff__random_below(&random, PAGES + 1));
    }
}

/* ---- single pages ---- */

static void test_single_pages(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(3);
    for (uint32_t page = 0; page < PAGES; page++) {
        struct twin twin = random_twin(&random);
        struct ff_mask mask = mask_of_twin(&twin);
        for (uint32_t i = 0; i < PAGES; i++)
            assert_int_equal(ff_mask_test(&mask, i), twin.page[i]);
        twin.page[page] = true;
        ff_mask_set(&mask, page);
        check_same(&mask, &twin);
        twin.page[page] = false;
        ff_mask_unset(&mask, page);
        check_same(&mask, &twin);
        ff_mask_unset(&mask, page);
        check_same(&mask, &twin);
        struct twin alone = {{false}};
        alone.page[page] = true;
        mask = ff_mask_of_page(page);
        check_same(&mask, &alone);
    }
}

static void test_clear_and_empty(void **state) {
    (void)state;
    struct ff_mask mask;
    memset(&mask, 0xff, sizeof mask);
    assert_false(ff_mask_empty(&mask));
    ff_mask_clear(&mask);
    assert_true(ff_mask_empty(&mask));
    assert_int_equal(ff_mask_count(&mask), 0);
    for (uint32_t page = 0; page < PAGES; page++) {
        ff_mask_set(&mask, page);
        assert_false(ff_mask_empty(&mask));
        assert_int_equal(ff_mask_count(&mask), 1);
        assert_int_equal(ff_mask_next(&mask, 0), page);
        ff_mask_unset(&mask, page);
        assert_true(ff_mask_empty(&mask));
    }
}

/* ---- sets ---- */

static void check_sets(const struct twin *a, const struct twin *b) {
    struct twin both, any, minus;
    bool equal = true, within = true;
    uint32_t count = 0;
    for (uint32_t i = 0; i < PAGES; i++) {
        both.page[i] = a->page[i] && b->page[i];
        any.page[i] = a->page[i] || b->page[i];
        minus.page[i] = a->page[i] && !b->page[i];
        equal = equal && a->page[i] == b->page[i];
        within = within && !minus.page[i];
        count += a->page[i];
    }
    struct ff_mask x = mask_of_twin(a), y = mask_of_twin(b), result = ff_mask_and(&x, &y);
    check_same(&result, &both);
    result = ff_mask_or(&x, &y);
    check_same(&result, &any);
    result = ff_mask_minus(&x, &y);
    check_same(&result, &minus);
    assert_int_equal(ff_mask_equal(&x, &y), equal);
    assert_int_equal(ff_mask_within(&x, &y), within);
    assert_int_equal(ff_mask_count(&x), count);
    assert_int_equal(ff_mask_empty(&x), count == 0);
    assert_true(ff_mask_equal(&x, &x) && ff_mask_within(&x, &x));
}

static void test_sets(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(4);
    for (unsigned long i = 0, count = scaled_cases(60000, 4000); i < count; i++) {
        struct twin a = random_twin(&random), b = random_twin(&random);
        uint32_t relation = ff__random_below(&random, 4);
        if (relation < 2) /* often equal but for one page, or a part */
            b = a;
        if (relation == 0)
            b.page[ff__random_below(&random, PAGES)] ^= true;
        for (uint32_t k = 0; relation == 1 && k < PAGES; k++)
            b.page[k] = b.page[k] || ff__random_below(&random, 8) == 0;
        check_sets(&a, &b);
    }
}

static void test_shift_up(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(5);
    for (unsigned long round = 0, count = scaled_cases(300, 50); round < count; round++) {
        struct twin twin = random_twin(&random);
        struct ff_mask mask = mask_of_twin(&twin);
        for (uint32_t shift = 0; shift < 64; shift++) {
            struct twin moved;
            for (uint32_t i = 0; i < PAGES; i++)
                moved.page[i] = i >= shift && twin.page[i - shift];
            struct ff_mask result = ff__mask_shift_up(&mask, shift);
            check_same(&result, &moved);
        }
    }
}

/* ---- walking ---- */

static uint32_t twin_next(const struct twin *twin, uint32_t from, bool value) {
    while (from < PAGES && twin->page[from] != value)
        from++;
    return from < PAGES ? from : PAGES;
}

static void check_next(const struct twin *twin) {
    struct ff_mask mask = mask_of_twin(twin);
    for (uint32_t from = 0; from < PAGES + 70; from++) {
        assert_int_equal(ff_mask_next(&mask, from), twin_next(twin, from, true));
        assert_int_equal(ff_mask_next_gap(&mask, from), twin_next(twin, from, false));
    }
}

static void check_walks(const struct twin *twin) {
    struct ff_mask mask = mask_of_twin(twin);
    struct twin by_run, by_page;
    memset(&by_run, 0, sizeof by_run);
    memset(&by_page, 0, sizeof by_page);
    uint32_t last_end = 0, last_page = 0, pages = 0;
    FF_MASK_FOR_EACH_RUN(&mask, run) {
        assert_true(run.first < run.end && run.end <= PAGES);
        assert_true(last_end == 0 || run.first > last_end); /* as long as can be */
        set_twin_run(&by_run, run.first, run.end, true);
        last_end = run.end;
    }
    FF_MASK_FOR_EACH_PAGE(&mask, page) {
        assert_true(pages == 0 || page > last_page);
        by_page.page[page] = true;
        last_page = page;
        pages++;
    }
    check_same(&mask, &by_run);
    check_same(&mask, &by_page);
    assert_int_equal(pages, ff_mask_count(&mask));
}

static void test_walking(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(6);
    struct twin twin;
    memset(&twin, 0, sizeof twin);
    check_next(&twin);
    check_walks(&twin);
    memset(&twin, 1, sizeof twin);
    check_next(&twin);
    check_walks(&twin);
    for (unsigned long i = 0, count = scaled_cases(3000, 300); i < count; i++) {
        twin = random_twin(&random);
        check_next(&twin);
        check_walks(&twin);
    }
}

static void test_next_run_goes_on_behind_its_end(void **state) {
    (void)state;
    struct ff_mask mask = ff_mask_of_run(10, 20);
    ff_mask_set_run(&mask, 500, 512);
    struct ff_run run = {0, 15}; /* from the middle of a run on */
    assert_true(ff_mask_next_run(&mask, &run));
    assert_int_equal(run.first, 15);
    assert_int_equal(run.end, 20);
    assert_true(ff_mask_next_run(&mask, &run));
    assert_int_equal(run.first, 500);
    assert_int_equal(run.end, 512);
    assert_false(ff_mask_next_run(&mask, &run));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_at_every_edge),
        cmocka_unit_test(test_random_runs),
        cmocka_unit_test(test_single_pages),
        cmocka_unit_test(test_clear_and_empty),
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_shift_up),
        cmocka_unit_test(test_walking),
        cmocka_unit_test(test_next_run_goes_on_behind_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
