/* Jobs on the links: what is copied, and how long that takes. */
#include "backend/sim/internal.h"

#include <errno.h>
#include <stdlib.h>

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

/* Between devices a transfer holds the links of both. */
static uint64_t transfer_between(struct sim *sim, struct device *from, struct device *to,
                                 uint64_t bytes, uint64_t time) {
    uint64_t *others = &from->link_free[LINK_PEER], start = *others > time ? *others : time;
    uint64_t end =
        transfer(to, LINK_PEER, &sim->gpu->peer, bytes, start, &sim->result->link_peer_ns);
    *others = to->link_free[LINK_PEER];
    return end;
}

/* A block's pages hold the link as one: the driver hands them to the copy engine together, and waits
 * once. */
static uint64_t transfer_pages(struct sim *sim, struct device *device, uint32_t direction,
                               const struct ff_mask *pages, uint64_t time) {
    const struct ff__link_model *link = direction == LINK_IN ? &sim->gpu->in : &sim->gpu->out;
    uint64_t *busy = direction == LINK_IN ? &sim->result->link_in_ns : &sim->result->link_out_ns;
    uint64_t bytes = (uint64_t)ff_mask_count(pages) * FF_PAGE_SIZE;
    return bytes == 0 || sim->config->untimed
               ? time
               : transfer(device, direction, link, bytes, time, busy);
}

/* ---- pieces ---- */

/* What comes over the link from the host. */
static struct ff_mask copied_in(const struct sim *sim, const struct job *job) {
    const struct ff__move *in = &job->job.in;
    return ff_mask_minus(sim->gpu->copies_empty ? &in->pages : &in->held, &job->fetched);
}

/* The first piece in which pages go over the link. UVMSmart cuts runs of pages after each faulting
 * one, so that this fault is over sooner. */
static struct ff_mask first_piece(const struct sim *sim, const struct ff_mask *pages,
                                  const struct ff_mask *faulted) {
    struct ff_run run = {0, 0};
    if (!ff__sim_flat(sim) || sim->config->untimed || !ff_mask_next_run(pages, &run))
        return *pages;
    uint32_t fault = ff_mask_next(faulted, run.first);
    return ff_mask_of_run(run.first, fault < run.end ? fault + 1 : run.end);
}

struct ff_mask ff__sim_piece(const struct sim *sim, const struct job *job) {
    struct ff_mask left = copied_in(sim, job);
    return first_piece(sim, &left, &job->job.faulted);
}

/* Returns when the last piece has gone. */
static uint64_t send(struct sim *sim, struct device *device, const struct ff_mask *pages,
                     uint64_t time) {
    struct ff_mask left = *pages, none = {{0}};
    uint64_t end = time;
    while (!ff_mask_empty(&left)) {
        struct ff_mask piece = first_piece(sim, &left, &none);
        end = transfer_pages(sim, device, LINK_OUT, &piece, time);
        left = ff_mask_minus(&left, &piece);
    }
    return end;
}

static uint64_t schedule_out(struct sim *sim, struct job *job, uint32_t i, uint64_t time) {
    struct ff__move *out = &job->job.out[i];
    struct device *device = &sim->devices[out->tier - 1];
    struct ff_mask live = ff_mask_minus(&out->pages, &out->dead);
    struct ff_mask *written = &ff__page_facts(&sim->engine.space, out->block)->dirty;
    struct ff_mask dirty = ff_mask_and(&live, written);
    struct ff_mask *copied = &job->job.copied[i];
    uint32_t dirty_count = ff_mask_count(&dirty);
    *copied = sim->gpu->write_back_clean ? live : dirty;
    sim->result->evicted_dirty += dirty_count;
    sim->result->evicted_clean += ff_mask_count(&live) - dirty_count;
    sim->result->bytes_out += (uint64_t)ff_mask_count(copied) * FF_PAGE_SIZE;
    *written = ff_mask_minus(written, &out->pages);
    ff__sim_left(sim, out->tier, out->block);
    return send(sim, device, copied, time);
}

