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
    int status = -EFAULT;
    ff__pipeline_lock(pipeline);
    group.block = ff__space_find(&pipeline->engine->space, fault->address, &page);
    if (group.block != FF_NONE) {
        ff_mask_set(&group.faulted, page);
        if (fault->write)
            ff_mask_set(&group.written, page);
        if (pipeline->observer.faults)
            pipeline->observer.faults(pipeline->observer.user, fault, 1);
        if (fault->code != 0)
            ff__fault_places_note(&pipeline->places, fault->code);
        ff__engine_fault_met(pipeline->engine, group.block, page, group.thread);
        ff__pipeline_show_batch(pipeline, &group, 1);
        status = ff__pipeline_serve_locked(pipeline, &group, true);
    }
    ff__pipeline_unlock(pipeline);
    return status;
}

/* ---- blocks ---- */

bool ff__pipeline_claim(struct ff__pipeline *pipeline, uint32_t block, struct ff_mask *pages) {
    ff__pipeline_lock(pipeline);
    bool claimed = ff__engine_claim_block(pipeline->engine, block, pages);
    if (claimed)
        ff__signals_hold(); /* threads that fault there wait for this one */
    ff__pipeline_unlock(pipeline);
    return claimed;
}

void ff__pipeline_release(struct ff__pipeline *pipeline, uint32_t block,
                          const struct ff_mask *held) {
    ff__pipeline_lock(pipeline);
    ff__engine_release_block(pipeline->engine, block, held);
    ff__signals_release();
    pthread_cond_broadcast(&pipeline->progress);
    if (pipeline->migration_sleeps && pipeline->engine->late_head != FF_NONE)
        pthread_cond_signal(&pipeline->work);
    ff__pipeline_unlock(pipeline);
}

void ff__pipeline_overwrite(struct ff__pipeline *pipeline, uint32_t block,
                            const struct ff_mask *pages) {
    ff__pipeline_lock(pipeline);
    if (!ff__facts(&pipeline->engine->space, block)->busy)
        ff__engine_discard(pipeline->engine, block, pages);
    ff__pipeline_unlock(pipeline);
}

void ff__pipeline_set_inactive(struct ff__pipeline *pipeline, uint32_t block,
                               const struct ff_mask *pages, bool inactive) {
    ff__pipeline_lock(pipeline);
    if (!inactive)
        ff__pipeline_wait_idle(pipeline, block);
    ff__engine_set_inactive(pipeline->engine, block, pages, inactive);
    ff__pipeline_unlock(pipeline);
}

/* ---- ranges, launches ---- */

int ff__pipeline_set_memory(struct ff__pipeline *pipeline, uint32_t tier, uint64_t bytes) {
    ff__pipeline_lock(pipeline);
    int status = ff__engine_set_memory(pipeline->engine, tier, bytes);
    if (pipeline->migration_sleeps)
        pthread_cond_signal(&pipeline->work);
    pthread_cond_broadcast(&pipeline->progress);
    ff__pipeline_unlock(pipeline);
    return status;
}

struct ff__usage ff__pipeline_usage(struct ff__pipeline *pipeline, uint32_t tier) {
    const struct ff__engine *engine = pipeline->engine;
    ff__pipeline_lock(pipeline);
    struct ff__tier_memory memory = ff__memory_of(engine, tier);
    struct ff__usage usage = {
        .used = engine->space.used[tier] * FF_PAGE_SIZE,
        .excess = memory.excess * FF_PAGE_SIZE,
        .harvests = engine->place->place && engine->guests,
        .events = engine->space.stats.faults + engine->space.stats.launches,
        .runs = engine->running[tier].count > 0,
        .free = memory.free * FF_PAGE_SIZE,
        .is_queued = !ff__queue_empty(&pipeline->prefetches) || !ff__queue_empty(&pipeline->orders),
        .serving_most = pipeline->serving_most,
    };
    pipeline->serving_most = pipeline->serving;
    ff__pipeline_unlock(pipeline);
    return usage;
}

