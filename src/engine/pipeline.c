#include "engine/pipeline.h"
#include "engine/internal.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/lazy.h"
#include "base/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAULT_QUEUE    1024u
#define PREFETCH_QUEUE 4096u
#define ADVICE_A_STEP  64u
#define PROGRESS_NS                                                                                \
    10000000u /* a thread that waits for jobs to finish looks again this often, in case */
#define TROUBLE_NS 1000000u /* between tries of what has failed */

/* ---- carrying out jobs ---- */

static bool pressed(const struct ff__engine *engine) {
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        if (engine->pressed[tier])
            return true;
    return false;
}

/* Wakes the threads that this job gives something to do. The lock is held. */
static void notify(struct ff__pipeline *pipeline) {
    pthread_cond_broadcast(&pipeline->progress);
    if (pipeline->migration_sleeps && pressed(pipeline->engine))
        pthread_cond_signal(&pipeline->work);
    if (pipeline->has_learner && !ff__queue_empty(&pipeline->engine->events))
        pthread_cond_signal(&pipeline->news);
}

/* What has come is a sample of its use. */
static void take_samples(struct ff__pipeline *pipeline, const struct ff__job *job, uint64_t now) {
    struct ff_advice items[ADVICE_A_STEP];
    struct ff_advice_list advice = {.items = items, .capacity = ADVICE_A_STEP};
    ff__fault_samples_arrived(&pipeline->samples, job, now, &advice);
    ff__pipeline_queue_all(pipeline, &advice);
}

/* Carries out and finishes a job. The lock is held before and after, not during. */
static void run_job(struct ff__pipeline *pipeline, struct ff__job *job) {
    ff__pipeline_carry_out(pipeline, job);
    uint64_t now = pipeline->backend->now(pipeline->self);
    ff__engine_finish(pipeline->engine, now, job);
    take_samples(pipeline, job, now);
    notify(pipeline);
}

bool ff__pipeline_queue_advice(struct ff__pipeline *pipeline, const struct ff_advice *advice) {
    if (advice->action == FF_SAMPLE) {
        ff__engine_sample(pipeline->engine, advice);
        return true;
    }
    bool queued = ff__queue_push(&pipeline->prefetches, advice);
    if (!queued)
        ff__engine_drop(pipeline->engine, FF_DROP_QUEUE_FULL);
    if (pipeline->migration_sleeps)
        pthread_cond_signal(&pipeline->work);
    return queued;
}

/* The time, for a call that may ask policies who leaves. */
static uint64_t now_for_policies(struct ff__pipeline *pipeline) {
    uint64_t now = pipeline->backend->now(pipeline->self);
    ff__fault_samples_use(&pipeline->samples, now);
    return now;
}

/* ---- serving faults ---- */

/* Sleeps on a condition, at the longest until then. The lock is held. */
static void sleep_until(struct ff__pipeline *pipeline, pthread_cond_t *condition, uint64_t ns) {
    struct timespec until = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    pthread_cond_timedwait(condition, &pipeline->lock, &until);
}

void ff__pipeline_sleep(struct ff__pipeline *pipeline, pthread_cond_t *condition, uint64_t ns) {
    sleep_until(pipeline, condition, pipeline->backend->now(pipeline->self) + ns);
}

/* Until some job has finished, or it may help to look again. The lock is held. */
static void wait_for_progress(struct ff__pipeline *pipeline, uint64_t retry_ns) {
    ff__fault_workers_promote(pipeline);
    uint64_t latest = pipeline->backend->now(pipeline->self) + PROGRESS_NS;
    sleep_until(pipeline, &pipeline->progress,
                retry_ns > 0 && retry_ns < latest ? retry_ns : latest);
}

void ff__pipeline_wait_idle(struct ff__pipeline *pipeline, uint32_t block) {
    while (ff__facts(&pipeline->engine->space, block)->busy)
        wait_for_progress(pipeline, 0);
}

