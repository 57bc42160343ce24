/* Prefetching by tables of contexts: which blocks follow a fault, how far, what a marked leaf is
 * for, and what is forgotten. */
#include "base/cases.h"

#include "base/random.h"
#include "policy/registry.h"
#include "view.h"

#define TIER   1u
#define BLOCKS 600u
#define LAUNCH 5u

struct bench {
    struct fake fake;
    struct instance instance;
    struct ff_advice items[64];
    struct ff_advice_list advice;
};

static void bench_open(struct bench *bench, const char *name, int64_t value) {
    memset(bench, 0, sizeof *bench);
    fake_open(&bench->fake, 2, BLOCKS);
    bench->fake.view.capacity[TIER] = 400 * FF_BLOCK_PAGES;
    for (uint32_t block = 0; block < BLOCKS; block++)
        *fake_resident(&bench->fake, FF_TIER_HOST, block) = ff_mask_of_run(0, FF_BLOCK_PAGES);
    instance_init(&bench->instance, &ff__prefetch_context.base);
    if (name)
        instance_set(&bench->instance, name, value);
    instance_open(&bench->instance, &bench->fake.view, FF_NONE);
}

static void bench_close(struct bench *bench) {
    instance_close(&bench->instance);
    fake_close(&bench->fake);
}

/* A fault on page 0 of the block; what it makes the policy advise is in bench->advice. */
static void fault(struct bench *bench, uint32_t block) {
    const struct ff_fault_group group = {
        .block = block, .tier = TIER, .launch = LAUNCH, .faulted = ff_mask_of_page(0)};
    bench->advice = (struct ff_advice_list){.items = bench->items, .capacity = 64};
    ff__prefetch_context.on_batch(bench->instance.state, &bench->fake.view, &group, 1,
                                  &bench->advice);
}

/* Every advised page is there from now on. */
static void carry_out(struct bench *bench) {
    for (uint32_t i = 0; i < bench->advice.count; i++) {
        struct ff_mask *there = fake_resident(&bench->fake, TIER, bench->items[i].block);
        *there = ff_mask_or(there, &bench->items[i].pages);
    }
}

static void walk(struct bench *bench, uint32_t first, uint32_t step, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        fault(bench, first + i * step);
}

static uint32_t missing(const struct ff_advice *advice) {
    return FF_BLOCK_PAGES - ff_mask_count(&advice->pages);
}

/* Nothing at first; with trust, more and more blocks, one of them without its first leaf. */
static void test_follows(void **state) {
    struct bench bench;
    uint32_t marked = 0;
    (void)state;
    bench_open(&bench, "depth", 8);
    fault(&bench, 0);
    assert_int_equal(bench.advice.count, 0);
    fault(&bench, 2);
    assert_int_equal(bench.advice.count, 0);
    walk(&bench, 4, 2, 60);
    fault(&bench, 400);
    fault(&bench, 402);
    assert_int_equal(bench.advice.count, 8);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(bench.items[i].block, 404 + 2 * i);
        assert_int_equal(bench.items[i].tier, TIER);
        marked += missing(&bench.items[i]) > 0;
    }
    assert_int_equal(marked, 1);
    assert_int_equal(missing(&bench.items[4]), FF_LEAF_PAGES);
    assert_false(ff_mask_test(&bench.items[4].pages, 0));
    bench_close(&bench);
}

/* The marked leaf's fault makes the chain longer; what is marked then is the first block of the new
 * part. */
static void test_marks(void **state) {
    struct bench bench;
    (void)state;
    bench_open(&bench, "depth", 8);
    walk(&bench, 0, 1, 100);
    fault(&bench, 300);
    fault(&bench, 301);
    assert_int_equal(bench.advice.count, 8);
    carry_out(&bench);
    fault(&bench, 306); /* 302 to 309 are on their way, 306 is the marked one */
    assert_int_equal(bench.advice.count, 5);
    assert_int_equal(bench.items[0].block, 310);
    assert_int_equal(missing(&bench.items[0]), FF_LEAF_PAGES);
    assert_int_equal(missing(&bench.items[1]), 0);
    fault(&bench, 306);
    assert_int_equal(bench.advice.count, 0); /* nothing new */
    bench_close(&bench);
}

