/* Advice by its actions: what each does, and why a piece of it is dropped. */
#include "engine/single.h"

static struct ff_advice advice_for(enum ff_action action, uint32_t block) {
    return (struct ff_advice){.action = action,
                              .block = block,
                              .tier = 1,
                              .launch = FF_NONE,
                              .pages = ff_mask_of_run(0, FF_BLOCK_PAGES)};
}

static int advise(const struct ff_advice *advice) {
    return ff__engine_advise(&engine, 1000, advice, &job);
}

static void expect_drop(const struct ff_advice *advice, enum ff_drop why) {
    uint64_t before = engine.space.stats.dropped_by_reason[why];
    uint64_t all = engine.space.stats.advice_dropped;
    assert_int_equal(advise(advice), FF__JOB_DROPPED);
    assert_int_equal(engine.space.stats.dropped_by_reason[why], before + 1);
    assert_int_equal(engine.space.stats.advice_dropped, all + 1);
    assert_true(engine.space.stats.dropped_by_reason[why] > 0);
    assert_true(engine.space.stats.advice_dropped > 0);
}

static void test_bring(void **state) {
    (void)state;
    open_engine("demand:evict=rogue-quiet", 1);
    uint32_t block = add_range(2 * FF_BLOCK_PAGES);
    struct ff_advice bring_it = advice_for(FF_BRING, block);
    assert_int_equal(advise(&bring_it), FF__JOB_RUN);
    expect_drop(&bring_it, FF_DROP_BUSY);
    carry_out(&job);
    expect_drop(&bring_it, FF_DROP_PRESENT);
    assert_int_equal(engine.space.stats.advice_applied, 1);
    bring_it.block = block + 1;
    expect_drop(&bring_it, FF_DROP_NO_ROOM); /* no victim is named */
    bring_it.pages = ff_mask_of_run(0, 0);
    expect_drop(&bring_it, FF_DROP_INVALID);
    bring_it.block = FF_NONE;
    expect_drop(&bring_it, FF_DROP_INVALID);
    close_engine();
}

static void test_evict(void **state) {
    (void)state;
    open_engine("demand", 4);
    uint32_t block = add_range(FF_BLOCK_PAGES);
    struct ff_advice evict = advice_for(FF_EVICT, block);
    expect_drop(&evict, FF_DROP_PRESENT);
    bring(block, 0, 100);
    evict.pages = ff_mask_of_run(0, 40);
    expect_drop(&evict, FF_DROP_UNSUPPORTED); /* memory is by the block here */
    evict.pages = ff_mask_of_run(0, 100);
    assert_int_equal(advise(&evict), FF__JOB_RUN);
    carry_out(&job);
    assert_false(ff_view_holds(&engine.view, 1, block));
    bring(block, 0, 100);
    ff_mask_clear(&evict.pages); /* the whole block */
    assert_int_equal(advise(&evict), FF__JOB_RUN);
    carry_out(&job);
    assert_false(ff_view_holds(&engine.view, 1, block));
    close_engine();
}

static void test_use_remote(void **state) {
    (void)state;
    open_engine("demand", 2);
    uint32_t block = add_range(FF_BLOCK_PAGES);
    struct ff_advice remote = advice_for(FF_USE_REMOTE, block);
    expect_drop(&remote, FF_DROP_UNSUPPORTED);
    backend.controls |= FF_CONTROLS_REMOTE;
    bring(block, 0, 10);
    remote.pages = ff_mask_of_run(0, 20);
    assert_int_equal(advise(&remote), FF__JOB_NONE);
    const struct ff_mask *pages = &ff__facts(&engine.space, block)->tier[1].remote;
    assert_int_equal(ff_mask_count(pages), 10);
    remote.pages = ff_mask_of_run(0, 10);
    expect_drop(&remote, FF_DROP_PRESENT);
    remote.action = FF_END_REMOTE; /* of pages that are there */
    assert_true(ff__engine_is_instant(&remote));
    expect_drop(&remote, FF_DROP_PRESENT);
    remote.pages = ff_mask_of_run(15, 30);
    assert_true(ff__engine_advise_now(&engine, &remote));
    assert_int_equal(ff_mask_count(pages), 5);
    assert_false(ff__engine_advise_now(&engine, &remote));
    close_engine();
}

static void test_unsupported(void **state) {
    (void)state;
    open_engine("demand", 2);
    uint32_t block = add_range(FF_BLOCK_PAGES);
    struct ff_advice advice = advice_for(FF_WRITE_BACK, block);
    expect_drop(&advice, FF_DROP_UNSUPPORTED);
    advice.action = FF_SAMPLE;
    expect_drop(&advice, FF_DROP_UNSUPPORTED);
    advice.action = FF_ACTIONS;
    expect_drop(&advice, FF_DROP_UNSUPPORTED);
    close_engine();
}

