#include "engine/pipeline_internal.h"

#include <farfault/model.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lazy.h"
#include "base/signals.h"
#include "base/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAULT_QUEUE 1024u
#define PROGRESS_NS                                                                                \
    10000000u /* a thread that waits for jobs to finish looks again this often, in case */
#define TROUBLE_NS 1000000u /* between tries of what has failed */
/* Ours: of serving faults is learned from at a time; if what is learned is not used. */
#define LEARNED_NS 240000u
#define UNUSED_NS  4000000u

/* ---- the lock ---- */

void ff__pipeline_lock(struct ff__pipeline *pipeline) {
    ff__lock_acquire(&pipeline->lock);
    if (!ff__inbox_empty(&pipeline->inbox))
        ff__inbox_take(&pipeline->inbox, pipeline->left_news.take, pipeline->left_news.user);
}

void ff__pipeline_unlock(struct ff__pipeline *pipeline) {
    ff__lock_release(&pipeline->lock);
}

/* ---- carrying out jobs ---- */

/* To wake the correlator, and the prefetching thread after it, is to take little of the time that
 * the faults have taken which it learns from. Launches wake it by themselves. */
static bool is_worth_learning(const struct ff__pipeline *pipeline) {
    const struct ff__queue *events = &pipeline->engine->events;
    uint64_t count = pipeline->has_learner ? events->capacity - ff__queue_room(events) : 0;
    uint64_t least = ff__engine_uses_learning(pipeline->engine) ? LEARNED_NS : UNUSED_NS;
    return count * pipeline->group_ns >= least;
}

void ff__pipeline_notify(struct ff__pipeline *pipeline) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    ff__pipeline_judge_launches(pipeline);
    pthread_cond_broadcast(&pipeline->progress);
    if (pipeline->migration_sleeps &&
        (ff__pipeline_is_pressed(pipeline->engine) ||
         ff__engine_mapped_until(pipeline->engine) < pipeline->work_ns))
        pthread_cond_signal(&pipeline->work);
    if (is_worth_learning(pipeline))
        pthread_cond_signal(&pipeline->news);
}

/* What has come is a sample of its use. */
static void take_samples(struct ff__pipeline *pipeline, const struct ff__job *job, uint64_t now) {
    struct ff_advice items[FF__ADVICE_A_STEP];
    struct ff_advice_list advice = {.items = items, .capacity = FF__ADVICE_A_STEP};
    ff__fault_samples_arrived(&pipeline->samples, job, now, &advice);
    ff__pipeline_queue_all(pipeline, &advice);
}

/* One access of so many is a sample: a prime, so that it is not always the same instruction, and
 * fewer than the pages of a leaf. */
#define SAMPLED 13u

void ff__pipeline_used(struct ff__pipeline *pipeline, uint32_t tier,
                       const struct ff_warp_access *accesses, size_t count) {
    struct ff_advice items[FF__ADVICE_A_STEP];
    struct ff_advice_list advice = {.items = items, .capacity = FF__ADVICE_A_STEP};
    if (!pipeline->samples.tables)
        return;
    ff__pipeline_lock(pipeline);
    uint64_t now = pipeline->backend->now(pipeline->self);
    for (size_t i = 0; i < count; i += SAMPLED) {
        uint32_t page,
            block = ff__space_find(&pipeline->engine->space, (uintptr_t)accesses[i].address, &page);
        if (block != FF_NONE)
            ff__fault_samples_used(&pipeline->samples, tier, block, page, now, &advice);
    }
    ff__pipeline_queue_all(pipeline, &advice);
    ff__pipeline_unlock(pipeline);
}

