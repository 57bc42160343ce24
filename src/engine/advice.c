/* Advice: what becomes of a piece of it, and why it is dropped. */
#include "engine/internal.h"

#include "base/leaves.h"

_Static_assert(FF_DROPS == FF_DROP_REASONS, "the statistics have a counter for each reason");

void ff__engine_drop(struct ff__engine *engine, enum ff_drop why) {
    engine->space.stats.advice_dropped++;
    engine->space.stats.dropped_by_reason[why]++;
}

/* ---- bringing ---- */

static void tell_no_room(struct ff__engine *engine, const struct ff_advice *advice) {
    struct ff_event event = {.kind = FF_EVENT_NO_ROOM,
                             .tier = advice->tier,
                             .block = advice->block,
                             .range = engine->space.blocks[advice->block].range,
                             .launch = advice->launch,
                             .now_ns = engine->view.now_ns};
    ff__engine_tell(engine, &event);
}

static enum ff_drop bring(struct ff__engine *engine, const struct ff_advice *advice,
                          struct ff__job *job) {
    uint32_t block = advice->block, tier = advice->tier;
    struct ff_mask none = {{0}}, valid = ff__block_pages(&engine->space, block);
    struct ff_mask wanted = ff_mask_and(&advice->pages, &valid);
    if (ff_mask_empty(&wanted))
        return FF_DROP_INVALID;
    struct ff_mask present = ff__job_reachable(engine, block, tier);
    if (engine->backend->guests_apart && ff__is_guest(engine, block, tier))
        return FF_DROP_PRESENT; /* it is there, if not to be used */
    wanted = ff_mask_minus(&wanted, &present);
    ff__job_leave_out(engine, block, &wanted);
    if (ff_mask_empty(&wanted))
        return FF_DROP_PRESENT;
    job->granule = advice->granule;
    job->joins = advice->joins;
    if (!ff__memory_take(engine, block, tier, FF_EVICT_FOR_PREFETCH, &none, &wanted, job)) {
        tell_no_room(engine, advice);
        return FF_DROP_NO_ROOM;
    }
    ff__job_bring(engine, block, tier, &wanted, job);
    job->launch = advice->launch == FF_NONE
                      ? ff__running_with(&engine->running[tier], engine->space.blocks[block].range)
                      : advice->launch;
    return FF_DROPS;
}

/* ---- the other actions ---- */

static enum ff_drop evict(struct ff__engine *engine, const struct ff_advice *advice,
                          struct ff__job *job) {
    const struct ff_mask *there = ff_view_resident(&engine->view, advice->tier, advice->block);
    uint32_t granule = ff_view_granule(&engine->view, advice->tier, advice->block);
    struct ff_mask pages = ff_mask_empty(&advice->pages) ? *there : advice->pages;
    if (granule == FF_LEAF_PAGES)
        pages = ff__leaf_pages(ff__leaves_of(&pages), FF_BLOCK_PAGES);
    if (!ff__memory_can_leave(engine, advice->tier, advice->block, &pages))
        return FF_DROP_PRESENT;
    if (granule == FF_BLOCK_PAGES && !ff_mask_within(there, &pages))
        return FF_DROP_UNSUPPORTED; /* a part would free no memory */
    ff__memory_leave(engine, advice->block, advice->tier, &pages, NULL, true, job);
    return FF_DROPS;
}

/* Of the pages that are there, those that the host does not have the same of. */
static struct ff_mask uncopied(const struct ff__engine *engine, const struct ff_advice *advice) {
    const struct ff_facts *facts = ff__facts(&engine->space, advice->block);
    struct ff_mask there = facts->tier[advice->tier].resident;
    if (!ff_mask_empty(&advice->pages))
        there = ff_mask_and(&there, &advice->pages);
    struct ff_mask clean = facts->tier[FF_TIER_HOST].resident;
    if (!engine->watched && !engine->backend->guests_apart)
        return there; /* the backend finds out */
    if (engine->watched)
        clean = ff_mask_minus(&clean, &ff__page_facts(&engine->space, advice->block)->dirty);
    return ff_mask_minus(&there, &clean);
}

static enum ff_drop write_back(struct ff__engine *engine, const struct ff_advice *advice,
                               struct ff__job *job) {
    struct ff_mask pages = uncopied(engine, advice);
    bool is_still =
        !engine->backend->guests_apart || ff__is_guest(engine, advice->block, advice->tier);
    if (!engine->backend->writes_back || !is_still) /* what is in use may be written to meanwhile */
        return FF_DROP_UNSUPPORTED;
    if (ff_mask_empty(&pages))
        return FF_DROP_PRESENT;
    ff__memory_write_back(engine, advice->block, advice->tier, &pages, job);
    return FF_DROPS;
}

static enum ff_drop use_remote(struct ff__engine *engine, const struct ff_advice *advice) {
    struct ff_facts *facts = ff__facts(&engine->space, advice->block);
    struct ff_mask valid = ff__block_pages(&engine->space, advice->block);
    struct ff_mask present = ff__job_reachable(engine, advice->block, advice->tier);
    struct ff_mask pages = ff_mask_and(&advice->pages, &valid);
    struct ff_mask *remote = &facts->tier[advice->tier].remote;
    if (!(engine->backend->controls & FF_CONTROLS_REMOTE))
        return FF_DROP_UNSUPPORTED;
    pages = ff_mask_minus(&pages, &present);
    if (ff_mask_empty(&pages))
        return FF_DROP_PRESENT;
    *remote = ff_mask_or(remote, &pages);
    engine->uses_remote = true;
    return FF_DROPS;
}

