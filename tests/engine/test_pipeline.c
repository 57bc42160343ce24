/* The pipeline's threads at work: many threads that fault, moves that fail or are aborted, memory
 * that comes and goes; and an end in the middle of it all. */
#include "engine/pause.h"
#include "engine/users.h"

/* ---- every system ---- */

static void test_many_threads(void **state) {
    (void)state;
    const struct ff__system_row *row;
    for (unsigned i = 0; (row = ff__system_at(i)); i++) {
        struct ff__system system;
        assert_int_equal(ff__system_parse(row->name, &system, NULL), 0);
        bool visible = true;
        for (int slot = 0; slot < FF__SLOTS; slot++)
            visible = visible && !(system.policy[slot]->sees & ~LIVE_SHOWS);
        if (!visible)
            continue;
        check_users(
            &(struct live_shape){
                .system = row->name, .devices = 1, .chunks = 6, .trouble = {.nap_us = 20}},
            8, 1000);
        assert_true(last_stats.faults > 0 && last_stats.evictions > 0);
        assert_true(last_stats.write_faults > 0 && last_stats.batches > 0);
        assert_true(last_stats.fault_ns > 0);
    }
}

static void test_several_devices(void **state) {
    (void)state;
    check_users(
        &(struct live_shape){
            .system = "nvidia", .devices = 3, .chunks = 2, .trouble = {.nap_us = 20}},
        8, 1200);
    check_users(
        &(struct live_shape){
            .system = "demand", .devices = 2, .chunks = 1, .trouble = {.nap_us = 5}},
        8, 700);
}

static void test_one_chunk_for_all(void **state) {
    (void)state;
    check_users(
        &(struct live_shape){
            .system = "nvidia", .devices = 1, .chunks = 1, .trouble = {.nap_us = 50}},
        USERS_MAX, 300);
}

static void test_ample_memory(void **state) {
    (void)state;
    check_users(&(struct live_shape){.system = "nvidia", .devices = 1, .chunks = 100}, 8, 3000);
    assert_int_equal(last_stats.evictions, 0);
}

static void test_threads_that_serve_themselves(void **state) {
    (void)state;
    struct live_shape shape = {.system = "nvidia",
                               .devices = 2,
                               .chunks = 3,
                               .self_service = true,
                               .trouble = {.nap_us = 20}};
    check_users(&shape, 8, 3000);
    shape.system = "nvidia:evict=rogue-liar";
    shape.chunks = 1;
    check_users(&shape, USERS_MAX, 400);
}

static void test_rogues(void **state) {
    (void)state;
    static const char *const systems[] = {
        "nvidia:evict=rogue-quiet,place=rogue-nowhere",
        "nvidia:evict=rogue-liar,prefetch=next",
        "nvidia-1:evict=watch,discard=rogue-dead",
        "demand:prefetch=watch,evict=watch",
    };
    rogue_finding[0] = '\0';
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++)
        check_users(
            &(struct live_shape){
                .system = systems[i], .devices = 2, .chunks = 3, .trouble = {.nap_us = 20}},
            8, 500);
    assert_string_equal(rogue_finding, "");
}

/* policy.h: events come oldest first. */
static void test_events_come_in_order(void **state) {
    (void)state;
    rogue_finding[0] = '\0';
    rogue_watches_time = true;
    struct live_shape shape = {
        .system = "demand:prefetch=watch", .devices = 2, .chunks = 3, .trouble = {.nap_us = 20}};
    check_users(&shape, 8, 1500);
    rogue_watches_time = false;
    assert_string_equal(rogue_finding, "");
}

/* ---- fault workers ---- */

static void test_any_number_of_fault_workers(void **state) {
    (void)state;
    static const uint32_t counts[] = {1, 2, 3, FF__FAULT_WORKERS_MAX, 100};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        check_users(&(struct live_shape){.system = "nvidia",
                                         .devices = 2,
                                         .chunks = 3,
                                         .fault_workers = counts[i],
                                         .trouble = {.nap_us = 20}},
                    8, 1000);
}

