/* Pages one at a time, where nothing takes time: a fault, its job and the job's end in one short step,
 * if one page leaves for it at most. What comes of it is what comes of the long way; what is saved is
 * the looking at all that can be under way where things take time, and at whole blocks. */
#include "engine/internal.h"

#define VICTIMS_MAX 16u

bool ff__engine_pages_alone(const struct ff__engine *engine) {
    return engine->space.by_page && engine->space.tier_count == 2 && !engine->check &&
           !engine->events.items && !engine->prefetch->on_fault && !engine->prefetch->on_arrival &&
           !engine->discard->dead;
}

static bool can_leave(const struct ff__engine *engine, const struct ff__page_job *job) {
    const struct ff__space *space = &engine->space;
    uint32_t block = job->victim;
    return block < space->block_limit && space->frame[job->tier][block] != FF_NONE &&
           !space->busy[block] && !engine->pinned[block] &&
           ff_mask_test(&space->resident[job->tier][block], job->victim_page);
}

static void move_out(struct ff__engine *engine, struct ff__page_job *job) {
    struct ff__space *space = &engine->space;
    uint32_t block = job->victim, page = job->victim_page;
    job->victim_written = ff_mask_test(&job->dirty[block], page);
    job->copied = job->victim_written || job->copies_clean;
    if (job->copied)
        ff_mask_set(&space->resident[FF_TIER_HOST][block], page);
    ff_mask_unset(&job->dirty[block], page);
    ff_mask_set(&space->evicted[block], page);
    if (space->stats.prefetched > 0) {
        struct ff_mask leaving = ff_mask_of_run(page, page + 1);
        ff__engine_count_useless(engine, block, &leaving);
    }
    ff_mask_unset(&space->resident[job->tier][block], page);
    ff__memory_release_if_empty(engine, block, job->tier);
    space->used[job->tier]--;
    space->stats.evictions++;
    space->stats.pages_out += job->copied;
    space->stats.pages_dropped += !job->copied;
}

/* The policy's first victim leaves. False: it is more than a page, or cannot go. */
static bool make_room(struct ff__engine *engine, struct ff__page_job *job) {
    struct ff_advice items[VICTIMS_MAX];
    struct ff_advice_list victims = {items, 0, VICTIMS_MAX};
    struct ff_evict_request request = {FF_EVICT_FOR_FAULT, job->tier, job->block, 1};
    void *state = engine->evict_state[job->tier];
    engine->evict->pick(state, &engine->view, &request, &victims);
    if (victims.count == 0)
        return false;
    job->victim = items[0].block;
    job->victim_page = ff_mask_alone(&items[0].pages);
    if (job->victim_page == FF_BLOCK_PAGES || !can_leave(engine, job))
        return false;
    ff__engine_page_fetch(engine, job->victim);
    __builtin_prefetch(&job->dirty[job->victim], 1);
    if (engine->place->place(engine->place_state, &engine->view, job->victim, job->tier) !=
        FF_TIER_HOST)
        engine->space.stats.advice_dropped++;
    if (engine->evict->on_leave)
        engine->evict->on_leave(state, &engine->view, job->victim, &items[0].pages);
    move_out(engine, job);
    return true;
}

static void move_in(struct ff__engine *engine, struct ff__page_job *job) {
    struct ff__space *space = &engine->space;
    struct ff_stats *stats = &space->stats;
    uint32_t tier = job->tier, block = job->block, page = job->page;
    if (space->frame[tier][block] == FF_NONE) {
        space->frame[tier][block] = 0;
        if (engine->evict->on_activate)
            engine->evict->on_activate(engine->evict_state[tier], &engine->view, block);
    }
    job->held = ff_mask_test(&space->resident[FF_TIER_HOST][block], page);
    job->back = ff_mask_test(&space->evicted[block], page);
    space->used[tier]++;
    ff_mask_set(&space->resident[tier][block], page);
    ff_mask_unset(&space->evicted[block], page);
    stats->faults++;
    stats->batches++;
    stats->write_faults += job->written;
    stats->refaults += job->back;
    stats->pages_in += job->held;
    stats->populated += !job->held;
}

bool ff__engine_page(struct ff__engine *engine, uint64_t now_ns, struct ff__page_job *job) {
    const struct ff__space *space = &engine->space;
    uint32_t tier = job->tier;
    struct ff_mask arrived = {{0}};
    ff__engine_view(engine, now_ns);
    job->victim = FF_NONE;
    if (space->used[tier] == space->capacity && !make_room(engine, job))
        return false;
    move_in(engine, job);
    ff_mask_set(&arrived, job->page);
    if (engine->evict->on_used)
        engine->evict->on_used(engine->evict_state[tier], &engine->view, job->block, &arrived);
    if (job->victim == FF_NONE) /* otherwise as much is taken as before */
        ff__memory_count_taken(engine, tier);
    return true;
}
