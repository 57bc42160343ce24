/* Whole blocks, or leaves or pages where little of them is used: what a device with room for a
 * number of blocks, which leave in the order in which they came, gets from the policy that does
 * nothing else. */
#include "policy/registry.h"
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "policy/adaptive/density.h"

#define TIER   1u
#define BLOCKS 48u
#define ROOM   32u

/* Launches, in each of which all blocks come, after which that has cost as much as all pages would:
 * a block costs as much as 45. */
#define SO_MANY 12u

struct bench {
    struct fake fake;
    struct instance instance;
    struct ff__random random;
    uint32_t room, order[BLOCKS], resident; /* oldest first */
    uint32_t faults, pages, by_page;        /* by_page: faults on blocks in pages */
};

static const struct ff_prefetch_policy *const policy = &ff__prefetch_whole;

static void bench_open_with(struct bench *bench, uint32_t room, int64_t density) {
    *bench = (struct bench){.random = ff__random_seeded(7), .room = room};
    fake_open(&bench->fake, 2, BLOCKS);
    bench->fake.range.page_count = BLOCKS * FF_BLOCK_PAGES;
    bench->fake.view.parts_cost_more = true;
    bench->fake.view.capacity[TIER] = room * FF_BLOCK_PAGES;
    instance_init(&bench->instance, &policy->base);
    instance_set(&bench->instance, "density", density);
    instance_open(&bench->instance, &bench->fake.view, FF_NONE);
}

static void bench_open(struct bench *bench, int64_t density) {
    bench_open_with(bench, ROOM, density);
}

static void bench_close(struct bench *bench) {
    instance_close(&bench->instance);
    fake_close(&bench->fake);
}

static struct ff_mask *there(struct bench *bench, uint32_t block) {
    return &fake_facts(&bench->fake, block)->tier[TIER].resident;
}

static void leave_oldest(struct bench *bench) {
    uint32_t block = bench->order[0];
    struct ff_facts *facts = fake_facts(&bench->fake, block);
    facts->evicted = ff_mask_or(&facts->evicted, there(bench, block));
    ff_mask_clear(there(bench, block));
    fake_set_frame(&bench->fake, TIER, block, FF_NONE);
    bench->resident--;
    for (uint32_t i = 0; i < bench->resident; i++)
        bench->order[i] = bench->order[i + 1];
    const struct ff_leave released = {.kind = FF_LEAVE_RELEASED, .block = block, .tier = TIER};
    policy->base.on_leave(bench->instance.state, &bench->fake.view, &released);
}

/* An access. Memory counts by the page: what comes in leaves takes no more. */
static void use(struct bench *bench, uint32_t block, uint32_t page) {
    if (ff_mask_test(there(bench, block), page))
        return;
    struct ff_fault_group group = {.block = block, .tier = TIER, .launch = FF_NONE};
    struct ff_fault_advice advice = {.granule = 0};
    ff_mask_set(&group.faulted, page);
    policy->on_fault(bench->instance.state, &bench->fake.view, &group, &advice);
    struct ff_mask come = ff_mask_minus(&advice.prefetch, there(bench, block));
    come = ff_mask_or(&come, &group.faulted);
    assert_true(advice.granule <= 1 || advice.granule == FF_LEAF_PAGES);
    for (;;) {
        uint32_t held = ff_mask_count(&come);
        for (uint32_t i = 0; i < bench->resident; i++)
            held += ff_mask_count(there(bench, bench->order[i]));
        if (held <= bench->room * FF_BLOCK_PAGES)
            break;
        leave_oldest(bench);
    }
    if (!ff_view_holds(&bench->fake.view, TIER, block)) {
        bench->order[bench->resident++] = block;
        fake_set_frame(&bench->fake, TIER, block, block * FF_CHUNK_LEAVES);
    }
    *there(bench, block) = ff_mask_or(there(bench, block), &come);
    bench->faults++;
    bench->by_page += advice.granule == 1;
    bench->pages += ff_mask_count(&come);
}

static void use_at_random(struct bench *bench, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t block = ff__random_below(&bench->random, BLOCKS);
        use(bench, block, ff__random_below(&bench->random, FF_BLOCK_PAGES));
    }
}

static void use_all(struct bench *bench, uint32_t rounds) {
    for (uint32_t round = 0; round < rounds; round++) {
        const struct ff_launch_event begins = {.launch = 1, .tier = TIER, .begins = true};
        policy->base.on_launch(bench->instance.state, &bench->fake.view, &begins, NULL);
        for (uint32_t block = 0; block < BLOCKS; block++)
            for (uint32_t page = 0; page < FF_BLOCK_PAGES; page += 4)
                use(bench, block, page);
    }
}

static void launch(struct bench *bench, bool begins) {
    const struct ff_launch_event event = {.launch = 1, .tier = TIER, .begins = begins};
    policy->base.on_launch(bench->instance.state, &bench->fake.view, &event, NULL);
}

/* Down the columns of a matrix, whose rows are five pages: from the same page of each row,
 * `count` columns to a page. */