/* Puts throttled faults aside for the migration thread. The lock is held. */
static void delay(struct ff__pipeline *pipeline, const struct ff_fault_group *group,
                  const struct ff_mask *pages, uint64_t due_ns) {
    struct ff__delayed *slot = &pipeline->delayed[group->block];
    if (!slot->queued) {
        *slot =
            (struct ff__delayed){.due_ns = due_ns, .next = pipeline->delayed_head, .queued = true};
        __atomic_store_n(&pipeline->delayed_head, group->block, __ATOMIC_RELAXED);
    }
    slot->faulted = ff_mask_or(&slot->faulted, pages);
    slot->written = ff_mask_or(&slot->written, &group->written);
    slot->tier = group->tier;
    if (due_ns < slot->due_ns)
        slot->due_ns = due_ns;
    pthread_cond_signal(&pipeline->work);
}

/* Whether some faulting threads still wait: their pages have not come, but could. */
static bool is_unserved(const struct ff__pipeline *pipeline, const struct ff_fault_group *group,
                        const struct ff__job *job) {
    struct ff_mask missed = ff_mask_and(&job->in.left, &group->faulted);
    return !ff_mask_empty(&missed) && job->in.status != -ENOENT && !pipeline->stop;
}

/* One group, with the lock held. Returns the last job status, or negative errno. The policy is asked once,
 * and again if it throttles the faults of a thread that stays: those count as new when their time has come. */
static int serve_one(struct ff__pipeline *pipeline, struct ff_fault_group *group,
                     struct ff__job *job, bool stay) {
    for (ff__job_reset(job);;) {
        uint64_t now = now_for_policies(pipeline);
        int status = ff__engine_fault_again(pipeline->engine, now, group, job);
        switch (status) {
        case FF__JOB_RUN:
            if (!ff_mask_empty(&job->throttled) && !stay)
                delay(pipeline, group, &job->throttled, job->retry_ns);
            run_job(pipeline, job);
            if (is_unserved(pipeline, group, job)) {
                if (job->in.status && job->in.status != -ECANCELED)
                    wait_for_progress(pipeline, now + TROUBLE_NS);
                continue;
            }
            if (job->in.status == -ENOENT) /* the program has unmapped it, and faults on its own */
                pipeline->backend->replay(pipeline->self, group->block, &(struct ff_mask){{0}});
            return status;
        case FF__JOB_NO_ROOM:
            if (pipeline->stop)
                return status;
            wait_for_progress(pipeline, job->retry_ns);
            continue;
        case FF__JOB_LATER:
            if (stay)
                wait_for_progress(pipeline, 0);
            return status;
        case FF__JOB_WAIT:
            if (!stay) {
                delay(pipeline, group, &job->throttled, job->retry_ns);
                return status;
            }
            wait_for_progress(pipeline, job->retry_ns);
            job->asked = pipeline->backend->now(pipeline->self) < job->retry_ns;
            continue;
        default: /* FF__JOB_NONE, -EFAULT */
            return status;
        }
    }
}

int ff__pipeline_serve_locked(struct ff__pipeline *pipeline, const struct ff_fault_group *group,
                              bool stay) {
    struct ff_fault_group next = *group;
    struct ff__job job;
    uint64_t start = pipeline->backend->now(pipeline->self);
    int status = serve_one(pipeline, &next, &job, stay);
    if (status == FF__JOB_NONE)
        pipeline->backend->replay(pipeline->self, next.block, &next.faulted);
    while (ff__engine_take_late(pipeline->engine, &next))
        if (serve_one(pipeline, &next, &job, false) == FF__JOB_NONE)
            pipeline->backend->replay(pipeline->self, next.block, &next.faulted);
    uint64_t took = pipeline->backend->now(pipeline->self) - start;
    pipeline->engine->space.stats.fault_ns += took;
    pipeline->group_ns = (7 * pipeline->group_ns + took) / 8;
    return status < 0 ? status : 0;
}