static bool both_at_work(uint32_t a, uint32_t b) {
    pthread_mutex_lock(&live.device->lock);
    bool both = live.device->content.blocks[a].at_work && live.device->content.blocks[b].at_work;
    pthread_mutex_unlock(&live.device->lock);
    return both;
}

/* A fault that comes while the leader is busy is served by another worker, at the same time. */
static void test_another_worker_leads_meanwhile(void **state) {
    (void)state;
    live_open(&live, &(struct live_shape){.system = "demand",
                                          .devices = 1,
                                          .chunks = 8,
                                          .fault_workers = 2,
                                          .trouble = {.slow_us = 500000}});
    assert_int_equal(live_add(&live, 4 * 512, 1), 0);
    pthread_mutex_lock(&live.device->lock);
    fake_device_post(live.device, 0, 3, false);
    pthread_mutex_unlock(&live.device->lock);
    live_await_work(&live, 0);
    pthread_mutex_lock(&live.device->lock);
    fake_device_post(live.device, 1, 3, false);
    pthread_mutex_unlock(&live.device->lock);
    live_await_work(&live, 1);
    bool both = both_at_work(0, 1);
    live_close(&live);
    assert_true(both);
}

/* A thread that waits for a page that is there, as the program has dropped it, beside one that
 * waits for a page that is not. */
static void test_a_page_that_is_there_beside_one_that_is_not(void **state) {
    (void)state;
    const struct ff_mask second = ff_mask_of_page(4);
    live_open(&live, &(struct live_shape){.system = "demand", .devices = 1, .chunks = 8});
    assert_int_equal(live_add(&live, 512, 1), 0);
    assert_int_equal(live_touch(&live, 0, 3, true), TOUCHED);
    pthread_mutex_lock(&live.device->lock);
    uint64_t replays = live.device->counts.replays;
    fake_device_post(live.device, 0, 3, false);
    fake_device_post(live.device, 0, 4, false);
    pthread_mutex_unlock(&live.device->lock);
    bool came = live_has_come(&live, 0, &second, 10 * UINT64_C(1000000000));
    pthread_mutex_lock(&live.device->lock);
    replays = live.device->counts.replays - replays;
    pthread_mutex_unlock(&live.device->lock);
    live_close(&live);
    assert_true(came);
    assert_int_equal(replays, 1);
}

/* ---- failing moves ---- */

static void test_failing_moves_are_repeated(void **state) {
    (void)state;
    struct live_shape shape = {.system = "nvidia",
                               .devices = 1,
                               .chunks = 4,
                               .trouble = {.nap_us = 5, .fail_percent = 30}};
    check_users(&shape, 8, 150);
    assert_true(live.counts.failures > 10);
    shape.trouble.fail_midway = true; /* a failed try may have done a part */
    check_users(&shape, 8, 150);
    shape.self_service = true;
    check_users(&shape, 8, 150);
}

static void test_failing_prefetches_under_load(void **state) {
    (void)state;
    struct live_shape shape = {.system = "nvidia:prefetch=next",
                               .devices = 1,
                               .chunks = 4,
                               .trouble = {.fail_percent = 40}};
    for (int midway = 0; midway < 2; midway++) {
        shape.trouble.fail_midway = midway;
        check_users(&shape, 8, 300);
        assert_true(live.counts.failures > 10);
        assert_true(last_stats.prefetched > 0);
    }
}

/* A prefetch that fails may have left a part of its pages on the device: it is tried again until
 * all of them are there, and then no more. */
