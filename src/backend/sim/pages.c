/* Memory by the page, as in UVMSmart's device: a move takes as many pages as it brings, and an
 * eviction frees as many as the policy names. */
#include "backend/sim/pages.h"

static struct ff__tier_memory memory(const struct ff__engine *engine, uint32_t tier) {
    const struct ff__page_counts *counts = ff__allocator_state(engine);
    int64_t free = (int64_t)ff__engine_space(engine)->capacity[tier] - counts->used[tier];
    return (struct ff__tier_memory){free > 0 ? (uint64_t)free : 0,
                                    (uint64_t)counts->used[tier] + counts->forgotten[tier],
                                    free < 0 ? (uint64_t)-free : 0};
}

static void use_pages(const struct ff__engine *engine, uint32_t tier, int64_t pages) {
    ((struct ff__page_counts *)ff__allocator_state(engine))->used[tier] += pages;
}

void ff__pages_forget(struct ff__engine *engine, uint64_t now_ns, uint32_t tier) {
    struct ff__page_counts *counts = ff__allocator_state(engine);
    uint64_t pages = ff__engine_forget(engine, now_ns, tier);
    counts->used[tier] -= (int64_t)(pages - counts->forgotten[tier]);
    counts->forgotten[tier] = pages;
}

/* ---- evicting and taking ---- */

/* What of an advised victim can leave now. */
static bool send_away(struct ff__engine *engine, uint32_t tier, const struct ff_victim *victim,
                      struct ff__job *job, uint64_t *freed) {
    const struct ff_mask *resident =
        &ff__facts(ff__engine_space(engine), victim->block)->tier[tier].resident;
    struct ff_mask pages =
        ff_mask_empty(&victim->pages) ? *resident : ff_mask_and(&victim->pages, resident);
    if (ff_mask_empty(&pages))
        return true;
    if (!ff__memory_leave(engine, victim->block, tier, &pages, NULL, true, job))
        return false;
    *freed += ff_mask_count(&pages);
    return true;
}

/* If the policy names no victim, and one must leave: the lowest block, or the highest of those that
 * are to stay. */
static uint64_t evict_any(struct ff__engine *engine, uint32_t tier, struct ff__job *job) {
    uint64_t freed = 0;
    struct ff_victim any = {.block = FF_NONE};
    for (uint32_t block = 0; block < ff__engine_space(engine)->block_limit; block++) {
        bool is_free = ff__memory_is_victim(engine, tier, block, false);
        if (is_free || ff__memory_is_victim(engine, tier, block, true))
            any.block = block;
        if (is_free)
            break;
    }
    if (any.block != FF_NONE)
        send_away(engine, tier, &any, job, &freed);
    return freed;
}

static uint64_t evict(struct ff__engine *engine, const struct ff_evict_request *request,
                      struct ff__job *job) {
    uint64_t found = ff__memory_evict_named(engine, request, send_away, job);
    bool is_over = request->cause == FF_EVICT_AHEAD && memory(engine, request->tier).excess > 0;
    return found == 0 && is_over ? evict_any(engine, request->tier, job) : found;
}

static bool take(struct ff__engine *engine, struct ff_evict_request *request,
                 const struct ff_mask *must, struct ff_mask *wanted, struct ff__job *job) {
    uint64_t need = ff_mask_count(wanted), there = memory(engine, request->tier).free;
    if (need > there) {
        request->pages = need - there;
        uint64_t room = there + evict(engine, request, job);
        if (room == 0 && request->cause == FF_EVICT_FOR_FAULT)
            room = evict_any(engine, request->tier, job);
        if (room < need) {
            ff__memory_keep_first(wanted, must, room);
            ff__engine_drop(engine, FF_DROP_NO_ROOM);
            need = room;
        }
    }
    if (need == 0)
        return false;
    job->owed = need > there ? need - there : 0;
    use_pages(engine, request->tier, (int64_t)(need - job->owed));
    ff__memory_hold(engine, request->for_block, request->tier, 0);
    return true;
}

/* ---- leaving and arriving ---- */

static void left(struct ff__engine *engine, const struct ff__move *out) {
    use_pages(engine, out->from.tier, -(int64_t)ff_mask_count(&out->pages));
}

static void arrived(struct ff__engine *engine, const struct ff__job *job) {
    use_pages(engine, job->in.to.tier, (int64_t)job->owed - ff_mask_count(&job->in.left));
}

static uint64_t size(const struct ff__engine *engine, uint32_t block, uint32_t pages) {
    (void)engine, (void)block;
    return pages;
}

static bool lend(struct ff__engine *engine, uint32_t block, uint64_t pages,
                 struct ff__place *place) {
    (void)block;
    place->frame = 0;
    use_pages(engine, place->tier, (int64_t)pages);
    return true;
}

static void give_back(struct ff__engine *engine, uint64_t pages, const struct ff__place *place) {
    use_pages(engine, place->tier, -(int64_t)pages);
}

const struct ff__allocator ff__page_allocator = {
    .unit = 1,
    .overlaps = true,
    .memory = memory,
    .take = take,
    .evict = evict,
    .left = left,
    .arrived = arrived,
    .size = size,
    .lend = lend,
    .give_back = give_back,
};
