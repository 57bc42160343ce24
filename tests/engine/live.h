/* A pipeline with its threads, above the fake backend and below threads that use the memory. A
 * thread that meets an absent page posts a fault and sleeps until the backend lets just this page's
 * threads go on: whoever is forgotten is noticed. */
#ifndef FF_TESTS_ENGINE_LIVE_H
#define FF_TESTS_ENGINE_LIVE_H

#include "engine/costs.h"
#include "engine/fake.h"
#include "engine/rogues.h"

#include "base/clock.h"
#include "engine/pipeline_internal.h"

#include <pthread.h>
#include <unistd.h>

#define LIVE_WINDOWS  160u
#define LIVE_FAULTS   1024u
#define LIVE_SHOWS    (uint32_t)(FF_SEES_FAULTS | FF_SEES_LAUNCHES)
#define LIVE_PATIENCE 20u /* seconds until a fault counts as never answered */
#define BLOCK_BYTES   ((uint64_t)FF_BLOCK_SIZE)

struct waiter {
    struct waiter *next;
    uint32_t block, page;
    bool woken, rejected;
};

struct live_shape {
    const char *system;
    uint32_t devices, chunks;
    uint32_t nap_us;                 /* the longest a move takes, */
    uint32_t slow_us;                /* and what it takes in any case */
    uint32_t fail_percent;           /* of all tries to move something */
    bool fail_midway;                /* such a try has done part of its work */
    uint32_t fail_block, fail_times; /* so many of the first tries to move this block fail, too */
    uint32_t fault_workers;          /* 0: the default */
    uint32_t launch_limit;           /* execution IDs known at a time; 0: the default */
    bool self_service; /* threads serve their faults themselves, as from a signal handler */
};

struct live {
    struct ff__pipeline pipeline;
    struct ff__description description;
    struct ff__engine engine;
    struct live_shape shape;
    struct fake fake;
    pthread_mutex_t lock; /* of the fake and of all below; taken after the pipeline's */
    pthread_cond_t arrived, posted;
    struct ff__fault faults[LIVE_FAULTS];
    uint32_t fault_count;
    struct waiter *waiters;
    bool interrupted, closed, somebody_waits;
    uint64_t failures, warnings, rejections, replays, aborts;
    uint32_t tries; /* to move the block of shape.fail_block */
    /* What the observer has been told: where pages are, and how many faults there were. */
    struct ff_mask told[FF_TIERS_MAX][LIVE_WINDOWS];
    uint64_t told_faults, taken_faults;
    struct ff_mask came[LIVE_WINDOWS]; /* pages that were ever brought to a device */
};

/* ---- the backend ---- */

static inline uint64_t live_now(void *self) {
    (void)self;
    return ff__clock_ns();
}

static inline void live_wake(struct live *live, uint32_t block, const struct ff_mask *pages) {
    for (struct waiter *w = live->waiters; w; w = w->next)
        w->woken = w->woken || (w->block == block && ff_mask_test(pages, w->page));
    pthread_cond_broadcast(&live->arrived);
}

/* A verb starts: nobody else may be at work on the block. Decides whether it fails, and takes its
 * time. The lock is held. */
static inline bool live_enter(struct live *live, const struct ff__move *move) {
    struct fake_block *b = &live->fake.blocks[move->block];
    if (b->at_work)
        fake_blame(&live->fake, "block %u: two verbs at a time", move->block);
    b->at_work = true;
    bool fails = ff__random_below(&live->fake.random, 100) < live->shape.fail_percent;
    if (move->block == live->shape.fail_block)
        fails = fails || live->tries++ < live->shape.fail_times;
    uint32_t us =
        live->shape.slow_us + ff__random_below(&live->fake.random, live->shape.nap_us + 1);
    if (us > 0) {
        pthread_mutex_unlock(&live->lock);
        usleep(us);
        pthread_mutex_lock(&live->lock);
    }
    live->failures += fails;
    return fails;
}

