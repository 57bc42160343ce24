/* Whether a kernel's working sets are brought, after what that has cost; and what is counted of its
 * launches. */
#include "preload/working_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PAGES 100u /* to be brought for a launch */

static struct ff__account_extents extents[16];
static uint32_t extents_count;

/* ---- in place of files that are not here ---- */

const struct ff_config *ff__config(void) {
    return NULL;
}

void ff__count_known_launch(void) {}

struct ff__account_extents *ff__summary_extents(const char *kernel) {
    assert_in_range(extents_count, 0, 15);
    snprintf(extents[extents_count].kernel, sizeof extents[0].kernel, "%s", kernel);
    return &extents[extents_count++];
}

/* ---- trust ---- */

/* So many launches, with so many faults by whether they are brought for; returns those that are. */
static uint32_t launch(struct ff__trust *trust, uint32_t count, uint32_t brought, uint32_t left) {
    uint32_t brings = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool is_brought = ff__trust_brings(trust);
        ff__trust_judge(trust, is_brought, PAGES, is_brought ? brought : left);
        brings += is_brought;
    }
    return brings;
}

static void test_one_for_each_symbol(void **state) {
    (void)state;
    struct ff__trust *trust = ff__trust_of("_Z5scaleIfEvPT_i");
    assert_ptr_equal(ff__trust_of("_Z5scaleIfEvPT_i"), trust);
    assert_ptr_not_equal(ff__trust_of("_Z5scaleIdEvPT_i"), trust);
    assert_int_equal(ff__trust_counts(trust)->is_trusted, 1);
    assert_non_null(strstr(ff__trust_counts(trust)->kernel, "scale"));
}

/* What saves faults goes on, with trials without that become rare. */
static void test_saves(void **state) {
    (void)state;
    struct ff__trust *trust = ff__trust_of("saves");
    assert_int_equal(launch(trust, 9, 2, 10), 8);
    assert_int_equal(launch(trust, 17, 2, 10), 16);
    assert_int_equal(launch(trust, 33, 2, 10), 32);
    assert_int_equal(ff__trust_counts(trust)->is_trusted, 1);
}

/* An order that comes too late now and then still saves. */
static void test_saves_at_times(void **state) {
    (void)state;
    struct ff__trust *trust = ff__trust_of("at times");
    for (uint32_t i = 0; i < 200; i++) {
        bool is_brought = ff__trust_brings(trust);
        ff__trust_judge(trust, is_brought, PAGES, is_brought && i % 4 == 0 ? 0 : PAGES);
    }
    assert_int_equal(ff__trust_counts(trust)->is_trusted, 1);
}

/* What saves nothing, or brings what is not used, is given up at the first trial without it, and
 * tried again half as often each time. */
static void test_lost(void **state) {
    (void)state;
    static const uint32_t costs[] = {10, 15};
    for (uint32_t i = 0; i < 2; i++) {
        struct ff__trust *trust = ff__trust_of(i == 0 ? "useless" : "harmful");
        launch(trust, 9, costs[i], 10);
        assert_int_equal(ff__trust_counts(trust)->is_trusted, 0);
        assert_int_equal(launch(trust, 8, costs[i], 10), 0);
        assert_int_equal(launch(trust, 1, costs[i], 10), 1);
        assert_int_equal(launch(trust, 16, costs[i], 10), 0);
        assert_int_equal(launch(trust, 1, costs[i], 10), 1);
        assert_int_equal(launch(trust, 32, costs[i], 10), 0);
    }
}

static void test_regained(void **state) {
    (void)state;
    struct ff__trust *trust = ff__trust_of("regained");
    launch(trust, 20, 12, 10);
    assert_int_equal(ff__trust_counts(trust)->is_trusted, 0);
    launch(trust, 1000, 0, 10);
    assert_int_equal(ff__trust_counts(trust)->is_trusted, 1);
    assert_in_range(launch(trust, 64, 0, 10), 56, 64);
}

/* ---- launches ---- */

/* One that was brought for has ended, after so many faults, most of them outside of what was
 * predicted. */
static void end(struct ff__trust *trust, bool is_known, uint64_t absent, bool has_company) {
    struct ff__bringing it = {
        .predicted = {.what = {.faults = 10, .outside = 7, .has_company = has_company}},
        .trust = trust,
        .absent = absent,
        .is_known = is_known,
        .is_brought = ff__trust_brings(trust)};
    ff__working_set_judge(&it.predicted);
}

static void test_counts(void **state) {
    (void)state;
    struct ff__trust *trust = ff__trust_of("counted");
    const struct ff__account_extents *counts = ff__trust_counts(trust);
    end(trust, true, 0, true);
    end(trust, false, 0, false);
    assert_int_equal(counts->alone, 0);
    end(trust, true, 0, false);
    end(trust, true, PAGES, false);
    assert_int_equal(counts->alone, 2);
    assert_int_equal(counts->faults, 20);
    assert_int_equal(counts->outside, 14);
}

/* Trials are of launches that say something: alone, and with pages to bring. */
static void test_judged(void **state) {
    (void)state;
    struct ff__trust *trust = ff__trust_of("judged");
    for (uint32_t i = 0; i < 20; i++) {
        end(trust, true, PAGES, true);
        end(trust, true, 0, false);
    }
    assert_true(ff__trust_brings(trust));
    for (uint32_t i = 0; i < 8; i++) {
        assert_true(ff__trust_brings(trust));
        end(trust, i % 2 == 0, PAGES, false);
    }
    assert_false(ff__trust_brings(trust));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_for_each_symbol),
        cmocka_unit_test(test_saves),
        cmocka_unit_test(test_saves_at_times),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_regained),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
