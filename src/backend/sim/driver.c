/* The driver: from faults to jobs.
 *
 * With batch costs it is one thread, as the NVIDIA driver's bottom half (uvm_gpu_replayable_faults.c):
 * it takes a batch from the buffer, serves it block by block, each copy to its end, and then has all
 * stalled warps try again.
 *
 * With flat costs (UVMSmart) a batch is one fault, which ends when its pages have come; nothing but
 * the link takes time. UVMSmart queues transfers before it has memory for them, chooses victims at
 * once and takes back a choice that is used before its turn comes: choosing when the link is free
 * comes to the same. It counts each of several faults in the very same cycle, also where one would
 * bring the others' pages; SMs in lockstep, as here, would make a rule of that exception. */
#include "backend/sim/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AHEAD 4u /* prefetches and pre-evictions at a time, at least; ours */

/* ---- learning ---- */

/* The policy is still deciding. */
static void put_off(struct sim *sim, const struct ff_advice *advice) {
    struct job *job = ff__sim_job(sim);
    if (!job)
        return;
    job->advice = *advice;
    ff__sim_post(sim, advice->ready_ns * PS_PER_NS, EVENT_ADVICE, advice->tier - 1, job);
}

/* Puts a piece of advice down for the device that it is for; NULL: none of these, or not yet. */
static struct device *note_advice(struct sim *sim, const struct ff_advice *advice, uint64_t time) {
    if (advice->tier == FF_TIER_HOST || advice->tier >= sim->engine.space.tier_count)
        return NULL;
    if (advice->ready_ns > ff__sim_ns(time) && !sim->config->untimed) {
        put_off(sim, advice);
        return NULL;
    }
    struct device *device = &sim->devices[advice->tier - 1];
    if (!ff__queue_push(&device->advice, advice))
        sim->engine.space.stats.advice_dropped++;
    return device;
}

/* One turn of the correlator and one of the prefetching thread. */
static void learn_and_plan(struct sim *sim, uint64_t time) {
    struct ff_event events[64];
    struct ff_advice items[64];
    if (!sim->engine.events.items)
        return;
    while (ff__engine_learn(&sim->engine, ff__sim_ns(time), events, 64) == 64)
        ;
    struct ff_advice_list advice = {items, 0, 64};
    ff__engine_plan(&sim->engine, ff__sim_ns(time), &advice);
    for (uint32_t i = 0; i < advice.count; i++)
        note_advice(sim, &items[i], time);
}

void ff__sim_learn(struct sim *sim, uint64_t time) {
    learn_and_plan(sim, time);
    for (uint32_t i = 0; i < sim->config->devices; i++)
        ff__sim_idle(sim, &sim->devices[i], time);
}

/* ---- serving ---- */

static void post_retry(struct sim *sim, const struct ff_fault_group *group,
                       const struct ff_mask *pages, uint64_t due_ns) {
    struct job *job = ff__sim_job(sim);
    if (!job)
        return;
    job->group = *group;
    job->group.faulted = *pages;
    ff__sim_post(sim, due_ns * PS_PER_NS, EVENT_RETRY, group->tier - 1, job);
}

/* Keeps faults that found no room until some job has finished. */
static void keep(struct sim *sim, const struct ff_fault_group *group, struct job *job) {
    if (sim->retry_count == sim->retry_capacity) {
        uint32_t capacity = sim->retry_capacity ? 2 * sim->retry_capacity : 64;
        struct job **retries = realloc(sim->retries, capacity * sizeof *retries);
        if (!retries) {
            ff__sim_fail(sim, -ENOMEM, "faults");
            return;
        }
        sim->retries = retries;
        sim->retry_capacity = capacity;
    }
    job->group = *group;
    sim->retries[sim->retry_count++] = job;
}

