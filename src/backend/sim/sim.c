/* The simulator: making a simulation, running it, and what it tells who watches. */
#include "backend/sim/simulation.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/lazy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ff__sim_fail(struct sim *sim, int status, const char *what) {
    if (sim->failure)
        return;
    sim->failure = status;
    if (status == -ENOTSUP)
        ff__fail(sim->error, status, "%s", what);
    else
        ff__fail(sim->error, status, "the simulation failed: %s: %s", what, strerror(-status));
}

void ff__sim_record(struct sim *sim, uint64_t page) {
    int status = ff__recording_add(sim->recording, page);
    if (status == -EOVERFLOW)
        ff__sim_fail(sim, status, "no system can see so long a future");
    else if (status)
        ff__sim_fail(sim, status, "the recording of the future");
}

void ff__sim_observe_access(struct sim *sim, const struct ff_trace_event *event,
                            const struct ff_access *seen) {
    if (!sim->config->observe)
        return;
    struct ff_trace_event now = *event;
    now.time_ns = ff__sim_ns(sim->now);
    sim->config->observe(sim->config->observer, &now, seen);
}

/* ---- making ---- */

static uint64_t blocks_of(const struct ff__workload *workload) {
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < workload->array_count; i++)
        blocks += (workload->arrays[i].bytes + FF_BLOCK_SIZE - 1) / FF_BLOCK_SIZE;
    return blocks;
}

static uint64_t address_space(const struct ff__sim_job *jobs, uint32_t count) {
    uint64_t blocks = 1;
    for (uint32_t i = 0; i < count; i++)
        blocks += blocks_of(jobs[i].workload);
    /* jobs that free and allocate beside each other leave gaps between their allocations */
    return (count > 1 ? 2 * blocks : blocks) * FF_BLOCK_SIZE;
}

/* The policies that watch accesses, or only those that watch more than remote ones. */
static bool policy_watches(const struct ff__system *system, bool local) {
    const struct ff_prefetch_policy *prefetch = (const void *)system->policy[FF__PREFETCH];
    const struct ff_evict_policy *evict = (const void *)system->policy[FF__EVICT];
    const struct ff_access_hooks *hooks[] = {prefetch->base.accesses, evict->base.accesses};
    for (unsigned i = 0; i < 2; i++)
        if (hooks[i] && !(local && hooks[i]->remote_only))
            return true;
    return false;
}

/* What its policies must see. */
static uint32_t needs(const struct ff__system *system) {
    uint32_t all = 0;
    for (int slot = 0; slot < FF__SLOTS; slot++)
        all |= system->policy[slot]->sees;
    return all;
}

static struct ff_link_cost cost_of(const struct ff__link_model *link) {
    uint64_t ns = ff__link_ns(link, FF_BLOCK_SIZE);
    FF__ASSERT(ns > 0); /* no curve is that steep */
    return (struct ff_link_cost){(uint64_t)link->latency_ns,
                                 FF_BLOCK_SIZE * UINT64_C(1000000000) / ns, 0};
}

/* What policies see of the preset. */
static void describe_costs(const struct ff__gpu *gpu, const struct ff__machine *machine,
                           struct ff__description *out) {
    out->fault_ns = ff__gpu_fault_ns(gpu);
    for (uint32_t from = 0; from < out->tier_count; from++)
        for (uint32_t to = 0; to < out->tier_count; to++)
            if (from != to)
                out->link[from][to] = cost_of(from == FF_TIER_HOST ? &gpu->in
                                              : to == FF_TIER_HOST ? &gpu->out
                                                                   : &gpu->peer);
    for (uint32_t to = 1; to < out->tier_count; to++)
        out->link[FF_TIER_HOST][to].access_ps = (uint64_t)(gpu->remote_link_ns * PS_PER_NS);
    for (uint32_t from = 1; from < out->tier_count && machine; from++)
        for (uint32_t to = 1; to < out->tier_count; to++)
            out->link[from][to].bytes_per_second =
                (uint64_t)((double)out->link[from][to].bytes_per_second *
                           machine->peer[from - 1][to - 1]);
}

/* A modelled device as a backend. */
static void describe(struct sim *sim, uint64_t space, bool shows_future) {
    const struct ff__sim_config *config = sim->config;
    bool timed = !config->untimed; /* interrupts take time, and faults of others come meanwhile */
    sim->description = (struct ff__description){
        .address_space = space,
        .tier_count = config->devices + 1,
        .shows = FF_SEES_FAULTS | FF_SEES_LAUNCHES | FF_SEES_ACCESSES | FF_SEES_INSTRUCTIONS |
                 FF_SEES_REMOTE | (shows_future ? FF_SEES_FUTURE : 0u) |
                 (timed ? FF_SEES_SAMPLES | FF_SEES_SHARERS : 0u),
        .controls = FF_CONTROLS_FAULTS | FF_CONTROLS_VICTIMS | FF_CONTROLS_REMOTE |
                    (timed ? FF_CONTROLS_SAMPLING : 0u),
        .separate = true,
        .peer_links = true,
        .writes_back = true,
        .copies_clean = sim->gpu->write_back_clean,
    };
    for (uint32_t tier = 1; tier <= config->devices; tier++)
        sim->description.tier[tier] =
            (struct ff__tier_description){.memory = config->memory ? config->memory : space,
                                          .granule = (uint32_t)(sim->gpu->granule / FF_PAGE_SIZE)};
    describe_costs(sim->gpu, config->machine, &sim->description);
}

