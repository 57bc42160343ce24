/* The live pipeline: DeepUM's four roles around one engine (DeepUM, section 4.1).
 *
 *   fault handling   Several threads, the fault workers (fault_workers.c). One at a time takes a
 *                    batch of faults from the backend and groups them by block. It serves the first
 *                    group itself, because to hand it over would cost a wake-up (40 us on an idle
 *                    virtual CPU). It queues the others, for itself and for the other workers.
 *   correlator       Feeds events to the policy's `learn`, without the lock, and to its `publish`
 *                    (learning_threads.c).
 *   prefetching      Asks the policy's `plan` and queues its advice (learning_threads.c).
 *   migration        In this order (migration.c): serves the fault queue; faults that came late for
 *                    a busy block; throttled ones that are due; brings what launches that begin
 *                    need; evicts what is above a device's capacity; serves the prefetch queue;
 *                    pre-evicts.
 *
 * The correlator and the prefetching thread run only if the policy has these hooks. One lock guards
 * the engine and is held for decisions only, never while bytes move or a policy learns; jobs of
 * different blocks run at the same time. Faulting threads that serve themselves call
 * ff__pipeline_serve_here; all else that moves pages for the program's threads is done in their
 * place by the migration thread, which alone can rely on the backend's descriptors
 * (ff__pipeline_call). */
#ifndef FF_ENGINE_PIPELINE_H
#define FF_ENGINE_PIPELINE_H

#include "base/inbox.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/queue.h"
#include "engine/fault_places.h"
#include "engine/fault_samples.h"
#include "engine/prediction.h"

#include <pthread.h>

#define FF__FAULT_WORKERS_MAX 8u
#define FF__IDLE_NS           100000000u /* sleeping threads look around this often, in case */

/* Faults of one block that the policy throttles. */
struct ff__delayed {
    struct ff_mask faulted, written;
    uint64_t due_ns;
    uint32_t tier, next;
    bool queued;
};

/* Something that the migration thread does for another one, which waits. */
struct ff__queued_call {
    void (*run)(void *argument);
    void *argument;
    struct ff__queued_call *next;
    bool done;
};

/* A job whose moves are under way. */
struct ff__flight {
    struct ff__submission submission;
    struct ff__job *job;
    struct ff__flight *next, **link;
};

/* What is to be brought for a launch that is about to begin. */
struct ff__launch_order {
    struct ff_advice advice;
    struct ff__order_counts counts;
};

/* Called for all that happens, such as by a recording; from any thread, and from handlers of
 * signals. */
struct ff__observer {
    void *user;

    /* Faults as the backend saw them; NULL: not wanted. */
    void (*faults)(void *user, const struct ff__fault *faults, uint32_t count);

    /* Pages of the move are about to arrive on its device, or to leave it. Called before they do,
     * so that no event of a thread that goes on, or faults, because of the move comes first. For
     * pages that then do not move it is called again, with the opposite `arrive`. NULL: not
     * wanted. */
    void (*moves)(void *user, const struct ff__move *move, const struct ff_mask *pages,
                  bool arrive);

    /* Pages that have left a device with another content than the host had. NULL: not wanted. */
    void (*copies)(void *user, const struct ff__move *move, const struct ff_mask *pages);
};

/* News: messages that the program's threads leave without taking the lock, which would cost them
 * system calls. The next thread that takes the lock handles them before anything else. The effect
 * is as if they had been handled at once, but for advice that a policy gives meanwhile. */
struct ff__news {
    void *user;
    size_t size; /* of a piece; 0: there are none */

    /* Called with the lock held, and does not give it up. */
    void (*take)(void *user, const void *piece);
};

/* All is borrowed until the pipeline has stopped. */
struct ff__pipeline_config {
    struct ff__engine *engine;
    const struct ff__backend *backend;
    void *self; /* the backend's */
    struct ff__log log;
    struct ff__observer observer;
    struct ff__news left_news;
    /* Threads; 0: as many as CPUs, at least 2. More than the most are the most */
    uint32_t fault_workers;
};

