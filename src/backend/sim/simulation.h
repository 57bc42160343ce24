/* What the simulator's files share: the state of a simulation.
 *
 * Jobs run on devices. Everything that concerns more than one SM (faults, transfers, launches) is
 * an event in one queue, ordered by time and then by the order of scheduling, so that a run is the
 * same every time. Between events SMs run on their own: a fault becomes visible outside its SM only
 * after the device's `visible` time, so that SMs may run that far ahead of each other without any
 * of them noticing (a conservative window). */
#ifndef FF_BACKEND_SIM_SIMULATION_H
#define FF_BACKEND_SIM_SIMULATION_H

#include "backend/sim/device/device.h"
#include "backend/sim/device/tracker.h"
#include "backend/sim/driver/driver.h"
#include "backend/sim/driver/fault_model.h"
#include "backend/sim/driver/transfer.h"
#include "backend/sim/host/future.h"
#include "backend/sim/host/iterations.h"
#include "backend/sim/host/job.h"
#include "backend/sim/host/launch.h"
#include "backend/sim/machine/event.h"
#include "backend/sim/machine/links.h"
#include "backend/sim/pages.h"
#include "backend/sim/sim.h"

struct sim {
    const struct ff__sim_config *config;
    const struct ff__gpu *gpu;
    const struct fault_model *model;
    struct ff__description description; /* of the devices, for the engine */
    struct ff__engine *engine;
    struct ff__page_counts pages;  /* of the engine's memory, where that is given out by the page */
    const struct ff__space *space; /* the engine's; NULL: there is no engine */
    struct job *jobs;
    uint32_t job_count;
    struct device *devices; /* [config->devices] */
    struct links links;
    struct events events;
    uint64_t now;
    /* what follows from the preset */
    uint64_t ps_per_instruction, walk, visible;
    double ps_per_sector; /* an SM's share of the memory's bandwidth */
    uint32_t warps_per_sm, tlb_sets, ctas_per_sm;
    uint32_t *generation; /* [block] bumped when pages leave: a TLB entry of before is void */
    bool shows_accesses;  /* some policy watches accesses */
    bool shows_local;     /* some policy watches accesses that are not remote */
    bool samples;         /* some policy must see samples: devices have trackers */
    uint32_t launch_count;
    /* what is counted */
    struct ff__sim_result *counters; /* [job][device] */
    struct ff_stats charged;         /* the engine's counters that are in these already */
    uint32_t *faulted; /* [slot of an execution ID] the ID that last had a fault there, plus one */
    uint32_t faulted_capacity;
    const char **kernel_names; /* [slot of an execution ID]; only if findings are wanted */
    uint32_t kernel_name_count;
    struct transfer *free_transfers;
    struct recording *recording; /* NULL: not recorded */
    int failure;                 /* the first error; everything ends */
    struct ff_error *error;
};

/* ---- loop.c ---- */

/* Lets time pass until all jobs are over. */
void ff__sim_loop(struct sim *sim);

/* ---- statistics.c ---- */

/* What a job has counted on a device. */
static inline struct ff__sim_result *ff__sim_counters(const struct sim *sim, const struct job *job,
                                                      uint32_t device) {
    return &sim->counters[job->number * sim->config->devices + device];
}

/* Adds what the engine has counted since the last time. */
void ff__sim_charge(struct sim *sim, struct ff__sim_result *counters);

/* A job's counters, all its devices', as of `time`; those that only the engine has are of all jobs.
 */
void ff__job_counted(const struct sim *sim, const struct job *job, uint64_t time,
                     struct ff__sim_result *out);

/* The results at the end: of each job, and of all. */
void ff__sim_sum_up(const struct sim *sim, struct ff__sim_job *jobs, struct ff__sim_result *all);

/* ---- explain.c ---- */

/* Keeps the name of the kernel that starts on the device, if anybody asks what policies have found.
 */
void ff__explain_kernel(struct sim *sim, const struct device *device);

/* Tells what they have. */
void ff__explain_findings(const struct sim *sim);