static void use_columns(struct bench *bench, uint32_t pages, uint32_t count) {
    for (uint32_t column = 0; column < pages * count; column++)
        for (uint32_t page = column / count; page < BLOCKS * FF_BLOCK_PAGES; page += 5)
            use(bench, page / FF_BLOCK_PAGES, page % FF_BLOCK_PAGES);
}

/* Faults and pages since the last call. */
struct cost {
    uint32_t faults, pages;
};

static struct cost taken(struct bench *bench) {
    struct cost cost = {bench->faults, bench->pages};
    bench->faults = bench->pages = 0;
    return cost;
}

/* So many faults, each of which brings a whole block. */
static void expect_whole(struct bench *bench, uint32_t faults) {
    struct cost cost = taken(bench);
    assert_int_equal(cost.faults, faults);
    assert_int_equal(cost.pages, faults * FF_BLOCK_PAGES);
}

static void expect_at_most(struct bench *bench, uint32_t faults, uint32_t pages) {
    struct cost cost = taken(bench);
    if (cost.faults > faults || cost.pages > pages)
        fail_msg("%u faults and %u pages, more than %u and %u", cost.faults, cost.pages, faults,
                 pages);
}

/* Single pages here and there: as whole blocks, a third of 3000 accesses misses; in pages no
 * more do, and bring a quarter of that, most of it before the range is found sparse. */
static void test_sparse(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 0);
    use_at_random(&bench, 3000);
    struct cost whole = taken(&bench);
    assert_in_range(whole.faults, 900, 1100);
    assert_int_equal(whole.pages, whole.faults * FF_BLOCK_PAGES);
    bench_close(&bench);
    bench_open(&bench, 1);
    use_at_random(&bench, 3000);
    expect_at_most(&bench, whole.faults, whole.pages / 4);
    bench_close(&bench);
}

/* Much of it, once a launch: all blocks have to come in each. After so many launches
 * whole blocks have cost as much as all pages would, and there is a witness. */
static void test_dense(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 1);
    use_all(&bench, SO_MANY - 1);
    expect_whole(&bench, (SO_MANY - 1) * BLOCKS);
    use_all(&bench, 4);
    assert_in_range(bench.by_page, 1, BLOCKS);
    expect_at_most(&bench, 5 * BLOCKS, 4 * BLOCKS * FF_BLOCK_PAGES);
    bench_close(&bench);
}

/* Three of five pages of all blocks, again and again, which take nine tenths of the memory. Whole
 * blocks come until each has cost as much as a trial of pages may, 46 times; not 96 times. */
static void test_tight(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 1);
    launch(&bench, true);
    for (uint32_t i = 0; i < 96 * BLOCKS; i++)
        for (uint32_t first = 0; first < 3; first++)
            for (uint32_t page = first; page < FF_BLOCK_PAGES; page += 5)
                use(&bench, i % BLOCKS, page);
    assert_in_range(taken(&bench).pages, 16 * BLOCKS * FF_BLOCK_PAGES,
                    54 * BLOCKS * FF_BLOCK_PAGES);
    bench_close(&bench);
}

/* Down one column a launch: as whole blocks all come for each. In pages, after so many launches,
 * and three for the witnesses, one more brings those that stay. */
static void test_columns_of_launches(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 1);
    for (uint32_t i = 0; i < 64; i++) {
        launch(&bench, true);
        use_columns(&bench, 1, 1);
        launch(&bench, false);
    }
    expect_at_most(&bench, (SO_MANY + 3 + 4) * BLOCKS, (SO_MANY + 3 + 1) * BLOCKS * FF_BLOCK_PAGES);
    bench_close(&bench);
}

/* The same fifth of all pages in each launch, in no order, so that each is a fault: for one launch
 * whole blocks cost less; in pages, they come once and stay. */
static void test_some_of_launches(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 1);
    for (uint32_t i = 0; i < 64; i++) {
        bench.random = ff__random_seeded(3);
        launch(&bench, true);
        for (uint32_t block = 0; block < BLOCKS; block++)
            for (uint32_t k = 0; k < FF_BLOCK_PAGES / 5; k++)
                use(&bench, block, ff__random_below(&bench.random, FF_BLOCK_PAGES));
        launch(&bench, false);
    }
    expect_at_most(&bench, (SO_MANY + 3 + 45) * BLOCKS,
                   (SO_MANY + 3 + 1) * BLOCKS * FF_BLOCK_PAGES);
    bench_close(&bench);
}

/* One after the other. Of the second only every fourth page is used: in pages it finds room, and
 * most of them come with others, where ten rounds of whole blocks would not. Afterwards strides
 * that are none bring a page or so for each fault. */
static void test_changes(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 1);
    use_at_random(&bench, 3000);
    bench.faults = bench.pages = 0;
    use_all(&bench, 10);
    expect_at_most(&bench, BLOCKS, BLOCKS * FF_BLOCK_PAGES / 4);
    use_at_random(&bench, 3000);
    expect_at_most(&bench, 1100, 2 * 1100);
    struct ff_finding finding;
    assert_true(policy->base.report(bench.instance.state, 0, &finding));
    assert_false(policy->base.report(bench.instance.state, 1, &finding));
    bench_close(&bench);
}

