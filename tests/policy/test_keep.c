/* Eviction from both ends: which end is chosen follows from what came back, and how soon. */
#include "policy/registry.h"
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TIER   1u
#define BLOCKS 64u
#define ROOM   16u /* blocks that fit on the device */

struct bench {
    struct fake fake;
    struct instance instance;
    uint32_t resident, misses;
};

static const struct ff_evict_policy *const policy = &ff__evict_keep;

static void bench_open(struct bench *bench, int64_t spare) {
    *bench = (struct bench){.misses = 0};
    fake_open(&bench->fake, 2, BLOCKS);
    bench->fake.view.capacity[TIER] = ROOM * FF_BLOCK_PAGES;
    instance_init(&bench->instance, &policy->base);
    instance_set(&bench->instance, "spare", spare);
    instance_open(&bench->instance, &bench->fake.view, TIER);
}

static void bench_close(struct bench *bench) {
    instance_close(&bench->instance);
    fake_close(&bench->fake);
}

static void come(struct bench *bench, uint32_t block) {
    fake_set_frame(&bench->fake, TIER, block, block);
    struct ff_arrival arrival = {
        .kind = FF_ARRIVAL_ALLOCATED, .block = block, .tier = TIER, .faulted = true};
    policy->base.on_arrival(bench->instance.state, &bench->fake.view, &arrival);
    const struct ff_mask pages = ff_view_pages(&bench->fake.view, block);
    arrival.kind = FF_ARRIVAL_SERVED;
    arrival.pages = &pages;
    policy->base.on_arrival(bench->instance.state, &bench->fake.view, &arrival);
    bench->resident++;
    bench->misses++;
}

static void leave(struct bench *bench, uint32_t block) {
    fake_set_frame(&bench->fake, TIER, block, FF_NONE);
    const struct ff_leave released = {.kind = FF_LEAVE_RELEASED, .block = block, .tier = TIER};
    policy->base.on_leave(bench->instance.state, &bench->fake.view, &released);
    bench->resident--;
}

/* The first victim; FF_NONE: no block. */
static uint32_t victim(struct bench *bench, uint32_t for_block) {
    struct ff_victim items[4];
    struct ff_victim_list list = {items, 0, 4};
    struct ff_evict_request request = {FF_EVICT_FOR_FAULT, TIER, for_block, FF_BLOCK_PAGES,
                                       FF_BLOCK_PAGES};
    policy->pick(bench->instance.state, &bench->fake.view, &request, &list);
    return list.count ? items[0].block : FF_NONE;
}

/* An access. */
static void use(struct bench *bench, uint32_t block) {
    if (ff_view_holds(&bench->fake.view, TIER, block))
        return;
    if (bench->resident == ROOM)
        leave(bench, victim(bench, block));
    come(bench, block);
}

/* How often a program that passes over these blocks again and again misses. */
static uint32_t misses_of_rounds(struct bench *bench, uint32_t first, uint32_t count,
                                 uint32_t rounds) {
    uint32_t before = bench->misses;
    for (uint32_t i = 0; i < rounds * count; i++)
        use(bench, first + i % count);
    return bench->misses - before;
}

static void test_ends_take_turns_at_first(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 4);
    for (uint32_t block = 0; block < ROOM; block++)
        come(&bench, block);
    static const uint32_t expected[] = {0, 11, 1, 10, 2, 9, 3, 8};
    for (uint32_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(victim(&bench, FF_NONE), expected[i]);
        assert_int_equal(victim(&bench, FF_NONE), expected[i]); /* asked again: the same */
        leave(&bench, expected[i]);
    }
    bench_close(&bench);
}

/* 24 blocks in a circle, and room for 16: the order by age misses all, 240 in ten rounds; one that
 * keeps 12 and passes the others through 4 misses 120. */
static void test_circle(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 4);
    assert_int_equal(misses_of_rounds(&bench, 0, 24, 10), 144);
    assert_int_equal(misses_of_rounds(&bench, 0, 24, 10), 135);
    assert_int_equal(misses_of_rounds(&bench, 0, 24, 10), 130);
    assert_int_equal(misses_of_rounds(&bench, 0, 24, 10), 129);
    bench_close(&bench);
}

/* Then the program works on other data, which would fit if the old left. */
static void test_other_data(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 4);
    misses_of_rounds(&bench, 0, 24, 20);
    assert_int_equal(misses_of_rounds(&bench, 30, 12, 10), 57);
    assert_int_equal(misses_of_rounds(&bench, 30, 12, 10), 0);
    bench_close(&bench);
}

