/* The simulator: making a simulation, running it, and what it tells who watches. */
#include "backend/sim/internal.h"

#include "base/error.h"
#include "base/lazy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static int open_sim(struct sim *sim, const struct ff_future *future) {
    int status = open_engine(sim, future);
    if (status)
        return status;
    size_t blocks = sim->engine.space.block_limit;
    ff__devices_set_times(sim);
    sim->shows_accesses = policy_watches(&sim->config->system);
    sim->pages_alone =
        sim->config->untimed && !sim->config->observe && ff__engine_pages_alone(&sim->engine);
    sim->generation = ff__lazy_map(blocks * sizeof *sim->generation);
    sim->ranges = calloc(sim->workload->array_count + 1, sizeof *sim->ranges);
    sim->devices = calloc(sim->config->devices, sizeof *sim->devices);
    if (!sim->generation || !sim->ranges || !sim->devices)
        status = -ENOMEM;
    if (!status)
        status = ff__links_init(&sim->links, sim->gpu, sim->config->devices);
    for (uint32_t i = 0; i < sim->config->devices && !status; i++)
        status = ff__device_init(sim, &sim->devices[i], i + 1);
    return status ? ff__fail(sim->error, status, "no memory for the simulated devices") : 0;
}

static void close_sim(struct sim *sim) {
    size_t blocks = sim->engine.space.block_limit;
    struct event event;
    while (ff__events_pop(&sim->events, &event))
        if (event.kind != EVENT_ARRIVE) /* the transfer's end is in the queue, too */
            free(event.transfer);
    for (uint32_t i = 0; i < sim->retry_count; i++)
        free(sim->retries[i]);
    for (uint32_t i = 0; sim->devices && i < sim->config->devices; i++)
        ff__device_fini(sim, &sim->devices[i]);
    ff__links_fini(&sim->links);
    while (sim->free_transfers) {
        struct transfer *next = sim->free_transfers->next;
        free(sim->free_transfers);
        sim->free_transfers = next;
    }
    free(sim->retries);
    free(sim->faulted);
    free(sim->events.heap);
    free(sim->devices);
    free(sim->ranges);
    ff__lazy_unmap(sim->generation, blocks * sizeof *sim->generation);
    ff__engine_fini(&sim->engine);
}

/* ---- running ---- */

static int simulate(const struct ff__sim_config *config, struct ff__workload *workload,
                    const struct ff_future *future, struct recording *recording,
                    struct ff__sim_result *result, struct ff_error *error) {
    struct sim sim = {.config = config,
                      .gpu = config->gpu,
                      .model = ff__fault_model(config->gpu, config->untimed),
                      .workload = workload,
                      .result = result,
                      .recording = recording,
                      .error = error};
    memset(result, 0, sizeof *result);
    int status = open_sim(&sim, future);
    if (!status) {
        ff__sim_loop(&sim);
        ff__sim_sum_up(&sim);
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