int ff__pipeline_serve(struct ff__pipeline *pipeline, const struct ff_fault_group *group,
                       bool stay) {
    pthread_mutex_lock(&pipeline->lock);
    int status = ff__pipeline_serve_locked(pipeline, group, stay);
    pthread_mutex_unlock(&pipeline->lock);
    return status;
}

/* ---- the migration thread ---- */

/* Takes a delayed group that is due. The lock is held. */
static bool take_due(struct ff__pipeline *pipeline, struct ff_fault_group *group) {
    uint64_t now = pipeline->backend->now(pipeline->self);
    uint32_t *link = &pipeline->delayed_head;
    while (*link != FF_NONE && pipeline->delayed[*link].due_ns > now)
        link = &pipeline->delayed[*link].next;
    if (*link == FF_NONE)
        return false;
    struct ff__delayed *slot = &pipeline->delayed[*link];
    *group = (struct ff_fault_group){.block = *link,
                                     .tier = slot->tier,
                                     .launch = FF_NONE,
                                     .faulted = slot->faulted,
                                     .written = slot->written};
    slot->queued = false;
    __atomic_store_n(link, slot->next, __ATOMIC_RELAXED);
    return true;
}

static uint64_t next_due(const struct ff__pipeline *pipeline) {
    uint64_t next = UINT64_MAX;
    for (uint32_t block = pipeline->delayed_head; block != FF_NONE;
         block = pipeline->delayed[block].next)
        if (pipeline->delayed[block].due_ns < next)
            next = pipeline->delayed[block].due_ns;
    return next;
}

static bool step_due(struct ff__pipeline *pipeline) {
    struct ff_fault_group group;
    if (__atomic_load_n(&pipeline->delayed_head, __ATOMIC_RELAXED) == FF_NONE)
        return false;
    pthread_mutex_lock(&pipeline->lock);
    bool due = take_due(pipeline, &group);
    pthread_mutex_unlock(&pipeline->lock);
    if (due)
        ff__pipeline_serve(pipeline, &group, false);
    return due;
}

static bool step_faults(struct ff__pipeline *pipeline) {
    struct ff_fault_group group;
    if (ff__queue_empty(&pipeline->faults))
        return false;
    pthread_mutex_lock(&pipeline->lock);
    bool has_group = ff__queue_pop(&pipeline->faults, &group);
    if (has_group)
        ff__pipeline_serve_locked(pipeline, &group, false);
    pthread_mutex_unlock(&pipeline->lock);
    return has_group;
}

static bool step_prefetches(struct ff__pipeline *pipeline) {
    struct ff_advice advice;
    struct ff__job job;
    if (!ff__queue_pop(&pipeline->prefetches, &advice))
        return false;
    pthread_mutex_lock(&pipeline->lock);
    if (ff__engine_advise(pipeline->engine, now_for_policies(pipeline), &advice, &job) ==
        FF__JOB_RUN)
        run_job(pipeline, &job);
    else
        notify(pipeline); /* that there was no room for it */
    struct ff_fault_group late;
    bool has_late = ff__engine_take_late(pipeline->engine, &late);
    pthread_mutex_unlock(&pipeline->lock);
    if (has_late)
        ff__pipeline_serve(pipeline, &late, false);
    return true;
}

/* `owed`: only where more is allocated than the capacity, which others wait for. */
static bool step_preevict(struct ff__pipeline *pipeline, bool owed) {
    struct ff__job job;
    struct ff__engine *engine = pipeline->engine;
    bool worked = false;
    pthread_mutex_lock(&pipeline->lock);
    for (uint32_t tier = 1; tier < engine->space.tier_count && !worked; tier++) {
        if (owed && ff__space_excess(&engine->space, tier) == 0)
            continue;
        worked = ff__engine_preevict(engine, now_for_policies(pipeline), tier, &job) == FF__JOB_RUN;
        if (worked)
            run_job(pipeline, &job);
    }
    struct ff_fault_group late;
    bool has_late = worked && ff__engine_take_late(engine, &late);
    pthread_mutex_unlock(&pipeline->lock);
    if (has_late)
        ff__pipeline_serve(pipeline, &late, false);
    return worked;
}

