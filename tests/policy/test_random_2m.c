/* Random eviction: every block except the latest arrivals has the same chance. */
#include "policy/registry.h"
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TIER   1u
#define BLOCKS 40u
#define PICKS  6400u

struct bench {
    struct fake fake;
    struct instance instance;
};

static const struct ff_evict_policy *const policy = &ff__evict_random_2m;

static void bench_open(struct bench *bench, int64_t latest) {
    fake_open(&bench->fake, 2, BLOCKS);
    instance_init(&bench->instance, &policy->base);
    instance_set(&bench->instance, "latest", latest);
    instance_open(&bench->instance, &bench->fake.view, TIER);
}

static void bench_close(struct bench *bench) {
    instance_close(&bench->instance);
    fake_close(&bench->fake);
}

static void use(struct bench *bench, uint32_t block) {
    const struct ff_mask pages = ff_view_pages(&bench->fake.view, block);
    const struct ff_arrival arrival = {
        .kind = FF_ARRIVAL_SERVED, .block = block, .tier = TIER, .faulted = true, .pages = &pages};
    policy->base.on_arrival(bench->instance.state, &bench->fake.view, &arrival);
}

static void come(struct bench *bench, uint32_t block) {
    fake_set_frame(&bench->fake, TIER, block, block);
    const struct ff_arrival arrival = {
        .kind = FF_ARRIVAL_ALLOCATED, .block = block, .tier = TIER, .faulted = true};
    policy->base.on_arrival(bench->instance.state, &bench->fake.view, &arrival);
    use(bench, block);
}

static void leave(struct bench *bench, uint32_t block) {
    fake_set_frame(&bench->fake, TIER, block, FF_NONE);
    const struct ff_leave released = {.kind = FF_LEAVE_RELEASED, .block = block, .tier = TIER};
    policy->base.on_leave(bench->instance.state, &bench->fake.view, &released);
}

/* FF_NONE: no block. */
static uint32_t victim(struct bench *bench, uint32_t for_block, enum ff_evict_cause cause) {
    struct ff_victim items[4];
    struct ff_victim_list list = {items, 0, 4};
    struct ff_evict_request request = {cause, TIER, for_block, FF_BLOCK_PAGES, FF_BLOCK_PAGES};
    policy->pick(bench->instance.state, &bench->fake.view, &request, &list);
    return list.count ? items[0].block : FF_NONE;
}

/* Blocks first..last are drawn about equally often, and no other block. */
static void check_drawn(struct bench *bench, uint32_t first, uint32_t last,
                        enum ff_evict_cause cause) {
    uint32_t drawn[BLOCKS] = {0}, fair = PICKS / (last - first + 1);
    for (uint32_t i = 0; i < PICKS; i++) {
        uint32_t block = victim(bench, FF_NONE, cause);
        assert_in_range(block, first, last);
        drawn[block]++;
    }
    for (uint32_t block = first; block <= last; block++)
        assert_in_range(drawn[block], fair * 3 / 4, fair * 5 / 4);
}

static void test_latest_stay(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 8);
    for (uint32_t block = 0; block < BLOCKS; block++)
        come(&bench, block);
    for (int cause = FF_EVICT_FOR_FAULT; cause <= FF_EVICT_AHEAD; cause++)
        check_drawn(&bench, 0, BLOCKS - 9, (enum ff_evict_cause)cause);
    for (uint32_t block = 0; block < 8; block++) { /* served again: the latest ones now */
        use(&bench, block);
        use(&bench, block); /* in two pieces: one arrival */
    }
    check_drawn(&bench, 8, BLOCKS - 1, FF_EVICT_FOR_FAULT);
    bench_close(&bench);
}

/* Where the latest arrivals are most of what is there, half of it can go. */
static void test_few_blocks(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 4096);
    assert_int_equal(victim(&bench, FF_NONE, FF_EVICT_FOR_FAULT), FF_NONE);
    for (uint32_t block = 0; block < 6; block++)
        come(&bench, block);
    check_drawn(&bench, 0, 2, FF_EVICT_FOR_PREFETCH);
    for (uint32_t block = 0; block < 3; block++)
        fake_facts(&bench.fake, block)->busy = 1;
    assert_int_equal(victim(&bench, FF_NONE, FF_EVICT_FOR_PREFETCH), FF_NONE);
    assert_int_equal(victim(&bench, FF_NONE, FF_EVICT_AHEAD), FF_NONE);
    assert_in_range(victim(&bench, FF_NONE, FF_EVICT_FOR_FAULT), 3, 5);
    bench_close(&bench);
}

/* A block that has left, was freed, is busy or asks for room is not drawn. */
static void test_who_cannot(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 0);
    for (uint32_t block = 0; block < 12; block++)
        come(&bench, block);
    leave(&bench, 0);
    leave(&bench, 11);
    fake_set_frame(&bench.fake, TIER, 1, FF_NONE);
    policy->base.block_freed(bench.instance.state, 1);
    policy->base.block_freed(bench.instance.state, 30); /* never had memory */
    fake_facts(&bench.fake, 2)->busy = 1;
    for (uint32_t i = 0; i < PICKS; i++)
        assert_in_range(victim(&bench, 3, FF_EVICT_FOR_FAULT), 4, 10);
    come(&bench, 0); /* once more */
    fake_facts(&bench.fake, 2)->busy = 0;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < PICKS; i++)
        seen |= 1u << victim(&bench, FF_NONE, FF_EVICT_FOR_FAULT);
    assert_int_equal(seen, 0x7fd); /* 0, 2 to 10 */
    bench_close(&bench);
}

/* By page, as many blocks as the pages wanted, each once. */
static void test_by_page(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 2);
    bench.fake.view.unit = 1;
    for (uint32_t block = 0; block < 10; block++) {
        come(&bench, block);
        *fake_resident(&bench.fake, TIER, block) = ff_mask_of_run(0, 100);
    }
    struct ff_victim items[10];
    struct ff_victim_list list = {items, 0, 10};
    struct ff_evict_request request = {FF_EVICT_FOR_FAULT, TIER, FF_NONE, 750, 1};
    policy->pick(bench.instance.state, &bench.fake.view, &request, &list);
    assert_int_equal(list.count, 8); /* all but the two latest */
    uint32_t seen = 0;
    for (uint32_t i = 0; i < list.count; i++) {
        assert_int_equal(ff_mask_count(&items[i].pages), 100);
        assert_in_range(items[i].block, 0, 7);
        seen |= 1u << items[i].block;
    }
    assert_int_equal(seen, 0xff);
    bench_close(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_latest_stay),
        cmocka_unit_test(test_few_blocks),
        cmocka_unit_test(test_who_cannot),
        cmocka_unit_test(test_by_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