/* One group of faults. Returns the job that it started, or NULL. */
static struct job *serve(struct sim *sim, struct ff_fault_group *group, uint64_t time) {
    struct device *device = &sim->devices[group->tier - 1];
    struct job *job = ff__sim_job(sim);
    if (!job)
        return NULL;
    int status = ff__engine_fault(&sim->engine, ff__sim_ns(time), group, &job->job);
    job->cause = JOB_OF_BATCH;
    job->device = group->tier - 1;
    if (!ff_mask_empty(&job->job.remote))
        ff__bulk_changed(sim, device, group->block);
    switch (status) {
    case FF__JOB_RUN:
        if (!ff_mask_empty(&job->job.remote))
            ff__sms_wake(sim, device, group->block, &job->job.remote, time);
        if (!ff_mask_empty(&job->job.throttled))
            post_retry(sim, group, &job->job.throttled, job->job.retry_ns);
        return job;
    case FF__JOB_NO_ROOM:
        keep(sim, group, job);
        return NULL;
    case FF__JOB_WAIT:
        post_retry(sim, group, &job->job.throttled, job->job.retry_ns);
        break;
    case FF__JOB_NONE:
        ff__sms_wake(sim, device, group->block, &group->faulted, time);
        break;
    case FF__JOB_LATER:
        break;
    default:
        ff__sim_fail(sim, status, "a touch outside every array");
        break;
    }
    ff__sim_job_free(sim, job);
    return NULL;
}

static void serve_at_once(struct sim *sim, struct ff_fault_group *group, uint64_t time) {
    struct job *job = serve(sim, group, time);
    if (!job)
        return;
    job->cause = JOB_ALONE;
    ff__sim_start(sim, job, time);
}

void ff__sim_retry(struct sim *sim, struct job *job, uint64_t time) {
    struct ff_fault_group group = job->group;
    ff__sim_job_free(sim, job);
    serve_at_once(sim, &group, time);
}

/* ---- idle links ---- */

bool ff__sim_links_idle(const struct sim *sim, const struct device *device, uint64_t time) {
    return sim->jobs_at_work == 0 && !device->in_batch && device->link_free[LINK_OUT] <= time &&
           (device->buffer_count == 0 || device->buffer[0].time > time);
}

/* Something has ended: warps may wait for that. */
static void expect_idle(struct sim *sim, uint64_t time) {
    for (uint32_t i = 0; sim->gpu->ends_when_idle && i < sim->config->devices; i++) {
        uint64_t out_end = sim->devices[i].link_free[LINK_OUT];
        if (sim->jobs_at_work == 0)
            ff__sim_post(sim, out_end > time ? out_end : time, EVENT_IDLE, i, NULL);
    }
}

/* ---- the fault buffer ---- */

static int by_page(const void *a, const void *b) {
    const struct fault *x = a, *y = b;
    if (x->word != y->word)
        return x->word > y->word ? 1 : -1;
    return __builtin_ctzll(x->pages) - __builtin_ctzll(y->pages);
}

static bool is_sorted(const struct fault *faults, uint32_t count) {
    for (uint32_t i = 1; i < count; i++)
        if (by_page(&faults[i - 1], &faults[i]) > 0)
            return false;
    return true;
}

/* Takes the lowest `limit` pages out of it, or all if there are not more. */
static struct fault split(struct fault *fault, uint32_t limit) {
    struct fault taken = *fault;
    for (; limit > 0 && fault->pages; limit--)
        fault->pages &= fault->pages - 1;
    taken.pages &= ~fault->pages;
    return taken;
}

/* Takes up to `limit` faults that are visible from the buffer. */
static uint32_t take_faults(struct device *device, uint64_t time, struct fault *out,
                            uint32_t limit) {
    struct fault *buffer = device->buffer;
    uint32_t count = 0, taken = 0;
    for (uint32_t pages; limit > 0 && taken < device->buffer_count && buffer[taken].time <= time;
         limit -= pages) {
        pages = (uint32_t)__builtin_popcountll(buffer[taken].pages);
        pages = pages < limit ? pages : limit;
        out[count++] = split(&buffer[taken], pages);
        taken += buffer[taken].pages == 0;
    }
    device->buffer_count -= taken;
    memmove(buffer, buffer + taken, device->buffer_count * sizeof *buffer);
    if (!is_sorted(out, count)) /* kernels in bulk touch their pages in order */
        qsort(out, count, sizeof *out, by_page);
    return count;
}

