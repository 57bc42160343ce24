/* `auto`: which of its inner policies answer, and after what. */
#include "policy/registry.h"
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TIER   1u
#define BLOCKS 512u
#define ROOM   16u

struct bench {
    struct fake fake;
    struct instance instance;
    uint32_t resident, misses;
};

static void bench_open(struct bench *bench, const struct ff_policy *policy, uint32_t tier) {
    *bench = (struct bench){.misses = 0};
    fake_open(&bench->fake, 2, BLOCKS);
    bench->fake.range.page_count = bench->fake.view.allocated = BLOCKS * FF_BLOCK_PAGES;
    bench->fake.view.capacity[TIER] = ROOM * FF_BLOCK_PAGES;
    instance_init(&bench->instance, policy);
    instance_open(&bench->instance, &bench->fake.view, tier);
    policy->range_added(bench->instance.state, &bench->fake.view, 0);
}

static void bench_close(struct bench *bench) {
    instance_close(&bench->instance);
    fake_close(&bench->fake);
}

/* ---- eviction ---- */

static const struct ff_evict_policy *const evict = &ff__evict_auto;

static void come(struct bench *bench, uint32_t block) {
    const struct ff_mask pages = ff_view_pages(&bench->fake.view, block);
    struct ff_arrival arrival = {
        .kind = FF_ARRIVAL_ALLOCATED, .block = block, .tier = TIER, .faulted = true};
    fake_set_frame(&bench->fake, TIER, block, block);
    *fake_resident(&bench->fake, TIER, block) = pages;
    evict->base.on_arrival(bench->instance.state, &bench->fake.view, &arrival);
    arrival.kind = FF_ARRIVAL_SERVED;
    arrival.pages = &pages;
    evict->base.on_arrival(bench->instance.state, &bench->fake.view, &arrival);
    bench->resident++;
    bench->misses++;
}

static void leave(struct bench *bench, uint32_t block) {
    fake_set_frame(&bench->fake, TIER, block, FF_NONE);
    ff_mask_clear(fake_resident(&bench->fake, TIER, block));
    const struct ff_leave released = {.kind = FF_LEAVE_RELEASED, .block = block, .tier = TIER};
    evict->base.on_leave(bench->instance.state, &bench->fake.view, &released);
    bench->resident--;
}

static uint32_t victim(struct bench *bench, enum ff_evict_cause cause) {
    struct ff_victim items[4];
    struct ff_victim_list list = {items, 0, 4};
    struct ff_evict_request request = {cause, TIER, FF_NONE, FF_BLOCK_PAGES, FF_BLOCK_PAGES};
    evict->pick(bench->instance.state, &bench->fake.view, &request, &list);
    return list.count ? items[0].block : FF_NONE;
}

/* Passes over these blocks; returns the misses. */
static uint32_t pass(struct bench *bench, uint32_t first, uint32_t count, uint32_t rounds) {
    uint32_t before = bench->misses;
    for (uint32_t i = 0; i < rounds * count; i++) {
        uint32_t block = first + i % count;
        if (ff_view_holds(&bench->fake.view, TIER, block))
            continue;
        if (bench->resident == bench->fake.view.capacity[TIER] / FF_BLOCK_PAGES)
            leave(bench, victim(bench, FF_EVICT_FOR_FAULT));
        come(bench, block);
    }
    return bench->misses - before;
}

/* What the report says of those who evict. */
struct share {
    uint32_t evicted, back;
};

static struct share share_of(const struct bench *bench, uint32_t index, const char *name) {
    struct ff_finding finding;
    struct share share = {0, 0};
    char who[32] = "";
    assert_true(evict->base.report(bench->instance.state, index, &finding));
    assert_int_equal(sscanf(finding.text, "%31s evicted %u times (%u came back)", who,
                            &share.evicted, &share.back),
                     3);
    assert_string_equal(who, name);
    assert_true(share.back <= share.evicted);
    return share;
}

/* 24 blocks in a circle, and room for 16: by age, each of 240 uses in ten rounds would miss, and 8
 * of 24 have to. What is kept is most of the rest, and more of it in the second ten. */
