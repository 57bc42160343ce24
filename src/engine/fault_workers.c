/* The threads that handle faults: a leader and its followers. At most one of them, the leader,
 * waits for faults. It gives the leadership up before it serves what it has read, and the next
 * worker without work takes it.
 *
 * To wake a follower costs more than to serve a group of a few pages. So one is woken only when
 * what it would do takes longer than that: to serve groups that wait, or to lead while this thread
 * serves a large one. */
#include "engine/pipeline_internal.h"

#include "base/clock.h"
#include "base/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_MAX  256u     /* faults a batch, as in the NVIDIA driver */
#define ADVICE_MAX 64u      /* of one batch */
#define TROUBLE_NS 1000000u /* between tries of what has failed */

/* ---- batches of faults ---- */

static int by_address(const void *a, const void *b) {
    uint64_t x = ((const struct ff__fault *)a)->address, y = ((const struct ff__fault *)b)->address;
    return (x > y) - (x < y);
}

/* Sorts a batch into one group a block. The lock is held. */
static uint32_t group_faults(struct ff__pipeline *pipeline, struct ff__fault *faults,
                             uint32_t count, struct ff_fault_group groups[BATCH_MAX]) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    uint32_t group_count = 0;
    if (count > 1)
        qsort(faults, count, sizeof *faults, by_address);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t page = 0,
                 block = ff__space_find(&pipeline->engine->space, faults[i].address, &page);
        if (block == FF_NONE) {
            pipeline->backend->reject(pipeline->self, &faults[i]);
            continue;
        }
        if (group_count == 0 || groups[group_count - 1].block != block)
            groups[group_count++] = (struct ff_fault_group){.block = block,
                                                            .tier = FF_NONE,
                                                            .launch = FF_NONE,
                                                            .thread = (uint32_t)faults[i].thread};
        ff__engine_fault_met(pipeline->engine, block, page, (uint32_t)faults[i].thread);
        ff_mask_set(&groups[group_count - 1].faulted, page);
        if (faults[i].write)
            ff_mask_set(&groups[group_count - 1].written, page);
    }
    return group_count;
}

/* Wakes a follower to lead while this thread is busy with a long operation. The lock is held. */
void ff__fault_workers_promote(struct ff__pipeline *pipeline) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    if (!pipeline->led && pipeline->followers > 0)
        pthread_cond_signal(&pipeline->follow);
}

/* Wakes as many threads as can gain time, for `shared` groups that wait and one that this thread
 * serves. The lock is held. */
static void call_for_help(struct ff__pipeline *pipeline, uint32_t shared) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    uint64_t helpers = shared * pipeline->group_ns / FF__WAKE_NS;
    for (uint32_t i = 0; i < helpers && i < pipeline->followers; i++)
        pthread_cond_signal(&pipeline->follow);
    if (helpers > pipeline->followers && pipeline->migration_sleeps)
        pthread_cond_signal(&pipeline->work);
    if (helpers == 0 && pipeline->group_ns > FF__WAKE_NS)
        ff__fault_workers_promote(pipeline);
}

void ff__pipeline_show_batch(struct ff__pipeline *pipeline, struct ff_fault_group *groups,
                             uint32_t count) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    struct ff_advice items[ADVICE_MAX];
    struct ff_advice_list advice = {.items = items, .capacity = ADVICE_MAX};
    if (!pipeline->engine->prefetch->on_batch || count == 0)
        return;
    ff__engine_batch(pipeline->engine, pipeline->backend->now(pipeline->self), groups, count,
                     &advice);
    ff__pipeline_queue_all(pipeline, &advice);
}

/* Shares all groups but the first, as many as there is room for; the rest is served here. The lock
 * is held before and after, not while pages move. */
static void serve_batch(struct ff__pipeline *pipeline, struct ff__fault *faults, uint32_t count) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    struct ff_fault_group groups[BATCH_MAX];
    uint32_t group_count = group_faults(pipeline, faults, count, groups), shared = 0;
    ff__pipeline_show_batch(pipeline, groups, group_count);
    while (group_count > 1 && ff__queue_push(&pipeline->faults, &groups[group_count - 1])) {
        group_count--;
        shared++;
    }
    call_for_help(pipeline, shared);
    for (uint32_t i = 0; i < group_count; i++)
        ff__pipeline_serve_locked(pipeline, &groups[i], false);
}

/* ---- leader and followers; the lock is held ---- */

static void follow(struct ff__pipeline *pipeline) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    pipeline->followers++;
    ff__pipeline_sleep(pipeline, &pipeline->follow, FF__IDLE_NS);
    pipeline->followers--;
}

static void complain(struct ff__pipeline *pipeline, int status) {
    if (!pipeline->cannot_read)
        ff__log_line(&pipeline->log, FF_LOG_WARNING, "cannot read faults: %s", strerror(-status));
    pipeline->cannot_read = true;
}

/* Waits for faults, and gives the leadership up before it serves them. Whether there were any.
 * `served`: this thread has just served some. */
static bool lead(struct ff__pipeline *pipeline, bool served) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    struct ff__fault faults[BATCH_MAX];
    pipeline->led = true;
    ff__pipeline_unlock(pipeline);
    int count = pipeline->backend->wait(pipeline->self, faults, BATCH_MAX, served, FF__IDLE_NS);
    if (count > 0 && pipeline->observer.faults)
        pipeline->observer.faults(pipeline->observer.user, faults, (uint32_t)count);
    if (count < 0)
        ff__clock_sleep(TROUBLE_NS);
    ff__pipeline_lock(pipeline);
    pipeline->led = false;
    for (int i = 0; i < count; i++)
        if (faults[i].code != 0)
            ff__fault_places_note(&pipeline->places, faults[i].code);
    if (count > 0)
        serve_batch(pipeline, faults, (uint32_t)count);
    else if (count < 0)
        complain(pipeline, count);
    return count > 0;
}

/* Takes a group that a leader has shared. */
static bool help(struct ff__pipeline *pipeline) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    struct ff_fault_group group;
    if (!ff__queue_pop(&pipeline->faults, &group))
        return false;
    ff__pipeline_serve_locked(pipeline, &group, false);
    return true;
}

void *ff__fault_worker(void *argument) {
    struct ff__pipeline *pipeline = argument;
    ff__pipeline_lock(pipeline);
    for (bool served = false; !pipeline->stop;)
        if (help(pipeline))
            served = true;
        else if (!pipeline->led)
            served = lead(pipeline, served);
        else
            follow(pipeline);
    ff__pipeline_unlock(pipeline);
    return NULL;
}
