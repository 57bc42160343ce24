/* The evictor `forest-plus`, without an engine: which block leaves, by classes, launches and
 * arrivals. */
#include "base/cases.h"

#include "base/random.h"
#include "policy/registry.h"
#include "view.h"

#define RANGES 3u
#define EACH   4u /* blocks of a range */
#define BLOCKS (RANGES * EACH)
#define NOBODY FF_NONE

static const struct ff_evict_policy *const plus = &ff__evict_forest_plus;

struct bench {
    struct fake fake;
    struct ff_range ranges[RANGES];
    struct instance instance;
    struct ff_advice items[16];
    uint32_t running; /* the kernel that was launched last */
};

static void open_bench(struct bench *bench, int64_t latest) {
    memset(bench, 0, sizeof *bench);
    fake_open(&bench->fake, 2, BLOCKS);
    for (uint32_t i = 0; i < RANGES; i++)
        bench->ranges[i] = (struct ff_range){.first_block = i * EACH,
                                             .block_count = EACH,
                                             .page_count = (uint64_t)EACH * FF_BLOCK_PAGES};
    for (uint32_t i = 0; i < BLOCKS; i++)
        bench->fake.blocks[i].range = i / EACH;
    bench->fake.view.ranges = bench->ranges;
    instance_init(&bench->instance, &plus->base);
    instance_set(&bench->instance, "latest", latest);
    instance_set(&bench->instance, "record", 1);
    instance_open(&bench->instance, &bench->fake.view, 1);
    for (uint32_t i = 0; i < RANGES; i++)
        plus->base.range_added(bench->instance.state, &bench->fake.view, i);
}

static void close_bench(struct bench *bench) {
    instance_close(&bench->instance);
    fake_close(&bench->fake);
}

static void tell_launch(struct bench *bench, const struct ff_launch_event *event) {
    struct ff_advice_list advice = {.items = bench->items, .capacity = 16};
    plus->base.on_launch(bench->instance.state, &bench->fake.view, event, &advice);
}

/* Launches a kernel that uses one range, and is numbered like it, beside what runs. */
static void launch_beside(struct bench *bench, uint32_t range) {
    const struct ff_operand operand = {.range = range, .reads = true};
    tell_launch(bench, &(struct ff_launch_event){range, 1, true, &operand, 1, false});
    bench->running = range;
}

static void end(struct bench *bench, uint32_t launch) {
    tell_launch(bench, &(struct ff_launch_event){.launch = launch, .tier = 1});
}

static void launch(struct bench *bench, uint32_t range) {
    end(bench, bench->running);
    launch_beside(bench, range);
}

/* The range is linear under that kernel, which runs. */
static void show_line_under(struct bench *bench, uint32_t launch, uint32_t range) {
    struct ff_sample line[EACH];
    struct ff_advice_list advice = {.items = bench->items, .capacity = 16};
    for (uint32_t i = 0; i < EACH; i++)
        line[i] =
            (struct ff_sample){.block = range * EACH + i, .page_count = FF_BLOCK_PAGES, .rank = i};
    const struct ff_sample_round round = {
        .range = range, .launch = launch, .tier = 1, .items = line, .count = EACH};
    plus->base.samples->on_samples(bench->instance.state, &bench->fake.view, &round, &advice);
}

static void show_line(struct bench *bench, uint32_t range) {
    show_line_under(bench, range, range);
}

static void arrive(struct bench *bench, uint32_t block) {
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    fake_set_frame(&bench->fake, 1, block, block * FF_CHUNK_LEAVES);
    *fake_resident(&bench->fake, 1, block) = all;
    plus->base.on_arrival(bench->instance.state, &bench->fake.view,
                          &(struct ff_arrival){FF_ARRIVAL_SERVED, block, 1, true, &all});
}

static void arrive_all(struct bench *bench, uint32_t range) {
    for (uint32_t i = 0; i < EACH; i++)
        arrive(bench, range * EACH + i);
}

static void leave(struct bench *bench, uint32_t block) {
    fake_set_frame(&bench->fake, 1, block, FF_NONE);
    plus->base.on_leave(bench->instance.state, &bench->fake.view,
                        &(struct ff_leave){FF_LEAVE_RELEASED, block, 1, NULL});
}

static uint32_t first_victim(struct bench *bench, enum ff_evict_cause cause) {
    struct ff_victim items[BLOCKS];
    struct ff_victim_list victims = {.items = items, .capacity = BLOCKS};
    const struct ff_evict_request request = {cause, 1, FF_NONE, FF_BLOCK_PAGES, FF_BLOCK_PAGES};
    plus->pick(bench->instance.state, &bench->fake.view, &request, &victims);
    for (uint32_t i = 0; i < victims.count; i++)
        for (uint32_t j = 0; j < i; j++)
            assert_int_not_equal(items[i].block, items[j].block);
    return victims.count > 0 ? items[0].block : NOBODY;
}

