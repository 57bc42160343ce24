/* A bandit: which way it says is next, after what the ways have cost. */
#include "policy/common/bandit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* So many uses, of the way that it says, at these costs; returns those of the second way. */
static uint32_t use(struct ff__bandit *bandit, uint32_t count, double first, double second) {
    uint32_t of_second = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool is_second = ff__bandit_is_second(bandit);
        ff__bandit_used(bandit, is_second);
        ff__bandit_cost(bandit, is_second, is_second ? second : first);
        of_second += is_second;
    }
    return of_second;
}

static void test_turns_while_nothing_costs(void **state) {
    (void)state;
    struct ff__bandit bandit;
    ff__bandit_start(&bandit, false, 1, 32);
    assert_int_equal(use(&bandit, 100, 0, 0), 50);
    ff__bandit_start(&bandit, true, 4, 32);
    assert_int_equal(use(&bandit, 100, 0, 0), 80);
}

/* The loser is tried half as often each time, down to once in 32. */
static void test_cheaper_is_followed(void **state) {
    (void)state;
    struct ff__bandit bandit;
    for (int cheaper = 0; cheaper < 2; cheaper++) {
        ff__bandit_start(&bandit, false, 1, 32);
        double first = cheaper ? 2 : 1, second = cheaper ? 1 : 2;
        uint32_t early = use(&bandit, 66, first, second),
                 late = use(&bandit, 33 * 8, first, second);
        assert_in_range(cheaper ? 66 - early : early, 6, 9);
        assert_int_equal(cheaper ? 33 * 8 - late : late, 8);
    }
}

/* A way that has not been used is tried when its turn comes, and followed if it costs nothing. */
static void test_unknown_is_tried(void **state) {
    (void)state;
    struct ff__bandit bandit;
    ff__bandit_start(&bandit, false, 32, 32);
    assert_int_equal(use(&bandit, 32, 1, 0), 0);
    assert_int_equal(use(&bandit, 30, 1, 0), 30);
}

/* What the way that is followed begins to cost is noticed within some uses; what the other one no
 * longer costs, when it has been tried often enough. */
static void test_costs_change(void **state) {
    (void)state;
    struct ff__bandit bandit;
    ff__bandit_start(&bandit, false, 1, 32);
    use(&bandit, 200, 1, 2);
    assert_in_range(use(&bandit, 200, 4, 2), 160, 190);
    use(&bandit, 200, 4, 2);
    assert_in_range(use(&bandit, 33 * 40, 0, 2), 20, 33 * 20);
}

/* Uses that it did not ask for count as well. */
static void test_used_otherwise(void **state) {
    (void)state;
    struct ff__bandit bandit;
    ff__bandit_start(&bandit, false, 4, 32);
    for (int i = 0; i < 3; i++) {
        ff__bandit_used(&bandit, false);
        assert_false(ff__bandit_is_second(&bandit));
    }
    ff__bandit_used(&bandit, true);
    for (int i = 0; i < 3; i++)
        ff__bandit_used(&bandit, false);
    assert_false(ff__bandit_is_second(&bandit));
    ff__bandit_used(&bandit, false);
    assert_true(ff__bandit_is_second(&bandit));
}

static void test_late(void **state) {
    (void)state;
    assert_true(ff__bandit_late(0, 8 * FF_BLOCK_PAGES) >= 1);
    assert_true(ff__bandit_late(8, 8 * FF_BLOCK_PAGES) * 2 >= 1);
    assert_true(ff__bandit_late(8, 8 * FF_BLOCK_PAGES) * 2 <= 1);
    assert_true(ff__bandit_late(9, 8 * FF_BLOCK_PAGES) < ff__bandit_late(8, 8 * FF_BLOCK_PAGES));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns_while_nothing_costs),
        cmocka_unit_test(test_cheaper_is_followed),
        cmocka_unit_test(test_unknown_is_tried),
        cmocka_unit_test(test_costs_change),
        cmocka_unit_test(test_used_otherwise),
        cmocka_unit_test(test_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