static enum ff_drop end_remote(struct ff__engine *engine, const struct ff_advice *advice) {
    struct ff_mask *remote = &ff__facts(&engine->space, advice->block)->tier[advice->tier].remote;
    struct ff_mask left = ff_mask_minus(remote, &advice->pages);
    if (ff_mask_equal(remote, &left))
        return FF_DROP_PRESENT;
    *remote = left;
    return FF_DROPS;
}

/* What only the host has; the device that will use it is another one. */
static enum ff_drop lend(struct ff__engine *engine, const struct ff_advice *advice,
                         struct ff__job *job) {
    uint32_t block = advice->block, range = engine->space.blocks[block].range;
    struct ff_mask present = ff__block_present(&engine->space, block),
                   mapped = ff__mapped(engine, block);
    struct ff_mask wanted =
        ff_mask_and(&advice->pages, ff_view_resident(&engine->view, FF_TIER_HOST, block));
    wanted = ff_mask_minus(&wanted, &present);
    wanted = ff_mask_minus(&wanted, &mapped);
    ff__job_leave_out(engine, block, &wanted);
    if (!engine->guests || (!engine->watched && !engine->backend->guests_apart))
        return FF_DROP_UNSUPPORTED;
    if (engine->space.ranges[range].home_tier == advice->tier)
        return FF_DROP_INVALID;
    if (ff_mask_empty(&wanted))
        return FF_DROP_PRESENT;
    return ff__peers_lend(engine, block, advice->tier, &wanted, job) ? FF_DROPS : FF_DROP_NO_ROOM;
}

/* A kernel that does not run any more is not sampled. */
static enum ff_drop sample(const struct ff__engine *engine, const struct ff_advice *advice) {
    const struct ff__sampler *sampler = &engine->sampler;
    uint32_t tier = advice->tier, range = engine->space.blocks[advice->block].range;
    uint32_t running = ff__running_with(&engine->running[tier], range);
    if (!sampler->sample)
        return FF_DROP_UNSUPPORTED;
    if (running == FF_NONE || (advice->launch != FF_NONE && advice->launch != running))
        return FF_DROP_INVALID;
    return sampler->sample(sampler->self, tier, range, running, !advice->ceases)
               ? FF_DROPS
               : FF_DROP_UNSUPPORTED;
}

/* What the piece leads to; FF_DROPS: it is not dropped. */
static enum ff_drop act(struct ff__engine *engine, const struct ff_advice *advice,
                        struct ff__job *job) {
    switch (advice->action) {
    case FF_BRING:
        return bring(engine, advice, job);
    case FF_EVICT:
        return evict(engine, advice, job);
    case FF_USE_REMOTE:
        return use_remote(engine, advice);
    case FF_WRITE_BACK:
        return write_back(engine, advice, job);
    case FF_LEND:
        return lend(engine, advice, job);
    case FF_END_REMOTE:
        return end_remote(engine, advice);
    case FF_SAMPLE:
        return sample(engine, advice);
    case FF_ACTIONS:
        break;
    }
    return FF_DROP_UNSUPPORTED;
}

static enum ff_drop check(const struct ff__engine *engine, const struct ff_advice *advice) {
    const struct ff__space *space = &engine->space;
    if (advice->block >= space->block_limit || space->blocks[advice->block].page_count == 0 ||
        advice->tier == FF_TIER_HOST || advice->tier >= space->tier_count)
        return FF_DROP_INVALID;
    if (!ff__engine_has_granule(engine, advice->granule))
        return FF_DROP_UNSUPPORTED;
    bool moves = advice->action != FF_SAMPLE;
    return moves && ff__facts(space, advice->block)->busy ? FF_DROP_BUSY : FF_DROPS;
}

/* FF_DROPS: it was not dropped. */
static void count(struct ff__engine *engine, enum ff_drop why) {
    if (why == FF_DROPS)
        engine->space.stats.advice_applied++;
    else
        ff__engine_drop(engine, why);
}

bool ff__engine_is_instant(const struct ff_advice *advice) {
    return advice->action == FF_SAMPLE || advice->action == FF_END_REMOTE;
}

bool ff__engine_advise_now(struct ff__engine *engine, const struct ff_advice *advice) {
    enum ff_drop why = check(engine, advice);
    if (why == FF_DROPS)
        why = act(engine, advice, NULL);
    count(engine, why);
    return why == FF_DROPS;
}

int ff__engine_advise(struct ff__engine *engine, uint64_t now_ns, const struct ff_advice *advice,
                      struct ff__job *job) {
    enum ff_drop why = check(engine, advice);
    if (why == FF_DROPS) {
        ff__job_clear(job);
        ff__engine_view(engine, now_ns);
        why = act(engine, advice, job);
    }
    count(engine, why);
    if (why != FF_DROPS)
        return FF__JOB_DROPPED;
    return job->has_in || job->out_count > 0 ? FF__JOB_RUN : FF__JOB_NONE;
}