static void expect(struct bench *bench, uint32_t block) {
    assert_int_equal(first_victim(bench, FF_EVICT_FOR_FAULT), block);
}

/* What came first; of a line, what came last but for the latest arrival. */
static void test_order(void **state) {
    (void)state;
    struct bench bench;
    open_bench(&bench, 1);
    launch(&bench, 0);
    arrive_all(&bench, 0);
    expect(&bench, 0);
    show_line(&bench, 0);
    expect(&bench, 2);
    leave(&bench, 2);
    expect(&bench, 1);
    arrive(&bench, 0);
    expect(&bench, 3);
    close_bench(&bench);
}

/* Of a line whose blocks come in pieces, the block that came first: it was last in use longest ago.
 * One such block changes nothing. */
static void test_pieces(void **state) {
    (void)state;
    struct bench bench;
    open_bench(&bench, 1);
    launch(&bench, 0);
    show_line(&bench, 0);
    arrive_all(&bench, 0);
    expect(&bench, 2);
    fake_set_frame(&bench.fake, 1, EACH - 1, FF__SPLIT_PAGES);
    expect(&bench, 2);
    for (uint32_t i = 0; i < EACH; i++)
        fake_set_frame(&bench.fake, 1, i, FF__SPLIT_PAGES);
    expect(&bench, 0);
    arrive(&bench, 0);
    fake_set_frame(&bench.fake, 1, 0, FF__SPLIT_PAGES);
    expect(&bench, 1);
    close_bench(&bench);
}

/* A range that is used as a whole, but in no order, loses what came last, too. */
static void test_intensity(void **state) {
    (void)state;
    static const uint32_t order[EACH] = {2, 0, 3, 1};
    struct bench bench;
    struct ff_sample samples[EACH];
    struct ff_advice_list advice = {.items = bench.items, .capacity = 16};
    open_bench(&bench, 1);
    launch(&bench, 0);
    arrive_all(&bench, 0);
    for (uint32_t i = 0; i < EACH; i++)
        samples[i] = (struct ff_sample){.block = order[i], .page_count = FF_BLOCK_PAGES, .rank = i};
    const struct ff_sample_round round = {
        .range = 0, .launch = 0, .tier = 1, .items = samples, .count = EACH};
    plus->base.samples->on_samples(bench.instance.state, &bench.fake.view, &round, &advice);
    expect(&bench, 2);
    close_bench(&bench);
}

/* Of two lines, the one that is needed later; what has not been used for twice its interval is
 * needed no more, and what a launch uses in another order may be needed now. */
static void test_next_use(void **state) {
    (void)state;
    struct bench bench;
    open_bench(&bench, 0);
    arrive_all(&bench, 0);
    arrive_all(&bench, 1);
    arrive_all(&bench, 2);
    for (unsigned pass = 0; pass < 3; pass++) {
        launch(&bench, 0);
        show_line(&bench, 0);
        launch(&bench, 1);
        show_line(&bench, 1);
        launch(&bench, 2);
    }
    expect(&bench, EACH + EACH - 1); /* 0 is needed in 1 launch, 1 in 2, 2 now */
    launch(&bench, 0);
    expect(&bench, EACH - 1); /* just passed: in 3 */
    for (unsigned i = 0; i < 4; i++)
        launch(&bench, 0);
    expect(&bench,
           EACH + EACH - 1); /* 1 and 2 are late, but may come next, as 0: the latest arrival */
    for (unsigned i = 0; i < 4; i++)
        launch(&bench, 0);
    expect(&bench, EACH); /* what came first of what is not needed */
    close_bench(&bench);
}

/* The latest arrivals leave for a fault only, and not if anything else can. */
static void test_latest(void **state) {
    (void)state;
    struct bench bench;
    open_bench(&bench, 4);
    launch(&bench, 0);
    arrive_all(&bench, 0);
    assert_int_equal(first_victim(&bench, FF_EVICT_FOR_PREFETCH), 0); /* half of them are spared */
    fake_facts(&bench.fake, 0)->busy = 1;
    fake_facts(&bench.fake, 1)->busy = 1;
    assert_int_equal(first_victim(&bench, FF_EVICT_FOR_PREFETCH), NOBODY);
    assert_int_equal(first_victim(&bench, FF_EVICT_AHEAD), NOBODY);
    expect(&bench, 2);
    close_bench(&bench);
}

