/* The pipeline learns and plans: beside faults, which do not wait for it, and while launches and
 * ranges come and go. */
#include "engine/users.h"

#include <semaphore.h>

/* ---- learning and planning ---- */

static void test_next_block_comes_ahead(void **state) {
    (void)state;
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    live_open(&live,
              &(struct live_shape){.system = "demand:prefetch=next", .devices = 1, .chunks = 32});
    uint32_t block = live_add(&live, 12 * 512, 1);
    for (uint32_t i = 0; i < 12; i += 3) { /* each fault teaches, and brings two blocks more */
        assert_int_equal(live_touch(&live, block + i, 7, true), TOUCHED);
        assert_true(live_come(&live, block + i + 1, &all, UINT64_C(20000000000)));
        assert_true(live_come(&live, block + i + 2, &all, UINT64_C(20000000000)));
    }
    ff__lock_acquire(&live.pipeline.lock);
    assert_int_equal(live.engine.space.stats.faults, 4);
    ff__lock_release(&live.pipeline.lock);
    live_close(&live);
}

static void test_learning_under_load(void **state) {
    (void)state;
    check_users(
        &(struct live_shape){
            .system = "nvidia:prefetch=next", .devices = 2, .chunks = 4, .trouble = {.nap_us = 20}},
        8, 1000);
    assert_true(last_stats.prefetched > 0);
}

/* ---- learning without the lock ---- */

/* Learns from one step's events for as long as a test wants, and counts launches. */
static struct {
    sem_t begun, go_on;
    bool waits;
    bool is_used; /* atomic */
    uint32_t launches;
} ponder;

static void ponder_learn(void *policy_state, const struct ff_event *events, uint32_t count) {
    (void)policy_state;
    for (uint32_t i = 0; i < count; i++)
        ponder.launches += events[i].kind == FF_EVENT_LAUNCH;
    if (!ponder.waits)
        return;
    ponder.waits = false;
    sem_post(&ponder.begun);
    while (sem_wait(&ponder.go_on))
        ;
}

static bool ponder_is_used(const void *policy_state) {
    (void)policy_state;
    return __atomic_load_n(&ponder.is_used, __ATOMIC_RELAXED);
}

static const struct ff_learn_hooks pondering = {.learn = ponder_learn, .is_used = ponder_is_used};

static const struct ff_prefetch_policy ponder_policy = {
    .base = {.name = "ponder", .summary = "learns for long", .api = FF_POLICY_API},
    .learning = &pondering,
};

/* Opens with one range, one fault of which is being learned from. */
static void open_pondering(void) {
    ponder.launches = 0;
    ponder.waits = ponder.is_used = true;
    assert_int_equal(sem_init(&ponder.begun, 0, 0) | sem_init(&ponder.go_on, 0, 0), 0);
    live_open(&live,
              &(struct live_shape){.system = "demand:prefetch=ponder", .devices = 1, .chunks = 4});
    assert_int_equal(live_add(&live, 8 * 512, 1), 0);
    assert_int_equal(live_touch(&live, 0, 0, true), TOUCHED);
    while (sem_wait(&ponder.begun))
        ;
}

static void wait_for_learning(void) {
    ff__lock_acquire(&live.pipeline.lock);
    while (!ff__queue_empty(&live.engine.events))
        ff__pipeline_sleep(&live.pipeline, &live.pipeline.room, 1000000);
    ff__lock_release(&live.pipeline.lock);
}

static void close_pondering(void) {
    live_close(&live);
    sem_destroy(&ponder.begun);
    sem_destroy(&ponder.go_on);
}

static void test_faults_do_not_wait_for_learning(void **state) {
    (void)state;
    open_pondering();
    for (uint32_t page = 1; page < 4000; page++)
        assert_int_equal(live_touch(&live, page / 512, page % 512, true), TOUCHED);
    assert_int_equal(launch_live(1, 1, true), 0);
    sem_post(&ponder.go_on);
    close_pondering();
}

#define LAUNCHES_OF_ONE 10000u /* more than the queue of events holds */

static uint32_t launches_told;

static void *launch_often(void *argument) {
    for (uint32_t i = 0; i < LAUNCHES_OF_ONE; i++) {
        launch_live(1, i % 5, true);
        __atomic_fetch_add(&launches_told, 1, __ATOMIC_RELAXED);
    }
    return argument;
}