/* ---- samples ---- */

static struct {
    uint32_t calls, tier, range, launch;
    bool wanted, refuses;
} sampled;

static bool note_sample(void *self, uint32_t tier, uint32_t range, uint32_t launch, bool wanted) {
    assert_ptr_equal(self, &sampled);
    sampled.calls++;
    sampled.tier = tier;
    sampled.range = range;
    sampled.launch = launch;
    sampled.wanted = wanted;
    return !sampled.refuses;
}

/* The backend is told which range, under the running kernel; a busy block is no reason to wait. */
static void test_sample(void **state) {
    (void)state;
    const struct ff__sampler sampler = {.self = &sampled, .sample = note_sample};
    memset(&sampled, 0, sizeof sampled);
    open_engine("demand", 2);
    ff__engine_set_sampler(&engine, &sampler);
    add_range(100);
    uint32_t block = add_range(FF_BLOCK_PAGES);
    struct ff_advice sample = {.action = FF_SAMPLE, .block = block, .tier = 1, .launch = FF_NONE};
    expect_drop(&sample, FF_DROP_INVALID); /* no kernel runs */
    assert_int_equal(tell_launch(&engine, 1, 1, 7, true), 0);
    assert_int_equal(fault(block, 0, 1, &job), FF__JOB_RUN);
    struct ff__job other;
    assert_int_equal(ff__engine_advise(&engine, 1000, &sample, &other), FF__JOB_NONE);
    carry_out(&job);
    assert_int_equal(sampled.range, engine.space.blocks[block].range);
    assert_int_equal(sampled.tier, 1);
    assert_int_equal(sampled.launch, ff__running_latest(&engine.running[1]));
    assert_true(sampled.wanted);
    sample.ceases = true;
    sample.launch = ff__running_latest(&engine.running[1]);
    assert_int_equal(advise(&sample), FF__JOB_NONE);
    assert_false(sampled.wanted);
    sample.launch++;
    expect_drop(&sample, FF_DROP_INVALID);
    assert_int_equal(sampled.calls, 2);
    sampled.refuses = true;
    sample.launch = FF_NONE;
    expect_drop(&sample, FF_DROP_UNSUPPORTED);
    close_engine();
}

/* ---- policies ---- */

/* Advises at launches; is shown batches; knows ranges. */
static struct {
    uint32_t block;
    uint32_t batches, groups, last_tier;
    uint32_t added, freed, operands;
    uint64_t allocated; /* as the view says when a range is added */
    bool writes;
} script;

static void script_launch(void *state, const struct ff_view *view,
                          const struct ff_launch_event *event, struct ff_advice_list *advice) {
    (void)state;
    script.operands = event->operand_count;
    script.writes = event->operand_count > 0 && event->operands[0].writes;
    if (event->begins)
        ff_advise_block(advice, view, FF_BRING, script.block, event->tier);
}

static void script_batch(void *state, const struct ff_view *view,
                         const struct ff_fault_group *groups, uint32_t count,
                         struct ff_advice_list *advice) {
    (void)state;
    script.batches++;
    script.groups = count;
    script.last_tier = groups[count - 1].tier;
    const struct ff_range *range = &view->ranges[view->blocks[groups[0].block].range];
    for (uint32_t i = 0; i < range->block_count; i++)
        ff_advise_block(advice, view, FF_BRING, range->first_block + i, 1);
}

static void script_range_added(void *state, const struct ff_view *view, uint32_t range) {
    (void)state;
    assert_true(view->ranges[range].page_count > 0);
    script.allocated = view->allocated;
    script.added++;
}

static void script_range_freed(void *state, uint32_t range) {
    (void)state, (void)range;
    script.freed++;
}

static const struct ff_prefetch_policy scripted = {
    .base = {.name = "scripted",
             .api = FF_POLICY_API,
             .on_launch = script_launch,
             .range_added = script_range_added,
             .range_freed = script_range_freed},
    .on_batch = script_batch,
};

static void open_scripted(void) {
    static bool known;
    if (!known)
        assert_int_equal(ff__policy_register(FF__PREFETCH, &scripted.base, NULL), 0);
    known = true;
    memset(&script, 0, sizeof script);
    open_engine("demand:prefetch=scripted", 4);
}

static void test_launch_advice_and_operands(void **state) {
    (void)state;
    struct ff_advice items[4];
    struct ff_advice_list list = {.items = items, .capacity = 4};
    open_scripted();
    script.block = add_range(100);
    const struct ff_operand operand = {.range = engine.space.blocks[script.block].range,
                                       .writes = true};
    const struct ff__launch launch = {
        .tier = 2, .begins = true, .identity = 5, .operands = &operand, .operand_count = 1};
    assert_int_equal(ff__engine_launch(&engine, 1, &launch, &list), 0);
    assert_int_equal(script.operands, 1);
    assert_true(script.writes);
    assert_int_equal(list.count, 1);
    assert_int_equal(items[0].tier, 2);
    assert_int_equal(ff_mask_count(&items[0].pages), 100);
    close_engine();
}

