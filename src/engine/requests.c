/* What is asked of the pipeline on behalf of the program, and moves no pages itself. */
#include "engine/pipeline_internal.h"

#include "base/signals.h"

#define ADVICE_MAX 64u /* of one launch */

#include <errno.h>

/* ---- faults ---- */

int ff__pipeline_serve_here(struct ff__pipeline *pipeline, const struct ff__fault *fault) {
    uint32_t page = 0;
    struct ff_fault_group group = {
        .tier = FF_NONE, .launch = FF_NONE, .thread = (uint32_t)fault->thread};
    ff__lock_acquire(&pipeline->lock);
    group.block = ff__space_find(&pipeline->engine->space, fault->address, &page);
    ff__lock_release(&pipeline->lock);
    if (group.block == FF_NONE)
        return -EFAULT;
    ff_mask_set(&group.faulted, page);
    if (fault->write)
        ff_mask_set(&group.written, page);
    if (pipeline->observer.faults)
        pipeline->observer.faults(pipeline->observer.user, fault, 1);
    return ff__pipeline_serve(pipeline, &group, true);
}

/* ---- blocks ---- */

bool ff__pipeline_claim(struct ff__pipeline *pipeline, uint32_t block, struct ff_mask *pages) {
    struct ff_facts *facts = ff__facts(&pipeline->engine->space, block);
    ff__lock_acquire(&pipeline->lock);
    bool idle = !facts->busy;
    if (idle) {
        struct ff_mask present = ff__block_present(&pipeline->engine->space, block);
        *pages = ff_mask_minus(pages, &present);
        facts->busy = 1;
        ff__signals_hold(); /* whoever faults there waits for this thread */
    }
    ff__lock_release(&pipeline->lock);
    return idle;
}

void ff__pipeline_release(struct ff__pipeline *pipeline, uint32_t block,
                          const struct ff_mask *held) {
    ff__lock_acquire(&pipeline->lock);
    ff__engine_release_block(pipeline->engine, block, held);
    ff__signals_release();
    pthread_cond_broadcast(&pipeline->progress);
    if (pipeline->migration_sleeps && pipeline->engine->late_head != FF_NONE)
        pthread_cond_signal(&pipeline->work);
    ff__lock_release(&pipeline->lock);
}

void ff__pipeline_overwrite(struct ff__pipeline *pipeline, uint32_t block,
                            const struct ff_mask *pages) {
    ff__lock_acquire(&pipeline->lock);
    if (!ff__facts(&pipeline->engine->space, block)->busy)
        ff__engine_discard(pipeline->engine, block, pages);
    ff__lock_release(&pipeline->lock);
}

void ff__pipeline_set_inactive(struct ff__pipeline *pipeline, uint32_t block,
                               const struct ff_mask *pages, bool inactive) {
    ff__lock_acquire(&pipeline->lock);
    if (!inactive)
        ff__pipeline_wait_idle(pipeline, block);
    ff__engine_set_inactive(pipeline->engine, block, pages, inactive);
    ff__lock_release(&pipeline->lock);
}

/* ---- ranges, launches ---- */

int ff__pipeline_set_memory(struct ff__pipeline *pipeline, uint32_t tier, uint64_t bytes) {
    ff__lock_acquire(&pipeline->lock);
    int status = ff__engine_set_memory(pipeline->engine, tier, bytes);
    if (pipeline->migration_sleeps)
        pthread_cond_signal(&pipeline->work);
    pthread_cond_broadcast(&pipeline->progress);
    ff__lock_release(&pipeline->lock);
    return status;
}

struct ff__usage ff__pipeline_usage(struct ff__pipeline *pipeline, uint32_t tier) {
    const struct ff__engine *engine = pipeline->engine;
    ff__lock_acquire(&pipeline->lock);
    struct ff__usage usage = {engine->space.used[tier] * FF_PAGE_SIZE,
                              ff__space_excess(&engine->space, tier) * FF_PAGE_SIZE,
                              engine->place->place && engine->guests,
                              engine->space.stats.faults + engine->space.stats.launches,
                              engine->running[tier].count > 0};
    ff__lock_release(&pipeline->lock);
    return usage;
}

void ff__pipeline_trim(struct ff__pipeline *pipeline, uint32_t tier) {
    ff__lock_acquire(&pipeline->lock);
    if (pipeline->backend->release)
        pipeline->backend->release(pipeline->self, tier);
    ff__lock_release(&pipeline->lock);
}

/* Whether the correlator has to hear of a launch at once, so that what it predicts comes in time. As long as nothing has left the
 * devices there is nothing to bring back, and a wake-up takes longer than a launch. */
static bool is_urgent(const struct ff__engine *engine) {
    return engine->space.stats.evictions > 0 ||
           ff__queue_room(&engine->events) < engine->events.capacity / 2;
}

int ff__pipeline_launch(struct ff__pipeline *pipeline, const struct ff__launch *launch,
                        uint64_t demanded) {
    struct ff_advice items[ADVICE_MAX];
    struct ff_advice_list advice = {.items = items, .capacity = ADVICE_MAX};
    ff__lock_acquire(&pipeline->lock);
    while (!ff__engine_can_tell(pipeline->engine) && !pipeline->stop)
        ff__pipeline_sleep(pipeline, &pipeline->room, FF__IDLE_NS);
    uint64_t now = pipeline->backend->now(pipeline->self);
    pipeline->engine->space.stats.demanded += demanded;
    if (launch->begins)
        ff__fault_samples_begin(&pipeline->samples, launch, now);
    else
        ff__fault_samples_end(&pipeline->samples, launch->tier, now);
    int status = ff__engine_launch(pipeline->engine, now, launch, &advice);
    ff__pipeline_abort(pipeline, false);
    ff__pipeline_queue_all(pipeline, &advice);
    if (pipeline->has_learner && is_urgent(pipeline->engine))
        pthread_cond_signal(&pipeline->news);
    ff__lock_release(&pipeline->lock);
    return status;
}

/* ---- what has become of all that ---- */

struct ff_stats ff__pipeline_stats(struct ff__pipeline *pipeline) {
    ff__lock_acquire(&pipeline->lock);
    struct ff_stats stats = pipeline->engine->space.stats;
    ff__lock_release(&pipeline->lock);
    return stats;
}

int ff__pipeline_check(struct ff__pipeline *pipeline, struct ff_error *error) {
    ff__lock_acquire(&pipeline->lock);
    *error = pipeline->engine->failure;
    int status = error->message[0] ? -EUCLEAN : ff__engine_check(pipeline->engine, error);
    ff__lock_release(&pipeline->lock);
    return status;
}
