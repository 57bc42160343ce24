/* Memory of the devices: which block holds what, and how that changes. How it is given out is for
 * an allocator to say (engine/allocator.h). */
#include "engine/memory.h"

#include <errno.h>

void *ff__allocator_state(const struct ff__engine *engine) {
    return engine->allocator_state;
}

/* The allocator of a block with this frame, and of one whose memory is in this granule. */
static const struct ff__allocator *allocator_at(const struct ff__engine *engine, uint32_t frame) {
    return ff__frame_is_split(frame) ? engine->split : engine->whole;
}

static const struct ff__allocator *allocator_for(const struct ff__engine *engine,
                                                 uint32_t granule) {
    return granule < FF_BLOCK_PAGES ? engine->split : engine->whole;
}

bool ff__engine_has_granule(const struct ff__engine *engine, uint32_t granule) {
    return granule <= 1 || granule == allocator_for(engine, granule)->unit;
}

/* ---- what policies see ---- */

static uint64_t free_pages(const void *state, uint32_t tier) {
    return ff__memory_of(state, tier).free;
}

static uint32_t granule_of(const void *state, uint32_t tier, uint32_t block) {
    const struct ff__engine *engine = state;
    uint32_t frame = ff__frame(&engine->space, tier, block);
    return frame == FF_NONE           ? engine->granule
           : frame == FF__SPLIT       ? FF_LEAF_PAGES
           : frame == FF__SPLIT_PAGES ? 1
                                      : engine->whole->unit;
}

static uint32_t mates_of(const void *state, uint32_t tier, uint32_t block,
                         uint32_t mates[FF_CHUNK_LEAVES]) {
    const struct ff__space *space = &((const struct ff__engine *)state)->space;
    mates[0] = block;
    if (space->frames[tier].chunk_count == 0)
        return 1;
    return ff__frames_blocks(&space->frames[tier], ff__space_chunk(space, tier, block), mates);
}

static const struct ff_memory_hooks memory_hooks = {free_pages, granule_of, mates_of};

/* ---- how much there is ---- */

static int set_capacity(struct ff__engine *engine, uint32_t tier, uint64_t bytes) {
    struct ff__space *space = &engine->space;
    uint64_t pages = bytes / FF_PAGE_SIZE / engine->whole->unit * engine->whole->unit;
    if (pages > space->most)
        return -EINVAL;
    space->stats.capacity -= space->capacity[tier] * FF_PAGE_SIZE;
    space->stats.capacity += pages * FF_PAGE_SIZE;
    space->capacity[tier] = engine->view.capacity[tier] = pages;
    ff__frames_withhold(&space->frames[tier], (uint32_t)((space->most - pages) / FF_BLOCK_PAGES));
    return 0;
}

int ff__engine_set_memory(struct ff__engine *engine, uint32_t tier, uint64_t bytes) {
    if (bytes < engine->whole->unit * FF_PAGE_SIZE && !engine->lending[tier].guests_only)
        return -EINVAL;
    int status = set_capacity(engine, tier, bytes);
    if (!status)
        ff__memory_count_taken(engine, tier);
    return status;
}

int ff__memory_open(struct ff__engine *engine, const struct ff__engine_config *config) {
    engine->granule = config->granule ? config->granule : engine->whole->unit;
    engine->view.unit = allocator_for(engine, engine->granule)->unit;
    engine->view.memory = (struct ff_memory){&memory_hooks, engine};
    int status = ff__engine_has_granule(engine, engine->granule) ? 0 : -EINVAL;
    for (uint32_t tier = 1; tier < engine->space.tier_count && !status; tier++) {
        engine->lending[tier].guests_only = config->guests_only >> tier & 1;
        if (engine->lending[tier].guests_only)
            status = set_capacity(engine, tier, 0);
        else if (config->capacity[tier] > 0 && config->capacity[tier] < config->memory)
            status = set_capacity(engine, tier, config->capacity[tier]);
    }
    return status;
}

