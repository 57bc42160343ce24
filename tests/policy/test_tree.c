/* The prefetch tree, against masks that the NVIDIA driver 595.45.04 computed (its own functions,
 * run with stubs around them), against its counts, and by its properties. */
#include "base/random.h"
#include "policy/nvidia/tree_mask.h"
#include "policy/registry.h"
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct block_case {
    uint32_t page_count, lead;
    const char *faulted, *resident, *thrashing;
    const char *expected;
};

static struct ff_mask tree_mask(const struct block_case *c, uint32_t threshold, bool quirk) {
    struct ff_mask faulted = mask_of(c->faulted), out;
    struct ff_mask resident = mask_of(c->resident ? c->resident : "");
    struct ff_mask thrashing = mask_of(c->thrashing ? c->thrashing : "");
    struct ff__tree_input in = {&faulted,      &resident, c->thrashing ? &thrashing : NULL,
                                c->page_count, c->lead,   threshold,
                                quirk};
    ff__tree_mask(&in, &out);
    return out;
}

static void check(const struct block_case *c) {
    char text[MASK_TEXT];
    struct ff_mask mask = tree_mask(c, 51, true);
    assert_string_equal(mask_text(&mask, text), c->expected);
}

static void test_full_block(void **state) {
    (void)state;
    static const struct block_case cases[] = {
        {512, 0, "0", NULL, NULL, "1-15"},
        {512, 0, "0 16", NULL, NULL, "1-15 17-31"},
        {512, 0, "0 16 32", NULL, NULL, "1-15 17-31 33-63"},
        {512, 0, "5 20 40", NULL, NULL, "0-4 6-19 21-39 41-63"},
        {512, 0, "0 511", NULL, NULL, "1-15 496-510"},
        {512, 0, "0 32 64 96", NULL, NULL, "1-15 33-47 65-79 97-111"},
        {512, 0, "100", "0-31", NULL, "96-99 101-111"},
        {512, 0, "100", "0-95", NULL, "0-99 101-127"},
        {512, 0, "0", "16-255", NULL, "1-255"},
        {512, 0, "256", "0-255", NULL, "0-255 257-511"},
        {512, 0, "17", "32-63", "20", "0-16 18-19 21-63"},
        {512, 0, "3", NULL, "7", ""},
        {512, 0, "3 7", NULL, "7", ""},
        {512, 0, "16 40", NULL, "16", "32-39 41-47"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check(&cases[i]);
}

static void test_misaligned_blocks(void **state) {
    (void)state;
    static const struct block_case cases[] = {
        {511, 1, "0", NULL, NULL, "1-14"},
        {508, 4, "0", NULL, NULL, "4-11"},
        {507, 5, "0", NULL, NULL, "5-10"},
        {506, 6, "0", NULL, NULL, "6-9"},
        {505, 7, "0", NULL, NULL, "7-8"},
        {504, 8, "0", NULL, NULL, "1-7"},
        {503, 9, "0", NULL, NULL, ""},
        {500, 12, "0", NULL, NULL, "1-3"},
        {497, 15, "0", NULL, NULL, ""},
        {503, 9, "40", NULL, NULL, "39 41-54"},
        {508, 4, "30", "12-27", NULL, "28-29 31-43"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check(&cases[i]);
}

/* Without the quirk a misaligned block grows like any other. */
static void test_quirk_off(void **state) {
    (void)state;
    static const struct block_case cases[] = {
        {508, 4, "0", NULL, NULL, "1-11"},
        {503, 9, "0", NULL, NULL, "1-6"},
        {497, 15, "0", NULL, NULL, ""},
        {508, 4, "30", "12-27", NULL, "28-29 31-43"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[MASK_TEXT];
        struct ff_mask mask = tree_mask(&cases[i], 51, false);
        assert_string_equal(mask_text(&mask, text), cases[i].expected);
    }
}

static void test_short_blocks(void **state) {
    (void)state;
    static const struct block_case cases[] = {
        {500, 0, "497", NULL, NULL, "496 498-499"}, {12, 0, "3", NULL, NULL, "0-2 4-11"},
        {20, 0, "17", NULL, NULL, "16 18-19"},      {1, 0, "0", NULL, NULL, ""},
        {30, 1, "3", NULL, NULL, "0-2 4-29"}, /* no whole group fits: one group */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check(&cases[i]);
}

/* Faults page after page and feeds what came back in; returns the number of faults. */
static unsigned touch(uint32_t first, int step, unsigned touches, uint32_t *pages_after) {
    struct ff_mask resident = {0};
    unsigned faults = 0;
    for (unsigned i = 0; i < touches; i++) {
        uint32_t page = (uint32_t)((int)first + step * (int)i);
        if (ff_mask_test(&resident, page))
            continue;
        struct ff_mask faulted = ff_mask_of_run(page, page + 1), out;
        struct ff__tree_input in = {&faulted, &resident, NULL, 512, 0, 51, true};
        ff__tree_mask(&in, &out);
        resident = ff_mask_or(&resident, &out);
        resident = ff_mask_or(&resident, &faulted);
        pages_after[faults++] = ff_mask_count(&resident);
    }
    return faults;
}

static void test_sequences(void **state) {
    (void)state;
    uint32_t after[512];
    const uint32_t expected[] = {16, 32, 64, 128, 256, 512};
    assert_int_equal(touch(0, 1, 512, after), 6);
    assert_memory_equal(after, expected, sizeof expected);
    assert_int_equal(touch(511, -1, 512, after), 6);
    assert_memory_equal(after, expected, sizeof expected);
    assert_int_equal(touch(0, 32, 16, after), 16);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(after[i], 16 * (i + 1));
}

/* Whether a fault on page 0 brings the whole subtree of `size` pages, if `count` of its pages are
 * resident or faulted. The last page of the block thrashes where the group must not grow. */
static bool brings_subtree(uint32_t size, uint32_t count) {
    struct ff_mask faulted = ff_mask_of_run(0, 1), thrashing = {0}, out;
    struct ff_mask resident = {0};
    uint32_t grown = size < 16 ? 1 : 16;
    if (size < 16)
        ff_mask_set(&thrashing, 15);
    if (count > grown) /* at the far end, so that no smaller subtree decides */
        ff_mask_set_run(&resident, size - (count - grown), size);
    struct ff__tree_input in = {&faulted, &resident, &thrashing, 512, 0, 51, true};
    ff__tree_mask(&in, &out);
    ff_mask_set(&out, 0);
    return ff_mask_count_run(&out, 0, size) == size;
}

static void test_counts(void **state) {
    (void)state;
    static const uint32_t needed[][2] = {{1, 1},   {2, 2},    {4, 3},     {8, 5},    {32, 17},
                                         {64, 33}, {128, 66}, {256, 131}, {512, 262}};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        uint32_t size = needed[i][0], count = needed[i][1];
        assert_true(brings_subtree(size, count));
        if (count > (size < 16 ? 1u : 16u))
            assert_false(brings_subtree(size, count - 1));
    }
}

/* 9 of 16: only a group that did not grow can be part set, so a page of it must thrash. */
static void test_count_of_group(void **state) {
    (void)state;
    struct block_case c = {512, 0, "0", "8-15", "5", "1-4 6-15"};
    check(&c);
    c.resident = "9-15";
    c.expected = "";
    check(&c);
}

static void test_counts_of_groups(void **state) {
    (void)state;
    static const uint32_t needed[][2] = {{32, 2}, {64, 3}, {128, 5}, {256, 9}, {512, 17}};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        assert_true(brings_subtree(needed[i][0], needed[i][1] * 16));
        assert_false(brings_subtree(needed[i][0], needed[i][1] * 16 - 16));
    }
}

static void test_extreme_thresholds(void **state) {
    (void)state;
    char text[MASK_TEXT];
    struct block_case c = {512, 0, "7 300", "0-100 400-500", NULL, NULL};
    struct ff_mask mask = tree_mask(&c, 100, true);
    assert_true(ff_mask_empty(&mask)); /* not even the 64 KiB group */
    c = (struct block_case){512, 0, "77", NULL, NULL, NULL};
    mask = tree_mask(&c, 1, true);
    assert_string_equal(mask_text(&mask, text), "0-76 78-511");
    mask = tree_mask(&c, 0, true);
    assert_string_equal(mask_text(&mask, text), "0-76 78-511");
}

/* A subtree that is exactly `threshold` percent full does not come. */
static void test_strictly_greater(void **state) {
    (void)state;
    char text[MASK_TEXT];
    struct block_case c = {512, 0, "0", NULL, NULL, NULL};
    struct ff_mask mask = tree_mask(&c, 50, true);
    assert_string_equal(mask_text(&mask, text), "1-15");
    mask = tree_mask(&c, 49, true);
    assert_string_equal(mask_text(&mask, text), "1-31");
    mask = tree_mask(&c, 25, true);
    assert_string_equal(mask_text(&mask, text), "1-31");
}

/* ---- properties ------------------------------------------------------------------------- */

static struct ff_mask random_pages(struct ff__random *random, uint32_t page_count, uint32_t in_64) {
    struct ff_mask mask = {0};
    for (uint32_t page = 0; page < page_count; page++)
        if (ff__random_below(random, 64) < in_64)
            ff_mask_set(&mask, page);
    return mask;
}

static struct ff_mask random_groups(struct ff__random *random) {
    struct ff_mask mask = {0};
    uint32_t in_32 = ff__random_below(random, 24);
    for (uint32_t page = 0; page < 512; page += 16)
        if (ff__random_below(random, 32) < in_32)
            ff_mask_set_run(&mask, page, page + 16);
    return mask;
}

static void test_disjoint(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(1);
    for (int i = 0; i < 20000; i++) {
        uint32_t page_count = 1 + ff__random_below(&random, 512);
        uint32_t lead = ff__random_below(&random, 513 - page_count);
        struct ff_mask faulted = random_pages(&random, page_count, 1), out;
        struct ff_mask resident = random_pages(&random, page_count, ff__random_below(&random, 64));
        struct ff_mask thrashing = random_pages(&random, page_count, 1);
        struct ff__tree_input in = {&faulted,   &resident, &thrashing,
                                    page_count, lead,      ff__random_below(&random, 101),
                                    true};
        ff__tree_mask(&in, &out);
        struct ff_mask both = ff_mask_and(&out, &faulted);
        assert_true(ff_mask_empty(&both));
        both = ff_mask_and(&out, &thrashing);
        assert_true(ff_mask_empty(&both));
        assert_int_equal(ff_mask_count_run(&out, page_count, 512), 0);
        in.threshold = 100;
        ff__tree_mask(&in, &out);
        assert_true(ff_mask_empty(&out));
    }
}

/* Only where the block starts within its 64 KiB group matters. */
static void test_lead_modulo_group(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(2);
    for (int i = 0; i < 20000; i++) {
        uint32_t page_count = 1 + ff__random_below(&random, 300);
        struct ff_mask faulted = random_pages(&random, page_count, 1), out, shifted;
        struct ff_mask resident = random_pages(&random, page_count, ff__random_below(&random, 64));
        struct ff__tree_input in = {
            &faulted, &resident, NULL, page_count, ff__random_below(&random, 16), 51, true};
        ff__tree_mask(&in, &out);
        in.lead += 16 * ff__random_below(&random, (512 - page_count - in.lead) / 16 + 1);
        ff__tree_mask(&in, &shifted);
        assert_true(ff_mask_equal(&out, &shifted));
    }
}

static void test_growing_residency(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(3);
    for (int i = 0; i < 20000; i++) {
        struct ff_mask faulted = {0}, fewer, more;
        for (uint32_t n = ff__random_below(&random, 6) + 1; n; n--)
            ff_mask_set(&faulted, ff__random_below(&random, 512));
        struct ff_mask resident = random_groups(&random), added = random_groups(&random);
        struct ff__tree_input in = {
            &faulted, &resident, NULL, 512, 0, ff__random_below(&random, 101), true};
        ff__tree_mask(&in, &fewer);
        resident = ff_mask_or(&resident, &added);
        ff__tree_mask(&in, &more);
        assert_true(ff_mask_within(&fewer, &more));
    }
}

/* ---- the policy ------------------------------------------------------------------------- */

struct bench {
    struct fake fake;
    struct instance instance;
};

static void bench_start(struct bench *bench) {
    instance_open(&bench->instance, &bench->fake.view, FF_NONE);
}

static void bench_open(struct bench *bench) {
    fake_open(&bench->fake, 3, 4);
    instance_init(&bench->instance, &ff__prefetch_tree.base);
}

static void bench_close(struct bench *bench) {
    instance_close(&bench->instance);
    fake_close(&bench->fake);
}

static struct ff_fault_advice fault(struct bench *bench, uint32_t block, uint32_t tier,
                                    const char *pages) {
    struct ff_fault_group group = {.block = block, .tier = tier, .launch = FF_NONE};
    struct ff_fault_advice advice;
    memset(&advice, 0, sizeof advice);
    group.faulted = mask_of(pages);
    ff__prefetch_tree.on_fault(bench->instance.state, &bench->fake.view, &group, &advice);
    return advice;
}

static void check_prefetch(struct bench *bench, uint32_t block, uint32_t tier, const char *pages,
                           const char *expected) {
    char text[MASK_TEXT];
    struct ff_fault_advice advice = fault(bench, block, tier, pages);
    assert_string_equal(mask_text(&advice.prefetch, text), expected);
    assert_true(ff_mask_empty(&advice.throttle));
    assert_true(ff_mask_empty(&advice.remote));
}

static void test_policy(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench);
    bench_start(&bench);
    *fake_resident(&bench.fake, 1, 2) = mask_of("0-95");
    check_prefetch(&bench, 2, 1, "100", "0-99 101-127");
    check_prefetch(&bench, 2, 2, "100", "96-99 101-111"); /* resident elsewhere does not count */
    bench.fake.blocks[3] = (struct ff_block){.page_count = 508, .lead = 4};
    check_prefetch(&bench, 3, 1, "0", "4-11");
    bench_close(&bench);
}

static void test_policy_params(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench);
    instance_set(&bench.instance, "threshold", 1);
    instance_set(&bench.instance, "quirk", 0);
    bench_start(&bench);
    check_prefetch(&bench, 0, 1, "9", "0-8 10-511");
    bench.fake.blocks[1] = (struct ff_block){.page_count = 508, .lead = 4};
    check_prefetch(&bench, 1, 1, "9", "0-8 10-507");
    bench_close(&bench);
}

/* The count is of faulted pages that go to the same place in a row. */
static void test_min_faults(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench);
    instance_set(&bench.instance, "min_faults", 3);
    bench_start(&bench);
    check_prefetch(&bench, 0, 1, "0", "");
    check_prefetch(&bench, 0, 1, "16", "");
    check_prefetch(&bench, 0, 1, "32", "33-47");
    check_prefetch(&bench, 0, 1, "64", "65-79");
    check_prefetch(&bench, 0, 2, "0", ""); /* another place */
    check_prefetch(&bench, 0, 1, "64 80", "");
    check_prefetch(&bench, 0, 1, "0", "1-15");
    check_prefetch(&bench, 1, 1, "0 100 200", "1-15 96-99 101-111 192-199 201-207");
    ff__prefetch_tree.base.block_freed(bench.instance.state, 1);
    check_prefetch(&bench, 1, 1, "0", "");
    bench_close(&bench);
}

/* The driver's counter has 16 bits: once in 65536 faults even a minimum of 1 is not met. */
static void test_fault_count_wraps(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench);
    bench_start(&bench);
    for (int i = 0; i < 127; i++)
        fault(&bench, 0, 1, "0-511");
    fault(&bench, 0, 1, "0-510");
    check_prefetch(&bench, 0, 1, "0", "");
    check_prefetch(&bench, 0, 1, "0", "1-15");
    bench_close(&bench);
}