static void test_launches_wait_for_learning(void **state) {
    (void)state;
    pthread_t launcher;
    uint32_t before, told = 0;
    open_pondering();
    launches_told = 0;
    assert_int_equal(pthread_create(&launcher, NULL, launch_often, NULL), 0);
    do { /* until it waits for room */
        before = told;
        usleep(100000);
        told = __atomic_load_n(&launches_told, __ATOMIC_RELAXED);
    } while (told != before || told == 0);
    assert_true(told < LAUNCHES_OF_ONE);
    assert_int_equal(live_touch(&live, 1, 0, true),
                     TOUCHED); /* which does not keep faults waiting */
    sem_post(&ponder.go_on);
    pthread_join(launcher, NULL);
    wait_for_learning();
    ff__lock_acquire(&live.pipeline.lock);
    assert_int_equal(live.engine.space.stats.events_dropped, 1); /* the fault */
    ff__lock_release(&live.pipeline.lock);
    close_pondering();
    assert_int_equal(ponder.launches, LAUNCHES_OF_ONE);
}

/* Whether launches are urgent from some time after a fault on, as long as what is learned is used.
 */
static void check_urgency(bool is_used, uint32_t block) {
    __atomic_store_n(&ponder.is_used, is_used, __ATOMIC_RELAXED);
    assert_int_equal(live_touch(&live, block, 0, true), TOUCHED);
    for (uint32_t i = 0; i < 100000; i++) {
        if (__atomic_load_n(&live.pipeline.is_urgent, __ATOMIC_RELAXED) == is_used)
            return;
        usleep(100);
    }
    fail_msg("launches are %surgent", is_used ? "not " : "");
}

/* Where what is learned is not used, launches need not wait for a lock, and are learned later. */
static void test_learning_that_is_not_used(void **state) {
    (void)state;
    open_pondering();
    sem_post(&ponder.go_on);
    assert_int_equal(launch_live(1, 1, true), 0);
    for (uint32_t block = 1; block < 8; block++) /* until some have left */
        assert_int_equal(live_touch(&live, block, 0, true), TOUCHED);
    check_urgency(true, 0);
    check_urgency(false, 1);
    assert_int_equal(launch_live(1, 1, true), 0);
    check_urgency(true, 2);
    wait_for_learning();
    close_pondering();
    assert_int_equal(ponder.launches, 2);
}

/* ---- while all changes ---- */

/* Launches more kernels than the engine knows at a time, so that their execution IDs are freed,
 * too. */
static void *launch_any(void *argument) {
    struct user *user = argument;
    struct ff__random random = ff__random_seeded(user->number + 70);
    for (uint32_t i = 0; i < user->touches; i++) {
        uint32_t tier = 1 + ff__random_below(&random, live.shape.devices);
        user->bad += launch_live(tier, ff__random_below(&random, 20), i % 3 != 0) != 0;
        usleep(50);
    }
    return NULL;
}

/* Threads fault, launch, allocate and free while a policy learns. */
static void test_learning_while_all_changes(void **state) {
    (void)state;
    static const char *const systems[] = {"demand:prefetch=watch", "deepum-far", "hlsh-faults",
                                          "uvmsmart"};
    rogue_finding[0] = '\0';
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        struct user users[4], comers[3], launcher = {.number = 9, .touches = touches(2000)};
        live_open(&live, &(struct live_shape){.system = systems[i],
                                              .devices = 2,
                                              .chunks = 3,
                                              .launch_limit = 8,
                                              .trouble = {.nap_us = 20}});
        assert_int_equal(live_add(&live, 8 * 512, 1), 0);
        start_users(users, 4, 8, touches(1000));
        start_comers(comers, 3, touches(20));
        assert_int_equal(pthread_create(&launcher.thread, NULL, launch_any, &launcher), 0);
        uint32_t bad = join_users(users, 4) + join_users(comers, 3) + join_users(&launcher, 1);
        assert_int_equal(bad, 0);
        live_close(&live);
    }
    assert_string_equal(rogue_finding, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next_block_comes_ahead),
        cmocka_unit_test(test_learning_under_load),
        cmocka_unit_test(test_faults_do_not_wait_for_learning),
        cmocka_unit_test(test_launches_wait_for_learning),
        cmocka_unit_test(test_learning_that_is_not_used),
        cmocka_unit_test(test_learning_while_all_changes),
    };
    rogues_register();
    rogue_watches_time = false; /* engine.pipeline does */
    if (ff__policy_register(FF__PREFETCH, &ponder_policy.base, NULL))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