static void set_with_peak(uint64_t *now, uint64_t *peak, uint64_t value) {
    *now = value;
    *peak = value > *peak ? value : *peak;
}

void ff__memory_count(struct ff__engine *engine) {
    struct ff__space *space = &engine->space;
    uint64_t bytes = 0, spare = 0, borrowed = 0;
    for (uint32_t tier = 1; tier < space->tier_count; tier++) {
        struct ff__tier_memory memory = ff__memory_of(engine, tier);
        borrowed += engine->lending[tier].lent * FF_PAGE_SIZE;
        bytes += memory.held * FF_PAGE_SIZE;
        spare +=
            (uint64_t)space->frames[tier].spare_used * FF_BLOCK_SIZE + memory.excess * FF_PAGE_SIZE;
    }
    set_with_peak(&space->stats.resident, &space->stats.resident_peak, bytes);
    set_with_peak(&space->stats.borrowed, &space->stats.borrowed_peak, borrowed);
    set_with_peak(&space->stats.overshoot, &space->stats.overshoot_peak, spare);
}

/* ---- leaving ---- */

struct ff__move *ff__memory_find_out(struct ff__job *job, uint32_t block, uint32_t tier) {
    for (uint32_t i = 0; i < job->out_count; i++)
        if (job->out[i].block == block && job->out[i].from.tier == tier && !job->out[i].mapped)
            return &job->out[i];
    return NULL;
}

/* NULL: the job is full. */
static struct ff__move *find_or_add_out(struct ff__job *job, uint32_t block, uint32_t tier) {
    struct ff__move *known = ff__memory_find_out(job, block, tier);
    if (known || job->out_count == FF__OUTS_MAX - 1)
        return known;
    struct ff__move *out = &job->out[job->out_count++];
    *out =
        (struct ff__move){.block = block, .from = {tier, FF_NONE}, .to = {FF_TIER_HOST, FF_NONE}};
    return out;
}

void ff__memory_hold(struct ff__engine *engine, uint32_t block, uint32_t tier, uint32_t frame) {
    if (ff_view_holds(&engine->view, tier, block))
        return;
    ff__set_frame(&engine->space, tier, block, frame);
    ff__tell_arrival(
        engine, &(struct ff_arrival){.kind = FF_ARRIVAL_ALLOCATED, .block = block, .tier = tier});
}

void ff__memory_release(struct ff__engine *engine, uint32_t block, uint32_t tier) {
    ff__set_frame(&engine->space, tier, block, FF_NONE);
    ff__tell_leave(engine, &(struct ff_leave){FF_LEAVE_RELEASED, block, tier, NULL});
}

void ff__memory_mark(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages,
                     bool leave, bool begin) {
    struct ff__page_facts *moving = ff__moving(engine, block);
    struct ff_mask *marked = !moving ? NULL : leave ? &moving->leaving : &moving->coming;
    if (marked)
        *marked = begin ? ff_mask_or(marked, pages) : ff_mask_minus(marked, pages);
    else
        ff__facts(&engine->space, block)->busy = begin;
}

