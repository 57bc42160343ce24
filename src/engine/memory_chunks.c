/* Memory by chunk: one touched page of a full block takes 2 MiB, and evicting a victim empties its
 * whole chunk, as in the NVIDIA driver; of a split block, that is a part. */
#include "engine/memory.h"

/* Whether every block in the chunk could leave now. */
static bool chunk_evictable(const struct ff__engine *engine, uint32_t tier, uint32_t chunk,
                            bool held_too) {
    uint32_t owners[FF_CHUNK_LEAVES];
    uint32_t count = ff__frames_blocks(&engine->space.frames[tier], chunk, owners);
    for (uint32_t i = 0; i < count; i++)
        if (!ff__memory_is_victim(engine, tier, owners[i], held_too))
            return false;
    return count > 0;
}

/* The lowest chunk from `first` on that can be emptied; FF_NONE: none can. */
static uint32_t find_chunk(const struct ff__engine *engine, uint32_t tier, uint32_t first,
                           bool held_too) {
    for (uint32_t chunk = first; chunk < ff__frames_end(&engine->space.frames[tier]); chunk++)
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

/* The chunk that is to go: that of the first of the policy's victims that can leave with all blocks
 * in its chunk. FF_NONE: none can. */
static uint32_t choose_chunk(struct ff__engine *engine, const struct ff_evict_request *request) {
    struct ff_victim items[FF__VICTIMS_MAX];
    struct ff_victim_list victims = {items, 0, FF__VICTIMS_MAX};
    uint32_t tier = request->tier, guest = ff__peers_guest(engine, request);
    uint32_t chunk = guest == FF_NONE ? FF_NONE : ff__space_chunk(&engine->space, tier, guest);
    if (guest != FF_NONE && chunk_evictable(engine, tier, chunk, false))
        return chunk;
    engine->evict->pick(engine->evict_state[tier], &engine->view, request, &victims);
    for (uint32_t i = 0; i < victims.count; i++) {
        uint32_t block = items[i].block;
        if (block == request->for_block || !ff__memory_is_victim(engine, tier, block, false))
            continue;
        chunk = ff__space_chunk(&engine->space, tier, block);
        if (chunk_evictable(engine, tier, chunk, false))
            return chunk;
    }
    if (request->cause != FF_EVICT_FOR_FAULT && ff__memory_of(engine, tier).excess == 0)
        return FF_NONE;
    chunk = find_chunk(engine, tier, 0, false);
    return chunk == FF_NONE ? find_chunk(engine, tier, 0, true) : chunk;
}

/* What the block has in the chunk leaves. */
static void leave_chunk(struct ff__engine *engine, uint32_t tier, uint32_t chunk, uint32_t block,
                        struct ff__job *job) {
    const struct ff__frames *frames = &engine->space.frames[tier];
    uint32_t leaves = 0, own = ff__frame(&engine->space, tier, block);
    for (uint32_t leaf = 0; leaf < FF_CHUNK_LEAVES; leaf++) {
        uint32_t frame = ff__frames_of_leaf(frames, own, block, leaf);
        leaves |= (uint32_t)(frame / FF_CHUNK_LEAVES == chunk) << leaf;
    }
    struct ff_mask pages = ff__frames_pages_in(frames, own, block, leaves,
                                               ff_view_resident(&engine->view, tier, block));
    ff__memory_leave(engine, block, tier, &pages, NULL, true, job);
}

/* Sends everything in the chunk away. The driver, too, evicts whole chunks: all blocks that share
 * one. */
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
    uint32_t chunk = find_chunk(engine, tier, engine->space.frames[tier].chunk_count, false);
    if (chunk != FF_NONE)
        empty_chunk(engine, tier, chunk, job);
    return chunk != FF_NONE;
}

static uint64_t evict(struct ff__engine *engine, const struct ff_evict_request *request,
                      struct ff__job *job) {
    return evict_chunk(engine, request, job) == FF_NONE ? 0 : FF_BLOCK_PAGES;
}