/* Two blocks are used between all others, which are used once: they are hot, and stay. */
static void test_hot_blocks_stay(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 4);
    for (uint32_t i = 0; i < 400; i++) {
        use(&bench, 0);
        use(&bench, 2 + i % 60);
        use(&bench, 1);
    }
    assert_int_equal(bench.misses, 356);
    bench_close(&bench);
}

/* Blocks that are in use while more come, six at a time: more of the newest are spared than at
 * first. */
static void test_blocks_in_use_are_spared(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 1);
    for (uint32_t round = 0; round < 40; round++)
        for (uint32_t begin = 0; begin < 24; begin += 6)
            for (uint32_t step = 0; step < 3; step++)
                for (uint32_t i = 0; i < 6; i++)
                    use(&bench, begin + i);
    assert_int_equal(bench.misses, 817);
    bench_close(&bench);
}

/* A block that is busy, asks for room, has left or was freed is not named; with no other, nobody
 * is. */
static void test_who_cannot(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 0);
    assert_int_equal(victim(&bench, FF_NONE), FF_NONE);
    for (uint32_t block = 0; block < 5; block++)
        come(&bench, block);
    fake_facts(&bench.fake, 0)->busy = 1;
    leave(&bench, 1);
    fake_set_frame(&bench.fake, TIER, 2, FF_NONE);
    policy->base.block_freed(bench.instance.state, 2);
    policy->base.block_freed(bench.instance.state, 40); /* never had memory */
    assert_int_equal(victim(&bench, 3), 4);
    leave(&bench, 4);
    assert_int_equal(victim(&bench, 3), FF_NONE);
    assert_int_equal(victim(&bench, FF_NONE), 3);
    bench_close(&bench);
}

static void test_says_what_it_did(void **state) {
    (void)state;
    struct bench bench;
    struct ff_finding finding;
    bench_open(&bench, 4);
    assert_false(policy->base.report(bench.instance.state, 0, &finding));
    misses_of_rounds(&bench, 0, 17, 1);
    assert_true(policy->base.report(bench.instance.state, 0, &finding));
    assert_string_equal(finding.text, "evicted the oldest block 1 times (0 came back), one of the "
                                      "newest 0 times (0)");
    assert_false(policy->base.report(bench.instance.state, 1, &finding));
    bench_close(&bench);
}

/* Blocks that come to a device of that many; `remote`: they have been used from the host until
 * then. Free blocks kept after that. */
static uint64_t reserve_after(struct bench *bench, uint32_t room, uint32_t blocks, bool remote) {
    bench->fake.view.capacity[TIER] = room * FF_BLOCK_PAGES;
    for (uint32_t block = 0; block < blocks; block++) {
        fake_facts(&bench->fake, block)->tier[TIER].remote =
            remote ? ff_view_pages(&bench->fake.view, block) : (struct ff_mask){{0}};
        come(bench, block);
    }
    return policy->reserve(bench->instance.state, &bench->fake.view) / FF_BLOCK_PAGES;
}

/* On a small device a block is kept free while most of what comes is waited for: 11 of the latest
 * that are not, of which each counts a 16th, end that. */
static void test_reserve_of_small_devices(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 0);
    assert_int_equal(reserve_after(&bench, 7, 1, false), 0);
    assert_int_equal(reserve_after(&bench, 8, 1, false), 1);
    assert_int_equal(reserve_after(&bench, 31, 10, true), 1);
    assert_int_equal(reserve_after(&bench, 31, 1, true), 0);
    assert_int_equal(reserve_after(&bench, 64, 1, true), 2);
    assert_int_equal(reserve_after(&bench, 31, 2, false), 1);
    bench.fake.view.copies_on_processors = true;
    assert_int_equal(reserve_after(&bench, 31, 1, false), 0);
    bench_close(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_take_turns_at_first),
        cmocka_unit_test(test_circle),
        cmocka_unit_test(test_other_data),
        cmocka_unit_test(test_hot_blocks_stay),
        cmocka_unit_test(test_blocks_in_use_are_spared),
        cmocka_unit_test(test_who_cannot),
        cmocka_unit_test(test_reserve_of_small_devices),
        cmocka_unit_test(test_says_what_it_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
