/* Ranges that are used from the host, where that costs less: what a device with room for ROOM
 * blocks, which leave in the order in which they came, is advised. */
#include "policy/registry.h"
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TIER       1u
#define BLOCKS     48u
#define ROOM       32u
#define BREAK_EVEN 1000u /* accesses */

struct bench {
    struct fake fake;
    struct instance instance;
    uint32_t order[BLOCKS], resident; /* oldest first */
    uint32_t migrations, mappings, accesses;
    bool ignores; /* does not follow what is advised, but counts it: */
    uint32_t advised;
};

static const struct ff_prefetch_policy *policy = &ff__prefetch_whole;

/* A fault and a block cost a millisecond each; an access costs two microseconds. */
#define ACCESS_PS 2000000u
static struct ff_link_cost links[4];

static void bench_open(struct bench *bench, uint64_t access_ps) {
    *bench = (struct bench){.migrations = 0};
    fake_open(&bench->fake, 2, BLOCKS);
    links[TIER] = (struct ff_link_cost){0, FF_BLOCK_SIZE * UINT64_C(1000), access_ps};
    bench->fake.view.links = links;
    bench->fake.view.fault_ns = 1000000;
    bench->fake.view.capacity[TIER] = ROOM * FF_BLOCK_PAGES;
    for (uint32_t block = 0; block < BLOCKS; block++)
        *fake_resident(&bench->fake, FF_TIER_HOST, block) = ff_view_pages(&bench->fake.view, block);
    instance_init(&bench->instance, &policy->base);
    if (policy == &ff__prefetch_whole) /* `context` counts by it how often blocks come back */
        instance_set(&bench->instance, "density", 0);
    instance_open(&bench->instance, &bench->fake.view, FF_NONE);
}

/* The policy knows how much is allocated. */
static void announce(struct bench *bench) {
    bench->fake.view.allocated = BLOCKS * FF_BLOCK_PAGES;
}

static void bench_close(struct bench *bench) {
    instance_close(&bench->instance);
    fake_close(&bench->fake);
}

static struct ff_tier_pages *there(struct bench *bench, uint32_t block) {
    return &fake_facts(&bench->fake, block)->tier[TIER];
}

static void leave_oldest(struct bench *bench) {
    uint32_t block = bench->order[0];
    fake_facts(&bench->fake, block)->evicted = there(bench, block)->resident;
    *fake_resident(&bench->fake, FF_TIER_HOST, block) = there(bench, block)->resident;
    ff_mask_clear(&there(bench, block)->resident);
    fake_set_frame(&bench->fake, TIER, block, FF_NONE);
    bench->resident--;
    for (uint32_t i = 0; i < bench->resident; i++)
        bench->order[i] = bench->order[i + 1];
    const struct ff_leave released = {.kind = FF_LEAVE_RELEASED, .block = block, .tier = TIER};
    policy->base.on_leave(bench->instance.state, &bench->fake.view, &released);
}

static void migrate(struct bench *bench, uint32_t block) {
    if (bench->resident == ROOM)
        leave_oldest(bench);
    fake_set_frame(&bench->fake, TIER, block, block);
    there(bench, block)->resident = ff_view_pages(&bench->fake.view, block);
    ff_mask_clear(&there(bench, block)->remote);
    ff_mask_clear(fake_resident(&bench->fake, FF_TIER_HOST, block));
    bench->order[bench->resident++] = block;
    bench->migrations++;
}

static void fault(struct bench *bench, uint32_t block) {
    struct ff_fault_group group = {.block = block, .tier = TIER, .launch = FF_NONE};
    struct ff_fault_advice advice = {.granule = 0};
    ff_mask_set(&group.faulted, 0);
    policy->on_fault(bench->instance.state, &bench->fake.view, &group, &advice);
    if (ff_mask_empty(&advice.remote)) {
        migrate(bench, block);
        return;
    }
    assert_int_equal(ff_mask_count(&advice.remote), bench->fake.blocks[block].page_count);
    there(bench, block)->remote = advice.remote;
    bench->mappings++;
}

static void use_page_remotely(struct bench *bench, uint32_t block, uint16_t page) {
    const struct ff_access access = {
        .block = block, .page = page, .tier = TIER, .flags = FF_ACCESS_REMOTE};
    const struct ff_access_batch batch = {.items = &access, .count = 1};
    struct ff_advice items[4];
    struct ff_advice_list list = {items, 0, 4};
    policy->base.accesses->on_access(bench->instance.state, &bench->fake.view, &batch, &list);
    bench->accesses++;
    if (list.count == 0)
        return;
    assert_int_equal(list.count, 1);
    assert_int_equal(items[0].action, FF_BRING);
    assert_int_equal(items[0].block, block);
    bench->advised++;
    if (!bench->ignores)
        migrate(bench, block);
}

static void use_remotely(struct bench *bench, uint32_t block) {
    use_page_remotely(bench, block, 0);
}

