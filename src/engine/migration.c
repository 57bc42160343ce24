/* The migration thread: it serves queued, late and throttled faults, evicts, prefetches, and does
 * what must be done in the place of the program's threads; see pipeline.h for the order. */
#include "engine/pipeline_internal.h"

bool ff__pipeline_is_pressed(const struct ff__engine *engine) {
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        if (engine->pressed[tier])
            return true;
    return false;
}

/* ---- throttled faults ---- */

void ff__pipeline_delay(struct ff__pipeline *pipeline, const struct ff_fault_group *group,
                        const struct ff_mask *pages, uint64_t due_ns) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    struct ff__delayed *slot = &pipeline->delayed[group->block];
    if (!slot->queued) {
        *slot =
            (struct ff__delayed){.due_ns = due_ns, .next = pipeline->delayed_head, .queued = true};
        __atomic_store_n(&pipeline->delayed_head, group->block, __ATOMIC_RELAXED);
    }
    slot->faulted = ff_mask_or(&slot->faulted, pages);
    slot->written = ff_mask_or(&slot->written, &group->written);
    slot->tier = group->tier;
    if (due_ns < slot->due_ns)
        slot->due_ns = due_ns;
    pthread_cond_signal(&pipeline->work);
}

/* Takes a delayed group that is due. The lock is held. */
static bool take_due(struct ff__pipeline *pipeline, struct ff_fault_group *group) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    uint64_t now = pipeline->backend->now(pipeline->self);
    uint32_t *link = &pipeline->delayed_head;
    while (*link != FF_NONE && pipeline->delayed[*link].due_ns > now)
        link = &pipeline->delayed[*link].next;
    if (*link == FF_NONE)
        return false;
    struct ff__delayed *slot = &pipeline->delayed[*link];
    *group = (struct ff_fault_group){.block = *link,
                                     .tier = slot->tier,
                                     .launch = FF_NONE,
                                     .faulted = slot->faulted,
                                     .written = slot->written};
    slot->queued = false;
    __atomic_store_n(link, slot->next, __ATOMIC_RELAXED);
    return true;
}

static uint64_t next_due(const struct ff__pipeline *pipeline) {
    uint64_t next = UINT64_MAX;
    for (uint32_t block = pipeline->delayed_head; block != FF_NONE;
         block = pipeline->delayed[block].next)
        if (pipeline->delayed[block].due_ns < next)
            next = pipeline->delayed[block].due_ns;
    return next;
}

/* ---- its work, a step at a time ---- */

static bool step_due(struct ff__pipeline *pipeline) {
    struct ff_fault_group group;
    if (__atomic_load_n(&pipeline->delayed_head, __ATOMIC_RELAXED) == FF_NONE)
        return false;
    ff__pipeline_lock(pipeline);
    bool due = take_due(pipeline, &group);
    ff__pipeline_unlock(pipeline);
    if (due)
        ff__pipeline_serve(pipeline, &group, false);
    return due;
}

static bool step_faults(struct ff__pipeline *pipeline) {
    struct ff_fault_group group;
    if (ff__queue_empty(&pipeline->faults))
        return false;
    ff__pipeline_lock(pipeline);
    bool has_group = ff__queue_pop(&pipeline->faults, &group);
    if (has_group)
        ff__pipeline_serve_locked(pipeline, &group, false);
    ff__pipeline_unlock(pipeline);
    return has_group;
}

/* Ends mappings whose time is over. */
static bool step_mapped(struct ff__pipeline *pipeline) {
    struct ff__job job;
    if (!pipeline->engine->mappings)
        return false;
    ff__pipeline_lock(pipeline);
    int status =
        ff__engine_unmap_due(pipeline->engine, pipeline->backend->now(pipeline->self), &job);
    if (status == FF__JOB_RUN)
        ff__pipeline_run_job(pipeline, &job);
    ff__pipeline_unlock_and_serve_late(pipeline);
    return status == FF__JOB_RUN;
}

static void add(uint64_t *counter, uint32_t value) {
    __atomic_fetch_add(counter, value, __ATOMIC_RELAXED);
}

static bool step_orders(struct ff__pipeline *pipeline) {
    struct ff__launch_order order;
    struct ff__job job;
    if (ff__queue_empty(&pipeline->orders))
        return false;
    ff__pipeline_lock(pipeline);
    ff__queue_pop(&pipeline->orders, &order);
    int status =
        ff__engine_advise(pipeline->engine, ff__pipeline_now(pipeline), &order.advice, &job);
    add(order.counts.dropped, status == FF__JOB_DROPPED);
    if (status == FF__JOB_RUN) {
        ff__pipeline_run_job(pipeline, &job);
        add(order.counts.pages, ff_mask_count(&job.in.pages));
    } else {
        ff__pipeline_notify(pipeline); /* that there was no room for it */
    }
    ff__pipeline_unlock_and_serve_late(pipeline);
    return true;
}

