/* Faults that a policy throttles: each is served when its time has come, whatever else goes on. */
#include "engine/pause.h"
#include "engine/users.h"

struct babble {
    struct pause pause;
    uint64_t planned;
};

/* As `pause`, and a plan that never ends: always other blocks than the first four. */
static void babble_plan(void *policy_state, const struct ff_view *view,
                        struct ff_advice_list *list) {
    struct babble *babble = policy_state;
    struct ff_advice advice = {.tier = 1, .launch = FF_NONE, .pages = ff_mask_of_run(0, 512)};
    do
        advice.block = 4 + (uint32_t)(babble->planned++ % 60);
    while (view->blocks[advice.block].page_count > 0 && ff_advice_add(list, &advice));
}

static const struct ff_learn_hooks babbling = {.plan = babble_plan};

static const struct ff_prefetch_policy babble_policy = {
    .base = {.name = "babble",
             .summary = "pauses, and plans without end",
             .api = FF_POLICY_API,
             .state_size = sizeof(struct babble),
             .block_state_size = sizeof(struct ff_mask),
             .params = pause_params,
             .init = pause_init},
    .on_fault = pause_on_fault,
    .learning = &babbling,
};

static void test_throttled_faults_are_served(void **state) {
    (void)state;
    struct live_shape shape = {
        .system = "demand:prefetch=pause", .devices = 1, .chunks = 6, .trouble = {.nap_us = 10}};
    check_users(&shape, 8, 120);
    shape.self_service = true;
    check_users(&shape, 8, 120);
}

static void post_one_fault_a_block(uint32_t first, uint32_t end) {
    pthread_mutex_lock(&live.device->lock);
    for (uint32_t block = first; block < end; block++)
        fake_device_post(live.device, block, 3, false);
    pthread_mutex_unlock(&live.device->lock);
}

static void open_with_blocks(const char *system, uint32_t count, uint32_t chunks) {
    live_open(&live,
              &(struct live_shape){
                  .system = system, .devices = 1, .chunks = chunks, .trouble = {.nap_us = 50}});
    assert_int_equal(live_add(&live, (uint64_t)count * FF_BLOCK_PAGES, 1), 0);
}

/* Waits for them, and ends all, so that a failure does no harm to the next test. */
static bool all_come_before_the_end(uint32_t count) {
    struct ff_mask page = ff_mask_of_run(3, 4);
    bool come = true;
    for (uint32_t block = 0; block < count && come; block++)
        come = live_has_come(&live, block, &page, UINT64_C(10000000000));
    fake_device_let_go(live.device);
    ff__pipeline_stop(&live.pipeline);
    live_free(&live);
    return come;
}

#define MANY 64u

static void test_a_batch_of_throttled_faults(void **state) {
    (void)state;
    open_with_blocks("demand:prefetch=pause", MANY, 200);
    post_one_fault_a_block(0, MANY);
    assert_true(all_come_before_the_end(MANY));
}

/* Page 3 is known to the policy and served at once, page 4 of the same group has to wait. */
static void test_a_part_of_a_group_is_throttled(void **state) {
    (void)state;
    struct ff_mask both = ff_mask_of_run(3, 5);
    open_with_blocks("demand:prefetch=pause", 4, 4);
    assert_int_equal(live_touch(&live, 1, 3, true), TOUCHED);
    live_evict(&live, 1, NULL, false);
    pthread_mutex_lock(&live.device->lock);
    fake_device_post(live.device, 1, 3, false);
    fake_device_post(live.device, 1, 4, false);
    pthread_mutex_unlock(&live.device->lock);
    assert_true(live_come(&live, 1, &both, UINT64_C(20000000000)));
    live_close(&live);
}

static void test_many_throttled_faults(void **state) {
    (void)state;
    open_with_blocks("demand:prefetch=pause,pause=50ms", 2 * MANY, 200);
    post_one_fault_a_block(0, 2 * MANY);
    assert_true(all_come_before_the_end(2 * MANY));
}

static void test_stop_with_throttled_faults(void **state) {
    (void)state;
    open_with_blocks("demand:prefetch=pause,pause=1000s", 150, 200);
    post_one_fault_a_block(70, 150);
    usleep(200000);
    fake_device_let_go(live.device);
    ff__pipeline_stop(&live.pipeline);
    live_free(&live);
}

static void test_advice_does_not_starve_throttled_faults(void **state) {
    (void)state;
    open_with_blocks("demand:prefetch=babble", 64, 8);
    assert_int_equal(launch_live(1, 1, true), 0); /* something to plan on */
    usleep(20000);
    post_one_fault_a_block(0, 4);
    assert_true(all_come_before_the_end(4));
}

static uint32_t asks;

static void count_asks(void *policy_state, const struct ff_view *view,
                       const struct ff_fault_group *group, struct ff_fault_advice *advice) {
    (void)policy_state, (void)view, (void)group, (void)advice;
    asks++;
}

static const struct ff_prefetch_policy asked_policy = {
    .base = {.name = "asked", .summary = "counts questions", .api = FF_POLICY_API},
    .on_fault = count_asks,
};

/* A fault that waits for room, through many turns, is one fault. */
static void test_waiting_for_room_asks_once(void **state) {
    (void)state;
    live_open(&live, &(struct live_shape){.system = "demand:prefetch=asked",
                                          .devices = 1,
                                          .chunks = 1,
                                          .trouble = {.slow_us = 200000}});
    assert_int_equal(live_add(&live, 2 * 512, 1), 0);
    struct ff_advice advice = {
        .block = 1, .tier = 1, .launch = FF_NONE, .pages = ff_mask_of_run(0, 10)};
    asks = 0;
    assert_true(ff__pipeline_advise(&live.pipeline, &advice));
    live_await_work(&live, 1);
    assert_int_equal(live_touch(&live, 0, 100, true), TOUCHED);
    live_close(&live);
    assert_int_equal(asks, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_throttled_faults_are_served),
        cmocka_unit_test(test_a_batch_of_throttled_faults),
        cmocka_unit_test(test_a_part_of_a_group_is_throttled),
        cmocka_unit_test(test_many_throttled_faults),
        cmocka_unit_test(test_stop_with_throttled_faults),
        cmocka_unit_test(test_advice_does_not_starve_throttled_faults),
        cmocka_unit_test(test_waiting_for_room_asks_once),
    };
    if (ff__policy_register(FF__PREFETCH, &pause_policy.base, NULL) ||
        ff__policy_register(FF__PREFETCH, &babble_policy.base, NULL) ||
        ff__policy_register(FF__PREFETCH, &asked_policy.base, NULL))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
