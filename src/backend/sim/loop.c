/* The loop that lets virtual time pass. */
#include "backend/sim/internal.h"

#include <errno.h>

static void handle(struct sim *sim, const struct event *event) {
    struct device *device = &sim->devices[event->device];
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
    case EVENT_ADVICE:
        ff__prefetch_due(sim, event->transfer, event->time);
        break;
    case EVENT_HOST:
    default:
        ff__host_run(sim, event->time);
        break;
    }
    if (sim->host_waits && sim->host_transfers == 0 && ff__devices_idle(sim))
        ff__host_run(sim, event->time);
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
            ff__launch_end(sim, device);
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
    return sim->host_ended && sim->transfers_at_work == 0 && ff__devices_idle(sim);
}

void ff__sim_loop(struct sim *sim) {
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