static void test_circle(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, &evict->base, TIER);
    uint32_t first = pass(&bench, 0, 24, 10), second = pass(&bench, 0, 24, 10);
    assert_in_range(first, 80, 160);
    assert_in_range(second, 80, first - 1);
    /* then other data, which fits if what was kept leaves: soon, and then for good */
    assert_in_range(pass(&bench, 30, 12, 10), 12, 5 * 12);
    assert_int_equal(pass(&bench, 30, 12, 10), 0);
    struct share keep = share_of(&bench, 0, "keep"), plus = share_of(&bench, 1, "forest-plus");
    assert_int_equal(keep.evicted + plus.evicted, bench.misses - ROOM);
    assert_true(keep.evicted > 4 * plus.evicted);
    assert_true(plus.evicted > 0);
    assert_int_equal(share_of(&bench, 2, "farthest").evicted, 0);
    struct ff_finding finding;
    assert_false(evict->base.report(bench.instance.state, 3, &finding));
    bench_close(&bench);
}

/* ---- blocks that are dead as a whole ---- */

static void die(struct bench *bench, uint32_t block) {
    const struct ff_leave dead = {.kind = FF_LEAVE_DEAD, .block = block, .tier = TIER};
    fake_facts(&bench->fake, block)->inactive = ff_view_pages(&bench->fake.view, block);
    evict->base.on_leave(bench->instance.state, &bench->fake.view, &dead);
}

/* They leave first, if they have not just come, and one that died in part does not. */
static void test_dead(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, &evict->base, TIER);
    pass(&bench, 0, ROOM, 1);
    ff_mask_set(&fake_facts(&bench.fake, 5)->inactive, 0);
    die(&bench, 7);
    assert_int_equal(victim(&bench, FF_EVICT_AHEAD), 7);
    leave(&bench, 7);
    assert_int_not_equal(victim(&bench, FF_EVICT_FOR_FAULT), 5);
    die(&bench, 6);
    assert_int_equal(victim(&bench, FF_EVICT_FOR_FAULT), 6);
    leave(&bench, 6);
    struct ff_finding finding;
    assert_true(evict->base.report(bench.instance.state, 3, &finding));
    assert_string_equal(finding.text, "dead blocks left first 2 times, by farthest (0 came back)");
    bench_close(&bench);
}

static void make_room(struct bench *bench) {
    leave(bench, victim(bench, FF_EVICT_FOR_FAULT));
}

/* A round in which a block dies, ten other blocks of a circle of so many are used, and the block is
 * used again. */
static void reuse(struct bench *bench, uint32_t round, uint32_t others) {
    die(bench, 0);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t block = ROOM + (round * 10 + i) % others;
        if (ff_view_holds(&bench->fake.view, TIER, block))
            continue;
        make_room(bench);
        come(bench, block);
    }
    ff_mask_clear(&fake_facts(&bench->fake, 0)->inactive);
    if (ff_view_holds(&bench->fake.view, TIER, 0))
        return;
    make_room(bench);
    come(bench, 0);
}

/* A dead block that soon comes back leaves as the others do, but for trials, while these never come
 * back, or after longer. */
static void dead_come_back(uint32_t others) {
    struct bench bench;
    struct ff_finding finding;
    unsigned first = 0, back = 0;
    bench_open(&bench, &evict->base, TIER);
    bench.fake.view.copies_on_processors = true;
    pass(&bench, 0, ROOM, 1);
    for (uint32_t round = 0; round < 40; round++)
        reuse(&bench, round, others);
    assert_true(evict->base.report(bench.instance.state, 3, &finding));
    sscanf(finding.text, "dead blocks left first %u times, by farthest (%u came back)", &first,
           &back);
    assert_in_range(first, 1, 40 / 8);
    assert_int_equal(back, first);
    assert_false(evict->base.report(bench.instance.state, 4, &finding));
    bench_close(&bench);
}

static void test_dead_come_back(void **state) {
    (void)state;
    dead_come_back(400);
    dead_come_back(60);
}

/* ---- a forecast: blocks are needed in the order of their numbers ---- */

static void next_uses(const void *state, const struct ff_view *view, uint32_t tier,
                      const uint32_t *blocks, uint32_t count, bool launches_only, uint64_t *uses) {
    (void)state, (void)view, (void)tier, (void)launches_only;
    for (uint32_t i = 0; i < count; i++)
        uses[i] = (UINT64_C(2) << 32) + blocks[i];
}

static uint64_t now(const void *state, uint32_t tier) {
    (void)state, (void)tier;
    return UINT64_C(1) << 32;
}

/* The farthest leaves, but the latest arrivals. */
static void test_forecast(void **state) {
    (void)state;
    static const struct ff_forecast_hooks hooks = {.next_uses = next_uses, .now = now};
    struct bench bench;
    bench_open(&bench, &evict->base, TIER);
    bench.fake.view.forecast.hooks = &hooks;
    for (uint32_t i = 0; i < ROOM; i++)
        come(&bench, i * 5 % ROOM);
    for (uint32_t i = 0; i < 3; i++) {
        static const uint32_t expected[] = {15, 14, 13};
        assert_int_equal(victim(&bench, FF_EVICT_FOR_FAULT), expected[i]);
        leave(&bench, expected[i]);
    }
    bench_close(&bench);
}

