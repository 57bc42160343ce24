/* Memory by leaf, of blocks that are split, on a device of chunks: a block takes only the leaves of
 * 64 KiB that its pages need, of chunks that several blocks share. It takes more as more pages
 * come, and gives back those whose pages have all left. In 64 KiB a leaf holds the pages of its
 * address; in single pages, any 16 of the block. */
#include "base/leaves.h"
#include "engine/memory.h"

/* ---- evicting ---- */

/* The leaves of the block that are free once this way out has been carried out. */
static uint32_t emptied_by(const struct ff__engine *engine, const struct ff__move *out) {
    const struct ff_facts *facts = ff__facts(&engine->space, out->block);
    const struct ff_mask *resident = &facts->tier[out->from.tier].resident;
    struct ff_mask staying = ff_mask_minus(resident, &out->pages);
    uint32_t frame = out->from.frame;
    const struct ff__frames *frames = &engine->space.frames[out->from.tier];
    if (ff__frame_is_split(frame))
        return ff__frames_leaves_under(frames, frame, out->block, resident) &
               ~ff__frames_leaves_under(frames, frame, out->block, &staying);
    struct ff_mask run = ff__block_pages(&engine->space, out->block);
    return out->whole ? ff__leaves_of(&run) : 0;
}

/* The victim's named leaves. */
static bool send_away(struct ff__engine *engine, uint32_t tier, const struct ff_victim *victim,
                      struct ff__job *job, uint64_t *freed) {
    uint32_t block = victim->block, before;
    const struct ff__move *out = ff__memory_find_out(job, block, tier);
    const struct ff__frames *frames = &engine->space.frames[tier];
    uint32_t frame = ff__frame(&engine->space, tier, block);
    struct ff_mask pages = *ff_view_resident(&engine->view, tier, block);
    if (ff__frame_is_split(frame) && !ff_mask_empty(&victim->pages)) {
        struct ff_mask named =
            frame == FF__SPLIT_PAGES ? ff_mask_and(&pages, &victim->pages) : victim->pages;
        uint32_t leaves = ff__frames_leaves_under(frames, frame, block, &named);
        pages = ff__frames_pages_in(frames, frame, block, leaves, &pages);
    }
    before = out ? emptied_by(engine, out) : 0;
    if (ff_mask_empty(&pages) || !ff__memory_leave(engine, block, tier, &pages, NULL, true, job))
        return true;
    out = ff__memory_find_out(job, block, tier);
    *freed += (uint32_t)__builtin_popcount(emptied_by(engine, out) & ~before) * FF_LEAF_PAGES;
    return true;
}

static uint64_t evict(struct ff__engine *engine, const struct ff_evict_request *request,
                      struct ff__job *job) {
    return ff__memory_evict_named(engine, request, send_away, job);
}

/* If the policy names no victim that can leave, and a fault waits: the first block, by address in
 * the device's memory, that can make room. */
static uint64_t evict_any(struct ff__engine *engine, const struct ff_evict_request *request,
                          struct ff__job *job) {
    const struct ff__frames *frames = &engine->space.frames[request->tier];
    uint32_t owners[FF_CHUNK_LEAVES], tier = request->tier, end = ff__frames_end(frames);
    uint64_t freed = 0;
    for (uint32_t i = 0; i < 2 * end && freed == 0; i++) {
        uint32_t count = ff__frames_blocks(frames, i % end, owners);
        for (uint32_t k = 0; k < count && freed == 0; k++)
            if (owners[k] != request->for_block &&
                ff__memory_is_victim(engine, tier, owners[k], i >= end))
                send_away(engine, tier, &(struct ff_victim){.block = owners[k]}, job, &freed);
    }
    return freed;
}

/* ---- taking ---- */

/* The first `count` of the leaves, those that `must` come before others. */
static uint32_t first_leaves(uint32_t leaves, uint32_t must, uint32_t count) {
    uint32_t kept = 0;
    for (; count > 0 && leaves; count--) {
        uint32_t of = leaves & must ? leaves & must : leaves, first = of & -of;
        kept |= first;
        leaves &= ~first;
    }
    return kept;
}