static void test_failed_prefetch_is_completed(void **state) {
    (void)state;
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    live_open(&live, &(struct live_shape){
                         .system = "demand:prefetch=next",
                         .devices = 1,
                         .chunks = 32,
                         .trouble = {.fail_midway = true, .fail_block = 1, .fail_times = 3}});
    assert_int_equal(live_add(&live, 3 * 512, 1), 0);
    assert_int_equal(live_touch(&live, 0, 7, true), TOUCHED); /* teaches to bring blocks 1 and 2 */
    assert_true(live_come(&live, 1, &all, UINT64_C(20000000000)));
    assert_true(live_come(&live, 2, &all, UINT64_C(20000000000)));
    live_close(&live);
    assert_int_equal(live.counts.failures, 3);
    assert_int_equal(live.counts.tries, 3 + 1);
}

/* A fault whose pages do not come at first, because a victim could not leave, is one fault. Pages
 * may leave ahead of need before they are used: then there is one more. The victim may leave ahead
 * of need, too, before its moves fail. */
static void test_fault_without_room_counts_once(void **state) {
    (void)state;
    uint64_t failures = 0;
    for (int round = 0; round < 10; round++) {
        live_open(&live,
                  &(struct live_shape){
                      .system = "demand", .devices = 1, .chunks = 2, .self_service = round % 2});
        assert_int_equal(live_add(&live, 3 * 512, 1), 0);
        assert_int_equal(live_touch(&live, 0, 7, true), TOUCHED);
        pthread_mutex_lock(&live.device->lock);
        live.device->trouble.fail_block = 0;
        live.device->trouble.fail_times = 20;
        pthread_mutex_unlock(&live.device->lock);
        assert_int_equal(live_touch(&live, 1, 7, true), TOUCHED);
        assert_int_equal(live_touch(&live, 2, 7, true), TOUCHED);
        ff__lock_acquire(&live.pipeline.lock);
        struct ff_stats stats = live.engine.space.stats;
        ff__lock_release(&live.pipeline.lock);
        live_close(&live);
        failures += live.counts.failures;
        assert_true(stats.faults >= 3);
        assert_true(stats.faults <= live.told_faults);
    }
    assert_true(failures > 0);
}

/* An eviction that fails as often as it is tried: the observer has been told that the pages left,
 * and must learn that they have not. */
static void test_observer_learns_what_stayed(void **state) {
    (void)state;
    live_open(&live, &(struct live_shape){.system = "demand", .devices = 1, .chunks = 4});
    assert_int_equal(live_add(&live, 2 * 512, 1), 0);
    for (uint32_t page = 0; page < 40; page++)
        assert_int_equal(live_touch(&live, 1, page, true), TOUCHED);
    pthread_mutex_lock(&live.device->lock);
    live.device->trouble.fail_block = 1;
    live.device->trouble.fail_times = UINT32_MAX;
    pthread_mutex_unlock(&live.device->lock);
    live_evict(&live, 1, NULL, false);
    assert_int_equal(ff_mask_count(&live.device->content.blocks[1].on[1]), 40);
    assert_int_equal(ff_mask_count(&live.told[1][1]), 40);
    live_close(&live);
}

/* ---- moves that are aborted ---- */

/* Has a prefetch of block 1 wait for block 0 to leave. */
static void start_slow_prefetch(void) {
    live_open(&live,
              &(struct live_shape){
                  .system = "demand", .devices = 1, .chunks = 1, .trouble = {.slow_us = 200000}});
    assert_int_equal(live_add(&live, 2 * 512, 1), 0);
    assert_int_equal(live_touch(&live, 0, 100, true), TOUCHED);
    struct ff_advice advice = {
        .block = 1, .tier = 1, .launch = FF_NONE, .pages = ff_mask_of_run(0, 10)};
    ff__lock_acquire(&live.pipeline.lock);
    ff__pipeline_wait_idle(&live.pipeline, 0); /* the touch's job may still be ending */
    ff__lock_release(&live.pipeline.lock);
    assert_true(ff__pipeline_advise(&live.pipeline, &advice));
    live_await_work(&live, 0);
}

