/* The loop that lets virtual time pass. */
#include "backend/sim/simulation.h"

#include <errno.h>

/* An event of a device. */
static void handle(struct sim *sim, struct device *device, const struct event *event) {
    switch (event->kind) {
    case EVENT_KERNEL:
        ff__launch_start(sim, device, event->time);
        break;
    case EVENT_FAULTS:
        ff__driver_look(sim, device, event->time);
        break;
    case EVENT_DRIVER:
        ff__driver_go_on(sim, device, event->time);
        break;
    case EVENT_REPLAY:
        ff__driver_replay(sim, device, event->time);
        break;
    case EVENT_ARRIVE:
        ff__transfer_arrive(sim, event->transfer, event->time);
        break;
    case EVENT_FINISH:
        ff__transfer_finish(sim, event->transfer, event->time);
        break;
    case EVENT_IDLE:
        if (ff__driver_links_idle(sim, device, event->time))
            ff__sms_release(sim, device, event->time);
        break;
    case EVENT_RETRY:
        ff__serve_retry(sim, event->transfer, event->time);
        break;
    case EVENT_SAMPLES:
        ff__tracker_round(sim, device, event->range, event->time);
        break;
    case EVENT_ADVICE:
    default:
        ff__prefetch_due(sim, event->transfer, event->time);
        break;
    }
    ff__sim_charge(sim, device->counters);
}

static void run_host(struct sim *sim, struct job *job, uint64_t time) {
    ff__host_run(sim, job, time);
    ff__sim_charge(sim, ff__sim_counters(sim, job, job->first_device));
}

/* What is above the new capacity leaves while the device goes on. */
static void change_capacity(struct sim *sim, const struct ff__sim_capacity *change, uint64_t time) {
    struct device *device = &sim->devices[change->device];
    int status = ff__engine_set_memory(sim->engine, device->tier, change->memory);
    if (status)
        ff__sim_fail(sim, status, "a device cannot have that much or little memory");
    else
        sim->model->prefetch(sim, device, time);
}

/* What happens, and the hosts that have waited for it. */
static void take_place(struct sim *sim, const struct event *event) {
    if (event->kind == EVENT_HOST)
        run_host(sim, &sim->jobs[event->number], event->time);
    else if (event->kind == EVENT_CAPACITY)
        change_capacity(sim, &sim->config->capacities[event->number], event->time);
    else
        handle(sim, &sim->devices[event->number], event);
    for (uint32_t i = 0; i < sim->job_count; i++) {
        struct job *job = &sim->jobs[i];
        if (job->host_waits && job->host_transfers == 0 && ff__job_idle(sim, job))
            run_host(sim, job, event->time);
    }
}

/* Has the driver look at new faults. */
static void expect_faults(struct sim *sim, struct device *device) {
    if (device->batch.under_way || device->buffer.count == 0 ||
        device->buffer.look_at <= ff__driver_awake_at(sim, device))
        return;
    device->buffer.look_at = ff__driver_awake_at(sim, device);
    ff__sim_post(sim, device->buffer.look_at, EVENT_FAULTS, device->tier - 1, NULL);
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
            ff__launch_end(sim, device);
        else if (ready < next)
            next = ready;
        expect_faults(sim, device);
        ff__sim_charge(sim, device->counters);
    }
    return next;
}

static void report_progress(struct sim *sim) {
    uint32_t launches = 0, done = 0;
    for (uint32_t i = 0; i < sim->job_count; i++) {
        launches += sim->jobs[i].launches;
        done += sim->jobs[i].launches_done;
    }
    if (sim->config->progress && launches > 0)
        sim->config->progress(sim->config->progress_self, (double)done / launches);
}

/* Notes which jobs are over: what is left then is advice without a use. Returns
 * whether all are. */
static bool are_over(struct sim *sim) {
    bool all = true;
    for (uint32_t i = 0; i < sim->job_count; i++) {
        struct job *job = &sim->jobs[i];
        if (!job->over && job->host_ended && job->host_transfers == 0 && ff__job_idle(sim, job)) {
            job->over = true;
            job->end = sim->now;
        }
        all &= job->over || job->repeats;
    }
    return all;
}

static bool have_ended(const struct sim *sim) {
    bool all = true;
    for (uint32_t i = 0; i < sim->job_count; i++)
        all &= sim->jobs[i].host_ended || sim->jobs[i].repeats;
    return all;
}

/* The run ends here, in the middle of what runs. False: it has no such end, or has not come to it.
 */
static bool is_cut(struct sim *sim) {
    uint64_t limit = sim->config->instructions;
    if (limit == 0 || ff__sim_instructions(sim) < limit)
        return false;
    for (uint32_t i = 0; i < sim->config->devices; i++) {
        struct device *device = &sim->devices[i];
        if (device->running && device->started < sim->now)
            device->counters->kernel_ns += ff__sim_ns(sim->now - device->started);
    }
    return true;
}

void ff__sim_loop(struct sim *sim) {
    uint32_t steps = 0;
    bool cut = false;
    for (uint32_t i = 0; i < sim->job_count; i++)
        ff__sim_post(sim, sim->jobs[i].start, EVENT_HOST, i, NULL);
    for (uint32_t i = 0; i < sim->config->capacity_count; i++)
        ff__sim_post(sim, sim->config->capacities[i].time_ns * PS_PER_NS, EVENT_CAPACITY, i, NULL);
    while (!sim->failure && !(cut = is_cut(sim))) {
        uint64_t next = run_devices(sim), event_time = ff__events_next(&sim->events);
        uint64_t target = event_time < next ? event_time : next;
        if (target == NEVER || are_over(sim))
            break;
        if (target > sim->now)
            sim->now = target;
        struct event event;
        while (!sim->failure && ff__events_next(&sim->events) <= sim->now &&
               ff__events_pop(&sim->events, &event))
            take_place(sim, &event);
        if (++steps % 4096 == 0)
            report_progress(sim);
    }
    if (!sim->failure && !cut && !have_ended(sim))
        ff__sim_fail(sim, -EDEADLK, "warps wait for pages that no transfer brings");
}