bool ff__memory_leave(struct ff__engine *engine, uint32_t block, uint32_t tier,
                      const struct ff_mask *pages, const struct ff_mask *dead, bool is_victim,
                      struct ff__job *job) {
    struct ff_facts *facts = ff__facts(&engine->space, block);
    const struct ff__page_facts *moving = ff__moving(engine, block);
    struct ff_mask *resident = &facts->tier[tier].resident;
    struct ff__move *out = find_or_add_out(job, block, tier);
    if (!out)
        return false;
    struct ff_mask going = pages ? ff_mask_and(pages, resident) : *resident;
    going = ff_mask_minus(&going, &out->pages);
    out->from.frame = ff__facts_frame(facts, tier);
    out->guest = ff__is_guest(engine, block, tier);
    if ((is_victim || out->lends) && !ff__peers_place(engine, out, &going))
        return false;
    if (out->guest)
        ff__peers_leave(engine, block, tier, &going);
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
    struct ff_mask mapped = ff__mapped(engine, block); /* what is written there would be lost */
    out->dead = ff_mask_minus(&out->dead, &mapped);
    ff__tell_leave(engine, &(struct ff_leave){FF_LEAVE_PAGES, block, tier, &going});
    ff__memory_mark(engine, block, &going, true, true);
    if (moving)
        *resident = ff_mask_minus(resident, &going);
    if (out->whole && (!moving || ff_mask_empty(&moving->coming)))
        ff__memory_release(engine, block, tier);
    return true;
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

/* Pages that did not leave: the block has its memory as before, and is used as anything that comes.
 */
static void stay(struct ff__engine *engine, const struct ff__move *out) {
    uint32_t block = out->block, tier = out->from.tier;
    struct ff_mask *resident = &ff__facts(&engine->space, block)->tier[tier].resident;
    *resident = ff_mask_or(resident, &out->left);
    ff__memory_hold(engine, block, tier, out->from.frame);
    ff__tell_arrival(
        engine, &(struct ff_arrival){
                    .kind = FF_ARRIVAL_STAYED, .block = block, .tier = tier, .pages = &out->left});
    ff__memory_refuse(engine, block);
}

void ff__memory_left(struct ff__engine *engine, const struct ff__move *out) {
    struct ff_mask all = ff_mask_or(&out->pages, &out->left);
    if (ff_mask_empty(&out->left))
        ff__memory_forget_refusal(engine, out->block);
    else
        stay(engine, out);
    allocator_at(engine, out->from.frame)->left(engine, out);
    ff__memory_mark(engine, out->block, &all, true, false);
}

/* Where jobs of a block overlap, one that holds nothing, and gets nothing any more, is released. */
void ff__memory_arrived(struct ff__engine *engine, const struct ff__job *job) {
    const struct ff__move *in = &job->in;
    const struct ff__page_facts *moving = ff__moving(engine, in->block);
    struct ff_mask all = ff_mask_or(&in->pages, &in->left);
    ff__memory_mark(engine, in->block, &all, false, false);
    allocator_at(engine, in->to.frame)->arrived(engine, job);
    for (uint32_t tier = 1; tier < engine->space.tier_count && moving; tier++) {
        bool may_get = tier == in->to.tier && !ff_mask_empty(&in->pages);
        if (!may_get && ff_mask_empty(&moving->coming) &&
            ff_view_holds(&engine->view, tier, in->block) &&
            ff_mask_empty(ff_view_resident(&engine->view, tier, in->block)))
            ff__memory_release(engine, in->block, tier);
    }
}

/* ---- how much is free ---- */

uint64_t ff__engine_reserved(const struct ff__engine *engine, uint32_t tier) {
    return engine->evict->reserve ? engine->evict->reserve(engine->evict_state[tier], &engine->view)
                                  : (uint64_t)engine->reserve * FF_BLOCK_PAGES;
}

/* How many pages the reserve lacks, or the device has too many, that are not on their way out
 * already. */
static uint64_t missing_of(const struct ff__engine *engine, uint32_t tier) {
    struct ff__tier_memory memory = ff__memory_of(engine, tier);
    uint64_t wanted = ff__engine_reserved(engine, tier) + memory.excess,
             there = memory.free + engine->preevicting[tier];
    return there < wanted ? wanted - there : 0;
}

void ff__engine_press(struct ff__engine *engine) {
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        engine->pressed[tier] |=
            engine->space.frames[tier].spare_used > 0 || ff__memory_of(engine, tier).excess > 0;
}

void ff__memory_count_taken(struct ff__engine *engine, uint32_t tier) {
    engine->pressed[tier] =
        missing_of(engine, tier) > 0 || engine->space.frames[tier].spare_used > 0;
    ff__memory_count(engine);
}

/* ---- evicting what a policy names ---- */

/* Whether this victim can leave, or has begun to, of which there may be more. A block does not
 * leave to make room for itself; of single pages it may. */
static bool may_go(const struct ff__engine *engine, const struct ff_evict_request *request,
                   uint32_t block, struct ff__job *job) {
    uint32_t tier = request->tier;
    if (block >= engine->space.block_limit ||
        (block == request->for_block && !ff__moving(engine, block)))
        return false;
    return ff__memory_find_out(job, block, tier) != NULL
               ? ff_view_holds(&engine->view, tier, block)
               : ff__memory_is_victim(engine, tier, block, false);
}

uint64_t ff__memory_evict_named(struct ff__engine *engine, const struct ff_evict_request *request,
                                ff__send_fn send, struct ff__job *job) {
    uint32_t tier = request->tier, guest;
    uint64_t units = (request->pages + request->granule - 1) / request->granule;
    uint64_t need = units * request->granule, found = 0, before;
    while (found < need && (guest = ff__peers_guest(engine, request)) != FF_NONE)
        if (!send(engine, tier, &(struct ff_victim){.block = guest}, job, &found))
            return found;
    do {
        struct ff_victim items[FF__VICTIMS_MAX];
        struct ff_victim_list victims = {items, 0, FF__VICTIMS_MAX};
        struct ff_evict_request rest = *request;
        rest.pages = need - found;
        before = found;
        if (found < need)
            engine->evict->pick(engine->evict_state[tier], &engine->view, &rest, &victims);
        for (uint32_t i = 0; i < victims.count && found < need; i++)
            if (may_go(engine, request, items[i].block, job) &&
                !send(engine, tier, &items[i], job, &found))
                return found;
    } while (found < need && found > before);
    return found;
}

void ff__memory_keep_first(struct ff_mask *wanted, const struct ff_mask *must, uint64_t room) {
    struct ff_mask parts[] = {ff_mask_and(wanted, must), ff_mask_minus(wanted, must)};
    ff_mask_clear(wanted);
    for (int i = 0; i < 2; i++) {
        FF_MASK_FOR_EACH_PAGE(&parts[i], page) {
            if (room > 0) {
                ff_mask_set(wanted, page);
                room--;
            }
        }
    }
}

/* ---- taking ---- */

uint32_t ff__memory_granule(const struct ff__engine *engine, uint32_t block, uint32_t tier,
                            const struct ff__job *job) {
    return job->granule == 0 || ff_view_holds(&engine->view, tier, block)
               ? granule_of(engine, tier, block)
               : job->granule;
}

bool ff__memory_take(struct ff__engine *engine, uint32_t block, uint32_t tier,
                     enum ff_evict_cause cause, const struct ff_mask *must, struct ff_mask *wanted,
                     struct ff__job *job) {
    const struct ff__allocator *allocator =
        allocator_for(engine, ff__memory_granule(engine, block, tier, job));
    struct ff_evict_request request = {cause, tier, block, 0, allocator->unit};
    if (ff__is_guest(engine, block, tier))
        ff__peers_adopt(engine, block, tier);
    bool taken = allocator->take(engine, &request, must, wanted, job);
    if (taken)
        ff__memory_count_taken(engine, tier);
    return taken;
}

bool ff__memory_preevict(struct ff__engine *engine, uint32_t tier, struct ff__job *job) {
    if (ff__chunks_empty_spare(engine, tier, job))
        return true;
    bool is_above = ff__memory_of(engine, tier).excess > 0;
    bool all_fits = engine->space.used[tier] <= engine->space.capacity[tier];
    uint64_t missing = all_fits && !is_above ? 0 : missing_of(engine, tier);
    if (missing == 0) /* what fits as a whole needs no room for more */
        return false;
    /* chunks above the capacity are to be empty as a whole */
    const struct ff__allocator *allocator =
        is_above ? engine->whole : allocator_for(engine, engine->granule);
    struct ff_evict_request request = {FF_EVICT_AHEAD, tier, FF_NONE, missing, allocator->unit};
    job->preevicted = allocator->evict(engine, &request, job);
    engine->preevicting[tier] += job->preevicted;
    return job->preevicted > 0;
}