/* Pages that another device has go straight to the one that wants them. */
static uint64_t schedule_fetch(struct sim *sim, struct job *job, uint32_t i, uint64_t time) {
    const struct ff__move *out = &job->job.out[i];
    struct device *from = &sim->devices[out->tier - 1], *to = &sim->devices[job->job.in.tier - 1];
    uint64_t bytes = (uint64_t)ff_mask_count(&out->pages) * FF_PAGE_SIZE;
    job->job.copied[i] = out->pages; /* the host's copy may be out of date */
    job->fetched = ff_mask_or(&job->fetched, &out->pages);
    sim->result->bytes_peer += bytes;
    ff__sim_left(sim, out->tier, out->block);
    return transfer_between(sim, from, to, bytes, time);
}

static uint64_t schedule_in(struct sim *sim, struct job *job, uint64_t time) {
    const struct ff__move *in = &job->job.in;
    struct device *device = &sim->devices[in->tier - 1];
    struct ff_mask back =
        ff_mask_and(&in->pages, &ff__facts(&sim->engine.space, in->block)->evicted);
    struct ff_mask left = copied_in(sim, job);
    uint32_t count = ff_mask_count(&left);
    uint64_t end = time;
    sim->result->thrashed += ff_mask_count(&back);
    sim->result->bytes_in += (uint64_t)count * FF_PAGE_SIZE;
    sim->result->pages_in += count + ff_mask_count(&job->fetched);
    while (!ff_mask_empty(&left)) {
        struct ff_mask piece = first_piece(sim, &left, &job->job.faulted);
        end = transfer_pages(sim, device, LINK_IN, &piece, time);
        left = ff_mask_minus(&left, &piece);
        if (!ff_mask_empty(&left))
            ff__sim_post(sim, end, EVENT_ARRIVE, job->device, job);
    }
    return end;
}

/* What leaves a device for another one, as part of the other one's way in. */
static bool is_fetch(const struct job *job, uint32_t i) {
    return job->job.has_in && job->job.out[i].tier != job->job.in.tier;
}

/* What goes out makes room for what comes in when it has gone; in UVMSmart already when its copy
 * begins. */
static uint64_t make_room(struct sim *sim, struct job *job, uint64_t time) {
    bool early = ff__sim_flat(sim) && job->job.has_in;
    uint64_t room = time;
    for (uint32_t i = 0; i < job->job.out_count; i++) {
        const struct device *device = &sim->devices[job->job.out[i].tier - 1];
        if (is_fetch(job, i))
            continue;
        uint64_t begin = device->link_free[LINK_OUT], end = schedule_out(sim, job, i, time);
        uint64_t free_at = early ? begin : end;
        room = free_at > room ? free_at : room;
    }
    return room;
}

/* Both ways in at the same time, when there is room. */
static uint64_t bring(struct sim *sim, struct job *job, uint64_t time) {
    uint64_t fetched = time;
    for (uint32_t i = 0; i < job->job.out_count; i++)
        if (is_fetch(job, i))
            fetched = schedule_fetch(sim, job, i, time);
    uint64_t end = schedule_in(sim, job, time);
    return end > fetched ? end : fetched;
}

void ff__sim_start(struct sim *sim, struct job *job, uint64_t time) {
    ff_mask_clear(&job->fetched);
    if (job->job.has_in && sim->engine.uses_remote) /* what was used over the link is on its way */
        ff__sim_left(sim, job->job.in.tier, job->job.in.block);
    uint64_t end = make_room(sim, job, time);
    if (job->job.has_in)
        end = bring(sim, job, end);
    sim->jobs_at_work++;
    if (sim->config->untimed)
        ff__sim_finish(sim, job, time);
    else
        ff__sim_post(sim, end, EVENT_FINISH, job->device, job);
}
