/* Serving a group of faults: what the engine answers, and faults that have to wait. */
#include "backend/sim/simulation.h"

#include <errno.h>
#include <stdlib.h>

static void post_retry(struct sim *sim, const struct ff_fault_group *group,
                       const struct ff_mask *pages, uint64_t due_ns) {
    struct transfer *transfer = ff__transfer_new(sim);
    if (!transfer)
        return;
    transfer->group = *group;
    transfer->group.faulted = *pages;
    ff__sim_post(sim, due_ns * PS_PER_NS, EVENT_RETRY, group->tier - 1, transfer);
}

/* Keeps faults that found no room until some transfer of the job has finished. */
static void keep(struct sim *sim, struct job *job, const struct ff_fault_group *group,
                 struct transfer *transfer) {
    if (job->retry_count == job->retry_capacity) {
        uint32_t capacity = job->retry_capacity ? 2 * job->retry_capacity : 64;
        struct transfer **retries = realloc(job->retries, capacity * sizeof *retries);
        if (!retries) {
            ff__transfer_free(sim, transfer);
            ff__sim_fail(sim, -ENOMEM, "faults");
            return;
        }
        job->retries = retries;
        job->retry_capacity = capacity;
    }
    transfer->group = *group;
    job->retries[job->retry_count++] = transfer;
}

/* Serves a group with a transfer, which may know what the policy answered before. Returns the
 * transfer if it is to start, or NULL. */
static struct transfer *serve_with(struct sim *sim, struct ff_fault_group *group,
                                   struct transfer *transfer, uint64_t time) {
    struct device *device = &sim->devices[group->tier - 1];
    int status = ff__engine_fault_again(sim->engine, ff__sim_ns(time), group, &transfer->moves);
    transfer->cause = TRANSFER_OF_BATCH;
    transfer->device = group->tier - 1;
    if (!ff_mask_empty(&transfer->moves.remote))
        ff__bulk_changed(sim, device, group->block);
    switch (status) {
    case FF__JOB_RUN:
        if (!ff_mask_empty(&transfer->moves.remote))
            ff__sms_wake(sim, device, group->block, &transfer->moves.remote, time);
        if (!ff_mask_empty(&transfer->moves.throttled))
            post_retry(sim, group, &transfer->moves.throttled, transfer->moves.retry_ns);
        return transfer;
    case FF__JOB_NO_ROOM:
        keep(sim, device->job, group, transfer);
        return NULL;
    case FF__JOB_WAIT:
        post_retry(sim, group, &transfer->moves.throttled, transfer->moves.retry_ns);
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
    ff__transfer_free(sim, transfer);
    return NULL;
}

/* One group of faults. Returns the transfer that it started, or NULL. */
struct transfer *ff__serve(struct sim *sim, struct ff_fault_group *group, uint64_t time) {
    struct transfer *transfer = ff__transfer_new(sim);
    if (!transfer)
        return NULL;
    ff__job_reset(&transfer->moves);
    return serve_with(sim, group, transfer, time);
}

static void start_at_once(struct sim *sim, const struct ff_fault_group *group,
                          struct transfer *transfer, uint64_t time) {
    if (transfer) {
        transfer->cause = TRANSFER_OF_FAULT;
        ff__transfer_start(sim, transfer, time);
    }
    ff__sim_charge(sim, sim->devices[group->tier - 1].counters);
}

static void serve_at_once(struct sim *sim, struct ff_fault_group *group, uint64_t time) {
    start_at_once(sim, group, ff__serve(sim, group, time), time);
}

void ff__serve_retry(struct sim *sim, struct transfer *transfer, uint64_t time) {
    struct ff_fault_group group = transfer->group;
    ff__transfer_free(sim, transfer);
    serve_at_once(sim, &group, time);
}

void ff__serve_late(struct sim *sim, struct job *job, uint64_t time) {
    struct ff_fault_group group;
    while (ff__engine_take_late(sim->engine, &group))
        serve_at_once(sim, &group, time);
    struct transfer **retries = job->retries; /* those that still find no room begin a new list */
    uint32_t count = job->retry_count;
    job->retries = NULL;
    job->retry_count = job->retry_capacity = 0;
    for (uint32_t i = 0; i < count; i++) { /* the policy is not asked again */
        struct ff_fault_group waiting = retries[i]->group;
        start_at_once(sim, &waiting, serve_with(sim, &waiting, retries[i], time), time);
    }
    free(retries);
}