/* The faults from `*next` on that are of one block. */
static struct ff_fault_group next_group(const struct device *device, uint32_t *next) {
    const struct fault *first = &device->batch[*next], *end = device->batch + device->batch_count;
    const struct fault *fault = first;
    struct ff_fault_group group = {.block = ff__fault_block(first),
                                   .tier = device->tier,
                                   .launch = FF_NONE,
                                   .thread = first->thread};
    for (; fault < end && ff__fault_block(fault) == group.block; fault++) {
        group.faulted.word[fault->word % FF_MASK_WORDS] |= fault->pages;
        group.written.word[fault->word % FF_MASK_WORDS] |= fault->write ? fault->pages : 0;
    }
    *next = (uint32_t)(fault - device->batch);
    return group;
}

static void observe_group(struct sim *sim, const struct ff_fault_group *group) {
    const struct ff__space *space = &sim->engine.space;
    uint32_t range = space->blocks[group->block].range;
    uint64_t before = (uint64_t)(group->block - space->ranges[range].first_block) * FF_BLOCK_PAGES;
    FF_MASK_FOR_EACH_PAGE(&group->faulted, page) {
        struct ff_trace_event event = {.kind = FF_TRACE_FAULT,
                                       .device = group->tier - 1,
                                       .range = range,
                                       .page = before + page,
                                       .write = ff_mask_test(&group->written, page)};
        ff__sim_observe(sim, &event);
    }
}

static void observe_batch(struct sim *sim, const struct device *device) {
    for (uint32_t next = 0; sim->config->observe && next < device->batch_count;) {
        struct ff_fault_group group = next_group(device, &next);
        observe_group(sim, &group);
    }
}

/* Fetching the batch's entries, sorting them and merging those on one page. */
static uint64_t batch_cost(const struct sim *sim, const struct device *device) {
    uint64_t entries = 0;
    for (const struct fault *fault = device->batch; fault < device->batch + device->batch_count;
         fault++)
        entries += (uint64_t)__builtin_popcountll(fault->pages) * fault->sms;
    return (sim->gpu->batch_ns + sim->gpu->entry_ns * entries) * PS_PER_NS;
}

/* Its execution ID has had a fault. */
static void note_kernel(struct sim *sim, uint32_t id) {
    uint32_t slot = ff_launch_slot(id);
    if (id == FF_NONE)
        return;
    if (slot >= sim->faulted_capacity) {
        uint32_t capacity = 2 * slot + 64;
        uint32_t *faulted = realloc(sim->faulted, capacity * sizeof *faulted);
        if (!faulted) {
            ff__sim_fail(sim, -ENOMEM, "faults");
            return;
        }
        memset(faulted + sim->faulted_capacity, 0,
               (capacity - sim->faulted_capacity) * sizeof *faulted);
        sim->faulted = faulted;
        sim->faulted_capacity = capacity;
    }
    sim->result->kernels_faulted += sim->faulted[slot] != id + 1;
    sim->faulted[slot] = id + 1;
}

static void start_batch(struct sim *sim, struct device *device, uint64_t time) {
    device->batch_count = take_faults(device, time, device->batch, ff__sim_batch_limit(sim));
    device->batch_next = 0;
    if (device->batch_count == 0)
        return;
    observe_batch(sim, device);
    note_kernel(sim, sim->engine.launch[device->tier]);
    device->in_batch = true;
    device->batch_start = time;
    sim->result->batches++;
    ff__sim_post(sim, time + batch_cost(sim, device), EVENT_DRIVER, device->tier - 1, NULL);
}

