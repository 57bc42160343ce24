/* Runs without time: every access is answered before the next one. What hits, what misses and who
 * leaves is all that such a run tells, and it tells it in a fraction of the time.
 *
 * As many warps as the device holds take turns, one step each; a warp that has ended makes place for
 * the next one. The clock that policies see counts a nanosecond an access. */
#include "backend/sim/internal.h"

#include <errno.h>
#include <stdlib.h>

struct lane {
    uint32_t cta, warp, step;
};

/* A kernel on its way. */
struct turn {
    struct sim *sim;
    struct device *device;
    const struct ff__kernel *kernel;
    struct lane *lanes;
    uint32_t lane_count;
    uint64_t next_warp, warp_count; /* of all CTAs, in order */
};

/* ---- misses ---- */

/* Once around the engine. False: the page is not to be served before `sim->now`, now later. */
static bool serve(struct sim *sim, const struct device *device, struct ff_fault_group *group) {
    struct job *job = ff__sim_job(sim);
    if (!job)
        return true;
    job->cause = JOB_ALONE;
    job->device = device->tier - 1;
    int status = ff__engine_fault(&sim->engine, ff__sim_ns(sim->now), group, &job->job);
    bool waits = status == FF__JOB_WAIT;
    if (waits && job->job.retry_ns * PS_PER_NS > sim->now)
        sim->now = job->job.retry_ns * PS_PER_NS;
    if (status == FF__JOB_RUN)
        ff__sim_start(sim, job, sim->now);
    else
        ff__sim_job_free(sim, job);
    if (status < 0)
        ff__sim_fail(sim, status, "a touch outside every array");
    else if (status != FF__JOB_RUN && status != FF__JOB_NONE && !waits)
        ff__sim_fail(sim, -ENOMEM, "a fault that finds no room");
    return !waits;
}

/* The page is to be here, or usable from where it is. */
static void miss(struct sim *sim, struct device *device, uint64_t page, bool write) {
    struct ff_fault_group group = {
        .block = (uint32_t)(page / FF_BLOCK_PAGES), .tier = device->tier, .launch = FF_NONE};
    ff_mask_set(&group.faulted, page % FF_BLOCK_PAGES);
    if (write)
        group.written = group.faulted;
    while (!serve(sim, device, &group))
        ;
    ff__sim_learn(sim, sim->now);
    ff__sim_idle(sim, device, sim->now);
}

/* ---- accesses ---- */

static void show(struct turn *turn, uint32_t lane, const struct ff__step *step, uint64_t page,
                 uint32_t flags) {
    struct device *device = turn->device;
    device->accesses[device->access_count++] = (struct ff_access){
        .block = (uint32_t)(page / FF_BLOCK_PAGES),
        .page = (uint16_t)(page % FF_BLOCK_PAGES),
        .tier = (uint8_t)device->tier,
        .flags = (uint8_t)((step->write ? FF_ACCESS_WRITE : 0u) | flags),
        .pc = step->pc,
        .sm = (uint16_t)(lane / turn->sim->warps_per_sm),
        .warp = (uint16_t)(lane % turn->sim->warps_per_sm),
    };
    if (device->access_count == FF__ACCESSES_MAX)
        ff__sms_show(turn->sim, device);
}

/* Policies see everything up to the miss, and the miss, before they are asked about it. */
static void touch(struct turn *turn, uint32_t lane, const struct ff__step *step, uint64_t page) {
    struct sim *sim = turn->sim;
    struct device *device = turn->device;
    bool there = ff__sim_resident(sim, device->tier, page);
    bool remote = !there && ff__sim_remote(sim, device->tier, page);
    sim->result->hits += there;
    sim->result->remote += remote;
    if (sim->recording && ff__recording_add(sim->recording, page))
        ff__sim_fail(sim, -ENOMEM, "the recording of the future");
    if (sim->shows_accesses)
        show(turn, lane, step, page,
             there ? 0 : (remote ? FF_ACCESS_MISS | FF_ACCESS_REMOTE : FF_ACCESS_MISS));
    if (!there && !remote) {
        ff__sms_show(sim, device);
        miss(sim, device, page, step->write);
    }
    if (!remote)
        ff__sim_use(sim, page, step->write);
}

static void touch_all(struct turn *turn, uint32_t lane, const struct ff__step *step) {
    struct sim *sim = turn->sim;
    sim->result->instructions += step->instructions;
    sim->result->accesses += step->page_count;
    sim->now += step->page_count * PS_PER_NS;
    for (uint32_t i = 0; i < step->page_count; i++)
        touch(turn, lane, step, step->page[i]);
}

/* ---- warps ---- */

static bool next_warp(struct turn *turn, struct lane *lane) {
    if (turn->next_warp == turn->warp_count)
        return false;
    uint32_t warps = turn->kernel->warps;
    *lane = (struct lane){(uint32_t)(turn->next_warp / warps), (uint32_t)(turn->next_warp % warps),
                          0};
    turn->next_warp++;
    return true;
}

/* A step of the lane's warp, or of those that come in its place. False: there are no more. */
static bool advance(struct turn *turn, uint32_t index) {
    struct lane *lane = &turn->lanes[index];
    const struct ff__kernel *kernel = turn->kernel;
    struct ff__step step;
    while (
        !kernel->step(turn->sim->workload, kernel, lane->cta, lane->warp, lane->step, &step))
        if (!next_warp(turn, lane))
            return false;
    lane->step++;
    touch_all(turn, index, &step);
    return true;
}

/* Lanes that have run out are taken out, in order. */
static void take_turns(struct turn *turn) {
    while (turn->lane_count > 0 && !turn->sim->failure) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < turn->lane_count && !turn->sim->failure; i++)
            if (advance(turn, i)) {
                if (kept < i)
                    turn->lanes[kept] = turn->lanes[i];
                kept++;
            }
        turn->lane_count = kept;
    }
}

void ff__untimed_kernel(struct sim *sim, struct device *device, const struct ff__kernel *kernel) {
    uint64_t slots = sim->gpu->sms * (uint64_t)sim->warps_per_sm;
    struct turn turn = {.sim = sim,
                        .device = device,
                        .kernel = kernel,
                        .lanes = calloc(slots, sizeof *turn.lanes),
                        .warp_count = (uint64_t)kernel->ctas * kernel->warps};
    uint32_t tier = device->tier;
    if (!turn.lanes ||
        ff__engine_launch(&sim->engine, ff__sim_ns(sim->now), tier, kernel->identity, true))
        ff__sim_fail(sim, -ENOMEM, "a launch");
    while (turn.lanes && turn.lane_count < slots && next_warp(&turn, &turn.lanes[turn.lane_count]))
        turn.lane_count++;
    ff__sim_learn(sim, sim->now);
    take_turns(&turn);
    ff__sms_show(sim, device);
    ff__engine_launch(&sim->engine, ff__sim_ns(sim->now), tier, kernel->identity, false);
    free(turn.lanes);
}