/* The lock is held. */
static void queue_order(struct ff__pipeline *pipeline, const struct ff__launch_order *order) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    add(order->counts.orders, 1);
    if (!ff__queue_push(&pipeline->orders, order)) {
        ff__engine_drop(pipeline->engine, FF_DROP_QUEUE_FULL);
        add(order->counts.dropped, 1);
    }
    if (pipeline->migration_sleeps)
        pthread_cond_signal(&pipeline->work);
}

uint32_t ff__pipeline_order(struct ff__pipeline *pipeline, const struct ff_advice *advice,
                            const struct ff__order_counts *counts) {
    ff__pipeline_lock(pipeline);
    struct ff_mask present = ff__job_reachable(pipeline->engine, advice->block, advice->tier),
                   absent = ff_mask_minus(&advice->pages, &present);
    uint32_t count = ff_mask_count(&absent);
    if (counts && count > 0)
        queue_order(pipeline, &(struct ff__launch_order){*advice, *counts});
    ff__pipeline_unlock(pipeline);
    return count;
}

static bool step_ahead(struct ff__pipeline *pipeline) {
    struct ff__job job;
    ff__pipeline_lock(pipeline);
    enum ff__ahead what = ff__engine_ahead(pipeline->engine, ff__pipeline_now(pipeline), FF_NONE,
                                           &pipeline->prefetches, &job);
    if (what == FF__AHEAD_NEXT)
        ff__pipeline_notify(pipeline); /* that there was no room for it */
    else if (what != FF__AHEAD_NOTHING)
        ff__pipeline_run_job(pipeline, &job);
    ff__pipeline_unlock_and_serve_late(pipeline);
    return what != FF__AHEAD_NOTHING;
}

/* Serves what came late for a block that a program's thread was at work on. */
static bool step_late(struct ff__pipeline *pipeline) {
    ff__pipeline_lock(pipeline);
    return ff__pipeline_unlock_and_serve_late(pipeline);
}

static bool step_calls(struct ff__pipeline *pipeline) {
    if (!__atomic_load_n(&pipeline->calls, __ATOMIC_RELAXED))
        return false;
    ff__pipeline_lock(pipeline);
    struct ff__queued_call *call = pipeline->calls;
    if (!call->next)
        pipeline->calls_end = &pipeline->calls;
    __atomic_store_n(&pipeline->calls, call->next, __ATOMIC_RELAXED);
    ff__pipeline_unlock(pipeline);
    call->run(call->argument);
    ff__pipeline_lock(pipeline);
    call->done = true; /* from here on it may be gone */
    pthread_cond_broadcast(&pipeline->called);
    ff__pipeline_unlock(pipeline);
    return true;
}

/* ---- the thread ---- */

/* Sleeps until there is work, a delayed group is due, or the time of a mapping is over. */
static void sleep_until_work(struct ff__pipeline *pipeline) {
    ff__pipeline_lock(pipeline);
    uint64_t next = pipeline->backend->now(pipeline->self) + FF__IDLE_NS, due = next_due(pipeline);
    if (due < next)
        next = due;
    if (ff__engine_mapped_until(pipeline->engine) < next)
        next = ff__engine_mapped_until(pipeline->engine);
    if (!pipeline->stop && ff__queue_empty(&pipeline->faults) && !pipeline->calls &&
        pipeline->engine->late_head == FF_NONE && ff__queue_empty(&pipeline->prefetches) &&
        ff__queue_empty(&pipeline->orders) && !ff__pipeline_is_pressed(pipeline->engine)) {
        pipeline->migration_sleeps = true;
        pipeline->work_ns = next;
        ff__pipeline_sleep_until(pipeline, &pipeline->work, next);
        pipeline->migration_sleeps = false;
        ff__engine_press(pipeline->engine);
    }
    ff__pipeline_unlock(pipeline);
}

void *ff__migration_thread(void *argument) {
    struct ff__pipeline *pipeline = argument;
    while (!__atomic_load_n(&pipeline->stop, __ATOMIC_RELAXED))
        if (!step_calls(pipeline) && !step_faults(pipeline) && !step_late(pipeline) &&
            !step_due(pipeline) && !step_mapped(pipeline) && !step_orders(pipeline) &&
            !step_ahead(pipeline))
            sleep_until_work(pipeline);
    pipeline->backend->interrupt(pipeline->self); /* so that the leader ends, too */
    return NULL;
}

void ff__pipeline_call(struct ff__pipeline *pipeline, void (*run)(void *argument), void *argument) {
    struct ff__queued_call call = {.run = run, .argument = argument};
    ff__pipeline_lock(pipeline);
    __atomic_store_n(pipeline->calls_end, &call, __ATOMIC_RELAXED);
    pipeline->calls_end = &call.next;
    if (pipeline->migration_sleeps)
        pthread_cond_signal(&pipeline->work);
    while (!call.done) /* not for progress: a call may be a thousand jobs */
        ff__lock_wait(&pipeline->lock, &pipeline->called);
    ff__pipeline_unlock(pipeline);
}
