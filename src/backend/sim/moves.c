/* Jobs on the links: what is copied, and how long that takes. */
#include "backend/sim/internal.h"

#include <errno.h>
#include <stdlib.h>

enum { LINK_IN, LINK_OUT };

struct job *ff__sim_job(struct sim *sim) {
    struct job *job = sim->free_jobs;
    if (job)
        sim->free_jobs = job->next;
    else if (!(job = aligned_alloc(64, (sizeof *job + 63) / 64 * 64)))
        ff__sim_fail(sim, -ENOMEM, "jobs");
    return job;
}

void ff__sim_job_free(struct sim *sim, struct job *job) {
    job->next = sim->free_jobs;
    sim->free_jobs = job;
}

/* Holds the link for a transfer; returns when its last byte arrives. */
static uint64_t transfer(struct device *device, uint32_t direction,
                         const struct ff__link_model *link, uint64_t bytes, uint64_t time,
                         uint64_t *busy_ns) {
    uint64_t *free_at = &device->link_free[direction], ns = ff__link_ns(link, bytes);
    if (*free_at < time)
        *free_at = time;
    *free_at += ns * PS_PER_NS;
    *busy_ns += ns;
    return *free_at + (uint64_t)(link->latency_ns * (double)PS_PER_NS);
}

/* Where runs of pages are cut: UVMSmart sends each faulting page, and what lies before it in its run,
 * ahead of the rest, so that the fault is over sooner. */
static uint32_t cut(const struct ff_mask *faulted, uint32_t first, uint32_t end) {
    uint32_t fault = ff_mask_next(faulted, first);
    return fault + 1 < end ? fault + 1 : end;
}

/* Pages of a block in pieces that are one after the other. */
static uint64_t transfer_runs(struct sim *sim, struct device *device, uint32_t direction,
                              const struct ff_mask *pages, const struct ff_mask *faulted,
                              uint64_t time) {
    const struct ff__link_model *link = direction == LINK_IN ? &sim->gpu->in : &sim->gpu->out;
    uint64_t *busy = direction == LINK_IN ? &sim->result->link_in_ns : &sim->result->link_out_ns;
    uint64_t end = time;
    for (struct ff_run run = {0, 0}; ff_mask_next_run(pages, &run);) {
        run.end = cut(faulted, run.first, run.end);
        uint64_t bytes = (uint64_t)(run.end - run.first) * FF_PAGE_SIZE;
        end = transfer(device, direction, link, bytes, time, busy);
    }
    return end;
}

/* The driver hands a block's pages to the copy engine together, and waits once. */
static uint64_t transfer_block(struct sim *sim, struct device *device, uint32_t direction,
                               const struct ff_mask *pages, uint64_t time) {
    const struct ff__link_model *link = direction == LINK_IN ? &sim->gpu->in : &sim->gpu->out;
    uint64_t *busy = direction == LINK_IN ? &sim->result->link_in_ns : &sim->result->link_out_ns;
    uint64_t bytes = (uint64_t)ff_mask_count(pages) * FF_PAGE_SIZE;
    return bytes == 0 ? time : transfer(device, direction, link, bytes, time, busy);
}

static uint64_t move(struct sim *sim, struct device *device, uint32_t direction,
                     const struct ff_mask *pages, const struct ff_mask *faulted, uint64_t time) {
    if (sim->config->untimed)
        return time;
    return sim->gpu->fault_cost == FF__FAULT_FLAT
               ? transfer_runs(sim, device, direction, pages, faulted, time)
               : transfer_block(sim, device, direction, pages, time);
}

static uint64_t schedule_out(struct sim *sim, struct job *job, uint32_t i, uint64_t time) {
    struct ff__move *out = &job->job.out[i];
    struct device *device = &sim->devices[out->tier - 1];
    struct ff_mask live = ff_mask_minus(&out->pages, &out->dead), none = {{0}};
    struct ff_mask dirty = ff_mask_and(&live, &sim->dirty[out->block]);
    struct ff_mask *copied = &job->job.copied[i];
    uint32_t dirty_count = ff_mask_count(&dirty);
    *copied = sim->gpu->write_back_clean ? live : dirty;
    sim->result->evicted_dirty += dirty_count;
    sim->result->evicted_clean += ff_mask_count(&live) - dirty_count;
    sim->result->bytes_out += (uint64_t)ff_mask_count(copied) * FF_PAGE_SIZE;
    sim->dirty[out->block] = ff_mask_minus(&sim->dirty[out->block], &out->pages);
    sim->generation[out->block]++;
    return move(sim, device, LINK_OUT, copied, &none, time);
}

static uint64_t schedule_in(struct sim *sim, struct job *job, uint64_t time) {
    const struct ff__move *in = &job->job.in;
    struct device *device = &sim->devices[in->tier - 1];
    struct ff_mask back = ff_mask_and(&in->pages, &sim->engine.space.evicted[in->block]);
    const struct ff_mask *copied = sim->gpu->copies_empty ? &in->pages : &in->held;
    sim->result->thrashed += ff_mask_count(&back);
    sim->result->bytes_in += (uint64_t)ff_mask_count(copied) * FF_PAGE_SIZE;
    sim->result->pages_in += ff_mask_count(copied);
    return move(sim, device, LINK_IN, copied, &job->job.faulted, time);
}

void ff__sim_start(struct sim *sim, struct job *job, uint64_t time) {
    uint64_t end = time;
    for (uint32_t i = 0; i < job->job.out_count; i++) {
        uint64_t out_end = schedule_out(sim, job, i, time);
        end = out_end > end ? out_end : end;
    }
    if (job->job.has_in)
        end = schedule_in(sim, job, end);
    sim->jobs_at_work++;
    if (sim->config->untimed)
        ff__sim_finish(sim, job, time);
    else
        ff__sim_post(sim, end, EVENT_FINISH, job->device, job);
}
