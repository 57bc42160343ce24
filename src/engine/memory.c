/* Memory of the devices: which block holds what, and how that changes.
 *
 * A device allocates it by chunk (memory_chunks.c) or by page (memory_pages.c); a block on a device of chunks may
 * be split, and take single leaves (memory_leaves.c), for 64 KiB of addresses each or for single pages. */
#include "engine/memory.h"

#include <errno.h>

void ff__memory_count(struct ff__engine *engine) {
    struct ff__space *space = &engine->space;
    uint64_t bytes = 0, spare = 0, borrowed = 0;
    for (uint32_t tier = 1; tier < space->tier_count; tier++) {
        borrowed += engine->lending[tier].lent * FF_PAGE_SIZE;
        bytes += space->by_page ? ff__space_held(space, tier) * FF_PAGE_SIZE
                                : (uint64_t)space->frames[tier].leaves_used * FF_LEAF_SIZE;
        spare += (uint64_t)space->frames[tier].spare_used * FF_BLOCK_SIZE +
                 ff__space_excess(space, tier) * FF_PAGE_SIZE;
    }
    space->stats.resident = bytes;
    if (bytes > space->stats.resident_peak)
        space->stats.resident_peak = bytes;
    space->stats.borrowed = borrowed;
    if (borrowed > space->stats.borrowed_peak)
        space->stats.borrowed_peak = borrowed;
    space->stats.overshoot = spare;
    if (spare > space->stats.overshoot_peak)
        space->stats.overshoot_peak = spare;
}

/* ---- leaving ---- */

struct ff__move *ff__memory_find_out(struct ff__job *job, uint32_t block, uint32_t tier) {
    for (uint32_t i = 0; i < job->out_count; i++)
        if (job->out[i].block == block && job->out[i].from.tier == tier)
            return &job->out[i];
    return NULL;
}

/* NULL: the job is full. */
static struct ff__move *find_or_add_out(struct ff__job *job, uint32_t block, uint32_t tier) {
    struct ff__move *known = ff__memory_find_out(job, block, tier);
    if (known || job->out_count == FF__OUTS_MAX)
        return known;
    struct ff__move *out = &job->out[job->out_count++];
    *out =
        (struct ff__move){.block = block, .from = {tier, FF_NONE}, .to = {FF_TIER_HOST, FF_NONE}};
    return out;
}

void ff__memory_hold(struct ff__engine *engine, uint32_t block, uint32_t tier, uint32_t frame) {
    ff__set_frame(&engine->space, tier, block, frame);
    ff__tell_arrival(
        engine, &(struct ff_arrival){.kind = FF_ARRIVAL_ALLOCATED, .block = block, .tier = tier});
}

void ff__memory_release(struct ff__engine *engine, uint32_t block, uint32_t tier) {
    ff__set_frame(&engine->space, tier, block, FF_NONE);
    ff__tell_leave(engine, &(struct ff_leave){FF_LEAVE_RELEASED, block, tier, NULL});
}

static bool leave(struct ff__engine *engine, uint32_t block, uint32_t tier,
                  const struct ff_mask *pages, const struct ff_mask *dead, bool is_victim,
                  struct ff__job *job) {
    struct ff_facts *facts = ff__facts(&engine->space, block);
    struct ff_mask *resident = &facts->tier[tier].resident;
    struct ff__move *out = find_or_add_out(job, block, tier);
    if (!out)
        return false;
    struct ff_mask going = pages ? ff_mask_and(pages, resident) : *resident;
    going = ff_mask_minus(&going, &out->pages);
    if (!ff__peers_place_more(engine, out, &going))
        return false;
    out->from.frame = ff__facts_frame(facts, tier);
    out->guest = ff__is_guest(engine, block, tier);
    if (out->guest)
        ff__peers_leave(engine, block, tier, &going);
    else if (is_victim && ff_mask_empty(&out->pages))
        ff__peers_place(engine, out, &going);
    out->pages = ff_mask_or(&out->pages, &going);
    struct ff_mask staying = ff_mask_minus(resident, &out->pages);
    out->held = ff_mask_and(&out->pages, &facts->tier[FF_TIER_HOST].resident);
    out->whole = ff_mask_empty(&staying);
    ff_mask_clear(&out->dead);
    if (engine->discard->dead)
        engine->discard->dead(engine->discard_state, &engine->view, block, &out->dead);
    /* a policy can cost time, never data: only what has been declared dead is */
    out->dead = ff_mask_and(&out->dead, &facts->inactive);
    if (engine->guests) /* else the host's, too, which here may be the copy of a guest */
        out->dead = ff_mask_and(&out->dead, &out->pages);
    if (dead)
        out->dead = ff_mask_or(&out->dead, dead);
    ff__tell_leave(engine, &(struct ff_leave){FF_LEAVE_PAGES, block, tier, &going});
    if (engine->space.by_page)
        ff__pages_leave(engine, out, &going);
    else
        ff__chunks_leave(engine, out);
    return true;
}