struct ff__pipeline {
    struct ff__engine *engine;
    const struct ff__backend *backend;
    void *self; /* the backend's */
    struct ff__log log;
    struct ff__observer observer;
    struct ff__news left_news;
    struct ff__inbox inbox; /* of such news */
    bool is_urgent;         /* atomic: the next launch is to take the lock, and not leave news */
    bool launches_move;     /* a policy's advice at a launch has moved something */
    struct ff__lock lock;
    pthread_cond_t progress;     /* some job has finished */
    pthread_cond_t called;       /* some call has been carried out */
    pthread_cond_t follow;       /* for followers: there is a group, or no leader */
    pthread_cond_t work;         /* for the migration thread */
    pthread_cond_t news;         /* for the correlator */
    pthread_cond_t room;         /* for launches: the queue of events was full */
    pthread_cond_t learned;      /* for the prefetching thread */
    struct ff__queue faults;     /* struct ff_fault_group; used under the lock */
    struct ff__queue prefetches; /* struct ff_advice; producers hold the lock, as of the next */
    struct ff__queue orders;     /* struct ff__launch_order */
    struct ff__delayed *delayed; /* [block] */
    uint32_t delayed_head;       /* list of those queued, any order */
    uint32_t unplanned;          /* events learned since the last plan */
    struct ff__queued_call *calls, **calls_end;
    struct ff__flight *flights;       /* in any order */
    struct ff__fault_samples samples; /* only if a policy must see some */
    struct ff__fault_places places;   /* used under the lock */
    bool stop, migration_sleeps;
    uint64_t work_ns; /* while the migration thread sleeps: until when, at most */
    bool has_learner, has_planner;
    bool lost_descriptors; /* by the program's threads */
    bool started;          /* or not, with start_status */
    int start_status;
    uint32_t fault_workers, followers; /* threads; of these, those that sleep */
    bool led;                          /* one waits for faults */
    uint64_t group_ns;                 /* what it takes to serve a group, a moving average */
    uint32_t serving, serving_most;    /* groups now, and at most since the usage was asked for */
    bool cannot_read;                  /* faults: it has been logged */
    pthread_t threads[FF__FAULT_WORKERS_MAX + 3];
    uint32_t thread_count;
};

/* Attaches the backend and starts the threads. Negative errno, with a line that says why: then
 * nothing is left to stop. */
int ff__pipeline_start(struct ff__pipeline *pipeline, const struct ff__pipeline_config *config,
                       struct ff_error *error);

/* Stops and joins them. */
void ff__pipeline_stop(struct ff__pipeline *pipeline);

/* The lock. News that were left have been taken in. */
void ff__pipeline_lock(struct ff__pipeline *pipeline);
void ff__pipeline_unlock(struct ff__pipeline *pipeline);

/* What a kernel on the device has accessed: samples of use, if a policy must see any. */
void ff__pipeline_used(struct ff__pipeline *pipeline, uint32_t tier,
                       const struct ff_warp_access *accesses, size_t count);

/* Serves one group of faults and whatever came late for the blocks it touched. Returns when the
 * pages are there; with `stay` false it may leave a throttled or busy group to others. -EFAULT:
 * no such block. */
int ff__pipeline_serve(struct ff__pipeline *pipeline, const struct ff_fault_group *group,
                       bool stay);

/* Queues advice for the migration thread; false when the queue is full. */
bool ff__pipeline_advise(struct ff__pipeline *pipeline, const struct ff_advice *advice);

/* How many of the advised pages are not on the device. With `counts`, they are ordered, which goes
 * before all advice. */
uint32_t ff__pipeline_order(struct ff__pipeline *pipeline, const struct ff_advice *advice,
                            const struct ff__order_counts *counts);

/* Has the migration thread do something, and returns when it is done. */
void ff__pipeline_call(struct ff__pipeline *pipeline, void (*run)(void *argument), void *argument);

/* Takes these pages of a block (NULL: all) off all devices, as far as they can leave, waiting for
 * jobs on it. `dead` as in ff__engine_evict. Within a call. */
void ff__pipeline_evict(struct ff__pipeline *pipeline, uint32_t block, const struct ff_mask *pages,
                        const struct ff_mask *dead);

/* As ff__pipeline_evict() of all pages; then the block is busy until ff__pipeline_release(). Within
 * a call. */
