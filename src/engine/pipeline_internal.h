/* What the pipeline's files share: one for each of its roles, and pipeline.c for what they have in
 * common. */
#ifndef FF_ENGINE_PIPELINE_INTERNAL_H
#define FF_ENGINE_PIPELINE_INTERNAL_H

#include "engine/internal.h"
#include "engine/pipeline.h"

#define FF__PREFETCH_QUEUE 4096u  /* pieces of advice */
#define FF__ADVICE_A_STEP  64u    /* of a policy's plan, and of samples */
#define FF__WAKE_NS        40000u /* what it costs to wake a thread on an idle virtual CPU */

/* ---- pipeline.c ---- */

/* As ff__pipeline_serve(); the lock is held before and after, not while pages move. */
int ff__pipeline_serve_locked(struct ff__pipeline *pipeline, const struct ff_fault_group *group,
                              bool stay);

/* Asks the policy about a batch of faults as a whole. The lock is held. */
void ff__pipeline_show_batch(struct ff__pipeline *pipeline, struct ff_fault_group *groups,
                             uint32_t count);

/* Gives the lock up, and serves what came late for a block while it was at work. False: nothing
 * did. */
bool ff__pipeline_unlock_and_serve_late(struct ff__pipeline *pipeline);

/* Carries out and finishes a job. The lock is held before and after, not during. */
void ff__pipeline_run_job(struct ff__pipeline *pipeline, struct ff__job *job);

/* Queues the advice of a list, up to the first piece that finds no room. The lock is held. */
void ff__pipeline_queue_all(struct ff__pipeline *pipeline, const struct ff_advice_list *advice);

/* Whether the calling thread is one of the pipeline's. */
bool ff__pipeline_is_inside(const struct ff__pipeline *pipeline);

/* Sets pipeline->is_urgent. The lock is held. */
void ff__pipeline_judge_launches(struct ff__pipeline *pipeline);

/* Wakes the threads to which a job has given something to do. The lock is held. */
void ff__pipeline_notify(struct ff__pipeline *pipeline);

/* The time, for a call that may ask policies who leaves. */
uint64_t ff__pipeline_now(struct ff__pipeline *pipeline);

/* Sleeps on a condition, at the longest that long. The lock is held. */
void ff__pipeline_sleep(struct ff__pipeline *pipeline, pthread_cond_t *condition, uint64_t ns);
/* Sleeps on a condition until the time `ns` at the latest. The lock is held. */
void ff__pipeline_sleep_until(struct ff__pipeline *pipeline, pthread_cond_t *condition,
                              uint64_t ns);

/* Waits until some job has finished, or it may help to look again: at the latest at `retry_ns`, if
 * that is not 0. The lock is held. */
void ff__pipeline_wait_for_progress(struct ff__pipeline *pipeline, uint64_t retry_ns);

/* Waits until no job is at work on the block. The lock is held. */
void ff__pipeline_wait_idle(struct ff__pipeline *pipeline, uint32_t block);

/* ---- carry.c ---- */

/* Carries out a job. The lock is held before and after, not while pages move. */
void ff__pipeline_carry_out(struct ff__pipeline *pipeline, struct ff__job *job);

/* Aborts the moves of all jobs that nobody waits for. The lock is held. */
void ff__pipeline_abort(struct ff__pipeline *pipeline);

/* ---- fault_workers.c ---- */

/* A thread that handles faults, until the pipeline stops. */
void *ff__fault_worker(void *pipeline);

/* The calling thread will be busy, or asleep, for long: if there is no leader, wakes a follower,
 * which will lead. The lock is held. */
void ff__fault_workers_promote(struct ff__pipeline *pipeline);

/* ---- migration.c ---- */

void *ff__migration_thread(void *pipeline);

/* Whether memory of some device is to be evicted ahead of need, or because there is less of it than
 * is allocated. */
bool ff__pipeline_is_pressed(const struct ff__engine *engine);

/* Puts throttled faults aside for the migration thread. The lock is held. */
void ff__pipeline_delay(struct ff__pipeline *pipeline, const struct ff_fault_group *group,
                        const struct ff_mask *pages, uint64_t due_ns);

/* ---- learning_threads.c ---- */

void *ff__correlator_thread(void *pipeline);
void *ff__prefetching_thread(void *pipeline);

#endif