/* Serves what came late for a block that a program's thread was at work on. */
static bool step_late(struct ff__pipeline *pipeline) {
    struct ff_fault_group late;
    pthread_mutex_lock(&pipeline->lock);
    bool has_late = ff__engine_take_late(pipeline->engine, &late);
    pthread_mutex_unlock(&pipeline->lock);
    if (has_late)
        ff__pipeline_serve(pipeline, &late, false);
    return has_late;
}

static bool step_calls(struct ff__pipeline *pipeline) {
    if (!__atomic_load_n(&pipeline->calls, __ATOMIC_RELAXED))
        return false;
    pthread_mutex_lock(&pipeline->lock);
    struct ff__call *call = pipeline->calls;
    if (!call->next)
        pipeline->calls_end = &pipeline->calls;
    __atomic_store_n(&pipeline->calls, call->next, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&pipeline->lock);
    call->run(call->argument);
    pthread_mutex_lock(&pipeline->lock);
    call->done = true; /* from here on it may be gone */
    pthread_cond_broadcast(&pipeline->called);
    pthread_mutex_unlock(&pipeline->lock);
    return true;
}

/* Sleeps until there is work, or a delayed group is due. */
static void sleep_until_work(struct ff__pipeline *pipeline) {
    pthread_mutex_lock(&pipeline->lock);
    uint64_t next = pipeline->backend->now(pipeline->self) + FF__IDLE_NS, due = next_due(pipeline);
    if (due < next)
        next = due;
    if (!pipeline->stop && ff__queue_empty(&pipeline->faults) && !pipeline->calls &&
        pipeline->engine->late_head == FF_NONE && ff__queue_empty(&pipeline->prefetches) &&
        !pressed(pipeline->engine)) {
        pipeline->migration_sleeps = true;
        sleep_until(pipeline, &pipeline->work, next);
        pipeline->migration_sleeps = false;
        ff__engine_press(pipeline->engine);
    }
    pthread_mutex_unlock(&pipeline->lock);
}

static void *migration_thread(void *argument) {
    struct ff__pipeline *pipeline = argument;
    while (!__atomic_load_n(&pipeline->stop, __ATOMIC_RELAXED))
        if (!step_calls(pipeline) && !step_faults(pipeline) && !step_late(pipeline) &&
            !step_due(pipeline) && !step_preevict(pipeline, true) && !step_prefetches(pipeline) &&
            !step_preevict(pipeline, false))
            sleep_until_work(pipeline);
    pipeline->backend->interrupt(pipeline->self); /* so that the leader ends, too */
    return NULL;
}

bool ff__pipeline_is_inside(const struct ff__pipeline *pipeline) {
    for (uint32_t i = 0; i < pipeline->thread_count; i++)
        if (pthread_equal(pipeline->threads[i], pthread_self()))
            return true;
    return false;
}

void ff__pipeline_call(struct ff__pipeline *pipeline, void (*run)(void *argument), void *argument) {
    struct ff__call call = {.run = run, .argument = argument};
    pthread_mutex_lock(&pipeline->lock);
    __atomic_store_n(pipeline->calls_end, &call, __ATOMIC_RELAXED);
    pipeline->calls_end = &call.next;
    if (pipeline->migration_sleeps)
        pthread_cond_signal(&pipeline->work);
    while (!call.done) /* not for progress: a call may be a thousand jobs */
        pthread_cond_wait(&pipeline->called, &pipeline->lock);
    pthread_mutex_unlock(&pipeline->lock);
}

/* ---- the correlator and the prefetching thread ---- */

static void sleep_on(struct ff__pipeline *pipeline, pthread_cond_t *condition) {
    sleep_until(pipeline, condition, pipeline->backend->now(pipeline->self) + 10 * FF__IDLE_NS);
}

