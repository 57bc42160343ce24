/* memHarvester: who lends, in which order; which blocks are prefetched, from where and to where;
 * what is copied. */
#include "policy/registry.h"
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TIERS    5u
#define BLOCKS   64u
#define CAPACITY 1000u

struct bench {
    struct fake fake;
    struct instance instance;
    struct ff_lending lending[FF_TIERS_MAX];
    uint64_t now;
};

static void bench_open(struct bench *bench, const struct ff_policy *policy) {
    memset(bench, 0, sizeof *bench);
    fake_open(&bench->fake, TIERS, BLOCKS);
    bench->fake.view.lending = bench->lending;
    for (uint32_t tier = 1; tier < TIERS; tier++) {
        bench->fake.free_pages[tier] = CAPACITY * FF_BLOCK_PAGES;
        bench->lending[tier].limit = CAPACITY * FF_BLOCK_PAGES;
        bench->fake.view.capacity[tier] = CAPACITY * FF_BLOCK_PAGES;
    }
    instance_init(&bench->instance, policy);
}

static void bench_close(struct bench *bench) {
    instance_close(&bench->instance);
    fake_close(&bench->fake);
}

/* ---- place ---- */

static void check_place(struct bench *bench, const uint32_t *wanted, uint32_t count) {
    uint32_t tiers[FF_TIERS_MAX];
    assert_int_equal(
        ff__place_memharvester.place(bench->instance.state, &bench->fake.view, 3, 1, tiers), count);
    assert_memory_equal(tiers, wanted, count * sizeof *tiers);
}

#define PLACE(bench, ...)                                                                          \
    do {                                                                                           \
        const uint32_t wanted[] = {__VA_ARGS__};                                                   \
        check_place(bench, wanted, sizeof wanted / sizeof *wanted);                                \
    } while (0)

static void test_in_turn(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, &ff__place_memharvester.base);
    instance_open(&bench.instance, &bench.fake.view, FF_NONE);
    PLACE(&bench, 2, 3, 4, FF_TIER_HOST);
    PLACE(&bench, 3, 4, 2, FF_TIER_HOST);
    PLACE(&bench, 4, 2, 3, FF_TIER_HOST);
    PLACE(&bench, 2, 3, 4, FF_TIER_HOST);
    bench.fake.free_pages[3] = 50 * FF_BLOCK_PAGES; /* it keeps so many, */
    PLACE(&bench, 4, 2, FF_TIER_HOST);
    bench.lending[3].removable = FF_BLOCK_PAGES; /* but has guests that can go at once */
    PLACE(&bench, 2, 3, 4, FF_TIER_HOST);
    bench.fake.view.capacity[4] = 100 * FF_BLOCK_PAGES;
    bench.fake.free_pages[4] = 26 * FF_BLOCK_PAGES; /* a small device keeps a quarter */
    PLACE(&bench, 3, 4, 2, FF_TIER_HOST);
    bench.fake.free_pages[4] = 25 * FF_BLOCK_PAGES;
    PLACE(&bench, 2, 3, FF_TIER_HOST);
    bench.fake.free_pages[4] = CAPACITY * FF_BLOCK_PAGES;
    bench.lending[2].limit = 0;
    PLACE(&bench, 3, 4, FF_TIER_HOST);
    bench.fake.blocks[3].page_count = 5; /* would take a whole chunk */
    PLACE(&bench, FF_TIER_HOST);
    bench_close(&bench);
}

static void test_fewest_dirty(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, &ff__place_memharvester.base);
    instance_set(&bench.instance, "lender", 1);
    instance_open(&bench.instance, &bench.fake.view, FF_NONE);
    PLACE(&bench, 2, 3, 4, FF_TIER_HOST);
    PLACE(&bench, 2, 3, 4, FF_TIER_HOST);
    bench.lending[2].lent = 4 * FF_BLOCK_PAGES;
    bench.lending[3].lent = 9 * FF_BLOCK_PAGES;
    bench.lending[3].removable = 8 * FF_BLOCK_PAGES;
    PLACE(&bench, 4, 3, 2, FF_TIER_HOST);
    bench_close(&bench);
}