/* A launch that goes through two ranges spares the latest arrivals of each, also of one of which
 * nothing has come for long: it may be passed slowly. The next launch uses one of them, and spares
 * nothing of the other. */
static void test_shares(void **state) {
    (void)state;
    static const struct ff_operand operands[] = {{.range = 0}, {.range = 1}};
    const struct ff_launch_event event = {0, 1, true, operands, 2, false};
    struct bench bench;
    open_bench(&bench, 4);
    tell_launch(&bench, &event);
    show_line_under(&bench, 0, 0);
    show_line_under(&bench, 0, 1);
    arrive_all(&bench, 1);
    arrive_all(&bench, 0);
    expect(&bench, 1); /* of 0 to 3 and 4 to 7, two each are spared */
    end(&bench, 0);
    tell_launch(&bench, &event);
    launch(&bench, 0);
    expect(&bench, EACH + EACH - 1); /* both are needed in one launch */
    close_bench(&bench);
}

/* What no launch has named may be needed until launches repeat without it, unless one has faulted
 * there. */
static void test_unnamed(void **state) {
    (void)state;
    struct bench bench;
    open_bench(&bench, 0);
    arrive_all(&bench, 0);
    arrive_all(&bench, 1);
    launch(&bench, 0);
    show_line(&bench, 0);
    expect(&bench, EACH - 1); /* both may be needed now; a line loses its newest */
    end(&bench, 0);
    launch(&bench, 0);
    show_line(&bench, 0);
    expect(&bench, EACH);
    arrive(&bench, 2 * EACH); /* by a fault, while the launch runs */
    for (uint32_t i = 0; i < EACH; i++)
        leave(&bench, EACH + i);
    end(&bench, 0);
    launch(&bench, 0);
    show_line(&bench, 0);
    expect(&bench, EACH - 1);
    close_bench(&bench);
}

/* Between launches, what the last one has used is needed after as many as before. */
static void test_between(void **state) {
    (void)state;
    struct bench bench;
    open_bench(&bench, 0);
    launch(&bench, 0);
    launch(&bench, 1);
    launch(&bench, 0); /* in no order: all of it may be needed now */
    end(&bench, 0);
    arrive_all(&bench, 2); /* as an upload does: may be needed, too */
    arrive_all(&bench, 0);
    expect(&bench, 0);
    close_bench(&bench);
}

/* Launches of another queue begin and end beside one that takes long: what it uses is still in use.
 */
static void test_beside(void **state) {
    (void)state;
    struct bench bench;
    open_bench(&bench, 4);
    launch(&bench, 0);
    show_line(&bench, 0);
    arrive_all(&bench, 0);
    arrive_all(&bench, 1);
    for (uint32_t i = 0; i < 20; i++) {
        launch_beside(&bench, 1);
        show_line(&bench, 1);
        expect(&bench, EACH + 1); /* two of each are spared */
        end(&bench, 1);
        expect(&bench,
               i == 0 ? EACH : EACH + EACH - 1); /* not needed again, as it seems; in one launch */
    }
    for (uint32_t i = 0; i < EACH; i++)
        leave(&bench, EACH + i);
    expect(&bench, 1);
    close_bench(&bench);
}

/* Against a list that is kept by hand, over random arrivals and departures. */
static void test_random(void **state) {
    (void)state;
    struct bench bench;
    struct ff__random random = ff__random_seeded(5);
    uint32_t when[EACH] = {0}, now = 0;
    open_bench(&bench, 0);
    launch(&bench, 1);
    for (unsigned i = 0; i < 20000; i++) {
        uint32_t block = ff__random_below(&random, EACH), oldest = EACH;
        bool leaves = when[block] > 0 && ff__random_below(&random, 2);
        if (leaves)
            leave(&bench, block);
        else
            arrive(&bench, block);
        when[block] = leaves ? 0 : ++now;
        for (uint32_t j = 0; j < EACH; j++)
            if (when[j] > 0 && (oldest == EACH || when[j] < when[oldest]))
                oldest = j;
        expect(&bench, oldest == EACH ? NOBODY : oldest);
    }
    close_bench(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),    cmocka_unit_test(test_intensity),
        cmocka_unit_test(test_next_use), cmocka_unit_test(test_latest),
        cmocka_unit_test(test_shares),   cmocka_unit_test(test_beside),
        cmocka_unit_test(test_unnamed),  cmocka_unit_test(test_between),
        cmocka_unit_test(test_pieces),   cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
