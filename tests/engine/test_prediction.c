/* What a launch is predicted to access: the intervals, and which faults are in them. */
#include "engine/single.h"

#define PAGE ((uint64_t)FF_PAGE_SIZE)

/* ---- intervals ---- */

static void check(const struct ff__intervals *intervals, uint32_t number, uint64_t low,
                  uint64_t high) {
    assert_true(number < intervals->count);
    assert_int_equal(intervals->of[number].low, low);
    assert_int_equal(intervals->of[number].high, high);
}

static void test_neighbours_become_one(void **state) {
    (void)state;
    struct ff__intervals all = {0};
    assert_true(ff__intervals_add(&all, (struct ff__interval){1000, 1100}, 10));
    assert_true(ff__intervals_add(&all, (struct ff__interval){500, 600}, 10));
    assert_true(ff__intervals_add(&all, (struct ff__interval){1111, 1200}, 10));
    assert_int_equal(all.count, 3);
    assert_true(ff__intervals_add(&all, (struct ff__interval){1105, 1108}, 10));
    assert_int_equal(all.count, 2);
    check(&all, 0, 1000, 1200); /* in the place of the first of them */
    check(&all, 1, 500, 600);
    assert_true(ff__intervals_add(&all, (struct ff__interval){610, 990}, 10));
    assert_int_equal(all.count, 1);
    check(&all, 0, 500, 1200);
}

static void test_no_room(void **state) {
    (void)state;
    struct ff__prediction prediction = {0};
    struct ff__intervals all = {0};
    for (uint64_t i = 0; i < FF__INTERVALS; i++) {
        struct ff__interval bytes = {i * 10 * PAGE + 1, i * 10 * PAGE + 2};
        assert_true(ff__intervals_add(&all, bytes, 0));
        ff__prediction_add(&prediction, bytes);
    }
    assert_false(ff__intervals_add(&all, (struct ff__interval){34 * PAGE, 35 * PAGE}, 0));
    assert_int_equal(all.count, FF__INTERVALS);
    assert_int_equal(ff__prediction_pages(&prediction), FF__INTERVALS);
    ff__prediction_add(&prediction, (struct ff__interval){34 * PAGE, 35 * PAGE});
    assert_int_equal(prediction.intervals.count, FF__INTERVALS);
    assert_int_equal(ff__prediction_pages(&prediction), FF__INTERVALS + 4);
    check(&prediction.intervals, 3, 30 * PAGE, 35 * PAGE);
}

/* ---- faults ---- */

static void tell(uint64_t identity, bool begins, struct ff__prediction *prediction) {
    const struct ff__launch launch = {
        .tier = 1, .begins = begins, .identity = identity, .prediction = prediction};
    struct ff_advice_list none = {.capacity = 0};
    assert_int_equal(ff__engine_launch(&engine, 1, &launch, &none), 0);
}

static struct ff__prediction of_pages(uint32_t block, uint64_t first, uint64_t end) {
    struct ff__prediction prediction = {0};
    uint64_t address = ff__block_address(&engine.space, block);
    ff__prediction_add(&prediction,
                       (struct ff__interval){address + first * PAGE, address + end * PAGE});
    return prediction;
}

/* Of two blocks, over the edge between which the interval lies. */
static void test_inside_and_outside(void **state) {
    (void)state;
    open_engine("demand", 8);
    uint32_t block = add_range(4 * FF_BLOCK_PAGES);
    struct ff__prediction prediction = of_pages(block, 500, 530);
    bring(block, 100, 110); /* nothing runs */
    tell(7, true, &prediction);
    bring(block, 495, 505);
    bring(block + 1, 0, 20);
    bring(block + 2, 0, 3);
    assert_int_equal(prediction.faults, 33);
    assert_int_equal(prediction.outside, 5 + 2 + 3);
    tell(7, false, &prediction);
    bring(block + 3, 0, 3);
    assert_int_equal(prediction.faults, 33);
    assert_true(ff__prediction_is_alone(&prediction));
    close_engine();
}

/* Beside another launch, with a prediction or without. */
static void test_company(void **state) {
    (void)state;
    open_engine("demand", 8);
    uint32_t block = add_range(FF_BLOCK_PAGES);
    struct ff__prediction first = of_pages(block, 0, 512), second = first, alone = first;
    tell(1, true, &first);
    tell(2, true, NULL);
    bring(block, 0, 10);
    assert_int_equal(first.faults, 0);
    tell(2, false, NULL);
    tell(1, false, &first);
    assert_false(ff__prediction_is_alone(&first));
    tell(2, true, NULL);
    tell(1, true, &second);
    tell(2, false, NULL);
    tell(1, false, &second);
    assert_false(ff__prediction_is_alone(&second));
    tell(1, true, &alone);
    bring(block, 10, 20);
    tell(1, false, &alone);
    assert_true(ff__prediction_is_alone(&alone));
    assert_int_equal(alone.faults, 10);
    close_engine();
}

/* Of launches of one identity that run at the same time each ends its own: what has ended is not
 * counted in any more, and may be gone. */
static void test_ends_its_own(void **state) {
    (void)state;
    open_engine("demand", 8);
    uint32_t block = add_range(FF_BLOCK_PAGES);
    struct ff__prediction first = of_pages(block, 0, 512), second = first;
    tell(1, true, &first);
    tell(1, true, &second);
    tell(1, false, &second);
    bring(block, 0, 10);
    assert_int_equal(second.faults, 0);
    assert_int_equal(first.faults, 10);
    tell(1, false, &first);
    assert_int_equal(engine.running[1].count, 0);
    close_engine();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours_become_one), cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_inside_and_outside),    cmocka_unit_test(test_company),
        cmocka_unit_test(test_ends_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