static void use(struct bench *bench, uint32_t block, uint32_t times) {
    const struct ff_tier_pages *pages = there(bench, block);
    if (ff_mask_empty(&pages->resident) && ff_mask_empty(&pages->remote))
        fault(bench, block);
    for (uint32_t i = 0; i < times && !ff_mask_empty(&pages->remote); i++)
        use_remotely(bench, block);
}

static void pass(struct bench *bench, uint32_t rounds, uint32_t times) {
    for (uint32_t i = 0; i < rounds * BLOCKS; i++)
        use(bench, i % BLOCKS, times);
}

static const char *found(const struct bench *bench) {
    static struct ff_finding finding;
    return policy->base.report(bench->instance.state, 0, &finding) ? finding.text : "";
}

/* After three witnesses all is used from the host, but what is on the device. */
static void test_few_accesses(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, ACCESS_PS);
    pass(&bench, 1, 10);
    assert_int_equal(bench.migrations, BLOCKS);
    assert_int_equal(bench.mappings, 0);
    pass(&bench, 10, 10);
    assert_int_equal(bench.migrations, 50);
    assert_int_equal(bench.mappings, 16);
    assert_string_equal(
        found(&bench),
        "1 times a range was used from the host, where that costs less; 0 times it moved again");
    bench_close(&bench);
}

/* All that is allocated is known, and does not fit: the first blocks that come are witnesses,
 * before memory is full. */
static void test_too_little_memory(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, ACCESS_PS);
    announce(&bench);
    pass(&bench, 1, 10);
    assert_int_equal(bench.migrations, 2); /* 3 and 4, while the first three were witnesses */
    assert_int_equal(bench.mappings, BLOCKS - 2);
    bench_close(&bench);
}

/* Two of a witness's 32 leaves tell of the others, one does not. Of a block in a remote range none
 * does. */
static void test_first_leaves(void **state) {
    (void)state;
    const uint32_t enough = BREAK_EVEN * 2 / 32 + 1; /* 62.5, rounded up */
    struct bench bench;
    bench_open(&bench, ACCESS_PS);
    announce(&bench);
    fault(&bench, 0);
    assert_int_equal(bench.mappings, 1);
    for (uint32_t i = 0; i < enough; i++)
        use_page_remotely(&bench, 0, FF_LEAF_PAGES - 1);
    assert_int_equal(bench.migrations, 0);
    use_page_remotely(&bench, 0, FF_LEAF_PAGES);
    assert_int_equal(bench.migrations, 1);
    for (uint32_t block = 1; bench.mappings < 2; block++)
        fault(&bench, block);
    const uint32_t second = bench.order[bench.resident - 1] + 1, before = bench.migrations;
    for (uint32_t i = 0; i < enough - 1; i++)
        use_page_remotely(&bench, second, i % 2 * FF_LEAF_PAGES);
    assert_int_equal(bench.migrations, before);
    use_page_remotely(&bench, second, 0);
    assert_int_equal(bench.migrations, before + 1);
    bench_close(&bench);

    bench_open(&bench, ACCESS_PS);
    announce(&bench);
    pass(&bench, 1, 10);
    const uint32_t migrations = bench.migrations;
    for (uint32_t i = 0; i < 2 * enough; i++)
        use_page_remotely(&bench, BLOCKS - 1, i % 2 * FF_LEAF_PAGES);
    assert_int_equal(bench.migrations, migrations);
    bench_close(&bench);
}

/* While memory is not full, what counts is how often a block was used in all: it migrates once, and
 * stays. */
static void test_room(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, ACCESS_PS);
    announce(&bench);
    pass(&bench, 1, 10);
    for (uint32_t round = 0; round < 4; round++)
        for (uint32_t block = 10; block < 30; block++)
            use(&bench, block, BREAK_EVEN / 4);
    assert_int_equal(bench.migrations, 22);
    assert_int_equal(bench.resident, 22);
    bench_close(&bench);
}

/* All that is allocated fits: no witness. */
static void test_enough_memory(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, ACCESS_PS);
    bench.fake.view.capacity[TIER] = BLOCKS * FF_BLOCK_PAGES;
    announce(&bench);
    for (uint32_t block = 0; block < ROOM; block++)
        use(&bench, block, 10);
    assert_int_equal(bench.mappings, 0);
    bench_close(&bench);
}

/* Witnesses pay for their migration, and become rare. */
static void test_many_accesses(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, ACCESS_PS);
    pass(&bench, 20, 2 * BREAK_EVEN);
    assert_int_equal(bench.migrations, 20 * BLOCKS);
    assert_int_equal(bench.mappings, 20);
    assert_int_equal(bench.accesses, bench.mappings * BREAK_EVEN);
    assert_string_equal(found(&bench), "");
    bench_close(&bench);
}

/* All of the range is used from the host. */
static void become_remote(struct bench *bench) {
    pass(bench, 20, 10);
    while (bench->resident)
        leave_oldest(bench);
}

