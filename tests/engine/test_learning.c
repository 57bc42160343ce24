/* Learning step by step: which events a policy is shown, and what may happen between learning from
 * them and publishing that. */
#include "engine/single.h"

static struct ff__learning_step step;

/* ---- the queue ---- */

static void test_events_come_in_order(void **state) {
    (void)state;
    rogue_finding[0] = '\0';
    open_engine("demand:prefetch=watch,evict=watch", 1);
    uint32_t block = add_range(1024);
    assert_false(ff__engine_take_events(&engine, &step));
    assert_int_equal(tell_launch(&engine, 10, 1, 77, true), 0);
    bring(block, 7, 9);
    bring(block + 1, 0, 1);
    assert_true(ff__engine_take_events(&engine, &step));
    assert_int_equal(step.count, 1); /* a launch is the last of a step */
    assert_int_equal(step.events[0].kind, FF_EVENT_LAUNCH);
    ff__engine_learn(&engine, &step);
    ff__engine_publish(&engine, &step);
    assert_true(ff__engine_take_events(&engine, &step));
    assert_int_equal(step.count, 3);
    assert_int_equal(step.events[0].kind, FF_EVENT_FAULT);
    assert_int_equal(step.events[0].block, block);
    assert_int_equal(step.events[0].page, 7);
    assert_int_equal(step.events[0].launch, 0);
    assert_int_equal(step.events[1].kind, FF_EVENT_FAULT);
    assert_int_equal(step.events[2].kind, FF_EVENT_EVICTED);
    assert_int_equal(step.events[2].block, block);
    ff__engine_learn(&engine, &step);
    ff__engine_publish(&engine, &step);
    assert_string_equal(rogue_finding, "");
    close_engine();
}

static void test_steps_are_bounded(void **state) {
    (void)state;
    uint32_t count = 0;
    open_engine("demand:prefetch=next", 4);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(tell_launch(&engine, 10, 1, 0, i == 0), 0);
    for (; ff__engine_take_events(&engine, &step); count += step.count)
        assert_in_range(step.count, 1, FF_LEARN_EVENTS);
    assert_int_equal(count, 1000);
    close_engine();
}

static uint32_t launches_learned;

static void count_launches(void *policy_state, const struct ff_event *events, uint32_t count) {
    (void)policy_state;
    for (uint32_t i = 0; i < count; i++)
        launches_learned += events[i].kind == FF_EVENT_LAUNCH;
}

static const struct ff_learn_hooks counting = {.learn = count_launches};

static const struct ff_prefetch_policy counts_launches = {
    .base = {.name = "counts-launches", .summary = "counts", .api = FF_POLICY_API},
    .learning = &counting,
};

/* However slow learning is, no launch is lost if the caller makes room first. Faults may be lost,
 * and are counted. */
static void test_no_launch_is_lost(void **state) {
    (void)state;
    launches_learned = 0;
    open_engine("demand:prefetch=counts-launches", 4);
    uint32_t block = add_range(512);
    for (uint64_t i = 0; i < 20000; i++)
        assert_int_equal(tell_launch(&engine, i, 1, i % 7, true), 0);
    while (ff__engine_can_tell(&engine))
        assert_int_equal(tell_launch(&engine, 20000, 1, 1, false), 0);
    bring(block, 0, 1);
    assert_int_equal(engine.space.stats.events_dropped, 1);
    ff__engine_learn_all(&engine);
    assert_int_equal(launches_learned, 20000);
    bring(block, 1, 2);
    assert_true(ff__engine_take_events(&engine, &step));
    assert_int_equal(step.count, 1);
    assert_int_equal(engine.space.stats.events_dropped, 1);
    close_engine();
}

/* ---- between learning and publishing ---- */

static struct ff_event shown[FF_LEARN_EVENTS];
static uint32_t shown_count;

static void show(void *policy_state, const struct ff_event *events, uint32_t count) {
    (void)policy_state;
    memcpy(shown, events, count * sizeof *events);
    shown_count = count;
}

static const struct ff_learn_hooks showing = {.publish = show};

static const struct ff_prefetch_policy shows_events = {
    .base = {.name = "shows-events", .summary = "shows", .api = FF_POLICY_API},
    .learning = &showing,
};

static uint32_t range_of(uint32_t block) {
    return engine.space.blocks[block].range;
}

/* Of two ranges, the first is freed and its number given to a third: before the events are taken,
 * or after they have been learned from. */
static void test_freed_range(void **state) {
    (void)state;
    for (int learned = 0; learned < 2; learned++) {
        open_engine("demand:prefetch=shows-events", 4);
        uint32_t gone = add_range(512), stays = add_range(512), range = range_of(gone);
        bring(gone, 0, 1);
        bring(stays, 0, 1);
        if (learned && ff__engine_take_events(&engine, &step))
            ff__engine_learn(&engine, &step);
        remove_range(gone);
        uint32_t new = add_range(512);
        assert_int_equal(new, gone);
        assert_int_equal(range_of(new), range);
        bring(new, 5, 6);
        if (!learned)
            assert_true(ff__engine_take_events(&engine, &step));
        ff__engine_publish(&engine, &step);
        assert_true(shown_count >= 2);
        assert_int_equal(shown[0].kind, FF_EVENT_VOID);
        assert_int_equal(shown[1].kind, FF_EVENT_FAULT);
        assert_int_equal(shown[1].block, stays);
        if (learned) {
            assert_int_equal(shown_count, 2);
            assert_true(ff__engine_take_events(&engine, &step));
            ff__engine_publish(&engine, &step);
        }
        const struct ff_event *last = &shown[shown_count - 1];
        assert_int_equal(last->kind, FF_EVENT_FAULT); /* of the new range */
        assert_int_equal(last->block, new);
        assert_int_equal(last->page, 5);
        for (uint32_t i = 0; i + 1 < shown_count; i++) /* its evictions, too */
            assert_true(shown[i].range != range || shown[i].kind == FF_EVENT_VOID);
        close_engine();
    }
}

/* A fault of a kernel whose execution ID is freed before it is published keeps that ID, which is no
 * other kernel's. */
static void test_freed_launch(void **state) {
    (void)state;
    struct ff__engine_config config = config_for("demand:prefetch=shows-events", 4);
    config.launch_limit = 1;
    assert_int_equal(ff__engine_init(&engine, &config, NULL), 0);
    fake_open(&fake, &engine.space, 1);
    uint32_t block = add_range(512);
    assert_int_equal(tell_launch(&engine, 1, 1, 7, true), 0);
    ff__engine_learn_all(&engine);
    uint32_t id = ff__running_latest(&engine.running[1]);
    bring(block, 0, 1);
    assert_true(ff__engine_take_events(&engine, &step));
    ff__engine_learn(&engine, &step);
    assert_int_equal(tell_launch(&engine, 2, 1, 8, true), 0);
    ff__engine_publish(&engine, &step);
    assert_int_equal(shown_count, 1);
    assert_int_equal(shown[0].launch, id);
    assert_int_not_equal(ff__running_latest(&engine.running[1]), id);
    ff__engine_learn_all(&engine);
    assert_int_equal(shown[0].launch, ff__running_latest(&engine.running[1]));
    close_engine();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_come_in_order), cmocka_unit_test(test_steps_are_bounded),
        cmocka_unit_test(test_no_launch_is_lost),    cmocka_unit_test(test_freed_range),
        cmocka_unit_test(test_freed_launch),
    };
    rogues_register();
    if (ff__policy_register(FF__PREFETCH, &counts_launches.base, NULL) ||
        ff__policy_register(FF__PREFETCH, &shows_events.base, NULL))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