static bool take(struct ff__engine *engine, struct ff_evict_request *request,
                 const struct ff_mask *must, struct ff_mask *wanted, struct ff__job *job) {
    uint32_t block = request->for_block, tier = request->tier;
    struct ff__frames *frames = &engine->space.frames[tier];
    (void)must, (void)wanted;
    if (ff_view_holds(&engine->view, tier, block))
        return true;
    uint32_t leaves = ff__space_leaves(&engine->space, block);
    uint32_t frame = ff__frames_alloc(frames, leaves, block);
    if (frame == FF_NONE) {
        request->pages = engine->space.blocks[block].page_count;
        uint32_t chunk = evict_chunk(engine, request, job);
        if (chunk != FF_NONE)
            frame = ff__frames_take_chunk(frames, chunk, block);
        else if (request->cause == FF_EVICT_FOR_FAULT && ff__chunks_none_can_leave(engine, request))
            frame = ff__frames_alloc_spare(frames, leaves, block);
        if (frame == FF_NONE)
            return false;
        job->took_chunk = chunk != FF_NONE;
    }
    ff__memory_hold(engine, block, tier, frame);
    return true;
}

/* ---- leaving and arriving, in runs of leaves ---- */

/* What stayed has the run again, also what the way in of the same job has got of it. */
static void left(struct ff__engine *engine, const struct ff__move *out) {
    struct ff__frames *frames = &engine->space.frames[out->from.tier];
    if (!out->whole)
        return;
    if (ff_mask_empty(&out->left))
        ff__frames_free_owner(frames, out->from.frame / FF_CHUNK_LEAVES, out->block);
    else
        ff__frames_give(frames, out->from.frame, ff__space_leaves(&engine->space, out->block),
                        out->block);
}

static void arrived(struct ff__engine *engine, const struct ff__job *job) {
    const struct ff__move *in = &job->in;
    struct ff__frames *frames = &engine->space.frames[in->to.tier];
    bool nothing_came = ff_mask_empty(&in->pages);
    if (nothing_came && in->whole) {
        ff__memory_release(engine, in->block, in->to.tier);
        ff__frames_free_owner(frames, in->to.frame / FF_CHUNK_LEAVES, in->block);
    } else if (!nothing_came && job->took_chunk) {
        ff__frames_trim_chunk(frames, in->to.frame / FF_CHUNK_LEAVES,
                              ff__space_leaves(&engine->space, in->block));
    }
}

static struct ff__tier_memory memory(const struct ff__engine *engine, uint32_t tier) {
    const struct ff__frames *frames = &engine->space.frames[tier];
    return (struct ff__tier_memory){engine->view.unit < FF_BLOCK_PAGES
                                        ? (uint64_t)frames->free_leaves * FF_LEAF_PAGES
                                        : (uint64_t)frames->free_count * FF_BLOCK_PAGES,
                                    (uint64_t)frames->leaves_used * FF_LEAF_PAGES,
                                    (uint64_t)ff__frames_excess(frames) * FF_BLOCK_PAGES};
}

/* ---- runs for blocks of other devices ---- */

static uint64_t size(const struct ff__engine *engine, uint32_t block, uint32_t pages) {
    return pages ? ff__space_leaves(&engine->space, block) * FF_LEAF_PAGES : 0;
}

static bool lend(struct ff__engine *engine, uint32_t block, uint64_t pages,
                 struct ff__place *place) {
    struct ff__frames *frames = &engine->space.frames[place->tier];
    place->frame = ff__frames_alloc(frames, (uint32_t)(pages / FF_LEAF_PAGES), block);
    return place->frame != FF_NONE;
}

static void give_back(struct ff__engine *engine, uint64_t pages, const struct ff__place *place) {
    if (pages > 0)
        ff__frames_free(&engine->space.frames[place->tier], place->frame,
                        (uint32_t)(pages / FF_LEAF_PAGES));
}

const struct ff__allocator ff__chunk_allocator = {
    .unit = FF_BLOCK_PAGES,
    .memory = memory,
    .take = take,
    .evict = evict,
    .left = left,
    .arrived = arrived,
    .size = size,
    .lend = lend,
    .give_back = give_back,
};