/* Of a remote range one block is used often, and migrates. Then all are, and the range migrates. */
static void test_hot_blocks(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, ACCESS_PS);
    become_remote(&bench);
    uint32_t before = bench.migrations;
    use(&bench, 5, BREAK_EVEN - 1);
    assert_int_equal(bench.migrations, before);
    use(&bench, 5, 1);
    assert_int_equal(bench.migrations, before + 1);
    pass(&bench, 1, 10);
    assert_int_equal(bench.migrations, before + 1);
    pass(&bench, 4, 2 * BREAK_EVEN);
    before = bench.mappings;
    pass(&bench, 4, 2 * BREAK_EVEN);
    assert_int_equal(bench.mappings - before, 3);
    assert_string_equal(
        found(&bench),
        "2 times a range was used from the host, where that costs less; 2 times it moved again");
    bench_close(&bench);
}

/* A block that alone is used stays the latest, however few would be there. */
static void test_small_device(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, ACCESS_PS);
    bench.fake.view.capacity[TIER] = 4 * FF_BLOCK_PAGES;
    become_remote(&bench);
    uint32_t before = bench.migrations;
    use(&bench, 5, BREAK_EVEN);
    assert_int_equal(bench.migrations, before + 1);
    bench_close(&bench);
}

/* Advice may be dropped: it is repeated when as many accesses have come again, not at each of them.
 */
static void test_advice_is_not_followed(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, ACCESS_PS);
    become_remote(&bench);
    bench.ignores = true;
    bench.advised = 0;
    use(&bench, 5, 2 * BREAK_EVEN - 1);
    assert_int_equal(bench.advised, 1);
    use(&bench, 5, 1);
    assert_int_equal(bench.advised, 2);
    bench_close(&bench);
}

/* A small block costs less to move. */
static void test_small_block(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, ACCESS_PS);
    bench.fake.blocks[5].page_count = FF_BLOCK_PAGES / 4;
    become_remote(&bench);
    uint32_t before = bench.migrations;
    use(&bench, 5, BREAK_EVEN * 5 / 8 - 1);
    assert_int_equal(bench.migrations, before);
    use(&bench, 5, 1);
    assert_int_equal(bench.migrations, before + 1);
    bench_close(&bench);
}

/* Blocks that come while others are used, and by which one has left; each takes 2 ms. */
#define PAUSE_NS (ROOM / 8 * UINT64_C(2000000))

/* All blocks are used at once, so that none is used often in its time: each comes when that has
 * cost two migrations, and if it is used remotely again, when that has cost four. */
static void test_all_at_once(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, ACCESS_PS);
    become_remote(&bench);
    bench.ignores = true;
    bench.advised = 0;
    bench.fake.view.now_ns = PAUSE_NS + 1; /* what was before does not count */
    pass(&bench, 2 * BREAK_EVEN / 10 - 1, 10);
    assert_int_equal(bench.advised, 0);
    pass(&bench, 1, 10);
    assert_int_equal(bench.advised, BLOCKS);
    pass(&bench, 4 * BREAK_EVEN / 10 - 1, 10);
    assert_int_equal(bench.advised, BLOCKS);
    pass(&bench, 1, 10);
    assert_int_equal(bench.advised, 2 * BLOCKS);
    bench_close(&bench);
}

/* Uses with pauses between them are visits, and do not add up. */
static void test_pauses(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, ACCESS_PS);
    become_remote(&bench);
    bench.ignores = true;
    bench.advised = 0;
    for (uint32_t round = 0; round < BREAK_EVEN; round++) {
        bench.fake.view.now_ns += PAUSE_NS + 1;
        pass(&bench, 1, 10);
    }
    assert_int_equal(bench.advised, 0);
    bench_close(&bench);
}

/* A backend without remote access, and one on which 32 accesses cost as much as to bring a page. */
static void test_no_remote_access(void **state) {
    static const uint64_t access_ps[] = {0, 32000000};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct bench bench;
        bench_open(&bench, access_ps[i]);
        pass(&bench, 10, 10);
        assert_int_equal(bench.mappings, 0);
        assert_int_equal(bench.migrations, 10 * BLOCKS);
        bench_close(&bench);
    }
}

/* `context` waits until a block has come back `often` times during a launch. */
static void test_often(void **state) {
    (void)state;
    struct bench bench;
    policy = &ff__prefetch_context;
    bench_open(&bench, ACCESS_PS);
    pass(&bench, 3, 10);
    assert_int_equal(bench.mappings, 0);
    assert_int_equal(bench.migrations, 3 * BLOCKS);
    pass(&bench, 10, 10);
    assert_true(bench.mappings > 0);
    bench_close(&bench);
    policy = &ff__prefetch_whole;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_accesses),
        cmocka_unit_test(test_many_accesses),
        cmocka_unit_test(test_hot_blocks),
        cmocka_unit_test(test_advice_is_not_followed),
        cmocka_unit_test(test_no_remote_access),
        cmocka_unit_test(test_often),
        cmocka_unit_test(test_too_little_memory),
        cmocka_unit_test(test_first_leaves),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_enough_memory),
        cmocka_unit_test(test_small_device),
        cmocka_unit_test(test_small_block),
        cmocka_unit_test(test_all_at_once),
        cmocka_unit_test(test_pauses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
