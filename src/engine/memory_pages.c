/* Memory by page, as in UVMSmart's device: a move takes as many pages as it brings, and an eviction frees as
 * many as the policy names. */
#include "engine/memory.h"

/* ---- leaving and arriving ---- */

void ff__memory_release_if_empty(struct ff__engine *engine, uint32_t block, uint32_t tier) {
    const struct ff_facts *facts = ff__facts(&engine->space, block);
    if (engine->space.by_page && facts->memory[tier] != 0 &&
        ff_mask_empty(&facts->tier[tier].resident) &&
        ff_mask_empty(&ff__page_facts(&engine->space, block)->coming))
        ff__memory_release(engine, block, tier);
}

void ff__pages_leave(struct ff__engine *engine, const struct ff__move *out,
                     const struct ff_mask *going) {
    struct ff_mask *resident =
        &ff__facts(&engine->space, out->block)->tier[out->from.tier].resident;
    struct ff_mask *leaving = &ff__page_facts(&engine->space, out->block)->leaving;
    *resident = ff_mask_minus(resident, going);
    *leaving = ff_mask_or(leaving, going);
    ff__memory_release_if_empty(engine, out->block, out->from.tier);
}

void ff__pages_stay(struct ff__engine *engine, const struct ff__move *out) {
    struct ff_mask *resident =
        &ff__facts(&engine->space, out->block)->tier[out->from.tier].resident;
    struct ff_mask *leaving = &ff__page_facts(&engine->space, out->block)->leaving;
    *leaving = ff_mask_minus(leaving, &out->left);
    *resident = ff_mask_or(resident, &out->left);
}

void ff__pages_left(struct ff__engine *engine, const struct ff__move *out) {
    struct ff_mask *leaving = &ff__page_facts(&engine->space, out->block)->leaving;
    *leaving = ff_mask_minus(leaving, &out->pages);
    ff__space_give(&engine->space, out->from.tier, ff_mask_count(&out->pages));
}

void ff__pages_arrived(struct ff__engine *engine, const struct ff__job *job) {
    struct ff__space *space = &engine->space;
    const struct ff__move *in = &job->in;
    struct ff_mask *coming = &ff__page_facts(space, in->block)->coming;
    *coming = ff_mask_minus(coming, &in->pages);
    *coming = ff_mask_minus(coming, &in->left);
    ff__space_take(space, in->to.tier, job->owed);
    ff__space_give(space, in->to.tier, ff_mask_count(&in->left));
    if (ff_mask_empty(&in->pages)) /* by parts everything else has come, or nothing has */
        ff__memory_release_if_empty(engine, in->block, in->to.tier);
    for (uint32_t tier = 1; tier < space->tier_count; tier++)
        if (tier != in->to.tier)
            ff__memory_release_if_empty(engine, in->block, tier);
}

/* ---- evicting and taking ---- */

/* What of an advised victim can leave now. */
static struct ff_mask leavable(const struct ff__engine *engine, uint32_t tier,
                               const struct ff_victim *victim) {
    const struct ff_facts *facts = ff__facts(&engine->space, victim->block);
    if (!ff__memory_is_victim(engine, tier, victim->block) ||
        ff__memory_is_held(engine, victim->block))
        return (struct ff_mask){{0}};
    const struct ff_mask *resident = &facts->tier[tier].resident;
    return ff_mask_empty(&victim->pages) ? *resident : ff_mask_and(&victim->pages, resident);
}

/* If the policy names no victim, and one must leave: the lowest block. */
static uint64_t evict_any(struct ff__engine *engine, uint32_t tier, struct ff__job *job) {
    uint32_t pinned = FF_NONE, found = FF_NONE;
    for (uint32_t block = 0; block < engine->space.block_limit && found == FF_NONE; block++) {
        if (ff__memory_is_victim(engine, tier, block) && ff__memory_is_held(engine, block))
            pinned = block;
        else if (ff__memory_is_victim(engine, tier, block))
            found = block;
    }
    found = found == FF_NONE ? pinned : found;
    if (found == FF_NONE)
        return 0;
    uint64_t pages = ff_mask_count(&ff__facts(&engine->space, found)->tier[tier].resident);
    return ff__memory_evict(engine, found, tier, NULL, job) ? pages : 0;
}

uint64_t ff__pages_evict(struct ff__engine *engine, const struct ff_evict_request *request,
                         struct ff__job *job) {
    uint32_t tier = request->tier;
    uint64_t need = request->pages, found = 0, before;
    uint32_t guest;
    while (found < need && (guest = ff__peers_guest(engine, request)) != FF_NONE) {
        found += ff_mask_count(ff_view_resident(&engine->view, tier, guest));
        ff__memory_evict(engine, guest, tier, NULL, job);
    }
    do {
        struct ff_victim items[FF__VICTIMS_MAX];
        struct ff_victim_list victims = {items, 0, FF__VICTIMS_MAX};
        struct ff_evict_request rest = *request;
        rest.pages = need - found;
        before = found;
        engine->evict->pick(engine->evict_state[tier], &engine->view, &rest, &victims);
        for (uint32_t i = 0; i < victims.count && found < need; i++) {
            struct ff_mask pages = leavable(engine, tier, &items[i]);
            if (ff_mask_empty(&pages))
                continue;
            if (!ff__memory_evict(engine, items[i].block, tier, &pages, job))
                return found;
            found += ff_mask_count(&pages);
        }
    } while (found < need && found > before);
    bool is_over = request->cause == FF_EVICT_AHEAD && engine->space.excess[tier] > 0;
    return found == 0 && is_over ? evict_any(engine, tier, job) : found;
}

void ff__memory_keep_first(struct ff_mask *wanted, const struct ff_mask *must, uint64_t room) {
    struct ff_mask kept = {{0}}, others = ff_mask_minus(wanted, must);
    struct ff_mask first = ff_mask_and(wanted, must);
    FF_MASK_FOR_EACH_PAGE(&first, page)
    if (room > 0) {
        ff_mask_set(&kept, page);
        room--;
    }
    FF_MASK_FOR_EACH_PAGE(&others, page)
    if (room > 0) {
        ff_mask_set(&kept, page);
        room--;
    }
    *wanted = kept;
}

bool ff__pages_take(struct ff__engine *engine, uint32_t block, uint32_t tier,
                    enum ff_evict_cause cause, const struct ff_mask *must, struct ff_mask *wanted,
                    struct ff__job *job) {
    struct ff__space *space = &engine->space;
    uint64_t need = ff_mask_count(wanted), there = space->free_pages[tier], leaving = 0;
    if (need > there) {
        struct ff_evict_request request = {cause, tier, block, need - there, 1};
        leaving = ff__pages_evict(engine, &request, job);
        if (there + leaving == 0 && cause == FF_EVICT_FOR_FAULT)
            leaving = evict_any(engine, tier, job);
        if (there + leaving < need) {
            ff__memory_keep_first(wanted, must, there + leaving);
            ff__engine_drop(engine, FF_DROP_NO_ROOM);
            need = there + leaving;
        }
    }
    if (need == 0)
        return false;
    uint64_t now = need < there ? need : there;
    space->free_pages[tier] -= now;
    job->owed = need - now;
    if (!ff_view_holds(&engine->view, tier, block))
        ff__memory_hold(engine, block, tier, 0);
    return true;
}