/* ---- prefetching ---- */

static const struct ff_prefetch_policy *const prefetch = &ff__prefetch_auto;

static bool is_ahead(const struct bench *bench) {
    return prefetch->forecast->now(bench->instance.state, TIER) > 0;
}

static void event(struct bench *bench, enum ff_event_kind kind, uint32_t id) {
    const struct ff_event event = {.kind = kind,
                                   .tier = TIER,
                                   .launch = id,
                                   .block = FF_NONE,
                                   .range = FF_NONE,
                                   .now_ns = bench->fake.view.now_ns};
    prefetch->learning->publish(bench->instance.state, &event, 1);
}

static void launch(struct bench *bench, uint32_t id, uint64_t reacting_ns, uint64_t ahead_ns) {
    struct ff_advice items[8];
    struct ff_advice_list list = {items, 0, 8};
    struct ff_launch_event begin = {.launch = id, .tier = TIER, .begins = true},
                           end = {.launch = id, .tier = TIER};
    event(bench, FF_EVENT_LAUNCH, id);
    prefetch->base.on_launch(bench->instance.state, &bench->fake.view, &begin, &list);
    bench->fake.view.now_ns += is_ahead(bench) ? ahead_ns : reacting_ns;
    list.count = 0;
    prefetch->base.on_launch(bench->instance.state, &bench->fake.view, &end, &list);
    event(bench, FF_EVENT_LAUNCH_END, id);
}

/* So many iterations of so many kernels; returns how many launches were prefetched ahead for. */
static uint32_t iterate(uint32_t kernels, uint32_t times, bool copies, uint64_t reacting_ns,
                        uint64_t ahead_ns) {
    struct bench bench;
    struct ff_finding finding;
    uint32_t ahead = 0;
    bench_open(&bench, &prefetch->base, FF_NONE);
    bench.fake.view.copies_on_processors = copies;
    assert_false(prefetch->base.report(bench.instance.state, 0, &finding));
    for (uint32_t i = 0; i < times * kernels; i++) {
        launch(&bench, i % kernels, reacting_ns, ahead_ns);
        ahead += is_ahead(&bench);
    }
    assert_true(prefetch->base.report(bench.instance.state, 0, &finding));
    bench_close(&bench);
    return ahead;
}

static void test_ways(void **state) {
    (void)state;
    /* too few to be sure */
    assert_in_range(iterate(1, 10, false, 1000, 500), 0, 3);
    /* the slower way is tried every other turn at first, then more rarely */
    assert_in_range(iterate(40, 10, false, 1000, 500), 6 * 40, 8 * 40);
    assert_in_range(iterate(40, 80, false, 1000, 500), 72 * 40, 76 * 40);
    assert_in_range(iterate(40, 10, false, 1000, 1100), 2 * 40, 4 * 40);
    assert_in_range(iterate(40, 80, false, 1000, 1100), 4 * 40, 8 * 40);
    /* where transfers are copies, the first trial is late */
    assert_int_equal(iterate(40, 16, true, 1000, 500), 0);
    assert_in_range(iterate(40, 20, true, 1000, 500), 2 * 40, 4 * 40);
    assert_in_range(iterate(40, 80, true, 1000, 1100), 40, 3 * 40);
}

/* There is no forecast for a launch that nothing has been learned of. */
static void test_new_launch(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, &prefetch->base, FF_NONE);
    for (uint32_t i = 0; i < 80; i++)
        launch(&bench, i % 4, 1000, 500);
    assert_true(is_ahead(&bench));
    launch(&bench, 4, 1000, 500);
    assert_false(is_ahead(&bench));
    launch(&bench, 4, 1000, 500);
    assert_true(is_ahead(&bench));
    bench_close(&bench);
}

/* ---- pairs of blocks, while a range is being tried from the host ---- */

/* A fault and a block cost a millisecond each, and an access two microseconds. */
#define BREAK_EVEN 1000u /* accesses that cost as much as a migration */
static const struct ff_link_cost remote[4] = {[FF_TIER_HOST * 2 +
                                               TIER] = {0, FF_BLOCK_SIZE *UINT64_C(1000), 2000000}},
                                 local[4] = {[FF_TIER_HOST * 2 +
                                              TIER] = {0, FF_BLOCK_SIZE *UINT64_C(1000), 0}};

