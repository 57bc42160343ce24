/* A job: a program that runs, with what its host thread is at and what it has counted. Jobs run
 * beside each other, each on devices of its own, over one engine. */
#ifndef FF_BACKEND_SIM_HOST_JOB_H
#define FF_BACKEND_SIM_HOST_JOB_H

#include "backend/sim/host/iterations.h"
#include "workload/workload.h"

struct device;
struct sim;
struct transfer;

struct job {
    uint32_t number;
    struct ff__workload *workload;
    uint32_t first_device, device_count; /* that its launches go to */
    uint32_t *ranges;                    /* [array] */
    uint32_t transfers;                  /* under way, to and from its devices */
    /* the host thread */
    uint64_t next_action, host_time; /* the host itself is at work until then */
    uint32_t host_transfers;         /* of these, what it waits for */
    bool host_waits, host_ended;
    bool freeing; /* an array is being freed: its pages must not come back meanwhile */
    bool over;    /* since `end` */
    bool repeats;
    uint64_t start, end; /* ps */
    uint32_t launches, launches_done;
    struct transfer **retries; /* faults that found no room */
    uint32_t retry_count, retry_capacity;
    struct iterations iterations;
    struct ff__sim_result own; /* what it has counted that belongs to no device */
};

/* -ENOMEM. The caller ends it in any case; the job is all zero before but for its workload and
 * devices. */
int ff__job_init(struct job *job, uint32_t number);
void ff__job_fini(struct job *job);

/* ---- host.c ---- */

/* The host goes on with its program as far as it can. */
void ff__host_run(struct sim *sim, struct job *job, uint64_t time);

/* An iteration or repetition has ended. */
void ff__job_count_repetition(const struct sim *sim, struct job *job, uint64_t time);

/* Nothing runs on the job's devices, and nothing moves but what its host itself waits for. */
bool ff__job_idle(const struct sim *sim, const struct job *job);

#endif