/* Who stops does not wait for what nobody waits for. */
static void test_stop_aborts_prefetches(void **state) {
    (void)state;
    start_slow_prefetch();
    fake_device_let_go(live.device);
    ff__pipeline_stop(&live.pipeline);
    assert_int_equal(live.device->counts.aborts, 1);
    assert_true(ff_mask_empty(&live.device->content.blocks[1].on[1]));
    live_check(&live);
    live_free(&live);
}

/* ---- memory that comes and goes ---- */

static void test_ranges_come_and_go(void **state) {
    (void)state;
    static const char *const systems[] = {"nvidia", "nvidia-1:prefetch=next"};
    for (int i = 0; i < 2; i++) {
        struct user users[4], comers[4];
        live_open(&live,
                  &(struct live_shape){
                      .system = systems[i], .devices = 2, .chunks = 3, .trouble = {.nap_us = 20}});
        assert_int_equal(live_add(&live, 8 * 512, 1), 0);
        start_users(users, 4, 8, touches(700));
        start_comers(comers, 4, touches(20));
        assert_int_equal(join_users(users, 4) + join_users(comers, 4), 0);
        live_close(&live);
    }
}

/* Writes past the device, as ff_mem_write() does, and evictions in between. */
static void *write_past(void *argument) {
    struct user *user = argument;
    struct ff__random random = ff__random_seeded(user->number + 90);
    for (uint32_t i = 0; i < user->touches; i++) {
        uint32_t block = ff__random_below(&random, user->blocks);
        uint32_t first = ff__random_below(&random, FF_BLOCK_PAGES);
        struct ff_mask pages = ff_mask_of_run(first, first + 20 < 512 ? first + 20 : 512);
        if (ff__pipeline_claim(&live.pipeline, block, &pages)) {
            pthread_mutex_lock(&live.device->lock);
            fake_write_host(&live.device->content, block, &pages, 0, NULL);
            pthread_mutex_unlock(&live.device->lock);
            ff__pipeline_release(&live.pipeline, block, &pages);
        } else {
            live_evict(&live, block, NULL, false);
        }
    }
    return NULL;
}

static void test_writes_past_the_device(void **state) {
    (void)state;
    struct user users[4], writer = {.number = 7, .blocks = 8, .touches = touches(1500)};
    live_open(&live, &(struct live_shape){
                         .system = "nvidia", .devices = 2, .chunks = 3, .trouble = {.nap_us = 20}});
    assert_int_equal(live_add(&live, 8 * 512, 1), 0);
    assert_int_equal(pthread_create(&writer.thread, NULL, write_past, &writer), 0);
    start_users(users, 4, 8, touches(1500));
    pthread_join(writer.thread, NULL);
    assert_int_equal(join_users(users, 4), 0);
    live_close(&live);
}

/* What is on a device is written there; and a block is claimed by one at a time. */
static void test_claim_leaves_out_what_is_present(void **state) {
    (void)state;
    struct ff_mask pages = ff_mask_of_run(0, 20), rest = ff_mask_of_run(10, 20), more = pages;
    live_open(&live, &(struct live_shape){.system = "demand", .devices = 1, .chunks = 4});
    assert_int_equal(live_add(&live, 2 * 512, 1), 0);
    for (uint32_t page = 0; page < 10; page++)
        assert_int_equal(live_touch(&live, 1, page, true), TOUCHED);
    while (
        !ff__pipeline_claim(&live.pipeline, 1, &pages)) /* its last fault is served, not finished */
        pages = more;
    assert_true(ff_mask_equal(&pages, &rest));
    assert_false(ff__pipeline_claim(&live.pipeline, 1, &more));
    fake_write_host(&live.device->content, 1, &pages, 0, NULL);
    ff__pipeline_release(&live.pipeline, 1, &pages);
    assert_int_equal(live_touch(&live, 1, 15, false), TOUCHED);
    live_close(&live);
}

/* ---- faults on blocks that are in use ---- */

#define SLOW_US 50000u

static void open_slow(void) {
    live_open(&live,
              &(struct live_shape){
                  .system = "demand", .devices = 2, .chunks = 4, .trouble = {.slow_us = SLOW_US}});
    assert_int_equal(live_add(&live, 4 * 512, 1), 0);
}