/* A kernel that goes through the range runs. */
static void remote_open(struct bench *bench, bool may_be_remote) {
    const struct ff_operand operand = {.range = 0, .stride = FF_STRIDE_SOURCE};
    const struct ff_launch_event begin = {
        .launch = 1, .tier = TIER, .begins = true, .operands = &operand, .operand_count = 1};
    struct ff_advice items[4];
    struct ff_advice_list list = {items, 0, 4};
    bench_open(bench, &prefetch->base, FF_NONE);
    bench->fake.view.links = remote;
    bench->fake.view.fault_ns = 1000000;
    instance_close(&bench->instance);
    instance_init(&bench->instance, &prefetch->base);
    instance_set(&bench->instance, "remote", may_be_remote);
    instance_open(&bench->instance, &bench->fake.view, FF_NONE);
    prefetch->base.range_added(bench->instance.state, &bench->fake.view, 0);
    for (uint32_t block = 0; block < BLOCKS; block++)
        *fake_resident(&bench->fake, FF_TIER_HOST, block) = ff_view_pages(&bench->fake.view, block);
    prefetch->base.on_launch(bench->instance.state, &bench->fake.view, &begin, &list);
}

/* A fault in the first block of a pair: whether the second one is advised. */
static bool brings_pair(struct bench *bench, uint32_t block) {
    struct ff_advice items[4];
    struct ff_advice_list list = {items, 0, 4};
    struct ff_fault_group group = {.block = block, .tier = TIER, .launch = FF_NONE};
    ff_mask_set(&group.faulted, 0);
    prefetch->on_batch(bench->instance.state, &bench->fake.view, &group, 1, &list);
    assert_true(list.count == 0 || (list.count == 1 && items[0].block == block + 1));
    return list.count > 0;
}

/* The block's fault is served: whether it is used from the host. */
static bool is_remote(struct bench *bench, uint32_t block) {
    struct ff_fault_advice advice = {.granule = 0};
    struct ff_fault_group group = {.block = block, .tier = TIER, .launch = FF_NONE};
    ff_mask_set(&group.faulted, 0);
    prefetch->on_fault(bench->instance.state, &bench->fake.view, &group, &advice);
    return !ff_mask_empty(&advice.remote);
}

/* False: it should stay where it is. */
static bool is_brought(struct bench *bench, uint32_t block, uint32_t accesses) {
    struct ff_advice items[4];
    struct ff_advice_list list = {items, 0, 4};
    const struct ff_access access = {
        .block = block, .tier = TIER, .flags = FF_ACCESS_REMOTE, .more = accesses - 1};
    const struct ff_access_batch batch = {.items = &access, .count = 1};
    prefetch->base.accesses->on_access(bench->instance.state, &bench->fake.view, &batch, &list);
    return list.count > 0;
}

/* No second block comes before one witness has paid for its migration: each could be a witness,
 * or be used from the host. */
static void test_pairs_wait(void **state) {
    (void)state;
    struct bench bench;
    remote_open(&bench, true);
    assert_false(brings_pair(&bench, 0));
    assert_true(is_remote(&bench, 0));
    assert_false(brings_pair(&bench, 2));
    assert_false(is_brought(&bench, 0, BREAK_EVEN - 1));
    assert_false(brings_pair(&bench, 2));
    assert_true(is_brought(&bench, 0, 1));
    assert_true(brings_pair(&bench, 2));
    bench_close(&bench);
}

/* They do at once where nothing will be tried: there is room for all, no remote access, or it is
 * not wanted. */
static void test_pairs_need_not_wait(void **state) {
    (void)state;
    struct bench bench;
    remote_open(&bench, true);
    bench.fake.view.capacity[TIER] = BLOCKS * FF_BLOCK_PAGES;
    assert_true(brings_pair(&bench, 0));
    bench.fake.view.capacity[TIER]--;
    assert_false(brings_pair(&bench, 2));
    bench.fake.view.links = local;
    assert_true(brings_pair(&bench, 2));
    bench_close(&bench);
    remote_open(&bench, false);
    assert_true(brings_pair(&bench, 0));
    bench_close(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_circle),         cmocka_unit_test(test_dead),
        cmocka_unit_test(test_dead_come_back), cmocka_unit_test(test_forecast),
        cmocka_unit_test(test_ways),           cmocka_unit_test(test_new_launch),
        cmocka_unit_test(test_pairs_wait),     cmocka_unit_test(test_pairs_need_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