uint32_t ff__pipeline_residents(struct ff__pipeline *pipeline, uint32_t tier,
                                struct ff_advice *items, uint32_t capacity) {
    const struct ff__space *space = &pipeline->engine->space;
    uint32_t count = 0;
    ff__pipeline_lock(pipeline);
    for (uint32_t block = 0; block < space->block_limit; block++) {
        const struct ff_mask *pages = &ff__facts(space, block)->tier[tier].resident;
        if (ff_mask_empty(pages))
            continue;
        if (count < capacity)
            items[count] = (struct ff_advice){
                .block = block, .tier = tier, .launch = FF_NONE, .pages = *pages};
        count++;
    }
    ff__pipeline_unlock(pipeline);
    return count;
}

void ff__pipeline_trim(struct ff__pipeline *pipeline, uint32_t tier) {
    ff__pipeline_lock(pipeline);
    if (pipeline->backend->release)
        pipeline->backend->release(pipeline->self, tier);
    ff__pipeline_unlock(pipeline);
}

/* Whether the correlator has to hear of a launch at once, so that what it predicts comes in time.
 * As long as nothing has left the devices there is nothing to bring back, and a wake-up takes
 * longer than a launch. */
static bool is_urgent(const struct ff__engine *engine) {
    return (engine->space.stats.evictions > 0 && ff__engine_uses_learning(engine)) ||
           ff__queue_room(&engine->events) < engine->events.capacity / 2;
}

/* Whether a policy has anything moved at a launch. If it never has, launches are not urgent for it
 * either. Samples are of faults. */
static bool moves(const struct ff_advice_list *advice) {
    for (uint32_t i = 0; i < advice->count; i++)
        if (advice->items[i].action != FF_SAMPLE)
            return true;
    return false;
}

void ff__pipeline_judge_launches(struct ff__pipeline *pipeline) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    bool urgent = pipeline->launches_move || is_urgent(pipeline->engine);
    __atomic_store_n(&pipeline->is_urgent, urgent, __ATOMIC_RELAXED);
}

int ff__pipeline_launch_locked(struct ff__pipeline *pipeline, const struct ff__launch *launch,
                               uint64_t now_ns) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    struct ff__engine *engine = pipeline->engine;
    struct ff_advice items[ADVICE_MAX];
    struct ff_advice_list advice = {.items = items, .capacity = ADVICE_MAX};
    if (now_ns < engine->view.now_ns) /* others were faster; to policies time does not go back */
        now_ns = engine->view.now_ns;
    if (launch->begins)
        ff__fault_samples_begin(&pipeline->samples, launch, now_ns);
    else
        ff__fault_samples_end(&pipeline->samples, launch->tier, now_ns);
    int status = ff__engine_launch(engine, now_ns, launch, &advice);
    ff__pipeline_queue_all(pipeline, &advice);
    if (pipeline->has_learner && is_urgent(engine))
        pthread_cond_signal(&pipeline->news);
    pipeline->launches_move = pipeline->launches_move || moves(&advice);
    ff__pipeline_judge_launches(pipeline);
    return status;
}

int ff__pipeline_launch(struct ff__pipeline *pipeline, const struct ff__launch *launch) {
    ff__pipeline_lock(pipeline);
    while (!ff__engine_can_tell(pipeline->engine) && !pipeline->stop)
        ff__pipeline_sleep(pipeline, &pipeline->room, FF__IDLE_NS);
    uint64_t now = pipeline->backend->now(pipeline->self);
    int status = ff__pipeline_launch_locked(pipeline, launch, now);
    ff__pipeline_unlock(pipeline);
    return status;
}

/* ---- what has become of all that ---- */

struct ff_stats ff__pipeline_stats(struct ff__pipeline *pipeline) {
    ff__pipeline_lock(pipeline);
    struct ff_stats stats = pipeline->engine->space.stats;
    ff__pipeline_unlock(pipeline);
    return stats;
}

int ff__pipeline_check(struct ff__pipeline *pipeline, struct ff_error *error) {
    ff__pipeline_lock(pipeline);
    *error = pipeline->engine->failure;
    int status = error->message[0] ? -EUCLEAN : ff__engine_check(pipeline->engine, error);
    ff__pipeline_unlock(pipeline);
    return status;
}