/* What has been mapped is used over the link. */
static void tell_of_accesses(struct ff__pipeline *pipeline, const struct ff__job *job,
                             uint64_t now) {
    struct ff_advice items[FF__ADVICE_A_STEP];
    struct ff_advice_list advice = {.items = items, .capacity = FF__ADVICE_A_STEP};
    FF_MASK_FOR_EACH_PAGE(&job->in.pages, page) {
        struct ff_access access = {.block = job->in.block,
                                   .page = (uint16_t)page,
                                   .tier = (uint8_t)job->in.to.tier,
                                   .flags = FF_ACCESS_REMOTE,
                                   .more = FF__MAPPED_ACCESSES - 1};
        if (ff_mask_test(&job->written, page))
            access.flags |= FF_ACCESS_WRITE;
        struct ff_access_batch batch = {.items = &access, .count = 1};
        ff__engine_access(pipeline->engine, now, access.tier, &batch, &advice);
    }
    ff__pipeline_queue_all(pipeline, &advice);
}

void ff__pipeline_run_job(struct ff__pipeline *pipeline, struct ff__job *job) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    ff__pipeline_carry_out(pipeline, job);
    uint64_t now = pipeline->backend->now(pipeline->self);
    ff__engine_finish(pipeline->engine, now, job);
    if (job->has_in && job->in.mapped)
        tell_of_accesses(pipeline, job, now);
    else
        take_samples(pipeline, job, now);
    ff__pipeline_notify(pipeline);
}

/* ---- time, and waiting ---- */

uint64_t ff__pipeline_now(struct ff__pipeline *pipeline) {
    uint64_t now = pipeline->backend->now(pipeline->self);
    ff__fault_samples_use(&pipeline->samples, now);
    return now;
}

void ff__pipeline_sleep_until(struct ff__pipeline *pipeline, pthread_cond_t *condition,
                              uint64_t ns) {
    ff__lock_wait_until(&pipeline->lock, condition, ns);
}

void ff__pipeline_sleep(struct ff__pipeline *pipeline, pthread_cond_t *condition, uint64_t ns) {
    ff__pipeline_sleep_until(pipeline, condition, pipeline->backend->now(pipeline->self) + ns);
}

void ff__pipeline_wait_for_progress(struct ff__pipeline *pipeline, uint64_t retry_ns) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    ff__fault_workers_promote(pipeline);
    uint64_t latest = pipeline->backend->now(pipeline->self) + PROGRESS_NS;
    ff__pipeline_sleep_until(pipeline, &pipeline->progress,
                             retry_ns > 0 && retry_ns < latest ? retry_ns : latest);
}

void ff__pipeline_wait_idle(struct ff__pipeline *pipeline, uint32_t block) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    while (ff__facts(&pipeline->engine->space, block)->busy)
        ff__pipeline_wait_for_progress(pipeline, 0);
}

/* ---- advice ---- */

/* As ff__pipeline_advise(); the lock is held. What needs no job is done at once. */
static bool queue_advice(struct ff__pipeline *pipeline, const struct ff_advice *advice) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    if (ff__engine_is_instant(advice)) {
        ff__engine_advise_now(pipeline->engine, advice);
        return true;
    }
    bool queued = ff__queue_push(&pipeline->prefetches, advice);
    if (!queued)
        ff__engine_drop(pipeline->engine, FF_DROP_QUEUE_FULL);
    if (pipeline->migration_sleeps)
        pthread_cond_signal(&pipeline->work);
    return queued;
}

void ff__pipeline_queue_all(struct ff__pipeline *pipeline, const struct ff_advice_list *advice) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    for (uint32_t i = 0; i < advice->count; i++)
        if (!queue_advice(pipeline, &advice->items[i]))
            return;
}

bool ff__pipeline_advise(struct ff__pipeline *pipeline, const struct ff_advice *advice) {
    ff__pipeline_lock(pipeline);
    bool queued = queue_advice(pipeline, advice);
    ff__pipeline_unlock(pipeline);
    return queued;
}

/* ---- serving faults ---- */

