/* Memory that devices lend to each other: a victim goes to another device that has room for it,
 * instead of to the host (HUVM, section 4: harvesting idle memory). What lies there is a guest. The
 * device's own policies do not hear of it; it goes to the host when the device needs the memory
 * itself, without a copy if the host has one. */
#include "engine/memory.h"

#include <errno.h>
#include <stdlib.h>

#define RECLAIM_LOOKS 16u /* guests that are looked at for one that needs no copy; ours */

/* An entry of a queue of guests; void if the block has left since, also if it has come back. */
struct guest {
    uint32_t block, visit;
};

static uint32_t *visit_of(const struct ff__engine *engine, uint32_t block, uint32_t tier) {
    return &engine->visits[(size_t)block * engine->space.tier_count + tier];
}

int ff__peers_init(struct ff__engine *engine, const uint64_t lend[FF_TIERS_MAX]) {
    uint32_t blocks = engine->space.block_limit, capacity = 1;
    bool lends = false;
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        lends = lends || lend[tier] > 0;
    if (!lends || !engine->backend->peer_links)
        return 0;
    while (capacity < blocks)
        capacity *= 2;
    engine->guests = calloc(blocks, sizeof *engine->guests);
    engine->visits = calloc((size_t)blocks * engine->space.tier_count, sizeof *engine->visits);
    int status = engine->guests && engine->visits ? 0 : -ENOMEM;
    for (uint32_t tier = 1; tier < engine->space.tier_count && !status; tier++) {
        engine->lending[tier].limit = lend[tier] / FF_PAGE_SIZE;
        status = ff__queue_init(&engine->guest_order[tier], capacity, sizeof(struct guest));
    }
    return status;
}

void ff__peers_fini(struct ff__engine *engine) {
    for (uint32_t tier = 1; tier < FF_TIERS_MAX; tier++)
        ff__queue_fini(&engine->guest_order[tier]);
    free(engine->guests);
    free(engine->visits);
    engine->guests = NULL;
    engine->visits = NULL;
}

/* ---- what is where ---- */

/* Pages of the block for which the host has the same content. A guest is never written to: what the
 * host has of it when it comes, or gets then, stays the same. */
static uint32_t count_removable(const struct ff__engine *engine, uint32_t block,
                                const struct ff_mask *pages) {
    const struct ff_mask *host = &ff__facts(&engine->space, block)->tier[FF_TIER_HOST].resident;
    struct ff_mask clean = ff_mask_and(pages, host);
    if (engine->watched)
        clean = ff_mask_minus(&clean, &ff__page_facts(&engine->space, block)->dirty);
    return engine->watched || engine->backend->guests_apart ? ff_mask_count(&clean) : 0;
}

/* The memory that pages of a block take besides `there` others. */
static uint64_t size_of(const struct ff__engine *engine, uint32_t block, uint32_t there,
                        uint32_t pages) {
    return engine->whole->size(engine, block, there + pages) -
           engine->whole->size(engine, block, there);
}

static uint32_t count_there(const struct ff__engine *engine, uint32_t tier, uint32_t block) {
    return ff_mask_count(ff_view_resident(&engine->view, tier, block));
}

/* Whether all of the guest can go without a copy. */
static bool is_removable(const struct ff__engine *engine, uint32_t tier, uint32_t block) {
    const struct ff_mask *there = ff_view_resident(&engine->view, tier, block);
    return count_removable(engine, block, there) == ff_mask_count(there);
}

static void end_visit(struct ff__engine *engine, uint32_t block, uint32_t tier) {
    engine->guests[block] = (uint16_t)(engine->guests[block] & ~(1u << tier));
}

/* ---- to a peer ---- */

/* What the tier could take of others now, in pages. */
static uint64_t free_of(const struct ff__engine *engine, uint32_t tier) {
    const struct ff_lending *lending = &engine->view.lending[tier];
    uint64_t most = lending->limit > lending->lent ? lending->limit - lending->lent : 0;
    uint64_t there = ff__memory_of(engine, tier).free;
    return there < most ? there : most;
}

/* A guest of which the host has the same goes without a copy: at once. */
static void drop_guest(struct ff__engine *engine, uint32_t tier, uint32_t block) {
    struct ff__space *space = &engine->space;
    struct ff_lending *lending = &engine->lending[tier];
    struct ff_mask *resident = &ff__facts(space, block)->tier[tier].resident;
    uint32_t pages = ff_mask_count(resident);
    uint64_t size = size_of(engine, block, 0, pages);
    lending->removable -= pages;
    lending->lent -= size;
    space->stats.pages_dropped += pages;
    ff_mask_clear(resident);
    engine->whole->give_back(engine, size,
                             &(struct ff__place){tier, ff__frame(space, tier, block)});
    ff__set_frame(space, tier, block, FF_NONE);
    end_visit(engine, block, tier);
}