static int open_engine(struct sim *sim, uint64_t space, const struct ff_future *future) {
    const struct ff__sim_config *config = sim->config;
    struct ff__engine_config engine = {
        .seed = config->seed,
        .check = config->check,
        .virtual_time = true,
        .future = future,
        .system = config->system,
    };
    describe(sim, space, future);
    ff__engine_configure(&engine, &sim->description);
    if (sim->gpu->granule == FF_PAGE_SIZE)
        engine.allocator = &ff__page_allocator;
    engine.allocator_state = &sim->pages;
    engine.reserve =
        ff__engine_reserve(engine.memory, sim->gpu->reserve_share, sim->gpu->reserve_most);
    for (uint32_t tier = 1; tier <= config->devices; tier++)
        engine.lend[tier] =
            config->lenders == 0 || config->lenders >> (tier - 1) & 1 ? config->lend : 0;
    int status = ff__engine_open(&sim->engine, &engine, sim->error);
    if (!status)
        sim->space = ff__engine_space(sim->engine);
    return status;
}

static int open_jobs(struct sim *sim, const struct ff__sim_job *jobs) {
    int status = 0;
    for (uint32_t i = 0; i < sim->job_count && !status; i++) {
        struct job *job = &sim->jobs[i];
        job->workload = jobs[i].workload;
        job->first_device = jobs[i].first_device;
        job->device_count = jobs[i].devices;
        job->repeats = jobs[i].repeats;
        job->start = jobs[i].start_ns * PS_PER_NS;
        status = ff__job_init(job, i);
        for (uint32_t device = 0; device < job->device_count; device++)
            ff__device_serve(sim, ff__job_device(sim, job, device), job);
    }
    return status;
}

static int open_devices(struct sim *sim) {
    int status = ff__links_init(&sim->links, sim->gpu, sim->config->machine, sim->config->devices);
    sim->links.takes_turns = sim->model->takes_turns;
    for (uint32_t i = 0; i < sim->config->devices && !status; i++) {
        status = ff__device_init(sim, &sim->devices[i], i + 1);
        ff__device_serve(sim, &sim->devices[i], &sim->jobs[0]); /* what no job has */
    }
    if (!status && sim->samples)
        ff__trackers_attach(sim);
    return status;
}

static int open_sim(struct sim *sim, const struct ff__sim_job *jobs,
                    const struct ff_future *future) {
    int status = open_engine(sim, address_space(jobs, sim->job_count), future);
    if (status)
        return status;
    size_t blocks = sim->space->block_limit, devices = sim->config->devices;
    ff__devices_set_times(sim);
    sim->shows_accesses = policy_watches(&sim->config->system, false);
    sim->shows_local = policy_watches(&sim->config->system, true);
    sim->samples = !sim->config->untimed && ff__system_uses_samples(&sim->config->system);
    sim->generation = ff__lazy_map(blocks * sizeof *sim->generation);
    sim->jobs = calloc(sim->job_count, sizeof *sim->jobs);
    sim->devices = calloc(devices, sizeof *sim->devices);
    sim->counters = calloc(sim->job_count * devices, sizeof *sim->counters);
    if (!sim->generation || !sim->jobs || !sim->devices || !sim->counters)
        status = -ENOMEM;
    if (!status)
        status = open_devices(sim);
    if (!status)
        status = open_jobs(sim, jobs);
    return status ? ff__fail(sim->error, status, "no memory for the simulated devices") : 0;
}

static void close_sim(struct sim *sim) {
    size_t blocks = sim->space->block_limit;
    struct event event;
    while (ff__events_pop(&sim->events, &event))
        if (event.kind != EVENT_ARRIVE && /* the transfer's end is in the queue, too */
            event.kind != EVENT_SAMPLES)
            free(event.transfer);
    for (uint32_t i = 0; sim->devices && i < sim->config->devices; i++)
        ff__device_fini(sim, &sim->devices[i]);
    for (uint32_t i = 0; sim->jobs && i < sim->job_count; i++)
        ff__job_fini(&sim->jobs[i]);
    ff__links_fini(&sim->links);
    while (sim->free_transfers) {
        struct transfer *next = sim->free_transfers->next;
        free(sim->free_transfers);
        sim->free_transfers = next;
    }
    free(sim->faulted);
    free(sim->kernel_names);
    free(sim->events.heap);
    free(sim->devices);
    free(sim->jobs);
    free(sim->counters);
    ff__lazy_unmap(sim->generation, blocks * sizeof *sim->generation);
    ff__engine_close(sim->engine);
}