/* Whether some faulting threads still wait: their pages have not come, but could. */
static bool is_unserved(const struct ff__pipeline *pipeline, const struct ff_fault_group *group,
                        const struct ff__job *job) {
    struct ff_mask missed = ff_mask_and(&job->in.left, &group->faulted);
    return !ff_mask_empty(&missed) && job->in.status != -ENOENT && !pipeline->stop;
}

/* Others of the group are yet to come, and their arrival does not let these threads go on. */
static void replay_there(struct ff__pipeline *pipeline, struct ff_fault_group *group,
                         const struct ff__job *job) {
    if (ff_mask_empty(&job->there))
        return;
    pipeline->backend->replay(pipeline->self, group->block, &job->there);
    group->faulted = ff_mask_minus(&group->faulted, &job->there);
}

/* One group, with the lock held. Returns the last job status, or negative errno. The policy is
 * asked once, and again if it throttles the faults of a thread that stays: those count as new when
 * their time has come. */
static int serve_one(struct ff__pipeline *pipeline, struct ff_fault_group *group,
                     struct ff__job *job, bool stay) {
    for (ff__job_reset(job);;) {
        uint64_t now = ff__pipeline_now(pipeline);
        int status = ff__engine_fault_again(pipeline->engine, now, group, job);
        if (status != FF__JOB_NONE)
            replay_there(pipeline, group, job);
        switch (status) {
        case FF__JOB_RUN:
            if (!ff_mask_empty(&job->throttled) && !stay)
                ff__pipeline_delay(pipeline, group, &job->throttled, job->retry_ns);
            ff__pipeline_run_job(pipeline, job);
            if (is_unserved(pipeline, group, job)) {
                if (job->in.status && job->in.status != -ECANCELED)
                    ff__pipeline_wait_for_progress(pipeline, now + TROUBLE_NS);
                continue;
            }
            if (job->in.status == -ENOENT) /* the program has unmapped it, and faults on its own */
                pipeline->backend->replay(pipeline->self, group->block, &(struct ff_mask){{0}});
            return status;
        case FF__JOB_NO_ROOM:
            if (pipeline->stop)
                return status;
            ff__pipeline_wait_for_progress(pipeline, job->retry_ns);
            continue;
        case FF__JOB_LATER:
            if (stay)
                ff__pipeline_wait_for_progress(pipeline, 0);
            return status;
        case FF__JOB_WAIT:
            if (!stay) {
                ff__pipeline_delay(pipeline, group, &job->throttled, job->retry_ns);
                return status;
            }
            ff__pipeline_wait_for_progress(pipeline, job->retry_ns);
            job->asked = pipeline->backend->now(pipeline->self) < job->retry_ns;
            continue;
        default: /* FF__JOB_NONE, -EFAULT */
            return status;
        }
    }
}

int ff__pipeline_serve_locked(struct ff__pipeline *pipeline, const struct ff_fault_group *group,
                              bool stay) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    struct ff_fault_group next = *group;
    struct ff__job job;
    uint64_t start = pipeline->backend->now(pipeline->self);
    if (++pipeline->serving > pipeline->serving_most)
        pipeline->serving_most = pipeline->serving;
    int status = serve_one(pipeline, &next, &job, stay);
    if (status == FF__JOB_NONE)
        pipeline->backend->replay(pipeline->self, next.block, &next.faulted);
    while (ff__engine_take_late(pipeline->engine, &next))
        if (serve_one(pipeline, &next, &job, false) == FF__JOB_NONE)
            pipeline->backend->replay(pipeline->self, next.block, &next.faulted);
    uint64_t took = pipeline->backend->now(pipeline->self) - start;
    pipeline->serving--;
    ff__engine_count_service(pipeline->engine, took);
    pipeline->group_ns = (7 * pipeline->group_ns + took) / 8;
    return status < 0 ? status : 0;
}