/* Whether so many pages are free for others, or so after the oldest removable guests have been
 * dropped. */
static bool make_room(struct ff__engine *engine, uint32_t tier, uint64_t need) {
    struct ff_evict_request request = {FF_EVICT_AHEAD, tier, FF_NONE, need, 0};
    while (free_of(engine, tier) < need && engine->lending[tier].removable > 0) {
        uint32_t block = ff__peers_guest(engine, &request);
        if (block == FF_NONE || !ff__engine_is_at_rest(engine, block) ||
            !is_removable(engine, tier, block))
            return false;
        drop_guest(engine, tier, block);
    }
    return free_of(engine, tier) >= need;
}

/* Takes the memory for pages of the block besides `there` others; false: there is none. */
static bool take_room(struct ff__engine *engine, uint32_t tier, uint32_t block, uint32_t there,
                      uint32_t pages, struct ff__place *place) {
    uint64_t need = size_of(engine, block, there, pages);
    bool holds = ff_view_holds(&engine->view, tier, block);
    if (holds && !ff__is_guest(engine, block, tier))
        return false; /* the device has a part of the block for itself */
    if (engine->backend->guests_apart && size_of(engine, block, 0, there + pages) < FF_BLOCK_PAGES)
        return false; /* what lies apart does not share a chunk */
    struct ff__place found = {tier, holds ? ff__frame(&engine->space, tier, block) : place->frame};
    if (need > 0 &&
        (!make_room(engine, tier, need) || !engine->whole->lend(engine, block, need, &found)))
        return false;
    engine->lending[tier].lent += need;
    *place = found;
    return true;
}

bool ff__peers_place(struct ff__engine *engine, struct ff__move *out, const struct ff_mask *going) {
    uint32_t tiers[FF_TIERS_MAX], from = out->from.tier, pages = ff_mask_count(going);
    if (out->lends)
        return take_room(engine, out->to.tier, out->block, ff_mask_count(&out->pages), pages,
                         &out->to);
    if (out->guest || !ff_mask_empty(&out->pages) || !engine->place->place)
        return true;
    uint32_t count =
        engine->place->place(engine->place_state, &engine->view, out->block, from, tiers);
    if (count > 0 && tiers[0] != FF_TIER_HOST && !engine->guests)
        ff__engine_drop(engine, FF_DROP_UNSUPPORTED);
    for (uint32_t i = 0; engine->guests && i < count && i < FF_TIERS_MAX && !out->lends; i++) {
        if (tiers[i] == FF_TIER_HOST)
            break;
        out->lends = tiers[i] < engine->space.tier_count && tiers[i] != from &&
                     take_room(engine, tiers[i], out->block,
                               count_there(engine, tiers[i], out->block), pages, &out->to);
    }
    return true;
}

static bool is_void(const struct ff__engine *engine, uint32_t tier, const struct guest *guest) {
    return !ff__is_guest(engine, guest->block, tier) ||
           guest->visit != *visit_of(engine, guest->block, tier);
}

/* A full queue has room when what is void has been taken out: there are no more guests than blocks.
 */
static void note_guest(struct ff__engine *engine, uint32_t block, uint32_t tier) {
    struct ff__queue *order = &engine->guest_order[tier];
    struct guest guest = {block, ++*visit_of(engine, block, tier)}, other;
    if (ff__queue_push(order, &guest))
        return;
    for (uint32_t left = order->capacity; left > 0 && ff__queue_pop(order, &other); left--)
        if (!is_void(engine, tier, &other))
            ff__queue_push(order, &other);
    ff__queue_push(order, &guest);
}

/* Pages have arrived in memory that the tier lends, which was taken for `taken` pages. */
static void settle(struct ff__engine *engine, uint32_t block, const struct ff__place *place,
                   const struct ff_mask *landed, uint32_t taken) {
    struct ff__space *space = &engine->space;
    uint32_t tier = place->tier, count = ff_mask_count(landed);
    struct ff_lending *lending = &engine->lending[tier];
    uint32_t there = count_there(engine, tier, block);
    bool held = ff_view_holds(&engine->view, tier, block);
    uint64_t spare = size_of(engine, block, there + count, taken - count);
    lending->lent -= spare;
    engine->whole->give_back(engine, spare, place);
    if (count == 0)
        return;
    struct ff_mask *resident = &ff__facts(space, block)->tier[tier].resident;
    *resident = ff_mask_or(resident, landed);
    if (held && !ff__is_guest(engine, block,
                              tier)) { /* meanwhile the device has begun to use the block itself */
        lending->lent -= count;
        ff__tell_arrival(
            engine, &(struct ff_arrival){
                        .kind = FF_ARRIVAL_SERVED, .block = block, .tier = tier, .pages = landed});
        return;
    }
    lending->removable += count_removable(engine, block, landed);
    space->stats.pages_lent += count;
    if (held)
        return;
    ff__set_frame(space, tier, block, place->frame);
    engine->guests[block] = (uint16_t)(engine->guests[block] | 1u << tier);
    note_guest(engine, block, tier);
}

