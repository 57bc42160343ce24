/* Memory by chunk: one touched page of a full block takes 2 MiB, and evicting a victim empties its whole
 * chunk, as in the NVIDIA driver; of a split block, that is a part. */
#include "engine/memory.h"

static bool all_evictable(const struct ff__engine *engine, uint32_t tier, const uint32_t *owners,
                          uint32_t count, bool held_too) {
    for (uint32_t i = 0; i < count; i++)
        if (!ff__memory_may_leave(engine, tier, owners[i]) ||
            (ff__memory_is_held(engine, owners[i]) && !held_too))
            return false;
    return count > 0;
}

/* Whether every block in the chunk could leave now. */
static bool chunk_evictable(const struct ff__engine *engine, uint32_t tier, uint32_t chunk,
                            bool held_too) {
    uint32_t owners[FF_CHUNK_LEAVES];
    uint32_t count = ff__frames_blocks(&engine->space.frames[tier], chunk, owners);
    return all_evictable(engine, tier, owners, count, held_too);
}

/* If the policy names no victim that can leave, and one must: the lowest chunk that can. */
static uint32_t any_chunk(const struct ff__engine *engine, uint32_t tier) {
    for (int held_too = 0; held_too < 2; held_too++)
        for (uint32_t chunk = 0; chunk < ff__frames_end(&engine->space.frames[tier]); chunk++)
            if (chunk_evictable(engine, tier, chunk, held_too))
                return chunk;
    return FF_NONE;
}

bool ff__chunks_none_can_leave(const struct ff__engine *engine,
                               const struct ff_evict_request *request) {
    uint32_t owners[FF_CHUNK_LEAVES], tier = request->tier;
    const struct ff__frames *frames = &engine->space.frames[tier];
    if (engine->refused_count == 0)
        return false;
    for (uint32_t chunk = 0; chunk < ff__frames_end(frames); chunk++) {
        uint32_t count = ff__frames_blocks(&engine->space.frames[tier], chunk, owners), stuck = 0;
        for (uint32_t i = 0; i < count; i++)
            stuck += owners[i] == request->for_block || ff__memory_is_refused(engine, owners[i]);
        bool whole = request->granule == FF_BLOCK_PAGES;
        if (count > 0 && stuck < (whole ? 1 : count))
            return false;
    }
    return true;
}

/* The first spare chunk whose blocks can all leave; FF_NONE: none. */
static uint32_t spare_to_empty(const struct ff__engine *engine, uint32_t tier) {
    const struct ff__frames *frames = &engine->space.frames[tier];
    for (uint32_t chunk = frames->chunk_count; chunk < ff__frames_end(frames); chunk++)
        if (chunk_evictable(engine, tier, chunk, false))
            return chunk;
    return FF_NONE;
}

/* Whether the chunk of the block can be emptied. */
static bool mates_evictable(const struct ff__engine *engine, uint32_t tier, uint32_t block) {
    uint32_t mates[FF_CHUNK_LEAVES];
    uint32_t count = ff__space_mates(&engine->space, tier, block, mates);
    return all_evictable(engine, tier, mates, count, false);
}

/* The chunk that is to go: that of the first of the policy's victims that can leave with all blocks in its chunk.
 * FF_NONE: none can. */
static uint32_t choose_chunk(struct ff__engine *engine, const struct ff_evict_request *request) {
    struct ff_victim items[FF__VICTIMS_MAX];
    struct ff_victim_list victims = {items, 0, FF__VICTIMS_MAX};
    uint32_t tier = request->tier, guest = ff__peers_guest(engine, request);
    if (guest != FF_NONE && mates_evictable(engine, tier, guest))
        return ff__space_chunk(&engine->space, tier, guest);
    engine->evict->pick(engine->evict_state[tier], &engine->view, request, &victims);
    for (uint32_t i = 0; i < victims.count; i++) {
        uint32_t block = items[i].block;
        if (block != request->for_block && ff__memory_is_victim(engine, tier, block) &&
            mates_evictable(engine, tier, block))
            return ff__space_chunk(&engine->space, tier, block);
    }
    bool must = request->cause == FF_EVICT_FOR_FAULT || ff__space_excess(&engine->space, tier) > 0;
    return must ? any_chunk(engine, tier) : FF_NONE;
}

/* What the block has in the chunk leaves. */
static void leave_chunk(struct ff__engine *engine, uint32_t tier, uint32_t chunk, uint32_t block,
                        struct ff__job *job) {
    const struct ff__frames *frames = &engine->space.frames[tier];
    uint32_t leaves = 0, own = ff__frame(&engine->space, tier, block);
    if (!ff__frame_is_split(own)) {
        ff__memory_evict(engine, block, tier, NULL, job);
        return;
    }
    for (uint32_t leaf = 0; leaf < FF_CHUNK_LEAVES; leaf++) {
        uint32_t frame = *ff__frames_leaf(frames, block, leaf);
        leaves |= (uint32_t)(frame != 0 && (frame - 1) / FF_CHUNK_LEAVES == chunk) << leaf;
    }
    struct ff_mask pages = ff__frames_pages_in(frames, own, block, leaves,
                                               ff_view_resident(&engine->view, tier, block));
    ff__memory_evict(engine, block, tier, &pages, job);
}