void ff__pipeline_withdraw(struct ff__pipeline *pipeline, uint32_t block);

/* Drops all of a block, and keeps everybody from it until its range is removed. Within a call. */
void ff__pipeline_close(struct ff__pipeline *pipeline, uint32_t block);

/* Drops these pages wherever they are: whatever is allocated there next reads as zeros. Within a
 * call. */
void ff__pipeline_free_pages(struct ff__pipeline *pipeline, uint32_t block,
                             const struct ff_mask *pages);

/* ---- requests.c: what is asked on behalf of the program, and moves no pages itself ---- */

/* Serves a fault in the thread that has met it. Returns when the page is there. -EFAULT: no such
 * block. */
int ff__pipeline_serve_here(struct ff__pipeline *pipeline, const struct ff__fault *fault);

/* Marks a block busy that is not, for a caller that will write to the host's copy of it, and
 * touches no memory meanwhile that might fault. Takes out of *pages those that are on a device.
 * False: a job is at work on the block. */
bool ff__pipeline_claim(struct ff__pipeline *pipeline, uint32_t block, struct ff_mask *pages);

/* Ends that: the host holds these pages now. */
void ff__pipeline_release(struct ff__pipeline *pipeline, uint32_t block,
                          const struct ff_mask *held);

/* The program will overwrite these pages before it reads them: what is on no device is forgotten,
 * unless the block is at work, and comes with what it held. */
void ff__pipeline_overwrite(struct ff__pipeline *pipeline, uint32_t block,
                            const struct ff_mask *pages);

/* As ff__engine_set_inactive(). What is in use again is so when this returns: a block that is just
 * leaving drops what was inactive, and the program goes on, and writes, when it has left. */
void ff__pipeline_set_inactive(struct ff__pipeline *pipeline, uint32_t block,
                               const struct ff_mask *pages, bool inactive);

/* As ff__engine_set_memory(); what is above the new capacity leaves in the background. */
int ff__pipeline_set_memory(struct ff__pipeline *pipeline, uint32_t tier, uint64_t bytes);

/* How a device is used. All in bytes. */
struct ff__usage {
    uint64_t used;         /* of all ranges that have had pages there */
    uint64_t excess;       /* allocated above the capacity */
    bool harvests;         /* the policies evict to other devices */
    uint64_t events;       /* faults served and kernels begun on any device, since the start */
    bool runs;             /* a kernel runs */
    uint64_t free;         /* that may be allocated */
    bool is_queued;        /* advice that has not been followed yet */
    uint32_t serving_most; /* groups of faults served at the same time, since this was last asked */
};

struct ff__usage ff__pipeline_usage(struct ff__pipeline *pipeline, uint32_t tier);

/* What is on the device now, as advice that brings it back: fills in up to `capacity` pieces, in
 * the order of their addresses. Returns how many there are. */
uint32_t ff__pipeline_residents(struct ff__pipeline *pipeline, uint32_t tier,
                                struct ff_advice *items, uint32_t capacity);

/* Gives memory that the device keeps unused back to the system. */
void ff__pipeline_trim(struct ff__pipeline *pipeline, uint32_t tier);

/* Tells the policies about a launch, or its end. */
int ff__pipeline_launch(struct ff__pipeline *pipeline, const struct ff__launch *launch);

/* As ff__pipeline_launch(), for a launch at `now_ns`, with the lock held. It does not give the lock
 * up to wait for room for the event. */
int ff__pipeline_launch_locked(struct ff__pipeline *pipeline, const struct ff__launch *launch,
                               uint64_t now_ns);

/* A piece of news about a launch to fill in, and to put into pipeline->inbox; NULL: it has to be
 * told at once, or there is no room for it. */
static inline void *ff__pipeline_claim_news(struct ff__pipeline *pipeline) {
    return __atomic_load_n(&pipeline->is_urgent, __ATOMIC_RELAXED)
               ? NULL
               : ff__inbox_claim(&pipeline->inbox);
}

struct ff_stats ff__pipeline_stats(struct ff__pipeline *pipeline);

/* The first invariant that broke, now or, with checks on, at any time before. */
int ff__pipeline_check(struct ff__pipeline *pipeline, struct ff_error *error);

#endif