/* Another page of a block that is being prefetched: only the prefetch's end can serve it. */
static void test_fault_during_a_prefetch(void **state) {
    (void)state;
    open_slow();
    struct ff_advice advice = {
        .block = 1, .tier = 1, .launch = FF_NONE, .pages = ff_mask_of_run(0, 10)};
    assert_true(ff__pipeline_advise(&live.pipeline, &advice));
    live_await_work(&live, 1);
    assert_int_equal(live_touch(&live, 1, 100, true), TOUCHED);
    live_close(&live);
}

static void *evict_block_1(void *argument) {
    (void)argument;
    live_evict(&live, 1, NULL, false);
    return NULL;
}

static void test_fault_during_an_eviction(void **state) {
    (void)state;
    pthread_t thread;
    open_slow();
    assert_int_equal(live_touch(&live, 1, 0, true), TOUCHED);
    assert_int_equal(pthread_create(&thread, NULL, evict_block_1, NULL), 0);
    live_await_work(&live, 1);
    assert_int_equal(live_touch(&live, 1, 100, true), TOUCHED);
    pthread_join(thread, NULL);
    assert_int_equal(live_touch(&live, 1, 0, true), TOUCHED);
    live_close(&live);
}

static void *touch_block_2(void *argument) {
    struct user *user = argument;
    user->bad = live_touch(&live, 2, 7, false) != TOUCHED;
    return NULL;
}

static void test_fault_during_a_write_from_outside(void **state) {
    (void)state;
    struct user user = {.number = 0};
    struct ff_mask pages = ff_mask_of_run(0, 10);
    open_slow();
    assert_true(ff__pipeline_claim(&live.pipeline, 2, &pages));
    assert_int_equal(pthread_create(&user.thread, NULL, touch_block_2, &user), 0);
    usleep(SLOW_US);
    pthread_mutex_lock(&live.device->lock);
    fake_write_host(&live.device->content, 2, &pages, 0, NULL);
    pthread_mutex_unlock(&live.device->lock);
    ff__pipeline_release(&live.pipeline, 2, &pages);
    pthread_join(user.thread, NULL);
    assert_int_equal(user.bad, 0);
    live_close(&live);
}

/* From the call on no page of the block comes, until its range is removed. */
static void test_closed_block_is_left_alone(void **state) {
    (void)state;
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    live_open(&live, &(struct live_shape){.system = "demand", .devices = 1, .chunks = 4});
    uint32_t block = live_add(&live, 512, 1);
    assert_int_equal(live_touch(&live, block, 0, true), TOUCHED);
    live_evict(&live, block, &all, true);
    struct ff_advice advice = {.block = block, .tier = 1, .launch = FF_NONE, .pages = all};
    struct ff_fault_group group = {block, FF_NONE, FF_NONE, all, {{0}}, 0};
    ff__pipeline_advise(&live.pipeline, &advice);
    assert_int_equal(ff__pipeline_serve(&live.pipeline, &group, false), 0);
    assert_false(live_come(&live, block, &all, 20000000));
    live_forget(&live, block);
    assert_int_equal(ff__pipeline_serve(&live.pipeline, &group, false), -EFAULT);
    live_close(&live);
}

/* A fault that is read after its page has come: its thread is let go, again if need be. */
static void test_late_message_is_replayed(void **state) {
    (void)state;
    live_open(&live, &(struct live_shape){.system = "demand", .devices = 1, .chunks = 4});
    uint32_t block = live_add(&live, 512, 1);
    assert_int_equal(live_touch(&live, block, 5, true), TOUCHED);
    struct ff_fault_group group = {block, FF_NONE, FF_NONE, ff_mask_of_run(5, 6), {{0}}, 0};
    pthread_mutex_lock(&live.device->lock);
    uint64_t before = live.device->counts.replays, after = before;
    pthread_mutex_unlock(&live.device->lock);
    assert_int_equal(ff__pipeline_serve(&live.pipeline, &group, false), 0);
    for (int tries = 0; after == before && tries < 20000;
         tries++) { /* the touch's job may still be ending */
        usleep(1000);
        pthread_mutex_lock(&live.device->lock);
        after = live.device->counts.replays;
        pthread_mutex_unlock(&live.device->lock);
    }
    assert_true(after > before);
    live_close(&live);
}