static void *correlator_thread(void *argument) {
    struct ff__pipeline *pipeline = argument;
    struct ff__learning_step step;
    pthread_mutex_lock(&pipeline->lock);
    while (!pipeline->stop) {
        if (!ff__engine_take_events(pipeline->engine, &step)) {
            sleep_on(pipeline, &pipeline->news);
            continue;
        }
        pthread_cond_broadcast(&pipeline->room);
        pthread_mutex_unlock(&pipeline->lock);
        ff__engine_learn(pipeline->engine, &step);
        pthread_mutex_lock(&pipeline->lock);
        ff__engine_publish(pipeline->engine, &step);
        pipeline->unplanned += step.count;
        pthread_mutex_unlock(&pipeline->lock);
        if (pipeline->has_planner) /* without the lock: a wake-up takes longer than most steps */
            pthread_cond_signal(&pipeline->learned);
        pthread_mutex_lock(&pipeline->lock);
    }
    pthread_mutex_unlock(&pipeline->lock);
    return NULL;
}

/* More advice is queued than one step of the plan gives. */
static bool advice_waits(struct ff__pipeline *pipeline) {
    return ff__queue_room(&pipeline->prefetches) + ADVICE_A_STEP < PREFETCH_QUEUE;
}

/* Queues a plan's advice, up to the first piece that finds no room. Others get the lock between two pieces: a policy that
 * always has something to plan would starve them. */
static void take_advice(struct ff__pipeline *pipeline, const struct ff_advice_list *advice) {
    for (uint32_t i = 0; i < advice->count; i++)
        if (!ff__pipeline_advise(pipeline, &advice->items[i]))
            return;
}

static void *prefetching_thread(void *argument) {
    struct ff__pipeline *pipeline = argument;
    struct ff_advice items[ADVICE_A_STEP];
    while (!__atomic_load_n(&pipeline->stop, __ATOMIC_RELAXED)) {
        struct ff_advice_list advice = {.items = items, .capacity = ADVICE_A_STEP};
        pthread_mutex_lock(&pipeline->lock);
        if (pipeline->unplanned == 0 && !pipeline->stop)
            sleep_on(pipeline, &pipeline->learned);
        while (advice_waits(pipeline) && !pipeline->stop)
            wait_for_progress(pipeline, 0); /* what is queued is planned with what was known then */
        if (pipeline->unplanned > 0)
            ff__engine_plan(pipeline->engine, pipeline->backend->now(pipeline->self), &advice);
        ff__pipeline_abort(pipeline, false);
        if (advice.count < ADVICE_A_STEP)
            pipeline->unplanned = 0; /* a full list may have more to say */
        pthread_mutex_unlock(&pipeline->lock);
        take_advice(pipeline, &advice);
    }
    return NULL;
}

void ff__pipeline_queue_all(struct ff__pipeline *pipeline, const struct ff_advice_list *advice) {
    for (uint32_t i = 0; i < advice->count; i++)
        if (!ff__pipeline_queue_advice(pipeline, &advice->items[i]))
            return;
}

bool ff__pipeline_advise(struct ff__pipeline *pipeline, const struct ff_advice *advice) {
    pthread_mutex_lock(&pipeline->lock);
    bool queued = ff__pipeline_queue_advice(pipeline, advice);
    pthread_mutex_unlock(&pipeline->lock);
    return queued;
}

/* ---- evicting on demand ---- */

static void evict_locked(struct ff__pipeline *pipeline, uint32_t block, uint32_t tier,
                         const struct ff_mask *dead, bool close) {
    struct ff__job job;
    int status;
    while ((status = ff__engine_evict(pipeline->engine, pipeline->backend->now(pipeline->self),
                                      block, tier, NULL, dead, &job)) == FF__JOB_LATER)
        wait_for_progress(pipeline, 0);
    if (status != FF__JOB_RUN)
        return;
    job.out[0].freed = close;
    run_job(pipeline, &job);
}

