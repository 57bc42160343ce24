/* Following the residences that were chosen: what is advised when a window begins and with a fault,
 * and where nothing can be chosen. Room for one block, which is block 0 up to window 15, then block
 * 1; block 2 is hardly used. */
#include "policy/recording.h"
#include "policy/registry.h"
#include "policy/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TIER   1u
#define BLOCKS RECORDED_BLOCKS
#define HALF   (FF__WINDOWS / 2)

static const struct ff_prefetch_policy *const policy = &ff__prefetch_residence;

struct bench {
    struct fake fake;
    struct ff_link_cost links[4];
    struct recording recording;
    struct instance instance;
    struct ff_advice items[4 * BLOCKS];
    struct ff_advice_list list;
};

static void record(struct recording *recording) {
    record_start(recording);
    record_uses(recording, 0, HALF - 1, 0, 1, 100);
    record_uses(recording, 0, FF__WINDOWS - 1, 1, 1, 60);
    record_use(recording, 0, 2, 1, 1);
}

static void bench_open(struct bench *bench, uint64_t access_ps, bool remote) {
    memset(bench, 0, sizeof *bench);
    fake_open(&bench->fake, 2, BLOCKS);
    struct ff_view *view = &bench->fake.view;
    const struct ff_link_cost cost = {0, FF_PAGE_SIZE * UINT64_C(1000000), access_ps};
    bench->links[FF_TIER_HOST * 2 + TIER] = bench->links[TIER * 2 + FF_TIER_HOST] = cost;
    view->links = bench->links;
    view->fault_ns = 9000;
    view->capacity[TIER] = FF_BLOCK_PAGES;
    bench->fake.free_pages[TIER] = FF_BLOCK_PAGES;
    record(&bench->recording);
    instance_init(&bench->instance, &policy->base);
    bench->instance.future = record_end(&bench->recording);
    instance_set(&bench->instance, "remote", remote);
    instance_open(&bench->instance, view, FF_NONE);
    bench->list = (struct ff_advice_list){bench->items, 0, 4 * BLOCKS};
}

static void bench_close(struct bench *bench) {
    instance_close(&bench->instance);
    fake_close(&bench->fake);
}

static void launch(struct bench *bench) {
    const struct ff_launch_event begin = {.launch = 1, .tier = TIER, .begins = true};
    bench->list.count = 0;
    policy->base.on_launch(bench->instance.state, &bench->fake.view, &begin, &bench->list);
}

/* So far as the recorded run was at these positions; what is not recorded is another page's use. */
static void run(struct bench *bench, uint64_t from, uint64_t to) {
    bench->list.count = 0;
    for (uint64_t i = from; i < to; i++) {
        uint64_t page = bench->recording.order[i] % RECORDED_PAGES;
        const struct ff_access access = {.block = (uint32_t)(page / FF_BLOCK_PAGES),
                                         .page = (uint16_t)(page % FF_BLOCK_PAGES),
                                         .tier = TIER};
        const struct ff_access_batch batch = {.items = &access, .count = 1};
        policy->base.accesses->on_access(bench->instance.state, &bench->fake.view, &batch,
                                         &bench->list);
    }
}

static void come(struct bench *bench, uint32_t block) {
    fake_set_frame(&bench->fake, TIER, block, 0);
    *fake_resident(&bench->fake, TIER, block) = ff_view_pages(&bench->fake.view, block);
}

static void map(struct bench *bench, uint32_t block) {
    fake_facts(&bench->fake, block)->tier[TIER].remote = ff_view_pages(&bench->fake.view, block);
}

static void expect(const struct bench *bench, uint32_t index, enum ff_action action, uint32_t block,
                   uint32_t pages) {
    assert_true(index < bench->list.count);
    assert_int_equal(bench->items[index].action, action);
    assert_int_equal(bench->items[index].block, block);
    assert_int_equal(bench->items[index].tier, TIER);
    assert_int_equal(ff_mask_count(&bench->items[index].pages), pages);
}