/* ---- calls from outside ---- */

static void test_fault_outside_is_rejected(void **state) {
    (void)state;
    for (int self_service = 0; self_service < 2; self_service++) {
        live_open(&live,
                  &(struct live_shape){
                      .system = "nvidia", .devices = 1, .chunks = 2, .self_service = self_service});
        uint32_t block = live_add(&live, 10, 1);
        assert_int_equal(live_touch(&live, block + 1, 0, true), TOUCH_REJECTED);
        assert_int_equal(live_touch(&live, block, 9, true), TOUCHED);
        assert_int_equal(live.device->counts.rejections, self_service ? 0 : 1);
        live_close(&live);
    }
}

static void test_advice_from_outside(void **state) {
    (void)state;
    live_open(&live, &(struct live_shape){.system = "demand", .devices = 1, .chunks = 4});
    uint32_t block = live_add(&live, 2 * 512, 1);
    struct ff_advice advice = {
        .block = block + 1, .tier = 1, .launch = FF_NONE, .pages = ff_mask_of_run(10, 90)};
    assert_true(ff__pipeline_advise(&live.pipeline, &advice));
    assert_true(live_come(&live, block + 1, &advice.pages, UINT64_C(20000000000)));
    live_close(&live);
}

#define ADVISERS 4u

/* Advises each page of one block by itself. */
static void *advise_pages(void *argument) {
    struct user *user = argument;
    for (uint32_t page = 0; page < FF_BLOCK_PAGES; page++) {
        struct ff_advice advice = {.block = user->number,
                                   .tier = 1,
                                   .launch = FF_NONE,
                                   .pages = ff_mask_of_run(page, page + 1)};
        user->bad += !ff__pipeline_advise(&live.pipeline, &advice);
    }
    return NULL;
}

/* No piece of advice gets lost between several advisers: the queue has room for all of it. */
static void test_many_advisers(void **state) {
    (void)state;
    struct user advisers[ADVISERS];
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    live_open(&live, &(struct live_shape){.system = "demand", .devices = 1, .chunks = 8});
    assert_int_equal(live_add(&live, ADVISERS * 512, 1), 0);
    memset(advisers, 0, sizeof advisers);
    for (uint32_t i = 0; i < ADVISERS; i++) {
        advisers[i].number = i;
        pthread_create(&advisers[i].thread, NULL, advise_pages, &advisers[i]);
    }
    assert_int_equal(join_users(advisers, ADVISERS), 0);
    for (uint32_t i = 0; i < ADVISERS; i++)
        assert_true(live_come(&live, i, &all, UINT64_C(20000000000)));
    live_close(&live);
}

/* What the queue does not take is counted, and nobody waits. */
static void test_too_much_advice(void **state) {
    (void)state;
    struct live_shape shape = {
        .system = "demand", .devices = 1, .chunks = 4, .trouble = {.nap_us = 300000}};
    live_open(&live, &shape);
    uint32_t block = live_add(&live, 512, 1), refused = 0;
    struct ff_advice advice = {
        .block = block, .tier = 1, .launch = FF_NONE, .pages = ff_mask_of_run(0, 512)};
    for (uint32_t i = 0; i < 20000; i++)
        refused += !ff__pipeline_advise(&live.pipeline, &advice);
    assert_true(refused > 0);
    ff__lock_acquire(&live.pipeline.lock);
    assert_true(live.engine.space.stats.advice_dropped >= refused);
    ff__lock_release(&live.pipeline.lock);
    live_close(&live);
}