void ff__peers_landed(struct ff__engine *engine, const struct ff__move *out,
                      const struct ff_mask *landed, uint32_t taken) {
    struct ff_mask *host = &ff__facts(&engine->space, out->block)->tier[FF_TIER_HOST].resident;
    struct ff_mask stale = ff_mask_minus(landed, &out->same);
    /* what the host has is from before the pages came to a device: it does not count */
    if (engine->backend->copies_clean || engine->backend->guests_apart)
        *host = ff_mask_minus(host, &stale);
    settle(engine, out->block, &out->to, landed, taken);
}

bool ff__peers_lend(struct ff__engine *engine, uint32_t block, uint32_t tier,
                    const struct ff_mask *pages, struct ff__job *job) {
    struct ff__move *in = &job->in;
    if (!take_room(engine, tier, block, count_there(engine, tier, block), ff_mask_count(pages),
                   &in->to))
        return false;
    job->has_in = in->guest = true;
    in->block = block;
    in->from = (struct ff__place){FF_TIER_HOST, FF_NONE};
    in->pages = in->held = *pages;
    in->whole = !ff_view_holds(&engine->view, tier, block);
    ff__memory_mark(engine, block, pages, false, true);
    return true;
}

void ff__peers_arrived(struct ff__engine *engine, const struct ff__move *in) {
    struct ff_mask all = ff_mask_or(&in->pages, &in->left);
    ff__memory_mark(engine, in->block, &all, false, false);
    engine->space.stats.pages_in += ff_mask_count(&in->pages);
    settle(engine, in->block, &in->to, &in->pages, ff_mask_count(&all));
}

/* ---- from a peer ---- */

void ff__peers_left(struct ff__engine *engine, const struct ff__move *out) {
    uint32_t block = out->block, tier = out->from.tier;
    struct ff_lending *lending = &engine->lending[tier];
    lending->removable += count_removable(engine, block, &out->left);
    lending->lent -=
        size_of(engine, block, count_there(engine, tier, block), ff_mask_count(&out->pages));
    if (!ff_view_holds(&engine->view, tier, block))
        end_visit(engine, block, tier);
}

void ff__peers_leave(struct ff__engine *engine, uint32_t block, uint32_t tier,
                     const struct ff_mask *going) {
    engine->lending[tier].removable -= count_removable(engine, block, going);
}

void ff__peers_copying(struct ff__engine *engine, const struct ff__move *out, bool begins) {
    struct ff_lending *lending = &engine->lending[out->from.tier];
    uint32_t copied = ff_mask_count(&out->copied);
    if (begins) {
        lending->writing_back += ff_mask_count(&out->pages);
        return;
    }
    lending->writing_back -= ff_mask_count(&out->pages);
    lending->removable += copied;
}

void ff__peers_adopt(struct ff__engine *engine, uint32_t block, uint32_t tier) {
    const struct ff_mask *resident = ff_view_resident(&engine->view, tier, block);
    engine->lending[tier].lent -= size_of(engine, block, 0, ff_mask_count(resident));
    engine->lending[tier].removable -= count_removable(engine, block, resident);
    end_visit(engine, block, tier);
    ff__tell_arrival(
        engine, &(struct ff_arrival){.kind = FF_ARRIVAL_ALLOCATED, .block = block, .tier = tier});
    ff__tell_arrival(
        engine, &(struct ff_arrival){
                    .kind = FF_ARRIVAL_SERVED, .block = block, .tier = tier, .pages = resident});
}

/* ---- reclaiming ---- */

uint32_t ff__peers_guest(struct ff__engine *engine, const struct ff_evict_request *request) {
    uint32_t found = FF_NONE, tier = request->tier;
    struct ff__queue *order = &engine->guest_order[tier];
    struct guest guest;
    for (uint32_t i = 0; engine->guests && i < RECLAIM_LOOKS; i++) {
        if (!ff__queue_pop(order, &guest))
            break;
        if (is_void(engine, tier, &guest))
            continue;
        ff__queue_push(order, &guest); /* it has not left yet */
        if (guest.block == request->for_block || !ff__memory_may_leave(engine, tier, guest.block))
            continue;
        bool goes_free = is_removable(engine, tier, guest.block);
        if (found == FF_NONE || goes_free)
            found = guest.block;
        if (goes_free)
            break;
    }
    return found;
}
