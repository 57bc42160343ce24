/* The synthetic patterns, as a single thread sees them. */
#include "workload/walk.h"

static uint64_t page_at(const struct ff__workload *workload, const struct ff__kernel *kernel,
                        uint32_t index) {
    struct ff__step step;
    assert_true(kernel->step(workload, kernel, 0, 0, index, &step));
    assert_int_equal(step.page_count, 1);
    return step.page[0] - workload->arrays[0].first_page;
}

static uint32_t length_of(const struct ff__workload *workload, const struct ff__kernel *kernel) {
    struct ff__step step;
    uint32_t length = 0;
    while (kernel->step(workload, kernel, 0, 0, length, &step))
        length++;
    return length;
}

static struct ff__workload *open_single(const char *spec, struct ff__kernel *kernel) {
    char text[128];
    snprintf(text, sizeof text, "%s,ctas=1,warps=1", spec);
    struct ff__workload *workload = open_workload(text);
    assert_true(find_launch(workload, 0, kernel));
    return workload;
}

static void test_stream(void **state) {
    struct ff__kernel kernel;
    struct ff__workload *workload = open_single("stream:pages=10,repeat=2,passes=3", &kernel);
    (void)state;
    assert_int_equal(length_of(workload, &kernel), 60);
    for (uint32_t i = 0; i < 60; i++)
        assert_int_equal(page_at(workload, &kernel, i), i / 2 % 10);
    ff__workload_close(workload);
}

static void test_cyclic(void **state) {
    struct ff__kernel kernel, second;
    struct ff__workload *workload = open_single("cyclic:pages=7,passes=4", &kernel);
    (void)state;
    assert_int_equal(length_of(workload, &kernel), 7);
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(page_at(workload, &kernel, i), i);
    assert_true(find_launch(workload, 3, &second));
    assert_int_equal(second.identity, kernel.identity);
    assert_false(find_launch(workload, 4, &second));
    ff__workload_close(workload);
}

static void test_stride(void **state) {
    static const uint64_t expected[] = {0, 4, 8, 1, 5, 9, 2, 6, 0};
    struct ff__kernel kernel;
    struct ff__workload *workload = open_single("stride:pages=10,stride=4,passes=3", &kernel);
    (void)state;
    assert_int_equal(length_of(workload, &kernel), 9);
    for (uint32_t i = 0; i < 9; i++)
        assert_int_equal(page_at(workload, &kernel, i), expected[i]);
    ff__workload_close(workload);
}

/* How often each of 100 pages comes in 20 000 accesses, most frequent first. */
static int descending(const void *a, const void *b) {
    return *(const int *)b - *(const int *)a;
}

static void count_pages(const char *spec, int counts[100]) {
    struct ff__kernel kernel;
    struct ff__workload *workload = open_single(spec, &kernel);
    memset(counts, 0, 100 * sizeof counts[0]);
    assert_int_equal(length_of(workload, &kernel), 20000);
    for (uint32_t i = 0; i < 20000; i++)
        counts[page_at(workload, &kernel, i)]++;
    qsort(counts, 100, sizeof counts[0], descending);
    ff__workload_close(workload);
}

static void test_random(void **state) {
    int counts[100];
    (void)state;
    count_pages("random:pages=100,accesses=20000", counts);
    assert_true(counts[0] < 260 && counts[99] > 145); /* 200 each, four standard deviations */
}

static void test_zipf(void **state) {
    int counts[100];
    (void)state;
    /* the k-th of 100 comes 20000 / (k H), H = 5.187 the sum of 1/k */
    count_pages("zipf:pages=100,accesses=20000,alpha=100", counts);
    assert_in_range(counts[0], 3600, 4110);
    assert_in_range(counts[1], 1750, 2110);
    assert_in_range(counts[9], 320, 450);
    count_pages("zipf:pages=100,accesses=20000,alpha=200", counts); /* H = 1.635 */
    assert_in_range(counts[0], 11950, 12520);
    assert_in_range(counts[1], 2850, 3270);
}

static void test_phase(void **state) {
    struct ff__kernel kernel, last = {0};
    struct ff__workload *workload =
        open_single("phase:pages=300,accesses=100,launches=2,phases=4", &kernel);
    (void)state;
    assert_int_equal(length_of(workload, &kernel), 100);
    for (uint64_t which = 0; which < 8; which++) {
        assert_true(find_launch(workload, which, &kernel));
        uint64_t third = which / 2 % 3;
        for (uint32_t i = 0; i < 100; i++)
            assert_in_range(page_at(workload, &kernel, i), third * 100, third * 100 + 99);
        assert_true((kernel.identity == last.identity) == (which % 2 == 1));
        last = kernel;
    }
    assert_false(find_launch(workload, 8, &kernel));
    ff__workload_close(workload);
}

/* Any number of warps makes the same accesses. */
static void test_warps(void **state) {
    struct ff__kernel one, many;
    struct ff__workload *single = open_single("stride:pages=100,stride=7", &one);
    struct ff__workload *shared = open_workload("stride:pages=100,stride=7,ctas=3,warps=2");
    uint32_t total = length_of(single, &one);
    (void)state;
    assert_true(find_launch(shared, 0, &many));
    for (uint32_t at = 0; at < total; at++) {
        struct ff__step a, b;
        assert_true(one.step(single, &one, 0, 0, at, &a));
        assert_true(many.step(shared, &many, at % 6 / 2, at % 2, at / 6, &b));
        assert_int_equal(a.page[0], b.page[0]);
        assert_int_equal(a.write, b.write);
    }
    ff__workload_close(single);
    ff__workload_close(shared);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream), cmocka_unit_test(test_cyclic), cmocka_unit_test(test_stride),
        cmocka_unit_test(test_random), cmocka_unit_test(test_zipf),   cmocka_unit_test(test_phase),
        cmocka_unit_test(test_warps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