static inline struct ff_mask live_part(struct live *live) {
    struct ff_mask part = {{0}};
    if (live->shape.fail_midway)
        ff_mask_set_run(&part, 0, ff__random_below(&live->fake.random, FF_BLOCK_PAGES));
    return part;
}

static inline void live_move(struct live *live, struct ff__move *move) {
    bool fails = live_enter(live, move);
    struct ff_mask part = live_part(live);
    fake_move(&live->fake, move, fails ? &part : NULL);
    struct ff_mask there = fake_on_devices(&live->fake, move->block);
    there = ff_mask_and(&there, &move->pages);
    if (ff__move_arrives(move)) {
        live->came[move->block] = ff_mask_or(&live->came[move->block], &there);
        live_wake(live, move->block, &there);
    }
    live->fake.blocks[move->block].at_work = false;
}

/* Some submissions are carried out when they start, the others when somebody waits for them. */
static inline void live_carry_out(struct live *live, struct ff__submission *submission) {
    bool all_left = true;
    submission->end_ns = 1;
    for (uint32_t i = 0; i < submission->count; i++) {
        struct ff__move *move = submission->moves[i];
        if (submission->aborted || (move->after && !all_left))
            move->status = -ECANCELED;
        else
            live_move(live, move);
        all_left = all_left && ff_mask_empty(&move->left);
    }
}

static inline void live_submit(void *self, struct ff__submission *submission) {
    struct live *live = self;
    pthread_mutex_lock(&live->lock);
    submission->end_ns = 0;
    if (ff__random_below(&live->fake.random, 2) == 0)
        live_carry_out(live, submission);
    pthread_mutex_unlock(&live->lock);
}

static inline void live_complete(void *self, struct ff__submission *submission) {
    struct live *live = self;
    pthread_mutex_lock(&live->lock);
    if (submission->end_ns == 0)
        live_carry_out(live, submission);
    pthread_mutex_unlock(&live->lock);
}

static inline void live_abort(void *self, struct ff__submission *submission) {
    struct live *live = self;
    pthread_mutex_lock(&live->lock);
    __atomic_store_n(&submission->aborted, true, __ATOMIC_RELAXED);
    live->aborts++;
    pthread_mutex_unlock(&live->lock);
}

static inline void live_replay(void *self, uint32_t block, const struct ff_mask *pages) {
    struct live *live = self;
    pthread_mutex_lock(&live->lock);
    live->replays++;
    live_wake(live, block, pages);
    pthread_mutex_unlock(&live->lock);
}

static inline void live_reject(void *self, const struct ff__fault *fault) {
    struct live *live = self;
    uint64_t block = (fault->address - FAKE_BASE) / BLOCK_BYTES;
    uint64_t page = fault->address % BLOCK_BYTES / FF_PAGE_SIZE;
    pthread_mutex_lock(&live->lock);
    live->rejections++;
    /* the page's alone: a fault on memory that has been freed may be read when the block is another range's */
    for (struct waiter *w = live->waiters; w; w = w->next)
        if (w->block == block && w->page == page)
            w->rejected = w->woken = true;
    pthread_cond_broadcast(&live->arrived);
    pthread_mutex_unlock(&live->lock);
}