/* What does not follow any more loses its trust. */
static void test_wrong(void **state) {
    struct ff__random random = ff__random_seeded(1);
    struct bench bench;
    uint32_t count = 0;
    (void)state;
    bench_open(&bench, NULL, 0);
    walk(&bench, 0, 1, 100);
    for (uint32_t i = 0; i < 400; i++) {
        fault(&bench, ff__random_below(&random, BLOCKS));
        carry_out(&bench);
        count += i >= 300 ? bench.advice.count : 0;
    }
    assert_true(count < 40);
    bench_close(&bench);
}

/* No more than five percent of the device; and nothing beyond the range's end. */
static void test_bounds(void **state) {
    struct bench bench;
    (void)state;
    bench_open(&bench, NULL, 0);
    walk(&bench, 0, 1, 100);
    bench.fake.view.capacity[TIER] = 80 * FF_BLOCK_PAGES;
    fault(&bench, 300);
    fault(&bench, 301);
    assert_int_equal(bench.advice.count, 4);
    fault(&bench, BLOCKS - 3);
    fault(&bench, BLOCKS - 2);
    assert_int_equal(bench.advice.count, 1);
    fault(&bench, BLOCKS - 1);
    assert_int_equal(bench.advice.count, 0);
    bench_close(&bench);
}

/* A chain ends where a block is there already. */
static void test_ends(void **state) {
    struct bench bench;
    (void)state;
    bench_open(&bench, "depth", 8);
    walk(&bench, 0, 1, 100);
    *fake_resident(&bench.fake, TIER, 305) = ff_mask_of_run(0, FF_BLOCK_PAGES);
    fault(&bench, 300);
    fault(&bench, 301);
    assert_int_equal(bench.advice.count, 3);
    assert_int_equal(bench.items[2].block, 304);
    bench_close(&bench);
}

/* A range of so many blocks, of which one has no content and is predicted. Returns how many are
 * brought ahead. */
static uint32_t brought_of(uint32_t blocks) {
    struct bench bench;
    bench_open(&bench, "depth", 8);
    bench.fake.view.allocated = (uint64_t)blocks * FF_BLOCK_PAGES;
    walk(&bench, 0, 1, 100);
    *fake_resident(&bench.fake, FF_TIER_HOST, 304) = (struct ff_mask){{0}};
    fault(&bench, 300);
    fault(&bench, 301);
    uint32_t count = bench.advice.count;
    bench_close(&bench);
    return count;
}

/* A block without content comes ahead only where everything fits. */
static void test_without_content(void **state) {
    (void)state;
    assert_int_equal(brought_of(400), 8);
    assert_int_equal(brought_of(401), 7);
}

/* A fault brings its block, and after its end a range's sequence begins anew. */
static void test_frees(void **state) {
    struct bench bench;
    struct ff_fault_advice advice = {0};
    const struct ff_fault_group group = {
        .block = 3, .tier = TIER, .launch = LAUNCH, .faulted = ff_mask_of_page(9)};
    (void)state;
    bench_open(&bench, NULL, 0);
    ff__prefetch_context.on_fault(bench.instance.state, &bench.fake.view, &group, &advice);
    assert_int_equal(ff_mask_count(&advice.prefetch), FF_BLOCK_PAGES);
    walk(&bench, 0, 1, 10);
    ff__prefetch_context.base.range_freed(bench.instance.state, 0);
    const unsigned char *range = bench.instance.range_state;
    for (size_t i = 0; i < ff__prefetch_context.base.range_state_size; i++)
        assert_int_equal(range[i], 0);
    bench_close(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follows),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_frees),
        cmocka_unit_test(test_without_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