static void test_launches(void **state) {
    (void)state;
    live_open(&live,
              &(struct live_shape){.system = "demand:prefetch=watch", .devices = 2, .chunks = 4});
    rogue_finding[0] = '\0';
    for (int i = 0; i < 500; i++) {
        uint32_t tier = 1 + (uint32_t)i % 2;
        assert_int_equal(launch_live(tier, (uint64_t)i % 7, i % 4 < 2), 0);
    }
    ff__lock_acquire(&live.pipeline.lock);
    assert_int_equal(live.engine.space.stats.launches, 250);
    ff__lock_release(&live.pipeline.lock);
    live_close(&live);
    assert_string_equal(rogue_finding, "");
}

/* ---- stopping ---- */

static void stop_while_busy(const struct live_shape *shape, uint32_t after_us) {
    struct user users[8];
    live_open(&live, shape);
    assert_int_equal(live_add(&live, 20 * 512, 1), 0);
    start_users(users, 8, 20, UINT32_MAX / 2);
    usleep(after_us);
    ff__pipeline_stop(&live.pipeline);
    fake_device_let_go(live.device);
    assert_int_equal(join_users(users, 8), 0);
    live_check(&live);
    live_free(&live);
}

static void test_stop_while_busy(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 12; i++) {
        struct live_shape shape = {.system = i % 3 == 0   ? "nvidia"
                                             : i % 3 == 1 ? "demand:prefetch=next"
                                                          : "demand:prefetch=pause",
                                   .devices = 1 + i % 2,
                                   .chunks = 1 + i % 4,
                                   .trouble = {.nap_us = i * 30}};
        stop_while_busy(&shape, i * 3000);
    }
}

static void test_stop_at_once(void **state) {
    (void)state;
    for (int i = 0; i < 50; i++) {
        live_open(&live, &(struct live_shape){.system = i % 2 ? "nvidia" : "demand:prefetch=next",
                                              .devices = 1,
                                              .chunks = 1});
        live_close(&live);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_several_devices),
        cmocka_unit_test(test_one_chunk_for_all),
        cmocka_unit_test(test_ample_memory),
        cmocka_unit_test(test_threads_that_serve_themselves),
        cmocka_unit_test(test_rogues),
        cmocka_unit_test(test_events_come_in_order),
        cmocka_unit_test(test_any_number_of_fault_workers),
        cmocka_unit_test(test_another_worker_leads_meanwhile),
        cmocka_unit_test(test_a_page_that_is_there_beside_one_that_is_not),
        cmocka_unit_test(test_failing_moves_are_repeated),
        cmocka_unit_test(test_failing_prefetches_under_load),
        cmocka_unit_test(test_failed_prefetch_is_completed),
        cmocka_unit_test(test_fault_without_room_counts_once),
        cmocka_unit_test(test_observer_learns_what_stayed),
        cmocka_unit_test(test_stop_aborts_prefetches),
        cmocka_unit_test(test_ranges_come_and_go),
        cmocka_unit_test(test_writes_past_the_device),
        cmocka_unit_test(test_claim_leaves_out_what_is_present),
        cmocka_unit_test(test_fault_during_a_prefetch),
        cmocka_unit_test(test_fault_during_an_eviction),
        cmocka_unit_test(test_fault_during_a_write_from_outside),
        cmocka_unit_test(test_closed_block_is_left_alone),
        cmocka_unit_test(test_late_message_is_replayed),
        cmocka_unit_test(test_fault_outside_is_rejected),
        cmocka_unit_test(test_advice_from_outside),
        cmocka_unit_test(test_many_advisers),
        cmocka_unit_test(test_too_much_advice),
        cmocka_unit_test(test_launches),
        cmocka_unit_test(test_stop_while_busy),
        cmocka_unit_test(test_stop_at_once),
    };
    rogues_register();
    rogue_watches_time = false; /* but for the test of it */
    if (ff__policy_register(FF__PREFETCH, &pause_policy.base, NULL))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