void ff__sim_faults(struct sim *sim, struct device *device, uint64_t time) {
    if (device->look_at <= time)
        device->look_at = NEVER;
    if (!device->in_batch && device->buffer_count > 0 && device->buffer[0].time <= time)
        start_batch(sim, device, time);
}

/* ---- a batch ---- */

static void end_batch(struct sim *sim, struct device *device, uint64_t time) {
    uint64_t replay = time + sim->gpu->replay_ns * PS_PER_NS;
    sim->result->fault_ns += ff__sim_ns(replay - device->batch_start);
    ff__sim_post(sim, replay, EVENT_REPLAY, device->tier - 1, NULL);
    ff__sim_learn(sim, time);
}

static uint64_t driver_cost(const struct sim *sim, const struct job *job) {
    const struct ff__gpu *gpu = sim->gpu;
    return (gpu->block_ns + gpu->page_ns * ff_mask_count(&job->job.in.pages) +
            gpu->evict_ns * job->job.out_count) *
           PS_PER_NS;
}

/* The faults of the batch from `first` on that this job brings pages for. */
static void mark_served(struct sim *sim, struct device *device, uint32_t first,
                        const struct job *job) {
    for (uint32_t i = first; i < device->batch_next; i++) {
        struct fault *fault = &device->batch[i];
        fault->served = fault->pages & job->job.faulted.word[fault->word % FF_MASK_WORDS];
        sim->result->duplicates +=
            (uint64_t)__builtin_popcountll(fault->served) * (fault->sms - 1u);
    }
}

void ff__sim_driver(struct sim *sim, struct device *device, uint64_t time) {
    while (device->batch_next < device->batch_count) {
        uint32_t first = device->batch_next;
        struct ff_fault_group group = next_group(device, &device->batch_next);
        struct job *job = serve(sim, &group, time);
        ff__engine_pin(&sim->engine, group.block, true);
        if (!job) {
            time += sim->gpu->block_ns * PS_PER_NS;
            continue;
        }
        mark_served(sim, device, first, job);
        time += driver_cost(sim, job);
        ff__sim_start(sim, job, time);
        ff__sim_idle(sim, device, time);
        return; /* the end of the job goes on with the next block */
    }
    end_batch(sim, device, time);
}

/* After a replay every stalled warp tries again; here those do whose fault was in the batch, which
 * is the same without the others' useless turn. What was brought may have left for a later block of
 * the same batch: then they fault again. Faults that were put off are answered some other time. */
static void replay(struct sim *sim, struct device *device, uint64_t time) {
    for (uint32_t next = 0; next < device->batch_count;) {
        uint32_t first = next;
        struct ff_fault_group group = next_group(device, &next);
        const struct ff__space *space = &sim->engine.space;
        const struct ff_tier_pages *there = &ff__facts(space, group.block)->tier[device->tier];
        struct ff_mask answered = ff_mask_or(&there->resident, &there->remote);
        for (uint32_t i = first; i < next; i++)
            answered.word[device->batch[i].word % FF_MASK_WORDS] |= device->batch[i].served;
        ff__engine_pin(&sim->engine, group.block, false);
        ff__sms_wake(sim, device, group.block, &answered, time);
    }
    device->in_batch = false;
    device->batch_count = 0;
}

void ff__sim_replay(struct sim *sim, struct device *device, uint64_t time) {
    uint64_t next = time + sim->gpu->delivery_ns * PS_PER_NS;
    replay(sim, device, time);
    if (device->buffer_count > 0 && device->buffer[0].time <= next)
        start_batch(sim, device, next);
    ff__sim_idle(sim, device, time);
    expect_idle(sim, time);
}

/* ---- prefetches and pre-evictions ---- */

void ff__sim_advise(struct sim *sim, const struct ff_advice *advice, uint64_t time) {
    struct device *device = note_advice(sim, advice, time);
    if (device)
        ff__sim_idle(sim, device, time);
}