/* ---- sim.c ---- */

/* Remembers the first failure. */
void ff__sim_fail(struct sim *sim, int status, const char *what);

/* Adds an access to the recording, which there must be. */
void ff__sim_record(struct sim *sim, uint64_t page);

/* Tells who watches, if anybody does. The time is that of the loop, which never goes back, and not
 * of the SM that may be ahead of it or of the event that may be behind: the order of what is told
 * is that in which it was decided. */
void ff__sim_observe_access(struct sim *sim, const struct ff_trace_event *event,
                            const struct ff_access *seen);
static inline void ff__sim_observe(struct sim *sim, const struct ff_trace_event *event) {
    ff__sim_observe_access(sim, event, NULL);
}

static inline void ff__sim_post(struct sim *sim, uint64_t time, enum event_kind kind,
                                uint32_t number, struct transfer *transfer) {
    struct event event = {.time = time, .kind = kind, .number = number, .transfer = transfer};
    int status = ff__events_push(&sim->events, event);
    if (status)
        ff__sim_fail(sim, status, "events");
}

static inline void ff__sim_post_range(struct sim *sim, uint64_t time, enum event_kind kind,
                                      uint32_t number, uint32_t range) {
    struct event event = {.time = time, .kind = kind, .number = number, .range = range};
    int status = ff__events_push(&sim->events, event);
    if (status)
        ff__sim_fail(sim, status, "events");
}

/* Pages of the block have left the device: what was looked up before is void. */
static inline void ff__sim_left(struct sim *sim, uint32_t tier, uint32_t block) {
    sim->generation[block]++;
    ff__bulk_left(sim, &sim->devices[tier - 1], block);
}

static inline struct device *ff__job_device(const struct sim *sim, const struct job *job,
                                            uint32_t device) {
    return &sim->devices[job->first_device + device % job->device_count];
}

/* From now on the device works for this job. */
static inline void ff__device_serve(const struct sim *sim, struct device *device, struct job *job) {
    device->job = job;
    device->counters = ff__sim_counters(sim, job, device->tier - 1);
}

/* Instructions of all jobs so far. */
static inline uint64_t ff__sim_instructions(const struct sim *sim) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < sim->job_count * sim->config->devices; i++)
        count += sim->counters[i].instructions;
    return count;
}

/* When the last eviction of the device so far will have gone. */
static inline uint64_t ff__sim_out_end(const struct sim *sim, uint32_t tier) {
    return ff__link_free_at(&sim->links, ff__link_between(&sim->links, tier, FF_TIER_HOST));
}

/* What the device has of the block that the page is in. */
static inline const struct ff_tier_pages *ff__sim_pages(const struct sim *sim, uint32_t tier,
                                                        uint64_t page) {
    return &ff__facts(sim->space, (uint32_t)(page / FF_BLOCK_PAGES))->tier[tier];
}

/* Whether a touch of the page by the device would find it, here or over a link. */
static inline bool ff__sim_resident(const struct sim *sim, uint32_t tier, uint64_t page) {
    return ff_mask_test(&ff__sim_pages(sim, tier, page)->resident, page % FF_BLOCK_PAGES);
}

/* An access to a page that is there. */
static inline void ff__sim_use(struct sim *sim, uint64_t page, bool write) {
    uint32_t block = (uint32_t)(page / FF_BLOCK_PAGES), index = page % FF_BLOCK_PAGES;
    const struct ff__page_facts *facts = ff__page_facts(sim->space, block);
    if ((sim->space->stats.prefetched > 0 && ff_mask_test(&facts->unused, index)) ||
        (write && !ff_mask_test(&facts->dirty, index))) {
        const struct ff_mask one = ff_mask_of_run(index, index + 1);
        ff__engine_used(sim->engine, block, &one, write);
    }
}

static inline bool ff__sim_remote(const struct sim *sim, uint32_t tier, uint64_t page) {
    return ff_mask_test(&ff__sim_pages(sim, tier, page)->remote, page % FF_BLOCK_PAGES);
}

#endif