/* Gives the block what the job's ways out empty. */
static void pass_on(struct ff__engine *engine, uint32_t block, uint32_t tier, uint32_t leaves,
                    const struct ff__job *job) {
    struct ff__frames *frames = &engine->space.frames[tier];
    for (uint32_t i = 0; i < job->out_count; i++) {
        const struct ff__move *out = &job->out[i];
        uint32_t emptied = emptied_by(engine, out);
        for (; leaves && emptied; emptied &= emptied - 1, leaves &= leaves - 1) {
            uint32_t frame = ff__frames_of_leaf(frames, out->from.frame, out->block,
                                                (uint32_t)__builtin_ctz(emptied));
            ff__frames_give(frames, frame, 1, block);
            *ff__frames_leaf(frames, block, (uint32_t)__builtin_ctz(leaves)) = frame + 1;
        }
    }
}

/* Gives the block these leaves: free ones first, `free_count` of them. */
static void give_leaves(struct ff__engine *engine, uint32_t block, uint32_t tier, uint32_t leaves,
                        uint64_t free_count, const struct ff__job *job) {
    struct ff__frames *frames = &engine->space.frames[tier];
    for (; leaves && free_count > 0; free_count--, leaves &= leaves - 1)
        *ff__frames_leaf(frames, block, (uint32_t)__builtin_ctz(leaves)) =
            ff__frames_alloc_leaf(frames, block) + 1;
    pass_on(engine, block, tier, leaves, job);
}

/* Takes leaves beyond the device's memory, if no block can leave, or what is left of the spare
 * chunks in use. */
static uint32_t take_spare(struct ff__engine *engine, const struct ff_evict_request *request,
                           uint32_t lacking, uint32_t must) {
    struct ff__frames *frames = &engine->space.frames[request->tier];
    uint32_t block = request->for_block, taken = 0, next;
    bool opens = ff__chunks_none_can_leave(engine, request);
    while ((next = first_leaves(lacking & ~taken, must, 1)) != 0) {
        uint32_t frame = ff__frames_alloc_spare_leaf(frames, block, opens);
        if (frame == FF_NONE)
            break;
        *ff__frames_leaf(frames, block, (uint32_t)__builtin_ctz(next)) = frame + 1;
        taken |= next;
    }
    return taken;
}

/* Takes memory for these leaves, or for as many as there is room for: returns those. */
static uint32_t take_leaves(struct ff__engine *engine, struct ff_evict_request *request,
                            uint32_t lacking, uint32_t must, struct ff__job *job) {
    uint64_t there = engine->space.frames[request->tier].free_leaves, room = there;
    uint32_t need = (uint32_t)__builtin_popcount(lacking);
    if (need > there) {
        request->pages = (need - there) * FF_LEAF_PAGES;
        room += evict(engine, request, job) / FF_LEAF_PAGES;
        if (room == 0 && request->cause == FF_EVICT_FOR_FAULT)
            room = evict_any(engine, request, job) / FF_LEAF_PAGES;
        if (room == 0 && request->cause == FF_EVICT_FOR_FAULT)
            return take_spare(engine, request, lacking, must);
    }
    if (room < need)
        lacking = first_leaves(lacking, must, (uint32_t)room);
    give_leaves(engine, request->for_block, request->tier, lacking, there, job);
    return lacking;
}

/* In single pages: takes what the block's leaves have no slots for, and gives each page one. */
static bool take_slots(struct ff__engine *engine, struct ff_evict_request *request,
                       const struct ff_mask *must, struct ff_mask *wanted, struct ff__job *job) {
    uint32_t block = request->for_block;
    struct ff__frames *frames = &engine->space.frames[request->tier];
    uint32_t there = ff__frames_free_slots(frames, block), need = ff_mask_count(wanted);
    uint32_t more = need > there ? (need - there + FF_LEAF_PAGES - 1) / FF_LEAF_PAGES : 0;
    uint32_t lacking = first_leaves(~ff__frames_held(frames, block), 0, more);
    uint32_t taken = lacking ? take_leaves(engine, request, lacking, 0, job) : 0;
    uint32_t room = there + (uint32_t)__builtin_popcount(taken) * FF_LEAF_PAGES;
    if (room < need)
        ff__memory_keep_first(wanted, must, room);
    ff__frames_put(frames, block, wanted);
    return !ff_mask_empty(wanted);
}