int ff__pipeline_serve(struct ff__pipeline *pipeline, const struct ff_fault_group *group,
                       bool stay) {
    ff__pipeline_lock(pipeline);
    int status = ff__pipeline_serve_locked(pipeline, group, stay);
    ff__pipeline_unlock(pipeline);
    return status;
}

bool ff__pipeline_unlock_and_serve_late(struct ff__pipeline *pipeline) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    struct ff_fault_group late;
    bool has_late = ff__engine_take_late(pipeline->engine, &late);
    ff__pipeline_unlock(pipeline);
    if (has_late)
        ff__pipeline_serve(pipeline, &late, false);
    return has_late;
}

/* ---- evicting on demand ---- */

static void evict_from(struct ff__pipeline *pipeline, uint32_t block, uint32_t tier,
                       const struct ff_mask *pages, const struct ff_mask *dead, bool freed) {
    struct ff__job job;
    int status;
    while ((status = ff__engine_evict(pipeline->engine, pipeline->backend->now(pipeline->self),
                                      block, tier, pages, dead, &job)) == FF__JOB_LATER)
        ff__pipeline_wait_for_progress(pipeline, 0);
    if (status != FF__JOB_RUN)
        return;
    job.out[0].freed = freed;
    ff__pipeline_run_job(pipeline, &job);
}

static void unmap(struct ff__pipeline *pipeline, uint32_t block, bool freed) {
    struct ff__job job;
    int status;
    while ((status = ff__engine_unmap(pipeline->engine, block, &job)) == FF__JOB_LATER)
        ff__pipeline_wait_for_progress(pipeline, 0);
    if (status != FF__JOB_RUN)
        return;
    job.out[0].freed = freed;
    ff__pipeline_run_job(pipeline, &job);
}

static void evict_locked(struct ff__pipeline *pipeline, uint32_t block, const struct ff_mask *pages,
                         const struct ff_mask *dead, bool freed) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    unmap(pipeline, block, freed);
    for (uint32_t tier = 1; tier < pipeline->engine->space.tier_count; tier++)
        evict_from(pipeline, block, tier, pages, dead, freed);
}

void ff__pipeline_evict(struct ff__pipeline *pipeline, uint32_t block, const struct ff_mask *pages,
                        const struct ff_mask *dead) {
    ff__pipeline_lock(pipeline);
    evict_locked(pipeline, block, pages, dead, false);
    if (dead)
        ff__engine_discard(pipeline->engine, block, dead);
    ff__pipeline_unlock_and_serve_late(pipeline);
}

void ff__pipeline_close(struct ff__pipeline *pipeline, uint32_t block) {
    const struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    ff__pipeline_lock(pipeline);
    evict_locked(pipeline, block, NULL, &all, true);
    ff__pipeline_wait_idle(pipeline, block);
    ff__engine_discard(pipeline->engine, block, &all);
    ff__engine_close_block(pipeline->engine, block);
    ff__pipeline_unlock_and_serve_late(pipeline);
}

/* A prefetch may bring pages back while the lock is given up to evict others. */
static void evict_for_good(struct ff__pipeline *pipeline, uint32_t block,
                           const struct ff_mask *pages, const struct ff_mask *dead, bool freed) {
    struct ff_mask there;
    do {
        evict_locked(pipeline, block, pages, dead, freed);
        ff__pipeline_wait_idle(pipeline, block);
        struct ff_mask mapped = ff__mapped(pipeline->engine, block);
        there = ff__block_present(&pipeline->engine->space, block);
        there = ff_mask_or(&there, &mapped);
        there = ff_mask_and(&there, pages);
    } while (!ff_mask_empty(&there));
}

void ff__pipeline_free_pages(struct ff__pipeline *pipeline, uint32_t block,
                             const struct ff_mask *pages) {
    ff__pipeline_lock(pipeline);
    evict_for_good(pipeline, block, pages, pages, true);
    ff__engine_free_pages(pipeline->engine, block, pages);
    pipeline->backend->discard(pipeline->self, block, pages);
    ff__pipeline_unlock_and_serve_late(pipeline);
}