void ff__sim_advised(struct sim *sim, struct job *job, uint64_t time) {
    struct ff_advice advice = job->advice;
    ff__sim_job_free(sim, job);
    advice.ready_ns = 0;
    ff__sim_advise(sim, &advice, time);
}

static uint64_t prefetch_cost(const struct sim *sim, const struct job *job) {
    return ff__sim_flat(sim) ? 0 : driver_cost(sim, job);
}

/* The first piece of advice in the queue that the engine follows. Most of it is about blocks that have
 * come, or are on their way, on earlier advice. */
static bool follow_advice(struct sim *sim, struct device *device, uint64_t time) {
    const struct ff_advice *advice = ff__queue_front(&device->advice);
    struct job *job = advice ? ff__sim_job(sim) : NULL;
    if (!job)
        return false;
    int status = FF__JOB_DROPPED;
    for (; advice && status != FF__JOB_RUN; advice = ff__queue_front(&device->advice)) {
        status = ff__engine_prefetch(&sim->engine, ff__sim_ns(time), advice, &job->job);
        ff__queue_drop(&device->advice);
    }
    if (status != FF__JOB_RUN) {
        ff__sim_job_free(sim, job);
        return false;
    }
    job->cause = JOB_PREFETCH;
    job->device = device->tier - 1;
    ff__sim_start(sim, job, time + prefetch_cost(sim, job));
    return true;
}

/* Pages that pre-eviction keeps free. */
static uint64_t stock_of(struct sim *sim, uint32_t tier) {
    const struct ff__engine *engine = &sim->engine;
    const struct ff_evict_policy *evict = engine->evict;
    return evict->stock ? evict->stock(engine->evict_state[tier], &engine->view) : 0;
}

/* How many prefetches and pre-evictions are under way at a time. Pre-eviction makes room for the next ones
 * while one comes in, as both directions of the link are in use: as many blocks as it keeps free come, and
 * as many leave, so that a kernel which has waited for one of them finds the next ones under way, too.
 * Otherwise each makes room for itself first. */
static uint32_t most_ahead(struct sim *sim, uint32_t tier) {
    uint64_t stock = stock_of(sim, tier);
    if (stock == 0)
        return 1;
    uint32_t both_ways = (uint32_t)(2 * stock / FF_BLOCK_PAGES);
    return both_ways > AHEAD ? both_ways : AHEAD;
}

/* Where room is made ahead, prefetching goes on without faults: it plans when no advice is left. */
static bool start_prefetch(struct sim *sim, struct device *device, uint64_t time) {
    if (follow_advice(sim, device, time))
        return true;
    if (stock_of(sim, device->tier) == 0)
        return false;
    learn_and_plan(sim, time);
    return follow_advice(sim, device, time);
}

static bool start_restock(struct sim *sim, struct device *device, uint64_t time) {
    if (!sim->engine.pressed[device->tier])
        return false;
    struct job *job = ff__sim_job(sim);
    if (!job)
        return false;
    job->cause = JOB_RESTOCK;
    job->device = device->tier - 1;
    if (ff__engine_restock(&sim->engine, ff__sim_ns(time), device->tier, &job->job) ==
        FF__JOB_RUN) {
        ff__sim_start(sim, job, time);
        return true;
    }
    ff__sim_job_free(sim, job);
    return false;
}

/* Whether faults of a batch wait to be served: as in DeepUM's migration thread (section 3.1), they go
 * before prefetches, but prefetches do not wait for the copies of faults that are under way. */
static bool faults_wait(const struct device *device) {
    return device->in_batch && device->batch_next < device->batch_count;
}

void ff__sim_idle(struct sim *sim, struct device *device, uint64_t time) {
    while (sim->config->untimed &&
           (start_prefetch(sim, device, time) || start_restock(sim, device, time)))
        ;
    if (sim->config->untimed || sim->freeing || (faults_wait(device) && !ff__sim_flat(sim)))
        return;
    uint32_t most = most_ahead(sim, device->tier);
    while (device->prefetching < most) {
        if (!start_prefetch(sim, device, time) && !start_restock(sim, device, time))
            break;
        device->prefetching++;
    }
}