static bool take_at_addresses(struct ff__engine *engine, struct ff_evict_request *request,
                              const struct ff_mask *must, struct ff_mask *wanted,
                              struct ff__job *job) {
    uint32_t held =
        ff__leaves_of(ff_view_resident(&engine->view, request->tier, request->for_block));
    uint32_t lacking = ff__leaves_of(wanted) & ~held;
    uint32_t taken = lacking ? take_leaves(engine, request, lacking, ff__leaves_of(must), job) : 0;
    struct ff_mask room = ff__leaf_pages(held | taken, FF_BLOCK_PAGES);
    struct ff_mask served = ff_mask_and(must, &room);
    *wanted = ff_mask_and(wanted, &room);
    return !ff_mask_empty(wanted) && (!ff_mask_empty(&served) || ff_mask_empty(must));
}

static bool take(struct ff__engine *engine, struct ff_evict_request *request,
                 const struct ff_mask *must, struct ff_mask *wanted, struct ff__job *job) {
    uint32_t block = request->for_block, tier = request->tier, asked = ff_mask_count(wanted);
    bool singly = ff__memory_granule(engine, block, tier, job) == 1;
    if (!(singly ? take_slots : take_at_addresses)(engine, request, must, wanted, job))
        return false;
    if (ff_mask_count(wanted) < asked)
        ff__engine_drop(engine, FF_DROP_NO_ROOM);
    ff__memory_hold(engine, block, tier, singly ? FF__SPLIT_PAGES : FF__SPLIT);
    return true;
}

/* ---- the end of a job ---- */

/* Of a split block, which lies or lay at `at`. The leaves that lie under its resident pages are the
 * block's, also if the job has passed them on, and no others. `all_came`: all that have slots are
 * resident. */
static void settle(struct ff__engine *engine, uint32_t block, struct ff__place at,
                   const struct ff_mask *resident, bool all_came) {
    uint32_t tier = at.tier;
    struct ff__frames *frames = &engine->space.frames[tier];
    uint32_t used = at.frame != FF__SPLIT_PAGES ? ff__leaves_of(resident)
                    : all_came                  ? ff__leaves_of(&frames->places[block].used)
                                                : ff__frames_keep(frames, block, resident);
    for (uint32_t leaf = 0; leaf < FF_CHUNK_LEAVES; leaf++) {
        uint32_t *place = ff__frames_leaf(frames, block, leaf), frame = *place - 1;
        if (*place == 0)
            continue;
        if (used >> leaf & 1) {
            ff__frames_give(frames, frame, 1, block);
            continue;
        }
        if (frames->owner[frame] == block)
            ff__frames_free(frames, frame, 1);
        *place = 0;
    }
    if (used == 0 && ff_view_holds(&engine->view, tier, block))
        ff__memory_release(engine, block, tier);
}

static void left(struct ff__engine *engine, const struct ff__move *out) {
    settle(engine, out->block, out->from,
           ff_view_resident(&engine->view, out->from.tier, out->block), false);
}

static void arrived(struct ff__engine *engine, const struct ff__job *job) {
    const struct ff__move *in = &job->in;
    struct ff_mask resident =
        ff_mask_or(ff_view_resident(&engine->view, in->to.tier, in->block), &in->pages);
    settle(engine, in->block, in->to, &resident, ff_mask_empty(&in->left));
}

const struct ff__allocator ff__leaf_allocator = {
    .unit = FF_LEAF_PAGES, .take = take, .evict = evict, .left = left, .arrived = arrived};