static void test_batch(void **state) {
    (void)state;
    struct ff_advice items[2];
    struct ff_advice_list list = {.items = items, .capacity = 2};
    open_scripted();
    uint32_t block = add_range(3 * FF_BLOCK_PAGES);
    struct ff_fault_group groups[2] = {group_of(block, 3, 4), group_of(block + 2, 0, 1)};
    ff__engine_batch(&engine, 1000, groups, 2, &list);
    assert_int_equal(script.batches, 1);
    assert_int_equal(script.groups, 2);
    assert_int_equal(script.last_tier, 1); /* the range's home */
    assert_int_equal(list.count, 2);       /* of three blocks: the list is full */
    close_engine();
}

static void test_range_hooks(void **state) {
    (void)state;
    open_scripted();
    uint32_t block = add_range(10);
    assert_int_equal(script.added, 1);
    assert_int_equal(script.allocated, 10);
    add_range(1000);
    assert_int_equal(script.allocated, 1010);
    ff__engine_range_remove(&engine, engine.space.blocks[block].range);
    assert_int_equal(script.freed, 1);
    assert_int_equal(engine.view.allocated, 1000);
    close_engine();
}

/* ---- totals ---- */

static void test_totals(void **state) {
    (void)state;
    open_engine("nvidia-1", 4);
    uint32_t block = add_range(FF_BLOCK_PAGES), range = engine.space.blocks[block].range;
    assert_int_equal(tell_launch(&engine, 1, 1, 9, true), 0);
    bring(block, 7, 9); /* begins at 1000, ends at 2000; the block comes along */
    const struct ff__totals *of_range = &engine.range_totals[range];
    const struct ff__totals *of_kernel = &engine.kernel_totals[0];
    assert_int_equal(of_range->faults, 2);
    assert_int_equal(of_range->prefetched, 510);
    assert_int_equal(of_range->pages_in, 0); /* populated */
    assert_int_equal(of_range->stall_ns, 1000);
    assert_memory_equal(of_kernel, of_range, sizeof *of_range);
    struct ff_advice evict = advice_for(FF_EVICT, block);
    assert_int_equal(advise(&evict), FF__JOB_RUN);
    carry_out(&job);
    assert_int_equal(of_range->pages_out, 512);
    bring(block, 0, 1);
    assert_int_equal(of_range->refaults, 1);
    assert_int_equal(of_range->pages_in, 512);
    ff__engine_evict(&engine, 3000, block, 1, NULL, NULL, &job);
    carry_out(&job);
    ff__engine_range_remove(&engine, range);
    assert_int_equal(of_range->faults, 0);
    close_engine();
}

static void test_costs(void **state) {
    (void)state;
    struct ff__description device = {.base = FAKE_BASE,
                                     .address_space = 16 * (uint64_t)FF_BLOCK_SIZE,
                                     .tier_count = 2,
                                     .shows = ALL_SEEN,
                                     .controls = FF_CONTROLS_FAULTS | FF_CONTROLS_VICTIMS};
    device.tier[1].memory = 4 * (uint64_t)FF_BLOCK_SIZE;
    device.fault_ns = 20000;
    device.link[0][1] = (struct ff_link_cost){700, 12000000000, 0};
    device.link[1][0] = (struct ff_link_cost){800, 13000000000, 0};
    device.copies_on_processors = device.parts_cost_more = true;
    struct ff__engine_config config = config_for("demand", 4);
    ff__engine_configure(&config, &device);
    assert_int_equal(ff__engine_init(&engine, &config, NULL), 0);
    assert_int_equal(engine.view.fault_ns, 20000);
    assert_int_equal(engine.view.links[0 * 2 + 1].latency_ns, 700);
    assert_int_equal(engine.view.links[0 * 2 + 1].bytes_per_second, 12000000000);
    assert_int_equal(engine.view.links[1 * 2 + 0].latency_ns, 800);
    assert_int_equal(engine.view.links[1 * 2 + 0].bytes_per_second, 13000000000);
    assert_true(engine.view.copies_on_processors && engine.view.parts_cost_more);
    ff__engine_fini(&engine);
}

int main(void) {
    rogues_register();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bring),      cmocka_unit_test(test_evict),
        cmocka_unit_test(test_use_remote), cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_sample),     cmocka_unit_test(test_launch_advice_and_operands),
        cmocka_unit_test(test_batch),      cmocka_unit_test(test_range_hooks),
        cmocka_unit_test(test_totals),     cmocka_unit_test(test_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