static inline struct timespec live_deadline(uint64_t ns) {
    uint64_t at = ff__clock_ns() + ns;
    return (struct timespec){(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
}

static inline int live_wait(void *self, struct ff__fault *faults, uint32_t capacity, bool soon,
                            uint64_t timeout_ns) {
    struct live *live = self;
    (void)soon;
    pthread_mutex_lock(&live->lock);
    if (live->somebody_waits)
        fake_blame(&live->fake, "two threads wait for faults");
    live->somebody_waits = true;
    struct timespec until = live_deadline(timeout_ns);
    while (live->fault_count == 0 && !live->interrupted &&
           pthread_cond_timedwait(&live->posted, &live->lock, &until) == 0)
        continue;
    live->somebody_waits = live->interrupted = false;
    uint32_t count = live->fault_count < capacity ? live->fault_count : capacity;
    memcpy(faults, live->faults, count * sizeof *faults);
    live->fault_count -= count;
    live->taken_faults += count;
    memmove(live->faults, live->faults + count, live->fault_count * sizeof *faults);
    pthread_mutex_unlock(&live->lock);
    return (int)count;
}

static inline void live_interrupt(void *self) {
    struct live *live = self;
    pthread_mutex_lock(&live->lock);
    live->interrupted = true;
    pthread_cond_broadcast(&live->posted);
    pthread_mutex_unlock(&live->lock);
}

static const struct ff__backend live_backend = {
    .now = live_now,
    .wait = live_wait,
    .interrupt = live_interrupt,
    .submit = live_submit,
    .complete = live_complete,
    .abort = live_abort,
    .replay = live_replay,
    .reject = live_reject,
};

/* ---- the observer ---- */

static inline void live_see_faults(void *user, const struct ff__fault *faults, uint32_t count) {
    struct live *live = user;
    (void)faults;
    __atomic_fetch_add(&live->told_faults, count, __ATOMIC_RELAXED);
}

static inline void live_see_moves(void *user, const struct ff__move *move,
                                  const struct ff_mask *pages, bool arrive) {
    struct live *live = user;
    struct ff_mask *told = &live->told[ff__move_place(move)->tier][move->block];
    pthread_mutex_lock(&live->lock);
    *told = arrive ? ff_mask_or(told, pages) : ff_mask_minus(told, pages);
    pthread_mutex_unlock(&live->lock);
}

/* ---- opening and closing ---- */

static inline void live_log(void *user, enum ff_log_level level, const char *message) {
    struct live *live = user;
    (void)message;
    __atomic_fetch_add(&live->warnings, level == FF_LOG_WARNING, __ATOMIC_RELAXED);
}

static inline void live_init_locks(struct live *live) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&live->lock, NULL);
    pthread_cond_init(&live->arrived, &monotonic);
    pthread_cond_init(&live->posted, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static inline void live_open(struct live *live, const struct live_shape *shape) {
    struct ff_error error = {""};
    memset(live, 0, sizeof *live);
    live->shape = *shape;
    live_init_locks(live);
    live->description = (struct ff__description){
        .tier_count = shape->devices + 1,
        .shows = LIVE_SHOWS,
        .controls = FF_CONTROLS_FAULTS | FF_CONTROLS_VICTIMS,
    };
    set_costs(&live->description);
    struct ff__engine_config config = {
        .backend = &live->description,
        .base = FAKE_BASE,
        .address_space = LIVE_WINDOWS * BLOCK_BYTES,
        .devices = shape->devices,
        .memory = shape->chunks * BLOCK_BYTES,
        .reserve = 1,
        .launch_limit = shape->launch_limit,
        .check = true,
    };
    if (ff__system_parse(shape->system, &config.system, &error) ||
        ff__engine_init(&live->engine, &config, &error))
        fail_msg("%s", error.message);
    fake_open(&live->fake, &live->engine.space, 1);
    struct ff__pipeline_config pipeline = {
        .engine = &live->engine,
        .backend = &live_backend,
        .self = live,
        .log = {live_log, live},
        .observer = {live, live_see_faults, live_see_moves, NULL},
        .fault_workers = shape->fault_workers};
    if (ff__pipeline_start(&live->pipeline, &pipeline, &error))
        fail_msg("%s", error.message);
}

/* Whether the observer knows where an idle block's pages are. */
static inline void live_check_told(struct live *live, uint32_t block) {
    for (uint32_t tier = 1; tier < live->engine.space.tier_count; tier++)
        if (!ff_mask_equal(&live->told[tier][block], &live->fake.blocks[block].on[tier]))
            fake_blame(&live->fake, "block %u: the observer is wrong about tier %u", block, tier);
}

static inline void live_check(struct live *live) {
    struct ff_error error = {""};
    struct ff__space *space = &live->engine.space;
    ff__engine_check(&live->engine, &error);
    for (uint32_t block = 0; block < LIVE_WINDOWS; block++) {
        if (space->blocks[block].page_count == 0 || ff__facts(space, block)->busy)
            continue;
        fake_compare(&live->fake, block);
        live_check_told(live, block);
    }
    assert_string_equal(live->fake.violation, "");
    assert_string_equal(live->engine.failure.message, "");
    assert_string_equal(error.message, "");
    assert_int_equal(live->told_faults, live->taken_faults);
    const struct ff_stats *stats = &space->stats;
    assert_int_equal(stats->pages_in, live->fake.in);
    assert_int_equal(stats->populated, live->fake.populated);
    assert_int_equal(stats->pages_out, live->fake.out);
    assert_int_equal(stats->pages_dropped, live->fake.dropped);
    if (live->failures ==
        0) /* one that fails half-way is tried again, and is one eviction all the same */
        assert_int_equal(stats->evictions, live->fake.evictions);
    assert_true(stats->resident_peak <= stats->capacity);
    assert_true((live->failures == 0) == (live->warnings == 0)); /* failures are not silent */
}

/* Whoever still waits gives up. */
static inline void live_let_go(struct live *live) {
    pthread_mutex_lock(&live->lock);
    live->closed = true;
    pthread_cond_broadcast(&live->arrived);
    pthread_mutex_unlock(&live->lock);
}

static inline void live_free(struct live *live) {
    fake_close(&live->fake);
    ff__engine_fini(&live->engine);
    pthread_mutex_destroy(&live->lock);
    pthread_cond_destroy(&live->arrived);
    pthread_cond_destroy(&live->posted);
}

static inline void live_close(struct live *live) {
    live_let_go(live);
    ff__pipeline_stop(&live->pipeline);
    live_check(live);
    live_free(live);
}

/* ---- ranges ---- */

static inline uint32_t live_add(struct live *live, uint64_t pages, uint32_t tier) {
    uint32_t range = 0;
    ff__lock_acquire(&live->pipeline.lock);
    int status = ff__engine_range_add(&live->engine, pages, 0, tier, &range);
    uint32_t block = status ? FF_NONE : live->engine.space.ranges[range].first_block;
    ff__lock_release(&live->pipeline.lock);
    return block;
}

/* As ff_mem_free() does. */
static inline uint32_t live_blocks(struct live *live, uint32_t first_block) {
    struct ff__space *space = &live->engine.space;
    ff__lock_acquire(&live->pipeline.lock);
    uint32_t count = space->ranges[space->blocks[first_block].range].block_count;
    ff__lock_release(&live->pipeline.lock);
    return count;
}

/* Removes a range whose blocks are all closed. */
static inline void live_forget(struct live *live, uint32_t first_block) {
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    uint32_t count = live_blocks(live, first_block);
    ff__lock_acquire(&live->pipeline.lock);
    pthread_mutex_lock(&live->lock);
    for (uint32_t i = 0; i < count; i++)
        fake_forget(&live->fake, first_block + i);
    pthread_mutex_unlock(&live->lock);
    ff__engine_range_remove(&live->engine, live->engine.space.blocks[first_block].range);
    ff__lock_release(&live->pipeline.lock);
    for (uint32_t i = 0; i < count; i++)
        live_replay(live, first_block + i, &all);
}

struct live_eviction {
    struct live *live;
    uint32_t block;
    const struct ff_mask *dead;
    bool close;
};

static inline void live_evict_call(void *argument) {
    struct live_eviction *it = argument;
    if (it->close)
        ff__pipeline_close(&it->live->pipeline, it->block);
    else
        ff__pipeline_evict(&it->live->pipeline, it->block, NULL, it->dead);
}

static inline void live_evict(struct live *live, uint32_t block, const struct ff_mask *dead,
                              bool close) {
    struct live_eviction eviction = {live, block, dead, close};
    ff__pipeline_call(&live->pipeline, live_evict_call, &eviction);
}

static inline void live_remove(struct live *live, uint32_t first_block) {
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    uint32_t count = live_blocks(live, first_block);
    for (uint32_t i = 0; i < count; i++)
        live_evict(live, first_block + i, &all, true);
    live_forget(live, first_block);
}

/* ---- using memory ---- */

enum touch { TOUCHED, TOUCH_CLOSED, TOUCH_REJECTED, TOUCH_LOST };

static inline uint64_t live_address(uint32_t block, uint32_t page) {
    return FAKE_BASE + block * BLOCK_BYTES + page * (uint64_t)FF_PAGE_SIZE;
}

/* The lock is held. */
static inline void live_post(struct live *live, uint32_t block, uint32_t page, bool write) {
    if (live->fault_count < LIVE_FAULTS)
        live->faults[live->fault_count++] = (struct ff__fault){live_address(block, page), write, 1};
    pthread_cond_broadcast(&live->posted);
}

/* Sleeps until somebody lets the page's threads go on. The lock is held. */
static inline void live_sleep(struct live *live, struct waiter *waiter) {
    struct timespec until = live_deadline(LIVE_PATIENCE * UINT64_C(1000000000));
    struct waiter **link = &live->waiters;
    waiter->next = live->waiters;
    live->waiters = waiter;
    while (!waiter->woken && !live->closed)
        if (pthread_cond_timedwait(&live->arrived, &live->lock, &until))
            break;
    if (!waiter->woken && !live->closed)
        fake_blame(&live->fake, "block %u page %u: the fault is never answered", waiter->block,
                   waiter->page);
    while (*link != waiter)
        link = &(*link)->next;
    *link = waiter->next;
}

/* The lock is held, but not while the fault is served. */
static inline enum touch live_fault(struct live *live, uint32_t block, uint32_t page, bool write) {
    struct waiter waiter = {NULL, block, page, false, false};
    if (!live->shape.self_service) {
        live_post(live, block, page, write);
        live_sleep(live, &waiter);
        return waiter.rejected ? TOUCH_REJECTED : waiter.woken ? TOUCHED : TOUCH_LOST;
    }
    struct ff__fault fault = {live_address(block, page), write, 1};
    pthread_mutex_unlock(&live->lock);
    int status = ff__pipeline_serve_here(&live->pipeline, &fault);
    pthread_mutex_lock(&live->lock);
    live->taken_faults += status == 0;
    return status < 0 ? TOUCH_REJECTED : TOUCHED;
}

static inline enum touch live_touch(struct live *live, uint32_t block, uint32_t page, bool write) {
    enum touch result = TOUCHED;
    pthread_mutex_lock(&live->lock);
    while (result == TOUCHED && !live->closed && !fake_touch(&live->fake, block, page, write))
        result = live_fault(live, block, page, write);
    if (live->closed)
        result = TOUCH_CLOSED;
    pthread_mutex_unlock(&live->lock);
    return result;
}

/* Whether all these pages come to a device within a time. */
static inline bool live_come(struct live *live, uint32_t block, const struct ff_mask *pages,
                             uint64_t ns) {
    uint64_t end = ff__clock_ns() + ns;
    for (;;) {
        pthread_mutex_lock(&live->lock);
        struct ff_mask there = fake_on_devices(&live->fake, block);
        pthread_mutex_unlock(&live->lock);
        if (ff_mask_within(pages, &there))
            return true;
        if (ff__clock_ns() > end)
            return false;
        usleep(500);
    }
}

/* Whether the pages have come by then. They may have left again. */
static inline bool live_has_come(struct live *live, uint32_t block, const struct ff_mask *pages,
                                 uint64_t ns) {
    uint64_t end = ff__clock_ns() + ns;
    for (bool come = false;; usleep(500)) {
        pthread_mutex_lock(&live->lock);
        come = ff_mask_within(pages, &live->came[block]);
        pthread_mutex_unlock(&live->lock);
        if (come || ff__clock_ns() > end)
            return come;
    }
}

/* Waits until a verb is at work on the block; for a second, as on a busy machine it may be over before this thread runs. */
static inline void live_await_work(struct live *live, uint32_t block) {
    bool at_work = false;
    for (uint32_t i = 0; i < 5000 && !at_work; i++, usleep(200)) {
        pthread_mutex_lock(&live->lock);
        at_work = live->fake.blocks[block].at_work;
        pthread_mutex_unlock(&live->lock);
    }
}

#endif