bool ff__memory_leave(struct ff__engine *engine, uint32_t block, uint32_t tier,
                      const struct ff_mask *pages, const struct ff_mask *dead,
                      struct ff__job *job) {
    return leave(engine, block, tier, pages, dead, false, job);
}

bool ff__memory_evict(struct ff__engine *engine, uint32_t block, uint32_t tier,
                      const struct ff_mask *pages, struct ff__job *job) {
    return leave(engine, block, tier, pages, NULL, true, job);
}

bool ff__memory_write_back(struct ff__engine *engine, uint32_t block, uint32_t tier,
                           const struct ff_mask *pages, struct ff__job *job) {
    struct ff_facts *facts = ff__facts(&engine->space, block);
    struct ff__move *out = find_or_add_out(job, block, tier);
    if (!out)
        return false;
    out->from.frame = ff__facts_frame(facts, tier);
    out->pages = *pages;
    out->held = ff_mask_and(pages, &facts->tier[FF_TIER_HOST].resident);
    out->keep = true;
    out->guest = ff__is_guest(engine, block, tier);
    if (out->guest)
        ff__peers_copying(engine, out, true);
    facts->busy = 1;
    return true;
}

/* Pages that did not leave: the block has its memory as before, and is used as anything that comes. */
static void stay(struct ff__engine *engine, const struct ff__move *out) {
    uint32_t block = out->block, tier = out->from.tier;
    if (engine->space.by_page)
        ff__pages_stay(engine, out);
    else
        ff__chunks_stay(engine, out);
    if (!ff_view_holds(&engine->view, tier, block))
        ff__memory_hold(engine, block, tier, out->from.frame);
    ff__tell_arrival(
        engine, &(struct ff_arrival){
                    .kind = FF_ARRIVAL_STAYED, .block = block, .tier = tier, .pages = &out->left});
    ff__memory_refuse(engine, block);
}

void ff__memory_left(struct ff__engine *engine, const struct ff__move *out) {
    bool all_left = ff_mask_empty(&out->left);
    if (!all_left)
        stay(engine, out);
    else
        ff__memory_forget_refusal(engine, out->block);
    if (engine->space.by_page)
        ff__pages_left(engine, out);
    else
        ff__chunks_left(engine, out, all_left);
}

void ff__memory_arrived(struct ff__engine *engine, const struct ff__job *job) {
    if (engine->space.by_page)
        ff__pages_arrived(engine, job);
    else
        ff__chunks_arrived(engine, job);
}

/* ---- how much is free ---- */

uint64_t ff__engine_reserved(const struct ff__engine *engine, uint32_t tier) {
    return engine->evict->reserve ? engine->evict->reserve(engine->evict_state[tier], &engine->view)
                                  : (uint64_t)engine->reserve * FF_BLOCK_PAGES;
}

/* Whether more is allocated than is meant to be. */
static bool is_over(const struct ff__engine *engine, uint32_t tier) {
    return engine->space.frames[tier].spare_used > 0 || ff__space_excess(&engine->space, tier) > 0;
}