/* ---- prefetching ---- */

static void put(struct bench *bench, uint32_t block, uint32_t tier) {
    *fake_resident(&bench->fake, tier, block) = ff_view_pages(&bench->fake.view, block);
}

static uint32_t batch(struct bench *bench, uint32_t first, uint32_t last,
                      struct ff_advice_list *advice) {
    struct ff_fault_group groups[2] = {{.block = first, .tier = 1}, {.block = last, .tier = 1}};
    ff_mask_set(&groups[0].faulted, 1);
    ff_mask_set(&groups[1].faulted, 1);
    advice->count = 0;
    ff__prefetch_memharvester.on_batch(bench->instance.state, &bench->fake.view, groups, 2, advice);
    return advice->count;
}

static uint32_t plan(struct bench *bench, struct ff_advice_list *advice) {
    advice->count = 0;
    ff__prefetch_memharvester.learning->plan(bench->instance.state, &bench->fake.view, advice);
    return advice->count;
}

static void test_directions(void **state) {
    (void)state;
    struct bench bench;
    struct ff_advice items[64];
    struct ff_advice_list advice = {items, 0, 64};
    bench_open(&bench, &ff__prefetch_memharvester.base);
    instance_set(&bench.instance, "path", 1);
    instance_set(&bench.instance, "parallel", 0);
    instance_set(&bench.instance, "amount", 2);
    instance_set(&bench.instance, "stride", 2);
    instance_open(&bench.instance, &bench.fake.view, FF_NONE);
    for (uint32_t block = 0; block < BLOCKS; block++)
        put(&bench, block, FF_TIER_HOST);
    assert_int_equal(batch(&bench, 10, 11, &advice), 1); /* upwards from the last, one at a time */
    assert_true(items[0].block == 13 && items[0].tier == 1 && items[0].action == FF_BRING);
    fake_facts(&bench.fake, 13)->busy = 1;
    assert_int_equal(plan(&bench, &advice), 0);
    fake_facts(&bench.fake, 13)->busy = 0;
    assert_int_equal(plan(&bench, &advice), 1);
    assert_int_equal(items[0].block, 15);
    assert_int_equal(plan(&bench, &advice), 0);        /* two blocks were asked for */
    assert_int_equal(batch(&bench, 6, 8, &advice), 1); /* downwards from the first */
    assert_int_equal(items[0].block, 4);
    assert_int_equal(batch(&bench, 1, 8, &advice), 0); /* nothing is below */
    bench_close(&bench);
}

/* Blocks of lenders and of the host at the same time; those of the host to a lender, as long as
 * there are enough. */
static void test_paths(void **state) {
    (void)state;
    struct bench bench;
    struct ff_advice items[64];
    struct ff_advice_list advice = {items, 0, 64};
    bench_open(&bench, &ff__prefetch_memharvester.base);
    instance_set(&bench.instance, "parallel", 0);
    instance_set(&bench.instance, "stride", 2);
    instance_open(&bench.instance, &bench.fake.view, FF_NONE);
    for (uint32_t block = 0; block < BLOCKS; block++)
        put(&bench, block, FF_TIER_HOST);
    put(&bench, 15, 3);
    put(&bench, 17, 1);
    assert_int_equal(batch(&bench, 10, 11, &advice), 2);
    assert_true(items[0].action == FF_LEND && items[0].block == 13 && items[0].tier == 2);
    assert_true(items[1].action == FF_BRING && items[1].block == 15 && items[1].tier == 1);
    for (uint32_t tier = 2; tier < TIERS; tier++)
        bench.lending[tier].limit = 0;
    assert_int_equal(batch(&bench, 12, 13, &advice), 2);
    assert_true(items[0].action == FF_BRING && items[0].block == 15);
    assert_true(items[1].action == FF_BRING && items[1].block == 19 && items[1].tier == 1);
    bench_close(&bench);
}

