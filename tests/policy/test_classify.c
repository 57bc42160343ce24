/* Forest's classifier: cases by hand on every threshold, and random samples against a twin that
 * works in plain doubles. */
#include "base/cases.h"

#include "base/random.h"
#include "policy/forest/classify.h"

#include <farfault/mask.h>
#include <math.h>
#include <time.h>

#define CASES 100000ul
#define FLOOR 10000ul
#define MOST  600u

static const struct ff__class_limits limits = {80, 60, 40, false, false};

static struct ff_sample sample_of(uint64_t page, uint32_t rank) {
    return (struct ff_sample){.block = (uint32_t)(page / FF_BLOCK_PAGES),
                              .page = (uint16_t)(page % FF_BLOCK_PAGES),
                              .page_count = 1,
                              .rank = rank};
}

/* Pages in the order of their last use. */
static enum ff__class class_of(uint64_t range_pages, const uint64_t *pages, uint32_t count) {
    struct ff_sample samples[MOST];
    const struct ff__class_range range = {.page_count = range_pages};
    assert_true(count <= MOST);
    for (uint32_t i = 0; i < count; i++)
        samples[i] = sample_of(pages[i], i);
    return ff__classify(&limits, &range, samples, count);
}

#define CLASS_OF(range_pages, ...)                                                                 \
    class_of(range_pages, (const uint64_t[]){__VA_ARGS__},                                         \
             sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* ---- by hand ---- */

static void test_line(void **state) {
    (void)state;
    assert_int_equal(CLASS_OF(100, 0, 1, 2, 3), FF__CLASS_LINEAR);
    assert_int_equal(CLASS_OF(100, 9, 7, 5, 3), FF__CLASS_LINEAR); /* backwards */
    assert_int_equal(CLASS_OF(100, 0, 20, 40, 90), FF__CLASS_LINEAR);
    /* R^2 is 0.8, and 0.83 */
    assert_int_equal(CLASS_OF(100, 0, 4, 3, 7), FF__CLASS_LOW_COVERAGE);
    assert_int_equal(CLASS_OF(100, 7, 3, 4, 0), FF__CLASS_LOW_COVERAGE);
    assert_int_equal(CLASS_OF(100, 0, 4, 3, 8), FF__CLASS_LINEAR);
    assert_int_equal(CLASS_OF(100, 8, 3, 4, 0), FF__CLASS_LINEAR);
    /* two points, and one */
    assert_int_equal(CLASS_OF(100, 3, 4), FF__CLASS_LOW_COVERAGE);
    assert_int_equal(CLASS_OF(100, 3), FF__CLASS_LOW_COVERAGE);
    assert_int_equal(class_of(100, NULL, 0), FF__CLASS_LOW_COVERAGE);
}

/* 100 pages: the lowest and the highest are 59 apart, and 60. */
static void test_coverage(void **state) {
    (void)state;
    assert_int_equal(CLASS_OF(100, 30, 0, 59, 20), FF__CLASS_LOW_COVERAGE);
    assert_int_equal(CLASS_OF(100, 30, 0, 60, 20), FF__CLASS_LOW_INTENSITY);
    assert_int_equal(CLASS_OF(100, 50, 40, 99, 60), FF__CLASS_LOW_COVERAGE);
    assert_int_equal(CLASS_OF(100, 50, 39, 99, 60), FF__CLASS_LOW_INTENSITY);
}

/* Of 100 pages, 39, and 40: even ones in ascending, then odd ones in descending order. */
static void test_intensity(void **state) {
    (void)state;
    uint64_t pages[40];
    for (uint32_t i = 0; i < 40; i++)
        pages[i] = i < 20 ? 4 * i : 99 - 4 * (i - 20);
    assert_int_equal(class_of(100, pages, 39), FF__CLASS_LOW_INTENSITY);
    assert_int_equal(class_of(100, pages, 40), FF__CLASS_HIGH_INTENSITY);
}

/* Leaves speak for all of their pages. */
static void test_leaves(void **state) {
    (void)state;
    struct ff_sample samples[3] = {sample_of(32, 0), sample_of(0, 1), sample_of(84, 2)};
    const struct ff__class_range range = {.page_count = 100};
    for (unsigned i = 0; i < 3; i++)
        samples[i].page_count = 16;
    assert_int_equal(ff__classify(&limits, &range, samples, 3), FF__CLASS_HIGH_INTENSITY);
    samples[2].page_count = 1;
    samples[1].page_count = 1;
    assert_int_equal(ff__classify(&limits, &range, samples, 3), FF__CLASS_LOW_INTENSITY);
}

/* Two pages that were accessed 39, and 40 times, of 100; not known how often: pages count. */
static void test_accesses(void **state) {
    (void)state;
    struct ff__class_limits accesses = limits;
    struct ff_sample samples[3] = {sample_of(70, 0), sample_of(0, 1), sample_of(69, 2)};
    struct ff__class_range range = {.page_count = 100, .accesses = 39};
    accesses.accesses = true;
    assert_int_equal(ff__classify(&accesses, &range, samples, 3), FF__CLASS_LOW_INTENSITY);
    range.accesses = 40;
    assert_int_equal(ff__classify(&accesses, &range, samples, 3), FF__CLASS_HIGH_INTENSITY);
    assert_int_equal(ff__classify(&limits, &range, samples, 3), FF__CLASS_LOW_INTENSITY);
    range.accesses = 0;
    assert_int_equal(ff__classify(&accesses, &range, samples, 3), FF__CLASS_LOW_INTENSITY);
}

/* A range that begins inside a block: pages are counted from its own first one. */
static void test_lead(void **state) {
    (void)state;
    const struct ff__class_range range = {.first_block = 7, .lead = 500, .page_count = 12 + 512};
    struct ff_sample samples[5];
    for (uint32_t i = 0; i < 5; i++) /* the range's pages 10 to 14 */
        samples[i] = (struct ff_sample){.block = i < 2 ? 7 : 8,
                                        .page = (uint16_t)(i < 2 ? 10 + i : i - 2),
                                        .page_count = 1,
                                        .rank = i};
    assert_int_equal(ff__classify(&limits, &range, samples, 5), FF__CLASS_LINEAR);
}

/* ---- the twin ---- */

static double squared_correlation(const uint64_t *pages, uint32_t count) {
    double mean_x = 0, mean_y = 0, xy = 0, xx = 0, yy = 0;
    for (uint32_t i = 0; i < count; i++) {
        mean_x += (double)pages[i] / count;
        mean_y += (double)i / count;
    }
    for (uint32_t i = 0; i < count; i++) {
        double x = (double)pages[i] - mean_x, y = (double)i - mean_y;
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    return count < 3 ? 0 : xy * xy / (xx * yy);
}

static enum ff__class twin(uint64_t range_pages, const uint64_t *pages, uint32_t count,
                           bool *close) {
    double lowest = INFINITY, highest = -INFINITY, whole = (double)range_pages;
    for (uint32_t i = 0; i < count; i++) {
        lowest = fmin(lowest, (double)pages[i]);
        highest = fmax(highest, (double)pages[i]);
    }
    double line = squared_correlation(pages, count), coverage = (highest - lowest) / whole,
           intensity = count / whole;
    *close = fabs(line - 0.8) < 1e-9 || fabs(coverage - 0.6) < 1e-9 || fabs(intensity - 0.4) < 1e-9;
    if (line > 0.8)
        return FF__CLASS_LINEAR;
    if (coverage < 0.6)
        return FF__CLASS_LOW_COVERAGE;
    return intensity >= 0.4 ? FF__CLASS_HIGH_INTENSITY : FF__CLASS_LOW_INTENSITY;
}

/* Distinct pages of a window, from nearly sorted to shuffled. */
static uint32_t draw(struct ff__random *random, uint64_t range_pages, uint64_t *pages) {
    uint64_t window = 1 + ff__random_below(random, (uint32_t)range_pages);
    uint64_t from = ff__random_below(random, (uint32_t)(range_pages - window + 1));
    uint32_t in_16 = 1 + ff__random_below(random, 16), count = 0;
    for (uint64_t i = 0; i < window; i++)
        if (ff__random_below(random, 16) < in_16)
            pages[count++] = from + i;
    uint32_t swaps = ff__random_below(random, 2) ? ff__random_below(random, count + 1) / 4 : count;
    for (uint32_t i = 0; i < swaps && count > 0; i++) {
        uint32_t a = ff__random_below(random, count), b = ff__random_below(random, count);
        uint64_t kept = pages[a];
        pages[a] = pages[b];
        pages[b] = kept;
    }
    return count;
}

static void test_twin(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(1);
    unsigned long seen[FF__CLASSES] = {0};
    for (unsigned long i = scaled_cases(CASES, FLOOR); i > 0; i--) {
        uint64_t range_pages = 1 + ff__random_below(&random, MOST), pages[MOST];
        uint32_t count = draw(&random, range_pages, pages);
        bool close = false;
        enum ff__class expected =
            count ? twin(range_pages, pages, count, &close) : FF__CLASS_LOW_COVERAGE;
        enum ff__class got = class_of(range_pages, pages, count);
        if (got != expected && !close)
            fail_msg("%u of %u pages: class %d, and %d by the twin", count, (unsigned)range_pages,
                     got, expected);
        seen[got]++;
    }
    for (int i = 0; i < FF__CLASSES; i++)
        assert_true(seen[i] > 100);
}

/* A range of 1 M pages takes milliseconds, and its sums do not overflow. */
static void test_large(void **state) {
    (void)state;
    const uint32_t count = 1u << 20;
    struct ff_sample *samples = malloc(count * sizeof *samples);
    const struct ff__class_range range = {.page_count = UINT64_C(1) << 31};
    assert_non_null(samples);
    for (uint32_t i = 0; i < count; i++)
        samples[i] = sample_of((uint64_t)i * 2047, i);
    struct timespec start, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    assert_int_equal(ff__classify(&limits, &range, samples, count), FF__CLASS_LINEAR);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    print_message("1 M pages: %.2f ms\n", 1e3 * (double)(end.tv_sec - start.tv_sec) +
                                              1e-6 * (double)(end.tv_nsec - start.tv_nsec));
    for (uint32_t i = 0; i < count; i++)
        samples[i].rank = i * 2654435761u;
    assert_int_equal(ff__classify(&limits, &range, samples, count), FF__CLASS_LOW_INTENSITY);
    free(samples);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),      cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_leaves),    cmocka_unit_test(test_accesses),
        cmocka_unit_test(test_intensity), cmocka_unit_test(test_lead),
        cmocka_unit_test(test_twin),      cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
