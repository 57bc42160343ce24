/* The live pipeline: DeepUM's four threads around one engine (DeepUM, section 4.1).
 *
 *   fault handling   takes faults from the backend, a batch at a time, and groups them by block. It
 *                    serves the first group itself, because handing it over would cost a wake-up
 *                    (40 us on an idle virtual CPU), and queues the others
 *   correlator       feeds events to the policy's `learn`
 *   prefetching      asks the policy's `plan` and queues its advice
 *   migration        serves the fault queue first, then faults that nobody has taken yet, then
 *                    throttled ones that are due, then the prefetch queue, then pre-evicts
 *
 * The correlator and the prefetching thread run only if the policy has these hooks. One lock
 * guards the engine and is held for decisions only, never while bytes move; jobs of different
 * blocks run at the same time. Faulting threads that serve themselves (SIGBUS) call
 * ff__pipeline_serve too. */
#ifndef FF_ENGINE_PIPELINE_H
#define FF_ENGINE_PIPELINE_H

#include "base/log.h"
#include "engine/engine.h"

#include <pthread.h>

/* Faults of one block that the policy throttles. */
struct ff__delayed {
    struct ff_mask faulted, written;
    uint64_t due_ns;
    uint32_t tier, next;
    bool queued;
};

struct ff__pipeline {
    struct ff__engine *engine;
    const struct ff__backend *backend;
    void *self; /* the backend's */
    struct ff__log log;
    pthread_mutex_t lock;
    pthread_cond_t progress;     /* some job has finished */
    pthread_cond_t work;         /* for the migration thread */
    pthread_cond_t news;         /* for the correlator */
    pthread_cond_t learned;      /* for the prefetching thread */
    struct ff__queue faults;     /* struct ff_fault_group */
    struct ff__queue prefetches; /* struct ff_advice; producers hold `advising` */
    pthread_mutex_t advising;
    struct ff__delayed *delayed; /* [block] */
    uint32_t delayed_head;       /* list of those queued, any order */
    uint32_t unplanned;          /* events learned since the last plan */
    bool stop, migration_sleeps;
    bool polls, has_learner, has_planner;
    pthread_t threads[4];
    uint32_t thread_count;
};

/* Starts the threads. `polls`: faults come through backend->wait. The pipeline borrows all its
 * arguments. */
int ff__pipeline_start(struct ff__pipeline *pipeline, struct ff__engine *engine,
                       const struct ff__backend *backend, void *self, struct ff__log log,
                       bool polls);

/* Stops and joins them. */
void ff__pipeline_stop(struct ff__pipeline *pipeline);

/* Serves one group of faults and whatever came late for the blocks it touched. Returns when the
 * pages are there; with `stay` false it may leave a throttled or busy group to others. -EFAULT:
 * no such block. */
int ff__pipeline_serve(struct ff__pipeline *pipeline, const struct ff_fault_group *group,
                       bool stay);

/* Queues advice for the migration thread; false when the queue is full. */
bool ff__pipeline_advise(struct ff__pipeline *pipeline, const struct ff_advice *advice);

/* Takes a block off all devices, waiting for whoever is busy with it. `dead` as in
 * ff__engine_evict. `close`: and keeps everybody else from it until its range is removed. */
void ff__pipeline_evict(struct ff__pipeline *pipeline, uint32_t block, const struct ff_mask *dead,
                        bool close);

/* Ends what a caller did to a block that it had marked busy itself: the host holds these pages
 * now. */
void ff__pipeline_release(struct ff__pipeline *pipeline, uint32_t block,
                          const struct ff_mask *held);

/* Tells the policies about a launch. */
int ff__pipeline_launch(struct ff__pipeline *pipeline, uint32_t tier, uint64_t identity,
                        bool begins);

#endif
