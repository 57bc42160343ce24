/* The simulator: the host's program, launches, and the loop that lets time pass. */
#include "backend/sim/internal.h"

#include "base/error.h"
#include "base/lazy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ADVICE_QUEUE 4096u
#define SECTOR_BYTES 32.0

void ff__sim_fail(struct sim *sim, int status, const char *what) {
    if (sim->failure)
        return;
    sim->failure = status;
    ff__fail(sim->error, status, "the simulation failed: %s: %s", what, strerror(-status));
}

void ff__sim_observe_access(struct sim *sim, const struct ff_trace_event *event,
                            const struct ff_access *seen) {
    if (!sim->config->observe)
        return;
    struct ff_trace_event now = *event;
    now.time_ns = ff__sim_ns(sim->now);
    sim->config->observe(sim->config->observer, &now, seen);
}

/* ---- launches ---- */

static int queue_launch(struct device *device, const struct launch *launch) {
    if (device->queue_count == device->queue_capacity) {
        uint32_t capacity = device->queue_capacity ? 2 * device->queue_capacity : 16;
        struct launch *queue = malloc(capacity * sizeof *queue);
        if (!queue)
            return -ENOMEM;
        for (uint32_t i = 0; i < device->queue_count; i++)
            queue[i] = device->queue[(device->queue_head + i) % device->queue_capacity];
        free(device->queue);
        device->queue = queue;
        device->queue_head = 0;
        device->queue_capacity = capacity;
    }
    device->queue[(device->queue_head + device->queue_count++) % device->queue_capacity] = *launch;
    return 0;
}

static struct launch take_launch(struct device *device) {
    struct launch launch = device->queue[device->queue_head];
    device->queue_head = (device->queue_head + 1) % device->queue_capacity;
    device->queue_count--;
    return launch;
}

/* Whole pages only: what is left of others is in use. A program tells this to nobody but a system that
 * discards by it: DeepUM patches the allocator, the driver alone sees nothing. */
