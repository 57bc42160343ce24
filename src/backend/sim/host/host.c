/* A job: what its host thread does, action by action. */
#include "backend/sim/simulation.h"

#include <errno.h>
#include <stdlib.h>

int ff__job_init(struct job *job, uint32_t number) {
    job->number = number;
    job->ranges = calloc(job->workload->array_count + 1, sizeof *job->ranges);
    return job->ranges ? 0 : -ENOMEM;
}

void ff__job_fini(struct job *job) {
    for (uint32_t i = 0; i < job->retry_count; i++)
        free(job->retries[i]);
    free(job->retries);
    free(job->ranges);
}

bool ff__job_idle(const struct sim *sim, const struct job *job) {
    for (uint32_t i = 0; i < job->device_count; i++) {
        const struct device *device = &sim->devices[job->first_device + i];
        if (device->running || device->queue.count > 0 || device->batch.under_way)
            return false;
    }
    return job->transfers == job->host_transfers;
}

/* ---- memory ---- */

static uint64_t pages_of(const struct sim *sim, uint64_t bytes) {
    uint64_t pages = (bytes + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE;
    uint64_t rest = pages % FF_BLOCK_PAGES, tree = FF_LEAF_PAGES;
    if (sim->gpu->ranges == FF__RANGES_EXACT || rest == 0)
        return pages;
    while (tree < rest)
        tree *= 2;
    return pages - rest + tree;
}

static void allocate(struct sim *sim, struct job *job, uint32_t array) {
    struct ff__array *a = &job->workload->arrays[array];
    uint64_t pages = pages_of(sim, a->bytes);
    int status =
        ff__engine_range_add(sim->engine, pages, 0, 1 + job->first_device, &job->ranges[array]);
    if (status) {
        ff__sim_fail(sim, status, "an allocation");
        return;
    }
    a->first_page = (uint64_t)sim->space->ranges[job->ranges[array]].first_block * FF_BLOCK_PAGES;
    struct ff_trace_event event = {
        .kind = FF_TRACE_RANGE,
        .range = job->ranges[array],
        .bytes = sim->gpu->ranges == FF__RANGES_EXACT ? a->bytes : pages * FF_PAGE_SIZE};
    ff__sim_observe(sim, &event);
}

/* Takes pages of a block off every device. The host waits for the copies, unless they are dead. */
static void take_home(struct sim *sim, struct job *job, uint32_t block, const struct ff_mask *pages,
                      bool dead, uint64_t time) {
    const struct ff_facts *facts = ff__facts(sim->space, block);
    for (uint32_t tier = 1; tier < sim->space->tier_count; tier++) {
        struct ff_mask there = ff_mask_and(&facts->tier[tier].resident, pages);
        if (facts->memory[tier] == 0 || (!dead && ff_mask_empty(&there)))
            continue;
        struct transfer *transfer = ff__transfer_new(sim);
        if (!transfer)
            return;
        transfer->cause = TRANSFER_OF_HOST;
        transfer->device = tier - 1;
        transfer->job = job;
        if (ff__engine_evict(sim->engine, ff__sim_ns(time), block, tier, dead ? NULL : &there,
                             dead ? pages : NULL, &transfer->moves) != FF__JOB_RUN) {
            ff__transfer_free(sim, transfer);
            continue;
        }
        job->host_transfers++;
        ff__transfer_start(sim, transfer, time);
    }
}

/* The host touches these bytes: what is on a device comes home. */
static void host_access(struct sim *sim, struct job *job, const struct ff__action *action,
                        uint64_t time) {
    const struct ff__array *array = &job->workload->arrays[action->array];
    if (action->bytes == 0)
        return;
    uint64_t page = array->first_page + action->offset / FF_PAGE_SIZE;
    uint64_t end = array->first_page + (action->offset + action->bytes - 1) / FF_PAGE_SIZE + 1;
    struct ff_trace_event event = {
        .kind = action->kind == FF__ACTION_HOST_WRITE ? FF_TRACE_HOST_WRITE : FF_TRACE_HOST_READ,
        .range = job->ranges[action->array],
        .page = action->offset / FF_PAGE_SIZE,
        .bytes = action->bytes};
    ff__sim_observe(sim, &event);
    if (sim->gpu->host != FF__HOST_FAULTS)
        return;
    for (uint32_t block; page < end; page = (uint64_t)(block + 1) * FF_BLOCK_PAGES) {
        block = (uint32_t)(page / FF_BLOCK_PAGES);
        uint64_t first = (uint64_t)block * FF_BLOCK_PAGES;
        uint64_t last = end - first < FF_BLOCK_PAGES ? end - first : FF_BLOCK_PAGES;
        struct ff_mask pages = ff_mask_of_run((uint32_t)(page - first), (uint32_t)last);
        take_home(sim, job, block, &pages, false, time);
        if (action->kind == FF__ACTION_HOST_WRITE)
            ff__engine_host_holds(sim->engine, block, &pages);
    }
}

/* cudaDeviceSynchronize as UVMSmart has it. */
static void write_back(struct sim *sim, struct job *job, uint64_t time) {
    const struct ff__space *space = sim->space;
    for (uint32_t range = 0; range < space->range_limit; range++) {
        if (space->ranges[range].home_tier != 1 + job->first_device)
            continue; /* another job's */
        uint32_t first = space->ranges[range].first_block;
        uint32_t end = first + space->ranges[range].block_count;
        for (uint32_t block = first; block < end; block++)
            take_home(sim, job, block, &ff__page_facts(space, block)->dirty, false, time);
    }
}

static void synchronize(struct sim *sim, struct job *job, uint64_t time) {
    if (sim->gpu->host != FF__HOST_SYNCHRONIZES)
        return;
    write_back(sim, job, time);
    for (uint32_t i = 0; i < job->device_count; i++)
        ff__pages_forget(sim->engine, ff__sim_ns(time), 1 + job->first_device + i);
}

static void free_array(struct sim *sim, struct job *job, uint32_t array, uint64_t time) {
    const struct ff_range *range = &sim->space->ranges[job->ranges[array]];
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    for (uint32_t i = 0; i < range->block_count; i++)
        take_home(sim, job, range->first_block + i, &all, true, time);
}

static void end_free(struct sim *sim, struct job *job, uint32_t array) {
    struct ff_trace_event event = {.kind = FF_TRACE_FREE, .range = job->ranges[array]};
    ff__sim_observe(sim, &event);
    ff__engine_range_remove(sim->engine, job->ranges[array]);
}

/* ---- actions ---- */

static void host_prefetch(struct sim *sim, struct job *job, const struct ff__action *action,
                          uint64_t time) {
    uint64_t page = job->workload->arrays[action->array].first_page + action->offset / FF_PAGE_SIZE;
    uint64_t count = (action->bytes + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE;
    while (count > 0 && action->device < job->device_count) {
        uint32_t first = page % FF_BLOCK_PAGES;
        uint32_t end = first + count < FF_BLOCK_PAGES ? (uint32_t)(first + count) : FF_BLOCK_PAGES;
        struct ff_advice advice = {.block = (uint32_t)(page / FF_BLOCK_PAGES),
                                   .tier = 1 + job->first_device + action->device,
                                   .launch = FF_NONE,
                                   .pages = ff_mask_of_run(first, end)};
        ff__prefetch_advise(sim, &advice, time);
        page += end - first;
        count -= end - first;
    }
}

static void work(struct sim *sim, struct job *job, uint64_t ns, uint64_t time) {
    job->host_time = time + ns * PS_PER_NS;
    ff__sim_post(sim, job->host_time, EVENT_HOST, job->number, NULL);
}

/* Whether blocks of the array move on devices of other jobs, which lend memory. */
static bool moves_elsewhere(const struct sim *sim, const struct job *job, uint32_t array) {
    const struct ff_range *range = &sim->space->ranges[job->ranges[array]];
    for (uint32_t i = 0; i < range->block_count && ff__engine_lends(sim->engine); i++)
        if (!ff__engine_is_at_rest(sim->engine, range->first_block + i))
            return true;
    return false;
}

static bool needs_idle(const struct sim *sim, const struct job *job,
                       const struct ff__action *action) {
    enum ff__action_kind kind = action->kind;
    bool touches =
        kind == FF__ACTION_HOST_READ || kind == FF__ACTION_HOST_WRITE || kind == FF__ACTION_FREE;
    bool waits = touches || kind == FF__ACTION_SYNCHRONIZE || kind == FF__ACTION_ITERATION;
    return (waits && !ff__job_idle(sim, job)) ||
           (touches && moves_elsewhere(sim, job, action->array));
}

/* One action. False: the host has to wait. */
static bool act(struct sim *sim, struct job *job, const struct ff__action *action, uint64_t time) {
    if (needs_idle(sim, job, action))
        return false;
    switch (action->kind) {
    case FF__ACTION_ALLOCATE:
        allocate(sim, job, action->array);
        return true;
    case FF__ACTION_FREE:
        free_array(sim, job, action->array, time);
        return true;
    case FF__ACTION_HOST_READ:
    case FF__ACTION_HOST_WRITE:
        host_access(sim, job, action, time);
        return true;
    case FF__ACTION_LAUNCH:
        ff__launch_kernel(sim, job, action, time);
        return true;
    case FF__ACTION_PREFETCH:
        host_prefetch(sim, job, action, time);
        return true;
    case FF__ACTION_INACTIVE:
    case FF__ACTION_ACTIVE:
        ff__launch_note(sim, job, action);
        return true;
    case FF__ACTION_WORK:
        work(sim, job, action->work_ns, time);
        return true;
    case FF__ACTION_ITERATION:
        ff__iterations_end(sim, job, time);
        return true;
    case FF__ACTION_SYNCHRONIZE:
    default:
        synchronize(sim, job, time);
        return true;
    }
}

/* An array is free when the last transfer on it has ended. */
static void settle(struct sim *sim, struct job *job) {
    struct ff__action last;
    if (job->freeing && job->host_transfers == 0) {
        job->workload->type->action(job->workload, job->next_action - 1, &last);
        end_free(sim, job, last.array);
        job->freeing = false;
    }
}

void ff__job_count_repetition(const struct sim *sim, struct job *job, uint64_t time) {
    struct ff__sim_result *own = &job->own;
    for (uint32_t i = 0; i < sim->job_count; i++)
        if (time < sim->jobs[i].start || !job->repeats)
            return;
    if (own->repetitions_from_ps == 0) {
        own->repetitions_from_ps = time;
        return;
    }
    own->repetitions_ps = time - own->repetitions_from_ps;
    own->repetitions++;
}

/* The program has ended. False: it begins anew. */
static bool has_ended(struct sim *sim, struct job *job, uint64_t time) {
    if (!job->repeats) {
        job->host_ended = true;
        return true;
    }
    if (!ff__job_idle(sim, job))
        return true;
    if (job->own.iterations == 0)
        ff__job_count_repetition(sim, job, time);
    job->next_action = 0;
    return false;
}

void ff__host_run(struct sim *sim, struct job *job, uint64_t time) {
    struct ff__action action;
    job->host_waits = false;
    for (settle(sim, job); !sim->failure && job->host_transfers == 0 && time >= job->host_time;
         settle(sim, job)) {
        if (!job->workload->type->action(job->workload, job->next_action, &action)) {
            if (!has_ended(sim, job, time))
                continue;
            if (job->host_ended)
                return;
            break;
        }
        if (!act(sim, job, &action, time))
            break;
        job->next_action++;
        job->freeing = action.kind == FF__ACTION_FREE;
    }
    job->host_waits = true;
}