void ff__pipeline_withdraw(struct ff__pipeline *pipeline, uint32_t block) {
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    ff__pipeline_lock(pipeline);
    evict_for_good(pipeline, block, &all, NULL, false);
    ff__engine_claim_block(pipeline->engine, block, &all);
    ff__signals_hold();
    ff__pipeline_unlock_and_serve_late(pipeline);
}

bool ff__pipeline_is_inside(const struct ff__pipeline *pipeline) {
    for (uint32_t i = 0; i < pipeline->thread_count; i++)
        if (pthread_equal(pipeline->threads[i], pthread_self()))
            return true;
    return false;
}

/* ---- starting and stopping ---- */

static void init_locks(struct ff__pipeline *pipeline) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    ff__lock_init(&pipeline->lock);
    pthread_cond_init(&pipeline->progress, &monotonic);
    pthread_cond_init(&pipeline->called, &monotonic);
    pthread_cond_init(&pipeline->follow, &monotonic);
    pthread_cond_init(&pipeline->work, &monotonic);
    pthread_cond_init(&pipeline->news, &monotonic);
    pthread_cond_init(&pipeline->room, &monotonic);
    pthread_cond_init(&pipeline->learned, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void fini_locks(struct ff__pipeline *pipeline) {
    ff__lock_fini(&pipeline->lock);
    pthread_cond_destroy(&pipeline->progress);
    pthread_cond_destroy(&pipeline->called);
    pthread_cond_destroy(&pipeline->follow);
    pthread_cond_destroy(&pipeline->work);
    pthread_cond_destroy(&pipeline->news);
    pthread_cond_destroy(&pipeline->room);
    pthread_cond_destroy(&pipeline->learned);
}

static int start_thread(struct ff__pipeline *pipeline, void *(*run)(void *), const char *name) {
    pthread_t *thread = &pipeline->threads[pipeline->thread_count];
    int status = ff__thread_start(thread, run, pipeline, name);
    pipeline->thread_count += status == 0;
    return status;
}

/* Starts the other threads, which share what the backend takes for itself, and handles faults. */
static void *first_thread(void *argument) {
    struct ff__pipeline *pipeline = argument;
    if (pipeline->backend->enter)
        pipeline->backend->enter(pipeline->self);
    ff__pipeline_lock(pipeline);
    int status = start_thread(pipeline, ff__migration_thread, "ff-migrate");
    for (uint32_t i = 1; i < pipeline->fault_workers && !status; i++)
        status = start_thread(pipeline, ff__fault_worker, "ff-fault");
    if (!status && pipeline->has_learner)
        status = start_thread(pipeline, ff__correlator_thread, "ff-correlate");
    if (!status && pipeline->has_planner)
        status = start_thread(pipeline, ff__prefetching_thread, "ff-prefetch");
    pipeline->start_status = status;
    pipeline->started = true;
    pthread_cond_broadcast(&pipeline->progress);
    ff__pipeline_unlock(pipeline);
    if (!status)
        ff__fault_worker(pipeline);
    return NULL;
}

/* Starts the first thread and waits until it has started the others. */
static int start_threads(struct ff__pipeline *pipeline) {
    ff__pipeline_lock(pipeline);
    int status = start_thread(pipeline, first_thread, "ff-fault");
    while (!status && !pipeline->started)
        ff__lock_wait(&pipeline->lock, &pipeline->progress);
    ff__pipeline_unlock(pipeline);
    return status ? status : pipeline->start_status;
}

static int make_queues(struct ff__pipeline *pipeline) {
    pipeline->delayed =
        ff__lazy_map(pipeline->engine->space.block_limit * sizeof *pipeline->delayed);
    int status = pipeline->delayed ? 0 : -ENOMEM;
    if (!status)
        status = ff__queue_init(&pipeline->faults, FAULT_QUEUE, sizeof(struct ff_fault_group));
    if (!status)
        status =
            ff__queue_init(&pipeline->prefetches, FF__PREFETCH_QUEUE, sizeof(struct ff_advice));
    if (!status)
        status =
            ff__queue_init(&pipeline->orders, FF__PREFETCH_QUEUE, sizeof(struct ff__launch_order));
    if (!status && pipeline->left_news.size > 0)
        status = ff__inbox_init(&pipeline->inbox, pipeline->left_news.size);
    if (!status)
        status = ff__fault_samples_open(&pipeline->samples, pipeline->engine, pipeline->backend,
                                        pipeline->self);
    return status;
}

static int start_all(struct ff__pipeline *pipeline, struct ff_error *error) {
    const struct ff__backend *backend = pipeline->backend;
    int status = make_queues(pipeline);
    if (status)
        return ff__fail(error, status,
                        "no memory for the queues of faults and prefetches, and for samples");
    status = backend->attach ? backend->attach(pipeline->self, pipeline, error) : 0;
    if (status)
        return status;
    status = start_threads(pipeline);
    if (status)
        return ff__fail(error, status, "cannot start threads: %s", strerror(-status));
    if (backend->started)
        backend->started(pipeline->self);
    return 0;
}

static uint32_t count_fault_workers(uint32_t wanted) {
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t count = wanted > 0 ? wanted : cpus > 2 ? (uint32_t)cpus : 2;
    return count < FF__FAULT_WORKERS_MAX ? count : FF__FAULT_WORKERS_MAX;
}

int ff__pipeline_start(struct ff__pipeline *pipeline, const struct ff__pipeline_config *config,
                       struct ff_error *error) {
    memset(pipeline, 0, sizeof *pipeline);
    pipeline->engine = config->engine;
    pipeline->backend = config->backend;
    pipeline->self = config->self;
    pipeline->log = config->log;
    pipeline->observer = config->observer;
    pipeline->left_news = config->left_news;
    pipeline->is_urgent = true; /* the first launch shows what it is to the policy */
    pipeline->fault_workers = count_fault_workers(config->fault_workers);
    pipeline->calls_end = &pipeline->calls;
    pipeline->has_learner = ff__engine_learns(config->engine);
    pipeline->has_planner =
        config->engine->prefetch->learning && config->engine->prefetch->learning->plan;
    pipeline->delayed_head = FF_NONE;
    init_locks(pipeline);
    int status = start_all(pipeline, error);
    if (status)
        ff__pipeline_stop(pipeline);
    return status;
}

void ff__pipeline_stop(struct ff__pipeline *pipeline) {
    if (pipeline->backend->detach)
        pipeline->backend->detach(pipeline->self);
    ff__pipeline_lock(pipeline);
    __atomic_store_n(&pipeline->stop, true, __ATOMIC_RELAXED);
    ff__pipeline_abort(pipeline);
    pthread_cond_broadcast(&pipeline->progress);
    pthread_cond_broadcast(&pipeline->follow);
    pthread_cond_broadcast(&pipeline->work);
    pthread_cond_broadcast(&pipeline->news);
    pthread_cond_broadcast(&pipeline->room);
    pthread_cond_broadcast(&pipeline->learned);
    ff__pipeline_unlock(pipeline);
    for (uint32_t i = 0; i < pipeline->thread_count; i++)
        pthread_join(pipeline->threads[i], NULL);
    ff__inbox_fini(&pipeline->inbox);
    ff__queue_fini(&pipeline->faults);
    ff__queue_fini(&pipeline->prefetches);
    ff__queue_fini(&pipeline->orders);
    ff__lazy_unmap(pipeline->delayed,
                   pipeline->engine->space.block_limit * sizeof *pipeline->delayed);
    ff__fault_samples_close(&pipeline->samples);
    fini_locks(pipeline);
}