/* How many pages the reserve lacks, or the device has too many, that are not on their way out already. */
static uint64_t missing_of(const struct ff__engine *engine, uint32_t tier) {
    uint64_t reserve = ff__engine_reserved(engine, tier) + ff__space_excess(&engine->space, tier),
             there = ff__space_free_pages(&engine->space, tier) + engine->preevicting[tier];
    return there < reserve ? reserve - there : 0;
}

/* Whether everything that the device uses finds room there at the same time. */
static bool all_fits(const struct ff__space *space, uint32_t tier) {
    return space->used[tier] <= space->capacity[tier];
}

/* ---- taking ---- */

void ff__engine_press(struct ff__engine *engine) {
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        if (is_over(engine, tier))
            engine->pressed[tier] = true;
}

int ff__engine_set_memory(struct ff__engine *engine, uint32_t tier, uint64_t bytes) {
    uint64_t least = engine->space.by_page ? FF_PAGE_SIZE : FF_BLOCK_SIZE;
    if (bytes < least && !engine->lending[tier].guests_only)
        return -EINVAL;
    int status = ff__space_set_capacity(&engine->space, tier, bytes);
    if (status)
        return status;
    engine->view.capacity[tier] = engine->space.capacity[tier];
    ff__memory_count_taken(engine, tier);
    return 0;
}

void ff__memory_count_taken(struct ff__engine *engine, uint32_t tier) {
    engine->pressed[tier] =
        missing_of(engine, tier) > 0 || engine->space.frames[tier].spare_used > 0;
    ff__memory_count(engine);
}

/* In what the block's memory is, or is to be allocated. */
static uint32_t granule_of(const struct ff__engine *engine, uint32_t block, uint32_t tier,
                           const struct ff__job *job) {
    return job->granule == 0 || ff_view_holds(&engine->view, tier, block)
               ? ff__space_granule(&engine->space, tier, block)
               : job->granule;
}

bool ff__memory_take(struct ff__engine *engine, uint32_t block, uint32_t tier,
                     enum ff_evict_cause cause, const struct ff_mask *must, struct ff_mask *wanted,
                     struct ff__job *job) {
    uint32_t granule = granule_of(engine, block, tier, job);
    if (ff__is_guest(engine, block, tier))
        ff__peers_adopt(engine, block, tier);
    bool taken =
        engine->space.by_page      ? ff__pages_take(engine, block, tier, cause, must, wanted, job)
        : granule == 1             ? ff__pieces_take(engine, block, tier, cause, must, wanted, job)
        : granule == FF_LEAF_PAGES ? ff__leaves_take(engine, block, tier, cause, must, wanted, job)
                                   : ff__chunks_take(engine, block, tier, cause, job);
    if (taken)
        ff__memory_count_taken(engine, tier);
    return taken;
}

bool ff__memory_preevict(struct ff__engine *engine, uint32_t tier, struct ff__job *job) {
    struct ff__space *space = &engine->space;
    if (ff__chunks_empty_spare(engine, tier, job))
        return true;
    bool needs_no_more = all_fits(space, tier) && ff__space_excess(space, tier) == 0;
    uint64_t missing = needs_no_more ? 0 : missing_of(engine, tier);
    if (missing == 0) /* what fits as a whole needs no room for more */
        return false;
    /* chunks above the capacity are to be empty as a whole */
    uint32_t granule = space->by_page                      ? 1
                       : ff__space_excess(space, tier) > 0 ? FF_BLOCK_PAGES
                       : space->granule == FF_BLOCK_PAGES  ? FF_BLOCK_PAGES
                                                           : FF_LEAF_PAGES;
    struct ff_evict_request request = {FF_EVICT_AHEAD, tier, FF_NONE, missing, granule};
    job->preevicted = granule == 1               ? ff__pages_evict(engine, &request, job)
                      : granule == FF_LEAF_PAGES ? ff__leaves_evict(engine, &request, job)
                                                 : ff__chunks_evict(engine, &request, job);
    engine->preevicting[tier] += job->preevicted;
    return job->preevicted > 0;
}