/* Half of a batch for one lender, from its end, of what has been evicted. */
static void test_parallel(void **state) {
    (void)state;
    struct bench bench;
    struct ff_advice items[64];
    struct ff_advice_list advice = {items, 0, 64};
    bench_open(&bench, &ff__prefetch_memharvester.base);
    instance_set(&bench.instance, "path", 0);
    instance_open(&bench.instance, &bench.fake.view, FF_NONE);
    bench.lending[2].limit = bench.lending[3].limit = 0;
    put(&bench, 10, FF_TIER_HOST);
    put(&bench, 11, FF_TIER_HOST);
    assert_int_equal(batch(&bench, 10, 11, &advice), 0); /* never evicted */
    fake_facts(&bench.fake, 10)->evicted = fake_facts(&bench.fake, 11)->evicted =
        ff_view_pages(&bench.fake.view, 10);
    assert_int_equal(batch(&bench, 10, 11, &advice), 1);
    assert_true(items[0].action == FF_LEND && items[0].block == 11 && items[0].tier == 4);
    bench_close(&bench);
}

/* The poster's blocks follow each other; nothing is prefetched for the faults of a copy engine. */
static void test_engine(void **state) {
    (void)state;
    struct bench bench;
    struct ff_advice items[64];
    struct ff_advice_list advice = {items, 0, 64};
    struct ff_launch_event launch = {.tier = 1, .begins = true, .copies = true};
    bench_open(&bench, &ff__prefetch_memharvester.base);
    instance_set(&bench.instance, "path", 1);
    instance_open(&bench.instance, &bench.fake.view, FF_NONE);
    for (uint32_t block = 0; block < BLOCKS; block++) {
        put(&bench, block, FF_TIER_HOST);
        fake_facts(&bench.fake, block)->evicted = ff_view_pages(&bench.fake.view, block);
    }
    const struct ff_policy *policy = &ff__prefetch_memharvester.base;
    policy->on_launch(bench.instance.state, &bench.fake.view, &launch, &advice);
    assert_int_equal(batch(&bench, 10, 11, &advice), 0);
    launch.begins = false;
    policy->on_launch(bench.instance.state, &bench.fake.view, &launch, &advice);
    assert_int_equal(batch(&bench, 10, 11, &advice), 2);
    assert_true(items[0].action == FF_LEND && items[0].block == 11);
    assert_true(items[1].action == FF_BRING && items[1].block == 12);
    bench_close(&bench);
}

/* A block that has become a guest is copied when it has landed, one at a time. */
static void test_copies(void **state) {
    (void)state;
    struct bench bench;
    struct ff_advice items[64];
    struct ff_advice_list advice = {items, 0, 64};
    bench_open(&bench, &ff__prefetch_memharvester.base);
    instance_open(&bench.instance, &bench.fake.view, FF_NONE);
    for (uint32_t block = 5; block < 7; block++) {
        const struct ff_mask pages = ff_view_pages(&bench.fake.view, block);
        const struct ff_leave leave = {FF_LEAVE_PAGES, block, 1, &pages};
        ff__prefetch_memharvester.base.on_leave(bench.instance.state, &bench.fake.view, &leave);
        fake_facts(&bench.fake, block)->busy = 1;
    }
    assert_int_equal(plan(&bench, &advice), 0); /* on their way */
    for (uint32_t block = 5; block < 7; block++) {
        fake_facts(&bench.fake, block)->busy = 0;
        put(&bench, block, 2);
    }
    assert_int_equal(plan(&bench, &advice), 1);
    assert_true(items[0].action == FF_WRITE_BACK && items[0].tier == 2 && items[0].block == 5);
    bench.lending[2].writing_back = FF_BLOCK_PAGES;
    assert_int_equal(plan(&bench, &advice), 0);
    bench.lending[2].writing_back = 0;
    assert_int_equal(plan(&bench, &advice), 1);
    assert_int_equal(items[0].block, 6);
    bench_close(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_turn),    cmocka_unit_test(test_fewest_dirty),
        cmocka_unit_test(test_directions), cmocka_unit_test(test_paths),
        cmocka_unit_test(test_parallel),   cmocka_unit_test(test_copies),
        cmocka_unit_test(test_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