/* To the host: its own pages are neither listed nor, as clean copies, counted. */
static void test_fault_of_host(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench);
    bench_start(&bench);
    *fake_resident(&bench.fake, 1, 0) = mask_of("0-63");
    check_prefetch(&bench, 0, 0, "3", "0-2 4-15");
    *fake_resident(&bench.fake, 1, 0) = mask_of("0-15");
    *fake_resident(&bench.fake, 0, 0) = mask_of("16-31");
    check_prefetch(&bench, 0, 0, "3", "0-2 4-15"); /* 16-31 count but are there already */
    *fake_resident(&bench.fake, 0, 0) = mask_of("16-47");
    check_prefetch(&bench, 0, 0, "3", "0-2 4-15 48-63");
    *fake_resident(&bench.fake, 1, 0) =
        mask_of("0-47"); /* now 16-47 are copies of a device's pages */
    check_prefetch(&bench, 0, 0, "3", "0-2 4-15");
    bench_close(&bench);
}

static void test_none(void **state) {
    (void)state;
    assert_string_equal(ff__prefetch_none.base.name, "none");
    assert_int_equal(ff__prefetch_none.base.api, FF_POLICY_API);
    assert_null(ff__prefetch_none.on_fault);
    assert_null(ff__prefetch_none.learning);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_block),
        cmocka_unit_test(test_misaligned_blocks),
        cmocka_unit_test(test_quirk_off),
        cmocka_unit_test(test_short_blocks),
        cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_count_of_group),
        cmocka_unit_test(test_counts_of_groups),
        cmocka_unit_test(test_extreme_thresholds),
        cmocka_unit_test(test_strictly_greater),
        cmocka_unit_test(test_disjoint),
        cmocka_unit_test(test_lead_modulo_group),
        cmocka_unit_test(test_growing_residency),
        cmocka_unit_test(test_policy),
        cmocka_unit_test(test_policy_params),
        cmocka_unit_test(test_min_faults),
        cmocka_unit_test(test_fault_count_wraps),
        cmocka_unit_test(test_fault_of_host),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