/* Down the columns. As whole blocks, all come for each column; in pages, each page comes once,
 * and one fault brings those of a block, after five columns in which the blocks have shown that
 * these few pages are used again. */
static void test_columns(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 0);
    launch(&bench, true);
    use_columns(&bench, 5, 64);
    expect_whole(&bench, BLOCKS * 5 * 64);
    bench_close(&bench);
    bench_open(&bench, 1);
    launch(&bench, true);
    use_columns(&bench, 5, 64);
    expect_at_most(&bench, BLOCKS * 5 * 64 / 30, BLOCKS * 5 * 64 / 30 * FF_BLOCK_PAGES);
    bench_close(&bench);
}

static void use_rows(struct bench *bench) {
    for (uint32_t page = 0; page < BLOCKS * FF_BLOCK_PAGES; page++)
        use(bench, page / FF_BLOCK_PAGES, page % FF_BLOCK_PAGES);
}

/* The same data from end to end afterwards: between launches blocks come whole at once, or what
 * they lack; during one, three show that all of them is used, at the price of a fault for each of
 * 13 pages in 9 leaves. */
static void test_columns_and_rows(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 1);
    launch(&bench, true);
    use_columns(&bench, 1, 64);
    launch(&bench, false);
    bench.faults = bench.pages = 0;
    use_rows(&bench);
    expect_at_most(&bench, BLOCKS, BLOCKS * FF_BLOCK_PAGES * 9 / 10);
    launch(&bench, true);
    use_columns(&bench, 1, 64);
    launch(&bench, false);
    launch(&bench, true);
    bench.faults = bench.pages = 0;
    use_rows(&bench);
    use_rows(&bench);
    expect_at_most(&bench, 3 * 9 * 13 + 2 * BLOCKS, 2 * BLOCKS * FF_BLOCK_PAGES);
    bench_close(&bench);
}

/* From end to end 15 times in one launch. Every other block that comes back for the third time is
 * a witness, until the first of these has shown that all of it is used; then every 64th is: what
 * they cost more than a fault is a fifth of all at most. The next launch begins with every 32nd. */
static void test_dense_again(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 1);
    launch(&bench, true);
    for (uint32_t i = 0; i < 15; i++)
        use_rows(&bench);
    struct cost cost = taken(&bench);
    assert_int_equal(cost.pages, 15 * BLOCKS * FF_BLOCK_PAGES);
    assert_in_range(cost.faults, 15 * BLOCKS + 9, 15 * BLOCKS * 6 / 5);
    uint32_t by_page = bench.by_page;
    assert_in_range(by_page, 9, 15 * BLOCKS / 5);
    launch(&bench, false);
    launch(&bench, true);
    for (uint32_t i = 0; i < 5; i++)
        use_rows(&bench);
    assert_in_range(bench.by_page - by_page, 1, by_page / 9);
    bench_close(&bench);
}

static void use_streams(struct bench *bench, uint32_t first, uint32_t end) {
    for (uint32_t page = first; page < end; page++)
        for (uint32_t block = 0; block < 4; block++)
            use(bench, block, page);
}

/* So many blocks cost as much as one and a half times all pages of a block. */
#define WHOLE 12u

/* All of the first pages of each stream come in whole blocks. */
static void bench_open_small(struct bench *bench, int64_t density) {
    bench_open_with(bench, 2, density);
    launch(bench, true);
    use_streams(bench, 0, WHOLE);
    expect_whole(bench, WHOLE * 4);
}

/* Four streams, room for two blocks: each takes another's block, so that a block leaves again at
 * once. All comes whole, as without density, until as much has come as all of its pages would
 * have cost; then in pages. */
static void test_small_device(void **state) {
    (void)state;
    struct bench bench;
    bench_open_small(&bench, 0);
    bench_close(&bench);
    bench_open_small(&bench, 1);
    use_streams(&bench, WHOLE, FF_BLOCK_PAGES);
    uint32_t rest = (FF_BLOCK_PAGES - WHOLE) * 4;
    expect_at_most(&bench, rest, rest * 10);
    bench_close(&bench);
}

/* What is freed is forgotten. */
static void test_freed(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 1);
    use_at_random(&bench, 3000);
    policy->base.range_freed(bench.instance.state, 0);
    for (uint32_t block = 0; block < BLOCKS; block++)
        policy->base.block_freed(bench.instance.state, block);
    while (bench.resident > 0)
        leave_oldest(&bench);
    bench.faults = bench.pages = 0;
    use(&bench, 5, 17);
    expect_whole(&bench, 1);
    bench_close(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sparse),
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_tight),
        cmocka_unit_test(test_columns_of_launches),
        cmocka_unit_test(test_some_of_launches),
        cmocka_unit_test(test_columns_and_rows),
        cmocka_unit_test(test_dense_again),
        cmocka_unit_test(test_small_device),
        cmocka_unit_test(test_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