static struct ff_fault_advice fault(struct bench *bench, uint32_t block, uint32_t tier) {
    struct ff_fault_group group = {.block = block, .tier = tier, .launch = FF_NONE};
    struct ff_fault_advice advice = {.granule = 0};
    ff_mask_set(&group.faulted, 0);
    policy->on_fault(bench->instance.state, &bench->fake.view, &group, &advice);
    return advice;
}

/* At first, all that is not to come is mapped; what is not used at all is left alone. */
static void test_begin(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 1000000, true);
    launch(&bench);
    assert_int_equal(bench.list.count, 3);
    expect(&bench, 0, FF_USE_REMOTE, 1, FF_BLOCK_PAGES);
    expect(&bench, 1, FF_USE_REMOTE, 2, FF_BLOCK_PAGES);
    expect(&bench, 2, FF_BRING, 0, FF_BLOCK_PAGES);
    launch(&bench); /* in the same window */
    assert_int_equal(bench.list.count, 0);
    bench_close(&bench);
}

/* Once block 1 is to come, block 0 leaves before it. */
static void test_window(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 1000000, true);
    launch(&bench);
    come(&bench, 0);
    map(&bench, 1);
    map(&bench, 2);
    run(&bench, 0, HALF * WINDOW_USES - 1);
    assert_int_equal(bench.list.count, 0);
    run(&bench, HALF * WINDOW_USES - 1, HALF * WINDOW_USES);
    assert_int_equal(bench.list.count, 2);
    expect(&bench, 0, FF_EVICT, 0, 0);
    expect(&bench, 1, FF_BRING, 1, FF_BLOCK_PAGES);
    bench_close(&bench);
}

/* What the list has no room for is advised the next time. */
static void test_short_list(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 1000000, true);
    bench.list.capacity = 2;
    launch(&bench);
    expect(&bench, 0, FF_USE_REMOTE, 1, FF_BLOCK_PAGES);
    expect(&bench, 1, FF_USE_REMOTE, 2, FF_BLOCK_PAGES);
    bench.list.count = 0;
    policy->learning->plan(bench.instance.state, &bench.fake.view, &bench.list);
    assert_int_equal(bench.list.count, 1);
    expect(&bench, 0, FF_BRING, 0, FF_BLOCK_PAGES);
    bench_close(&bench);
}

static void test_fault(void **state) {
    (void)state;
    struct bench bench;
    struct ff_fault_advice advice;
    bench_open(&bench, 1000000, true);
    launch(&bench);
    advice = fault(&bench, 0, TIER);
    assert_int_equal(ff_mask_count(&advice.prefetch), FF_BLOCK_PAGES);
    assert_int_equal(ff_mask_count(&advice.remote), 0);
    advice = fault(&bench, 1, TIER);
    assert_int_equal(ff_mask_count(&advice.prefetch), 0);
    assert_int_equal(ff_mask_count(&advice.remote), FF_BLOCK_PAGES);
    advice = fault(&bench, 1, FF_TIER_HOST);
    assert_int_equal(ff_mask_count(&advice.remote), 0);
    bench_close(&bench);
}

/* Nothing is chosen, and nothing mapped: what the recorded run uses next comes, in its order. */
static void expect_future(struct bench *bench) {
    launch(bench);
    assert_int_equal(bench->list.count, 0);
    struct ff_fault_advice advice = fault(bench, 2, TIER);
    assert_true(ff_mask_empty(&advice.remote));
    policy->learning->plan(bench->instance.state, &bench->fake.view, &bench->list);
    assert_int_equal(bench->list.count, 1); /* there is room for one */
    expect(bench, 0, FF_BRING, 0, 1);
    bench_close(bench);
}

static void test_no_choice(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 0, true);
    expect_future(&bench);
    bench_open(&bench, 1000000, false);
    expect_future(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begin),      cmocka_unit_test(test_window),
        cmocka_unit_test(test_short_list), cmocka_unit_test(test_fault),
        cmocka_unit_test(test_no_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