/* ---- the end of a job ---- */

static void observe_move(struct sim *sim, const struct ff__move *move, enum ff_trace_kind kind) {
    const struct ff__space *space = &sim->engine.space;
    uint32_t range = space->blocks[move->block].range;
    uint64_t before = (uint64_t)(move->block - space->ranges[range].first_block) * FF_BLOCK_PAGES;
    FF_MASK_FOR_EACH_RUN(&move->pages, run) {
        struct ff_trace_event event = {.kind = kind,
                                       .device = move->tier - 1,
                                       .range = range,
                                       .page = before + run.first,
                                       .pages = run.end - run.first};
        ff__sim_observe(sim, &event);
    }
}

static void observe_job(struct sim *sim, const struct ff__job *job) {
    if (!sim->config->observe)
        return;
    for (uint32_t i = 0; i < job->out_count; i++)
        observe_move(sim, &job->out[i], FF_TRACE_EVICT);
    if (job->has_in)
        observe_move(sim, &job->in, FF_TRACE_MIGRATE);
}

/* Faults that came while their pages were leaving, or found no room. */
static void serve_late(struct sim *sim, uint64_t time) {
    struct ff_fault_group group;
    while (ff__engine_take_late(&sim->engine, &group))
        serve_at_once(sim, &group, time);
    struct job **retries = sim->retries; /* those that still find no room begin a new list */
    uint32_t count = sim->retry_count;
    sim->retries = NULL;
    sim->retry_count = sim->retry_capacity = 0;
    for (uint32_t i = 0; i < count; i++)
        ff__sim_retry(sim, retries[i], time);
    free(retries);
}

void ff__sim_arrive(struct sim *sim, struct job *job, uint64_t time) {
    struct ff_mask pages = ff__sim_piece(sim, job);
    const struct ff__move piece = {
        .block = job->job.in.block, .tier = job->job.in.tier, .pages = pages};
    ff__engine_arrive(&sim->engine, ff__sim_ns(time), &job->job, &pages);
    ff__bulk_changed(sim, &sim->devices[job->device], piece.block);
    if (sim->config->observe)
        observe_move(sim, &piece, FF_TRACE_MIGRATE);
    ff__sms_wake(sim, &sim->devices[job->device], piece.block, &pages, time);
}

void ff__sim_finish(struct sim *sim, struct job *job, uint64_t time) {
    struct device *device = &sim->devices[job->device];
    enum job_cause cause = job->cause;
    sim->jobs_at_work--;
    ff__engine_finish(&sim->engine, ff__sim_ns(time), &job->job);
    if (sim->engine.failure.message[0])
        ff__sim_fail(sim, -EUCLEAN, sim->engine.failure.message);
    for (uint32_t i = 0; i < job->job.out_count; i++)
        ff__sim_left(sim, job->job.out[i].tier, job->job.out[i].block);
    observe_job(sim, &job->job);
    if (job->job.has_in)
        ff__bulk_changed(sim, device, job->job.in.block);
    if (job->job.has_in && (cause != JOB_OF_BATCH || ff__sim_flat(sim)))
        ff__sms_wake(sim, device, job->job.in.block, &job->job.in.pages, time);
    ff__sim_job_free(sim, job);
    sim->host_jobs -= cause == JOB_HOST;
    serve_late(sim, time);
    if (sim->config->untimed)
        return; /* whoever started it goes on */
    if (cause == JOB_OF_BATCH)
        ff__sim_driver(sim, device, time);
    if (cause == JOB_PREFETCH || cause == JOB_RESTOCK)
        device->prefetching--;
    ff__sim_idle(sim, device, time);
    expect_idle(sim, time);
}