/* ---- running ---- */

static int simulate(const struct ff__sim_config *config, struct ff__sim_job *jobs, uint32_t count,
                    const struct ff_future *future, struct recording *recording,
                    struct ff__sim_result *all, struct ff_error *error) {
    struct sim sim = {.config = config,
                      .gpu = config->gpu,
                      .model = ff__fault_model(config->gpu, config->untimed),
                      .job_count = count,
                      .recording = recording,
                      .error = error};
    int status = open_sim(&sim, jobs, future);
    if (!status) {
        ff__sim_loop(&sim);
        ff__sim_sum_up(&sim, jobs, all);
        ff__explain_findings(&sim);
        status = sim.failure;
    }
    if (sim.space)
        close_sim(&sim);
    return status;
}

/* Who needs the future gets that of a fully resident run. */
static int record_future(const struct ff__sim_config *config, struct ff__sim_job *jobs,
                         uint32_t count, struct recording *recording, struct ff_future *future,
                         struct ff_error *error) {
    struct ff__sim_config rehearsal = *config;
    struct ff__sim_result ignored;
    rehearsal.memory = 0;
    rehearsal.instructions = 0;
    rehearsal.observe = NULL;
    rehearsal.explain = NULL;
    rehearsal.progress = NULL;
    int status = ff__system_parse("demand", &rehearsal.system, error);
    if (!status)
        status = simulate(&rehearsal, jobs, count, NULL, recording, &ignored, error);
    if (!status && ff__future_make(recording, address_space(jobs, count) / FF_PAGE_SIZE, future))
        status = ff__fail(error, -ENOMEM, "no memory for the recorded future");
    return status;
}

static int check_devices(const struct ff__sim_config *config, const struct ff__sim_job *jobs,
                         uint32_t count, struct ff_error *error) {
    uint32_t next = 0;
    if (config->machine && config->devices > config->machine->devices)
        return ff__fail(error, -EINVAL, "%u devices; %s has %u", config->devices,
                        config->machine->name, config->machine->devices);
    if (config->devices == 0 || config->devices >= FF_TIERS_MAX)
        return ff__fail(error, -EINVAL, "%u devices; there can be 1 to %u", config->devices,
                        FF_TIERS_MAX - 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct ff__sim_job *job = &jobs[i];
        if (job->devices == 0 || job->first_device < next || job->first_device > config->devices ||
            job->devices > config->devices - job->first_device)
            return ff__fail(error, -EINVAL,
                            "job %u: each job needs devices of its own, in the order of jobs", i);
        next = job->first_device + job->devices;
    }
    for (uint32_t i = 0, ends = 0; i < count; i++) {
        ends += !jobs[i].repeats;
        if (i + 1 == count && ends == 0)
            return ff__fail(error, -EINVAL, "all jobs repeat: at least one has to end");
    }
    for (uint32_t i = 0; i < config->capacity_count; i++)
        if (config->capacities[i].device >= config->devices)
            return ff__fail(error, -EINVAL, "capacity of device %u: there are %u devices",
                            config->capacities[i].device, config->devices);
    return 0;
}

int ff__sim_run_jobs(const struct ff__sim_config *config, struct ff__sim_job *jobs, uint32_t count,
                     struct ff__sim_result *all, struct ff_error *error) {
    struct recording recording = {0};
    struct ff_future future = {0};
    uint64_t least = ff__gpu_least_memory(config->gpu);
    bool foresees = needs(&config->system) & FF_SEES_FUTURE;
    int status = check_devices(config, jobs, count, error);
    if (status)
        return status;
    if (config->memory > 0 && config->memory < least)
        return ff__fail(error, -EINVAL,
                        "%llu bytes of memory: the device allocates it in pieces of %llu bytes",
                        (unsigned long long)config->memory, (unsigned long long)least);
    status = foresees ? record_future(config, jobs, count, &recording, &future, error) : 0;
    if (!status)
        status = simulate(config, jobs, count, foresees ? &future : NULL, NULL, all, error);
    ff__future_free(&future);
    free(recording.order);
    return status;
}

int ff__sim_run(const struct ff__sim_config *config, struct ff__workload *workload,
                struct ff__sim_result *result, struct ff_error *error) {
    struct ff__sim_job job = {.workload = workload, .devices = config->devices};
    return ff__sim_run_jobs(config, &job, 1, result, error);
}