static void take_note(struct sim *sim, const struct launch *note) {
    const struct ff_discard_policy *discard = (const void *)sim->config->system.policy[FF__DISCARD];
    uint64_t base = sim->workload->arrays[note->array].first_page;
    uint64_t page = base + (note->offset + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE;
    uint64_t end = base + (note->offset + note->bytes) / FF_PAGE_SIZE;
    if (!discard->dead)
        return;
    while (page < end) {
        uint32_t block = (uint32_t)(page / FF_BLOCK_PAGES), first = page % FF_BLOCK_PAGES;
        uint64_t left = end - page;
        uint32_t last = left < FF_BLOCK_PAGES - first ? first + (uint32_t)left : FF_BLOCK_PAGES;
        struct ff_mask pages = ff_mask_of_run(first, last);
        ff__engine_set_inactive(&sim->engine, block, &pages, note->inactive);
        page += last - first;
    }
}

static void take_notes(struct sim *sim, struct device *device) {
    while (device->queue_count > 0 && device->queue[device->queue_head].is_note) {
        struct launch note = take_launch(device);
        take_note(sim, &note);
    }
}

static void start_kernel(struct sim *sim, struct device *device, uint64_t time) {
    device->current = take_launch(device);
    device->running = true;
    device->started = device->last_end = time;
    device->stalled = NEVER;
    device->next_cta = 0;
    device->ctas_left = device->current.kernel.ctas;
    const struct ff__kernel *kernel = &device->current.kernel;
    struct ff_trace_event event = {.kind = FF_TRACE_LAUNCH,
                                   .device = device->tier - 1,
                                   .identity = kernel->identity,
                                   .name = kernel->name,
                                   .ctas = kernel->ctas,
                                   .warps = kernel->warps};
    ff__sim_observe(sim, &event);
    int status =
        ff__engine_launch(&sim->engine, ff__sim_ns(time), device->tier, kernel->identity, true);
    if (status)
        ff__sim_fail(sim, status, "a launch");
    if (ff__is_bulk(device))
        ff__bulk_start(sim, device, time);
    else
        ff__sms_start(sim, device, time);
    ff__sim_learn(sim, time);
}

static void expect_kernel(struct sim *sim, struct device *device, uint64_t time) {
    ff__sim_post(sim, time + sim->gpu->launch_ns * PS_PER_NS, EVENT_KERNEL, device->tier - 1, NULL);
}

static void end_kernel(struct sim *sim, struct device *device) {
    uint64_t end = device->last_end > sim->now ? device->last_end : sim->now;
    device->running = false;
    ff__sms_show(sim, device);
    sim->launches_done++;
    sim->result->kernel_ns += ff__sim_ns(end - device->started);
    struct ff_trace_event event = {.kind = FF_TRACE_LAUNCH_END,
                                   .device = device->tier - 1,
                                   .identity = device->current.kernel.identity};
    ff__sim_observe(sim, &event);
    ff__engine_launch(&sim->engine, ff__sim_ns(end), device->tier, device->current.kernel.identity,
                      false);
    take_notes(sim, device);
    if (device->queue_count > 0)
        expect_kernel(sim, device, end);
    if (sim->host_waits)
        ff__sim_post(sim, end, EVENT_HOST, 0, NULL);
}

/* ---- the host ---- */

/* Nothing runs, and nothing moves but what the host itself waits for. */
static bool devices_idle(const struct sim *sim) {
    for (uint32_t i = 0; i < sim->config->devices; i++)
        if (sim->devices[i].running || sim->devices[i].queue_count > 0 || sim->devices[i].in_batch)
            return false;
    return sim->jobs_at_work == sim->host_jobs;
}

static uint64_t pages_of(const struct sim *sim, uint64_t bytes) {
    uint64_t pages = (bytes + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE;
    uint64_t rest = pages % FF_BLOCK_PAGES, tree = FF_LEAF_PAGES;
    if (sim->gpu->ranges == FF__RANGES_EXACT || rest == 0)
        return pages;
    while (tree < rest)
        tree *= 2;
    return pages - rest + tree;
}

static void allocate(struct sim *sim, uint32_t array) {
    struct ff__array *a = &sim->workload->arrays[array];
    uint64_t pages = pages_of(sim, a->bytes);
    int status = ff__engine_range_add(&sim->engine, pages, 0, 1, &sim->ranges[array]);
    if (status) {
        ff__sim_fail(sim, status, "an allocation");
        return;
    }
    a->first_page =
        (uint64_t)sim->engine.space.ranges[sim->ranges[array]].first_block * FF_BLOCK_PAGES;
    struct ff_trace_event event = {
        .kind = FF_TRACE_RANGE,
        .range = sim->ranges[array],
        .bytes = sim->gpu->ranges == FF__RANGES_EXACT ? a->bytes : pages * FF_PAGE_SIZE};
    ff__sim_observe(sim, &event);
}

/* Takes pages of a block off every device. The host waits for the copies, unless they are dead. */
static void take_home(struct sim *sim, uint32_t block, const struct ff_mask *pages, bool dead,
                      uint64_t time) {
    const struct ff_facts *facts = ff__facts(&sim->engine.space, block);
    for (uint32_t tier = 1; tier < sim->engine.space.tier_count; tier++) {
        struct ff_mask there = ff_mask_and(&facts->tier[tier].resident, pages);
        if (facts->memory[tier] == 0 || (!dead && ff_mask_empty(&there)))
            continue;
        struct job *job = ff__sim_job(sim);
        if (!job)
            return;
        job->cause = JOB_HOST;
        job->device = tier - 1;
        if (ff__engine_evict(&sim->engine, ff__sim_ns(time), block, tier, dead ? NULL : &there,
                             dead ? pages : NULL, &job->job) != FF__JOB_RUN) {
            ff__sim_job_free(sim, job);
            continue;
        }
        sim->host_jobs++;
        ff__sim_start(sim, job, time);
    }
}

/* The host touches these bytes: what is on a device comes home. */
static void host_access(struct sim *sim, const struct ff__action *action, uint64_t time) {
    const struct ff__array *array = &sim->workload->arrays[action->array];
    if (action->bytes == 0)
        return;
    uint64_t page = array->first_page + action->offset / FF_PAGE_SIZE;
    uint64_t end = array->first_page + (action->offset + action->bytes - 1) / FF_PAGE_SIZE + 1;
    struct ff__space *space = &sim->engine.space;
    struct ff_trace_event event = {
        .kind = action->kind == FF__ACTION_HOST_WRITE ? FF_TRACE_HOST_WRITE : FF_TRACE_HOST_READ,
        .range = sim->ranges[action->array],
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
        take_home(sim, block, &pages, false, time);
        if (action->kind == FF__ACTION_HOST_WRITE) {
            struct ff_mask *host = &ff__facts(space, block)->tier[FF_TIER_HOST].resident;
            *host = ff_mask_or(host, &pages);
        }
    }
}

/* cudaDeviceSynchronize as UVMSmart has it. */
static void write_back(struct sim *sim, uint64_t time) {
    const struct ff__space *space = &sim->engine.space;
    for (uint32_t range = 0; range < space->range_limit; range++) {
        uint32_t first = space->ranges[range].first_block;
        uint32_t end = first + space->ranges[range].block_count;
        for (uint32_t block = first; block < end; block++)
            take_home(sim, block, &ff__page_facts(space, block)->dirty, false, time);
    }
}

static void synchronize(struct sim *sim, uint64_t time) {
    if (sim->gpu->host != FF__HOST_SYNCHRONIZES)
        return;
    write_back(sim, time);
    for (uint32_t tier = 1; tier < sim->engine.space.tier_count; tier++)
        ff__engine_forget(&sim->engine, ff__sim_ns(time), tier);
}

static void free_array(struct sim *sim, uint32_t array, uint64_t time) {
    const struct ff_range *range = &sim->engine.space.ranges[sim->ranges[array]];
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    for (uint32_t i = 0; i < range->block_count; i++)
        take_home(sim, range->first_block + i, &all, true, time);
}

static void end_free(struct sim *sim, uint32_t array) {
    struct ff_trace_event event = {.kind = FF_TRACE_FREE, .range = sim->ranges[array]};
    ff__sim_observe(sim, &event);
    ff__engine_range_remove(&sim->engine, sim->ranges[array]);
}

static void host_prefetch(struct sim *sim, const struct ff__action *action, uint64_t time) {
    uint64_t page = sim->workload->arrays[action->array].first_page + action->offset / FF_PAGE_SIZE;
    uint64_t count = (action->bytes + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE;
    while (count > 0) {
        uint32_t first = page % FF_BLOCK_PAGES;
        uint32_t end = first + count < FF_BLOCK_PAGES ? (uint32_t)(first + count) : FF_BLOCK_PAGES;
        struct ff_advice advice = {.block = (uint32_t)(page / FF_BLOCK_PAGES),
                                   .tier = 1 + action->device,
                                   .launch = FF_NONE,
                                   .pages = ff_mask_of_run(first, end)};
        ff__sim_advise(sim, &advice, time);
        page += end - first;
        count -= end - first;
    }
}

static void launch(struct sim *sim, const struct ff__action *action, uint64_t time) {
    struct device *device = &sim->devices[action->device % sim->config->devices];
    struct launch launch = {.kernel = action->kernel, .number = ++sim->launch_count};
    bool idle = !device->running && device->queue_count == 0;
    if (action->kernel.warps > sim->warps_per_sm || action->kernel.warps == 0 ||
        action->kernel.ctas == 0) {
        ff__sim_fail(sim, -EINVAL, "a kernel's CTAs do not fit on an SM");
        return;
    }
    if (sim->config->untimed && !action->kernel.step) {
        ff__sim_fail(sim, -ENOTSUP, "kernels in bulk take time: no untimed run of them");
        return;
    }
    if (sim->config->untimed) {
        ff__untimed_kernel(sim, device, &action->kernel);
        return;
    }
    int status = queue_launch(device, &launch);
    if (status)
        ff__sim_fail(sim, status, "a launch");
    else if (idle)
        expect_kernel(sim, device, time > device->last_end ? time : device->last_end);
}

/* In turn with the launches of its device. */
static void note(struct sim *sim, const struct ff__action *action) {
    struct device *device = &sim->devices[action->device % sim->config->devices];
    struct launch launch = {.is_note = true,
                            .inactive = action->kind == FF__ACTION_INACTIVE,
                            .array = action->array,
                            .offset = action->offset,
                            .bytes = action->bytes};
    bool idle = !device->running && device->queue_count == 0;
    int status = idle ? 0 : queue_launch(device, &launch);
    if (status)
        ff__sim_fail(sim, status, "a note");
    else if (idle)
        take_note(sim, &launch);
}

static void work(struct sim *sim, uint64_t ns, uint64_t time) {
    sim->host_time = time + ns * PS_PER_NS;
    ff__sim_post(sim, sim->host_time, EVENT_HOST, 0, NULL);
}

static bool needs_idle(const struct sim *sim, enum ff__action_kind kind) {
    bool waits = kind == FF__ACTION_HOST_READ || kind == FF__ACTION_HOST_WRITE ||
                 kind == FF__ACTION_SYNCHRONIZE || kind == FF__ACTION_FREE ||
                 kind == FF__ACTION_LAP;
    return waits && !devices_idle(sim);
}

/* One action. False: the host has to wait. */
static bool act(struct sim *sim, const struct ff__action *action, uint64_t time) {
    if (needs_idle(sim, action->kind))
        return false;
    switch (action->kind) {
    case FF__ACTION_ALLOCATE:
        allocate(sim, action->array);
        return true;
    case FF__ACTION_FREE:
        free_array(sim, action->array, time);
        return true;
    case FF__ACTION_HOST_READ:
    case FF__ACTION_HOST_WRITE:
        host_access(sim, action, time);
        return true;
    case FF__ACTION_LAUNCH:
        launch(sim, action, time);
        return true;
    case FF__ACTION_PREFETCH:
        host_prefetch(sim, action, time);
        return true;
    case FF__ACTION_INACTIVE:
    case FF__ACTION_ACTIVE:
        note(sim, action);
        return true;
    case FF__ACTION_WORK:
        work(sim, action->work_ns, time);
        return true;
    case FF__ACTION_LAP:
        ff__laps_end(sim, time);
        return true;
    case FF__ACTION_SYNCHRONIZE:
    default:
        synchronize(sim, time);
        return true;
    }
}

/* An array is free when the last job on it has ended. */
static void settle(struct sim *sim) {
    struct ff__action last;
    if (sim->freeing && sim->host_jobs == 0) {
        sim->workload->type->action(sim->workload, sim->next_action - 1, &last);
        end_free(sim, last.array);
        sim->freeing = false;
    }
}

static void run_host(struct sim *sim, uint64_t time) {
    struct ff__action action;
    sim->host_waits = false;
    for (settle(sim); !sim->failure && sim->host_jobs == 0 && time >= sim->host_time; settle(sim)) {
        if (!sim->workload->type->action(sim->workload, sim->next_action, &action)) {
            sim->host_ended = true;
            return;
        }
        if (!act(sim, &action, time))
            break;
        sim->next_action++;
        sim->freeing = action.kind == FF__ACTION_FREE;
    }
    sim->host_waits = true;
}

/* ---- time ---- */

static void handle(struct sim *sim, const struct event *event) {
    struct device *device = &sim->devices[event->device];
    switch (event->kind) {
    case EVENT_KERNEL:
        start_kernel(sim, device, event->time);
        break;
    case EVENT_FAULTS:
        ff__sim_faults(sim, device, event->time);
        break;
    case EVENT_DRIVER:
        ff__sim_driver(sim, device, event->time);
        break;
    case EVENT_REPLAY:
        ff__sim_replay(sim, device, event->time);
        break;
    case EVENT_ARRIVE:
        ff__sim_arrive(sim, event->job, event->time);
        break;
    case EVENT_FINISH:
        ff__sim_finish(sim, event->job, event->time);
        break;
    case EVENT_IDLE:
        if (ff__sim_links_idle(sim, device, event->time))
            ff__sms_release(sim, device, event->time);
        break;
    case EVENT_RETRY:
        ff__sim_retry(sim, event->job, event->time);
        break;
    case EVENT_ADVICE:
        ff__sim_advised(sim, event->job, event->time);
        break;
    case EVENT_HOST:
    default:
        run_host(sim, event->time);
        break;
    }
    if (sim->host_waits && sim->host_jobs == 0 && devices_idle(sim))
        run_host(sim, event->time);
}

/* Sees to it that somebody looks at new faults. */
static void expect_faults(struct sim *sim, struct device *device) {
    if (device->in_batch || device->buffer_count == 0 || device->look_at <= device->buffer[0].time)
        return;
    device->look_at = device->buffer[0].time;
    ff__sim_post(sim, device->look_at, EVENT_FAULTS, device->tier - 1, NULL);
}

/* Runs all SMs for a window; returns when one of them could go on. */
static uint64_t run_devices(struct sim *sim) {
    uint64_t event = ff__events_next(&sim->events), until = event, next = NEVER;
    if (until > sim->now + sim->visible)
        until = sim->now + sim->visible;
    for (uint32_t i = 0; i < sim->config->devices; i++) {
        struct device *device = &sim->devices[i];
        if (!device->running)
            continue;
        uint64_t ready = ff__is_bulk(device) ? ff__bulk_run(sim, device, event)
                                             : ff__sms_run(sim, device, until);
        ff__sms_show(sim, device);
        if (device->ctas_left == 0)
            end_kernel(sim, device);
        else if (ready < next)
            next = ready;
        expect_faults(sim, device);
    }
    return next;
}

static void report_progress(struct sim *sim) {
    if (sim->config->progress && sim->launch_count > 0)
        sim->config->progress(sim->config->progress_self,
                              (double)sim->launches_done / sim->launch_count);
}

/* What is left then is advice that nobody needs any more. */
static bool is_over(const struct sim *sim) {
    return sim->host_ended && sim->jobs_at_work == 0 && devices_idle(sim);
}

static void run(struct sim *sim) {
    uint32_t rounds = 0;
    ff__sim_post(sim, 0, EVENT_HOST, 0, NULL);
    while (!sim->failure) {
        uint64_t next = run_devices(sim), event_time = ff__events_next(&sim->events);
        uint64_t target = event_time < next ? event_time : next;
        if (target == NEVER || is_over(sim))
            break;
        if (target > sim->now)
            sim->now = target;
        struct event event;
        while (!sim->failure && ff__events_next(&sim->events) <= sim->now &&
               ff__events_pop(&sim->events, &event))
            handle(sim, &event);
        if (++rounds % 4096 == 0)
            report_progress(sim);
    }
    if (!sim->failure && !sim->host_ended)
        ff__sim_fail(sim, -EDEADLK, "warps wait for pages that nobody brings");
}

/* ---- making ---- */

static uint64_t address_space(const struct ff__workload *workload) {
    uint64_t blocks = 1;
    for (uint32_t i = 0; i < workload->array_count; i++)
        blocks += (workload->arrays[i].bytes + FF_BLOCK_SIZE - 1) / FF_BLOCK_SIZE;
    return blocks * FF_BLOCK_SIZE;
}

static bool policy_watches(const struct ff__system *system) {
    const struct ff_prefetch_policy *prefetch = (const void *)system->policy[FF__PREFETCH];
    const struct ff_evict_policy *evict = (const void *)system->policy[FF__EVICT];
    return prefetch->on_access || evict->on_access;
}

static int open_engine(struct sim *sim, const struct ff_future *future) {
    const struct ff__sim_config *config = sim->config;
    uint64_t space = address_space(sim->workload);
    uint64_t memory = config->memory ? config->memory : space;
    struct ff__engine_config engine = {
        .base = 0,
        .address_space = space,
        .devices = config->devices,
        .memory = memory,
        .by_page = sim->gpu->frames == FF__FRAMES_PAGE,
        .separate = true,
        .maps_remotely = true,
        .shows = FF_SEES_FAULTS | FF_SEES_LAUNCHES | FF_SEES_ACCESSES | FF_SEES_INSTRUCTIONS |
                 (future ? FF_SEES_FUTURE : 0u),
        .seed = config->seed,
        .check = config->check,
        .virtual_time = true,
        .future = future,
        .system = config->system,
    };
    return ff__engine_init(&sim->engine, &engine, sim->error);
}

static void set_times(struct sim *sim) {
    const struct ff__gpu *gpu = sim->gpu;
    double ps_per_cycle = 1e12 / gpu->clock_hz;
    sim->ps_per_instruction = (uint64_t)(ps_per_cycle / gpu->instructions_per_cycle + 0.5);
    sim->ps_per_sector = SECTOR_BYTES * 1e12 / (gpu->memory_rate / gpu->sms);
    sim->walk = gpu->walk_ns * PS_PER_NS;
    uint64_t visible = gpu->fault_cost == FF__FAULT_FLAT ? gpu->walk_ns : gpu->delivery_ns;
    sim->visible = (visible ? visible : 1) * PS_PER_NS;
    uint64_t reach = gpu->tlb_entries * (gpu->tlb_page / FF_PAGE_SIZE);
    sim->tlb_sets = 1;
    while (sim->tlb_sets * 2 * TLB_WAYS <= reach && sim->tlb_sets < 4096)
        sim->tlb_sets *= 2;
    sim->warps_per_sm = gpu->warps_per_sm;
    sim->ctas_per_sm = gpu->ctas_per_sm;
}

static int open_device(struct sim *sim, struct device *device, uint32_t tier) {
    device->tier = tier;
    device->look_at = NEVER;
    size_t blocks = sim->engine.space.block_limit;
    device->batch = calloc(ff__sim_batch_limit(sim), sizeof *device->batch);
    device->touched = ff__lazy_map(blocks * sizeof *device->touched);
    device->touched_by = ff__lazy_map(blocks * sizeof *device->touched_by);
    device->bulk.asked = ff__lazy_map(blocks * sizeof *device->bulk.asked);
    bool good = device->batch && device->touched && device->touched_by && device->bulk.asked;
    int status = good ? ff__sms_init(sim, device) : -ENOMEM;
    return status ? status
                  : ff__queue_init(&device->advice, ADVICE_QUEUE, sizeof(struct ff_advice));
}

static int open_sim(struct sim *sim, const struct ff_future *future) {
    int status = open_engine(sim, future);
    if (status)
        return status;
    size_t blocks = sim->engine.space.block_limit;
    set_times(sim);
    sim->shows_accesses = policy_watches(&sim->config->system);
    sim->pages_alone =
        sim->config->untimed && !sim->config->observe && ff__engine_pages_alone(&sim->engine);
    sim->generation = ff__lazy_map(blocks * sizeof *sim->generation);
    sim->ranges = calloc(sim->workload->array_count + 1, sizeof *sim->ranges);
    sim->devices = calloc(sim->config->devices, sizeof *sim->devices);
    if (!sim->generation || !sim->ranges || !sim->devices)
        status = -ENOMEM;
    for (uint32_t i = 0; i < sim->config->devices && !status; i++)
        status = open_device(sim, &sim->devices[i], i + 1);
    return status ? ff__fail(sim->error, status, "no memory for the simulated devices") : 0;
}

static void close_sim(struct sim *sim) {
    size_t blocks = sim->engine.space.block_limit;
    struct event event;
    while (ff__events_pop(&sim->events, &event))
        if (event.kind != EVENT_ARRIVE) /* the job's end is in the queue, too */
            free(event.job);
    for (uint32_t i = 0; i < sim->retry_count; i++)
        free(sim->retries[i]);
    for (uint32_t i = 0; sim->devices && i < sim->config->devices; i++) {
        ff__sms_fini(sim, &sim->devices[i]);
        ff__queue_fini(&sim->devices[i].advice);
        ff__lazy_unmap(sim->devices[i].touched, blocks * sizeof *sim->devices[i].touched);
        ff__lazy_unmap(sim->devices[i].touched_by, blocks * sizeof *sim->devices[i].touched_by);
        free(sim->devices[i].bulk.fronts);
        ff__lazy_unmap(sim->devices[i].bulk.asked, blocks * sizeof *sim->devices[i].bulk.asked);
        free(sim->devices[i].batch);
        free(sim->devices[i].buffer);
        free(sim->devices[i].queue);
    }
    while (sim->free_jobs) {
        struct job *next = sim->free_jobs->next;
        free(sim->free_jobs);
        sim->free_jobs = next;
    }
    free(sim->retries);
    free(sim->faulted);
    free(sim->events.heap);
    free(sim->devices);
    free(sim->ranges);
    ff__lazy_unmap(sim->generation, blocks * sizeof *sim->generation);
    ff__engine_fini(&sim->engine);
}

/* What nobody wrote to is zero. */
static uint64_t arena_used(const struct ff__engine *engine) {
    const struct ff_policy *policy = engine->system.policy[FF__PREFETCH];
    const unsigned char *arena = engine->arena[FF__PREFETCH][0];
    size_t size = policy->arena_size ? policy->arena_size(engine->system.params[FF__PREFETCH]) : 0;
    static const unsigned char zeros[FF_PAGE_SIZE];
    uint64_t used = 0;
    for (size_t at = 0; at + FF_PAGE_SIZE <= size; at += FF_PAGE_SIZE)
        used += memcmp(arena + at, zeros, FF_PAGE_SIZE) ? FF_PAGE_SIZE : 0;
    return used;
}

void ff__sim_stock(const struct sim *sim, uint64_t time, struct ff__sim_result *out) {
    const struct ff_stats *stats = &sim->engine.space.stats;
    out->stats = *stats;
    out->faults = stats->faults;
    out->pages_out = stats->pages_out;
    out->pages_dropped = stats->pages_dropped;
    out->prefetched = stats->prefetched;
    out->prefetched_used = stats->prefetch_used;
    out->prefetched_useless = stats->prefetch_useless;
    if (sim->config->untimed) {
        out->demanded = out->accesses;
        out->demanded_hits = out->hits;
        return;
    }
    out->time_ps = time;
    if (ff__sim_flat(sim)) { /* as UVMSmart accounts for faults */
        out->fault_ns = out->faults * sim->gpu->fault_ns;
        out->time_ps += out->fault_ns * PS_PER_NS;
    }
    out->time_ns = ff__sim_ns(out->time_ps);
}

static void sum_up(struct sim *sim) {
    struct ff__sim_result *result = sim->result;
    ff__sim_stock(sim, sim->now, result);
    ff__laps_add(&sim->laps, result);
    result->time_ns = sim->config->untimed ? 0 : ff__sim_ns(result->time_ps);
    result->kernels = sim->engine.launches.given;
    result->table_bytes = arena_used(&sim->engine);
}

static int simulate(const struct ff__sim_config *config, struct ff__workload *workload,
                    const struct ff_future *future, struct recording *recording,
                    struct ff__sim_result *result, struct ff_error *error) {
    struct sim sim = {.config = config,
                      .gpu = config->gpu,
                      .workload = workload,
                      .result = result,
                      .recording = recording,
                      .error = error};
    memset(result, 0, sizeof *result);
    int status = open_sim(&sim, future);
    if (!status) {
        run(&sim);
        sum_up(&sim);
        status = sim.failure;
    }
    if (sim.engine.space.block_limit)
        close_sim(&sim);
    return status;
}

static uint32_t needs(const struct ff__system *system) {
    uint32_t all = 0;
    for (int slot = 0; slot < FF__SLOTS; slot++)
        all |= system->policy[slot]->needs;
    return all;
}

/* Who needs the future gets that of a run with memory for everything. */
static int record_future(const struct ff__sim_config *config, struct ff__workload *workload,
                         struct recording *recording, struct ff_future *future,
                         struct ff_error *error) {
    struct ff__sim_config rehearsal = *config;
    struct ff__sim_result ignored;
    rehearsal.memory = 0;
    rehearsal.observe = NULL;
    rehearsal.progress = NULL;
    int status = ff__system_parse("demand", &rehearsal.system, error);
    if (!status)
        status = simulate(&rehearsal, workload, NULL, recording, &ignored, error);
    if (!status && ff__future_make(recording, address_space(workload) / FF_PAGE_SIZE, future))
        status = ff__fail(error, -ENOMEM, "no memory for the recorded future");
    return status;
}

int ff__sim_run(const struct ff__sim_config *config, struct ff__workload *workload,
                struct ff__sim_result *result, struct ff_error *error) {
    struct recording recording = {0};
    struct ff_future future = {0};
    uint64_t frame = config->gpu->frames == FF__FRAMES_PAGE ? FF_PAGE_SIZE : FF_BLOCK_SIZE;
    bool foresees = needs(&config->system) & FF_SEES_FUTURE;
    if (config->devices == 0 || config->devices >= FF_TIERS_MAX)
        return ff__fail(error, -EINVAL, "%u devices; there can be 1 to %u", config->devices,
                        FF_TIERS_MAX - 1);
    if (config->memory > 0 && config->memory < frame)
        return ff__fail(error, -EINVAL,
                        "%llu bytes of memory: the device hands it out in pieces of %llu bytes",
                        (unsigned long long)config->memory, (unsigned long long)frame);
    int status = foresees ? record_future(config, workload, &recording, &future, error) : 0;
    if (!status)
        status = simulate(config, workload, foresees ? &future : NULL, NULL, result, error);
    ff__future_free(&future);
    free(recording.order);
    return status;
}

/* ---- figures ---- */

static double share(uint64_t part, uint64_t whole) {
    return whole ? (double)part / (double)whole : NAN;
}

double ff__sim_hit_rate(const struct ff__sim_result *result) {
    return share(result->demanded_hits, result->demanded);
}

double ff__sim_accuracy(const struct ff__sim_result *result) {
    return share(result->prefetched_used, result->prefetched);
}

double ff__sim_coverage(const struct ff__sim_result *result, const struct ff__sim_result *without) {
    return without->faults
               ? ((double)without->faults - (double)result->faults) / (double)without->faults
               : NAN;
}

double ff__sim_ipc(const struct ff__sim_result *result, const struct ff__gpu *gpu) {
    return result->time_ns
               ? (double)result->instructions / ((double)result->time_ns * 1e-9 * gpu->clock_hz)
               : NAN;
}
