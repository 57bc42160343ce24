/* Pages one at a time, where nothing takes time: a fault, its job and the job's end in one short step.
 * What comes of it is what comes of the long way; what is saved is the looking at all that can be under
 * way where things take time, and at whole blocks. */
#include "engine/internal.h"

#include "policy/page_hooks.h"

bool ff__engine_pages_alone(const struct ff__engine *engine) {
    return engine->space.by_page && engine->space.tier_count == 2 && !engine->check &&
           !engine->events.items && !engine->prefetch->on_fault &&
           !engine->prefetch->base.on_arrival && !engine->discard->dead && !engine->place->place &&
           engine->evict->pages;
}

static void move_out(struct ff__engine *engine, struct ff__page_job *job) {
    struct ff__space *space = &engine->space;
    uint32_t block = job->victim.block, page = job->victim.page;
    struct ff_facts *facts = ff__facts(space, block);
    struct ff_mask *resident = &facts->tier[job->tier].resident;
    struct ff_mask *dirty = &ff__page_facts(space, block)->dirty;
    job->victim_written = ff_mask_test(dirty, page);
    job->copied = job->victim_written || job->copies_clean;
    if (job->copied)
        ff_mask_set(&facts->tier[FF_TIER_HOST].resident, page);
    ff_mask_unset(dirty, page);
    ff_mask_set(&facts->evicted, page);
    if (space->stats.prefetched > 0) {
        struct ff_mask leaving = ff_mask_of_page(page);
        ff__engine_count_useless(engine, block, &leaving);
    }
    ff_mask_unset(resident, page);
    if (resident->word[page / 64] == 0)
        ff__memory_release_if_empty(engine, block, job->tier);
    ff__space_give(space, job->tier, 1);
    space->stats.evictions++;
    space->stats.pages_out += job->copied;
    space->stats.pages_dropped += !job->copied;
}

FF__FETCHES fetch_victim(const struct ff__engine *engine, const struct ff__page_job *job,
                         uint32_t block) {
    const struct ff_facts *facts = ff__facts(&engine->space, block);
    __builtin_prefetch(&facts->tier[job->tier].resident, 1);
    __builtin_prefetch(&ff__page_facts(&engine->space, block)->dirty, 1);
    ff__engine_page_fetch(engine, block);
}

static bool can_leave(const struct ff__engine *engine, uint32_t tier, struct ff_page page) {
    return page.block < engine->space.block_limit && page.page < FF_BLOCK_PAGES &&
           !ff__memory_is_held(engine, page.block) &&
           ff_view_page_evictable(&engine->view, tier, page);
}

/* The policy's first victim leaves. False: there is none, or it cannot go. */
static bool make_room(struct ff__engine *engine, struct ff__page_job *job) {
    void *state = engine->evict_state[job->tier];
    struct ff_page next;
    if (!engine->evict->pages->pick_page(state, &engine->view, &job->victim, &next) ||
        !can_leave(engine, job->tier, job->victim))
        return false;
    if (next.block != FF_NONE)
        fetch_victim(engine, job, next.block);
    engine->evict->pages->on_page_leave(state, job->victim.block, job->victim.page);
    move_out(engine, job);
    return true;
}

static void move_in(struct ff__engine *engine, struct ff__page_job *job) {
    struct ff__space *space = &engine->space;
    struct ff_stats *stats = &space->stats;
    uint32_t tier = job->tier, block = job->page.block, page = job->page.page;
    struct ff_facts *facts = ff__facts(space, block);
    if (facts->memory[tier] == 0) {
        ff__set_frame(space, tier, block, 0);
        ff__tell_arrival(engine, &(struct ff_arrival){
                                     .kind = FF_ARRIVAL_ALLOCATED, .block = block, .tier = tier});
    }
    job->held = ff_mask_test(&facts->tier[FF_TIER_HOST].resident, page);
    job->back = ff_mask_test(&facts->evicted, page);
    ff__space_take(space, tier, 1);
    ff_mask_set(&facts->tier[tier].resident, page);
    ff_mask_unset(&facts->evicted, page);
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
    ff__engine_view(engine, now_ns);
    job->evicts = space->free_pages[tier] == 0;
    if (job->evicts && !make_room(engine, job))
        return false;
    move_in(engine, job);
    engine->evict->pages->on_page_used(engine->evict_state[tier], job->page.block, job->page.page);
    if (!job->evicts) /* otherwise as much is taken as before */
        ff__memory_count_taken(engine, tier);
    return true;
}