/* Sends everything in the chunk away. The driver, too, evicts whole chunks: all blocks that share one. */
static void empty_chunk(struct ff__engine *engine, uint32_t tier, uint32_t chunk,
                        struct ff__job *job) {
    uint32_t owners[FF_CHUNK_LEAVES];
    uint32_t count = ff__frames_blocks(&engine->space.frames[tier], chunk, owners);
    for (uint32_t i = 0; i < count; i++)
        leave_chunk(engine, tier, chunk, owners[i], job);
}

/* Returns the chunk that will be empty, or FF_NONE. */
static uint32_t evict_chunk(struct ff__engine *engine, const struct ff_evict_request *request,
                            struct ff__job *job) {
    uint32_t chunk = choose_chunk(engine, request);
    if (chunk != FF_NONE)
        empty_chunk(engine, request->tier, chunk, job);
    return chunk;
}

bool ff__chunks_empty_spare(struct ff__engine *engine, uint32_t tier, struct ff__job *job) {
    uint32_t chunk = spare_to_empty(engine, tier);
    if (chunk != FF_NONE)
        empty_chunk(engine, tier, chunk, job);
    return chunk != FF_NONE;
}

uint64_t ff__chunks_evict(struct ff__engine *engine, const struct ff_evict_request *request,
                          struct ff__job *job) {
    return evict_chunk(engine, request, job) == FF_NONE ? 0 : FF_BLOCK_PAGES;
}

bool ff__chunks_take(struct ff__engine *engine, uint32_t block, uint32_t tier,
                     enum ff_evict_cause cause, struct ff__job *job) {
    struct ff__space *space = &engine->space;
    struct ff__frames *frames = &space->frames[tier];
    if (ff_view_holds(&engine->view, tier, block))
        return true;
    uint32_t leaves = ff__engine_leaves(engine, block);
    uint32_t frame = ff__frames_alloc(frames, leaves, block);
    if (frame == FF_NONE) {
        struct ff_evict_request request = {cause, tier, block, space->blocks[block].page_count,
                                           FF_BLOCK_PAGES};
        uint32_t chunk = evict_chunk(engine, &request, job);
        if (chunk != FF_NONE)
            frame = ff__frames_take_chunk(frames, chunk, block);
        else if (cause == FF_EVICT_FOR_FAULT && ff__chunks_none_can_leave(engine, &request))
            frame = ff__frames_alloc_spare(frames, leaves, block);
        if (frame == FF_NONE)
            return false;
        job->took_chunk = chunk != FF_NONE;
    }
    ff__memory_hold(engine, block, tier, frame);
    return true;
}

/* ---- leaving and arriving, in leaves or runs of them ---- */

void ff__chunks_leave(struct ff__engine *engine, const struct ff__move *out) {
    ff__facts(&engine->space, out->block)->busy = 1;
    if (out->whole)
        ff__memory_release(engine, out->block, out->from.tier);
}

/* What the way in of the same job has got of the run is the block's again. */
void ff__chunks_stay(struct ff__engine *engine, const struct ff__move *out) {
    if (out->whole && !ff__frame_is_split(out->from.frame))
        ff__frames_give(&engine->space.frames[out->from.tier], out->from.frame,
                        ff__engine_leaves(engine, out->block), out->block);
}

/* What the job has passed on is not the block's any more. */
void ff__chunks_left(struct ff__engine *engine, const struct ff__move *out, bool all_left) {
    struct ff_facts *facts = ff__facts(&engine->space, out->block);
    if (ff__frame_is_split(out->from.frame))
        ff__leaves_settle(engine, out->block, out->from, &facts->tier[out->from.tier].resident);
    else if (out->whole && all_left)
        ff__frames_free_owner(&engine->space.frames[out->from.tier],
                              out->from.frame / FF_CHUNK_LEAVES, out->block);
    facts->busy = 0;
}

static void settle_run(struct ff__engine *engine, const struct ff__job *job) {
    const struct ff__move *in = &job->in;
    struct ff__frames *frames = &engine->space.frames[in->to.tier];
    bool nothing_came = ff_mask_empty(&in->pages);
    if (nothing_came && in->whole) {
        ff__memory_release(engine, in->block, in->to.tier);
        ff__frames_free_owner(frames, in->to.frame / FF_CHUNK_LEAVES, in->block);
    } else if (!nothing_came && job->took_chunk) {
        ff__frames_trim_chunk(frames, in->to.frame / FF_CHUNK_LEAVES,
                              ff__engine_leaves(engine, in->block));
    }
}

void ff__chunks_arrived(struct ff__engine *engine, const struct ff__job *job) {
    const struct ff__move *in = &job->in;
    struct ff_facts *facts = ff__facts(&engine->space, in->block);
    struct ff_mask resident = ff_mask_or(&facts->tier[in->to.tier].resident, &in->pages);
    facts->busy = 0;
    if (ff__frame_is_split(in->to.frame))
        ff__leaves_settle(engine, in->block, in->to, &resident);
    else
        settle_run(engine, job);
}
