/* What the sample policies of examples/policy decide, call by call. */
#include "engine/single.h"

static void load(const char *file) {
    struct ff_error error = {""};
    if (ff__policy_load(file, &error))
        fail_msg("%s", error.message);
}

/* The block that is evicted for the first page of this block. */
static uint32_t victim_for(uint32_t block) {
    assert_int_equal(fault(block, 0, 1, &job), FF__JOB_RUN);
    assert_int_equal(job.out_count, 1);
    uint32_t victim = job.out[0].block;
    carry_out(&job);
    return victim;
}

/* The hand passes a block that was served since it came by, once. */
static void test_clock(void **state) {
    (void)state;
    load(FARFAULT_CLOCK);
    open_engine("demand:evict=clock", 3);
    uint32_t first = add_range(6 * FF_BLOCK_PAGES);
    for (uint32_t i = 0; i < 3; i++)
        bring(first + i, 0, 1);
    assert_int_equal(victim_for(first + 3), first); /* all were served: the hand comes round */
    bring(first + 1, 1, 2);
    assert_int_equal(victim_for(first + 4), first + 2);
    close_engine();
}

/* At the same distance for the second time, the next blocks at that distance come. */
static void test_stride(void **state) {
    (void)state;
    struct ff_advice items[8];
    struct ff_advice_list list = {.items = items, .capacity = 8};
    load(FARFAULT_STRIDE);
    open_engine("demand:prefetch=stride,depth=2", 8);
    uint32_t first = add_range(16 * FF_BLOCK_PAGES);
    struct ff_fault_group groups[3] = {group_of(first, 0, 1), group_of(first + 2, 0, 1),
                                       group_of(first + 5, 0, 1)};
    ff__engine_batch(&engine, 1000, groups, 3, &list); /* 2, then 3 apart */
    assert_int_equal(list.count, 0);
    groups[0] = group_of(first + 8, 0, 1);
    ff__engine_batch(&engine, 1000, groups, 1, &list);
    assert_int_equal(list.count, 2);
    assert_int_equal(items[0].block, first + 11);
    assert_int_equal(items[1].block, first + 14);
    assert_int_equal(items[0].tier, 1);
    assert_int_equal(ff_mask_count(&items[0].pages), FF_BLOCK_PAGES);
    close_engine();
}

/* The second time, the blocks that faulted after the first one come; a fault of a range that was
 * freed between learning and publishing brings nothing. */
static void test_follow(void **state) {
    (void)state;
    struct ff_advice items[8];
    struct ff__learning_step step;
    static const uint32_t order[] = {0, 3, 1, 6};
    load(FARFAULT_FOLLOW);
    open_engine("demand:prefetch=follow", 16);
    uint32_t first = add_range(8 * FF_BLOCK_PAGES);
    for (uint32_t i = 0; i < 4; i++)
        bring(first + order[i], 0, 1);
    ff__engine_learn_all(&engine);
    for (int freed = 0; freed < 2; freed++) {
        struct ff_advice_list none = {.items = items, .capacity = 8}, list = none;
        ff__engine_plan(&engine, 1000, &none); /* nothing follows the last block yet */
        assert_int_equal(none.count, 0);
        for (uint32_t i = 0; i < 8; i++)
            if (ff__engine_evict(&engine, 1000, first + i, 1, NULL, NULL, &job) == FF__JOB_RUN)
                carry_out(&job);
        ff__engine_learn_all(&engine);
        bring(first, 0, 1);
        assert_true(ff__engine_take_events(&engine, &step));
        ff__engine_learn(&engine, &step);
        if (freed)
            remove_range(first);
        ff__engine_publish(&engine, &step);
        ff__engine_plan(&engine, 1000, &list);
        assert_int_equal(list.count, freed ? 0 : 4);
        assert_true(freed || (items[0].block == first + 3 && items[1].block == first + 1 &&
                              items[2].block == first + 6));
    }
    close_engine();
}

/* A range that was used at launches 1 and 3 is expected at 5, and comes while 4 runs. */
static void test_period(void **state) {
    (void)state;
    struct ff_advice items[8];
    load(FARFAULT_PERIOD);
    open_engine("demand:prefetch=period", 8);
    uint32_t blocks[2] = {add_range(100), add_range(100)};
    for (uint32_t i = 0; i < 5; i++) {
        struct ff_advice_list list = {.items = items, .capacity = 8};
        const struct ff_operand operand = {.range = engine.space.blocks[blocks[i % 2]].range};
        const struct ff__launch launch = {
            .tier = 1, .begins = true, .identity = i % 2, .operands = &operand, .operand_count = 1};
        assert_int_equal(ff__engine_launch(&engine, 1000, &launch, &list), 0);
        assert_int_equal(list.count, i < 3 ? 0 : 1); /* launch 3 told the first period */
        if (i == 3)
            assert_int_equal(items[0].block, blocks[0]);
    }
    assert_int_equal(ff_view_current_use(&engine.view, 1) >> 32, 5);
    assert_int_equal(ff_view_next_launch(&engine.view, 1, blocks[1]), 6);
    assert_int_equal(ff_view_next_use(&engine.view, 1, blocks[0]) >> 32, 7);
    close_engine();
}

/* The other device while more than half of it is free, then the host. */
static void test_roomiest(void **state) {
    (void)state;
    uint32_t tiers[FF_TIERS_MAX];
    load(FARFAULT_ROOMIEST);
    open_engine("demand:place=roomiest", 4);
    uint32_t block = add_range(FF_BLOCK_PAGES);
    assert_int_equal(engine.place->place(engine.place_state, &engine.view, block, 1, tiers), 2);
    assert_int_equal(tiers[0], 2);
    assert_int_equal(tiers[1], FF_TIER_HOST);
    uint32_t others = add_range(2 * FF_BLOCK_PAGES);
    for (uint32_t i = 0; i < 2; i++) {
        struct ff_fault_group group = group_of(others + i, 0, 1);
        group.tier = 2;
        assert_int_equal(ff__engine_fault(&engine, 1000, &group, &job), FF__JOB_RUN);
        carry_out(&job);
    }
    assert_int_equal(engine.place->place(engine.place_state, &engine.view, block, 1, tiers), 1);
    assert_int_equal(tiers[0], FF_TIER_HOST);
    close_engine();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock),    cmocka_unit_test(test_stride),
        cmocka_unit_test(test_follow),   cmocka_unit_test(test_period),
        cmocka_unit_test(test_roomiest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