void ff__pipeline_evict(struct ff__pipeline *pipeline, uint32_t block, const struct ff_mask *dead,
                        bool close) {
    struct ff__engine *engine = pipeline->engine;
    struct ff_fault_group late;
    pthread_mutex_lock(&pipeline->lock);
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        evict_locked(pipeline, block, tier, dead, close);
    if (close)
        ff__pipeline_wait_idle(pipeline, block);
    if (dead)
        ff__engine_discard(engine, block, dead);
    if (close)
        ff__engine_close_block(engine, block);
    bool has_late = ff__engine_take_late(engine, &late);
    pthread_mutex_unlock(&pipeline->lock);
    if (has_late)
        ff__pipeline_serve(pipeline, &late, false);
}

/* ---- starting and stopping ---- */

static void init_locks(struct ff__pipeline *pipeline) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&pipeline->lock, NULL);
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
    pthread_mutex_destroy(&pipeline->lock);
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
    pthread_mutex_lock(&pipeline->lock);
    int status = start_thread(pipeline, migration_thread, "ff-migrate");
    for (uint32_t i = 1; i < pipeline->fault_workers && !status; i++)
        status = start_thread(pipeline, ff__fault_worker, "ff-fault");
    if (!status && pipeline->has_learner)
        status = start_thread(pipeline, correlator_thread, "ff-correlate");
    if (!status && pipeline->has_planner)
        status = start_thread(pipeline, prefetching_thread, "ff-prefetch");
    pipeline->start_status = status;
    pipeline->started = true;
    pthread_cond_broadcast(&pipeline->progress);
    pthread_mutex_unlock(&pipeline->lock);
    if (!status)
        ff__fault_worker(pipeline);
    return NULL;
}

/* Starts the first thread and waits until it has started the others. */
static int start_threads(struct ff__pipeline *pipeline) {
    pthread_mutex_lock(&pipeline->lock);
    int status = start_thread(pipeline, first_thread, "ff-fault");
    while (!status && !pipeline->started)
        pthread_cond_wait(&pipeline->progress, &pipeline->lock);
    pthread_mutex_unlock(&pipeline->lock);
    return status ? status : pipeline->start_status;
}

static int make_queues(struct ff__pipeline *pipeline) {
    pipeline->delayed =
        ff__lazy_map(pipeline->engine->space.block_limit * sizeof *pipeline->delayed);
    int status = pipeline->delayed ? 0 : -ENOMEM;
    if (!status)
        status = ff__queue_init(&pipeline->faults, FAULT_QUEUE, sizeof(struct ff_fault_group));
    if (!status)
        status = ff__queue_init(&pipeline->prefetches, PREFETCH_QUEUE, sizeof(struct ff_advice));
    if (!status)
        status = ff__fault_samples_open(&pipeline->samples, pipeline->engine);
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
    pipeline->fault_workers = count_fault_workers(config->fault_workers);
    pipeline->calls_end = &pipeline->calls;
    pipeline->has_learner = config->engine->events.items != NULL;
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
    pthread_mutex_lock(&pipeline->lock);
    __atomic_store_n(&pipeline->stop, true, __ATOMIC_RELAXED);
    ff__pipeline_abort(pipeline, true);
    pthread_cond_broadcast(&pipeline->progress);
    pthread_cond_broadcast(&pipeline->follow);
    pthread_cond_broadcast(&pipeline->work);
    pthread_cond_broadcast(&pipeline->news);
    pthread_cond_broadcast(&pipeline->room);
    pthread_cond_broadcast(&pipeline->learned);
    pthread_mutex_unlock(&pipeline->lock);
    for (uint32_t i = 0; i < pipeline->thread_count; i++)
        pthread_join(pipeline->threads[i], NULL);
    ff__queue_fini(&pipeline->faults);
    ff__queue_fini(&pipeline->prefetches);
    ff__lazy_unmap(pipeline->delayed,
                   pipeline->engine->space.block_limit * sizeof *pipeline->delayed);
    ff__fault_samples_close(&pipeline->samples);
    fini_locks(pipeline);
}
