/* Memory by chunk: one touched page of a full block takes 2 MiB, and evicting a victim empties its whole
 * chunk, as in the NVIDIA driver. */
#include "engine/memory.h"

static bool all_evictable(const struct ff__engine *engine, uint32_t tier, const uint32_t *owners,
                          uint32_t count, bool held_too) {
    for (uint32_t i = 0; i < count; i++)
        if (!ff__memory_may_leave(engine, tier, owners[i]) ||
            (ff__memory_is_held(engine, owners[i]) && !held_too))
            return false;
    return count > 0;
}

/* Whether every block in the root could leave now. */
static bool root_evictable(const struct ff__engine *engine, uint32_t tier, uint32_t root,
                           bool held_too) {
    uint32_t owners[FF_ROOT_LEAVES];
    uint32_t count = ff_view_root_blocks(&engine->view, tier, root, owners);
    return all_evictable(engine, tier, owners, count, held_too);
}

/* When the policy names nobody who can go, and somebody must, it is the lowest root that can. */
static uint32_t any_root(const struct ff__engine *engine, uint32_t tier) {
    for (int held_too = 0; held_too < 2; held_too++)
        for (uint32_t root = 0; root < ff__frames_end(&engine->space.frames[tier]); root++)
            if (root_evictable(engine, tier, root, held_too))
                return root;
    return FF_NONE;
}

/* Whether nobody can leave, however long one waits for jobs to finish: every root has a block that could
 * not. A system call that has one half of its buffer pinned and waits for the other would wait for
 * ever. */
static bool none_can_leave(const struct ff__engine *engine, uint32_t tier) {
    const struct ff__frames *frames = &engine->space.frames[tier];
    if (engine->refused_count == 0)
        return false;
    for (uint32_t root = 0; root < ff__frames_end(frames); root++) {
        uint32_t owners[FF_ROOT_LEAVES],
            count = ff_view_root_blocks(&engine->view, tier, root, owners);
        bool has_refused = false;
        for (uint32_t i = 0; i < count; i++)
            has_refused = has_refused || ff__memory_is_refused(engine, owners[i]);
        if (count > 0 && !has_refused)
            return false;
    }
    return true;
}

/* The first spare root whose blocks can all leave; FF_NONE: none. */
static uint32_t spare_to_empty(const struct ff__engine *engine, uint32_t tier) {
    const struct ff__frames *frames = &engine->space.frames[tier];
    for (uint32_t root = frames->root_count; root < ff__frames_end(frames); root++)
        if (root_evictable(engine, tier, root, false))
            return root;
    return FF_NONE;
}

/* The blocks of the root that is to go: that of the first of the policy's victims who can go with all who
 * share its root. 0: nobody. */
static uint32_t choose_root(struct ff__engine *engine, const struct ff_evict_request *request,
                            uint32_t owners[FF_ROOT_LEAVES]) {
    struct ff_victim items[FF__VICTIMS_MAX];
    struct ff_victim_list victims = {items, 0, FF__VICTIMS_MAX};
    uint32_t tier = request->tier, passing = ff__memory_take_passing(engine, request);
    if (passing != FF_NONE) {
        uint32_t count = ff_view_root_mates(&engine->view, tier, passing, owners);
        if (all_evictable(engine, tier, owners, count, false))
            return count;
    }
    engine->evict->pick(engine->evict_state[tier], &engine->view, request, &victims);
    for (uint32_t i = 0; i < victims.count; i++) {
        uint32_t block = items[i].block;
        if (block == request->for_block || !ff__memory_is_victim(engine, tier, block))
            continue;
        uint32_t count = ff_view_root_mates(&engine->view, tier, block, owners);
        if (all_evictable(engine, tier, owners, count, false))
            return count;
    }
    bool must = request->cause == FF_EVICT_FOR_FAULT || ff__space_excess(&engine->space, tier) > 0;
    uint32_t root = must ? any_root(engine, tier) : FF_NONE;
    return root == FF_NONE ? 0 : ff_view_root_blocks(&engine->view, tier, root, owners);
}

/* Sends everything in one root away. The driver, too, evicts whole roots: all blocks that share one.
 * Returns the root, or FF_NONE. */
static uint32_t evict_root(struct ff__engine *engine, const struct ff_evict_request *request,
                           struct ff__job *job) {
    uint32_t owners[FF_ROOT_LEAVES], count = choose_root(engine, request, owners);
    if (count == 0)
        return FF_NONE;
    uint32_t root = ff__frame(&engine->space, request->tier, owners[0]) / FF_ROOT_LEAVES;
    for (uint32_t i = 0; i < count; i++)
        ff__memory_leave(engine, owners[i], request->tier, NULL, NULL, job);
    return root;
}

bool ff__chunks_empty_spare(struct ff__engine *engine, uint32_t tier, struct ff__job *job) {
    uint32_t owners[FF_ROOT_LEAVES], root = spare_to_empty(engine, tier);
    if (root == FF_NONE)
        return false;
    uint32_t count = ff_view_root_blocks(&engine->view, tier, root, owners);
    for (uint32_t i = 0; i < count; i++)
        ff__memory_leave(engine, owners[i], tier, NULL, NULL, job);
    return true;
}

uint64_t ff__chunks_evict(struct ff__engine *engine, const struct ff_evict_request *request,
                          struct ff__job *job) {
    return evict_root(engine, request, job) == FF_NONE ? 0 : FF_BLOCK_PAGES;
}

bool ff__chunks_take(struct ff__engine *engine, uint32_t block, uint32_t tier,
                     enum ff_evict_cause cause, struct ff__job *job) {
    struct ff__space *space = &engine->space;
    struct ff__frames *frames = &space->frames[tier];
    if (ff_view_holds(&engine->view, tier, block))
        return true;
    uint32_t leaves = ff__engine_leaves(engine, block), frame = FF_NONE;
    if (leaves < FF_ROOT_LEAVES || ff__memory_free_for(engine, tier, block, cause) > 0)
        frame = ff__frames_alloc(frames, leaves, block);
    if (frame == FF_NONE) {
        struct ff_evict_request request = {cause, tier, block, space->blocks[block].page_count};
        uint32_t root = evict_root(engine, &request, job);
        if (root != FF_NONE)
            frame = ff__frames_take_root(frames, root, block);
        else if (cause == FF_EVICT_FOR_FAULT && none_can_leave(engine, tier))
            frame = ff__frames_alloc_spare(frames, leaves, block);
        if (frame == FF_NONE)
            return false;
        job->took_root = root != FF_NONE;
    }
    ff__memory_hold(engine, block, tier, frame);
    return true;
}

/* ---- leaving and arriving ---- */

void ff__chunks_leave(struct ff__engine *engine, const struct ff__move *out) {
    ff__facts(&engine->space, out->block)->busy = 1;
    if (out->whole)
        ff__memory_release(engine, out->block, out->from.tier);
}

/* The way in of the job has got the block's memory. */
static bool is_passed_on(const struct ff__job *job, const struct ff__move *out) {
    return out->whole && job->took_root && out->from.tier == job->in.to.tier;
}

void ff__chunks_stay(struct ff__engine *engine, const struct ff__job *job,
                     const struct ff__move *out) {
    if (is_passed_on(job, out))
        ff__frames_give_back(&engine->space.frames[out->from.tier], out->from.frame,
                             ff__engine_leaves(engine, out->block), out->block);
}

void ff__chunks_left(struct ff__engine *engine, const struct ff__job *job,
                     const struct ff__move *out, bool all_left) {
    if (out->whole && all_left && !is_passed_on(job, out))
        ff__frames_free(&engine->space.frames[out->from.tier], out->from.frame,
                        ff__engine_leaves(engine, out->block));
    ff__facts(&engine->space, out->block)->busy = 0;
}

/* Nothing has come. */
static void give_up_frame(struct ff__engine *engine, const struct ff__job *job) {
    const struct ff__move *in = &job->in;
    struct ff__frames *frames = &engine->space.frames[in->to.tier];
    if (!in->whole)
        return; /* it was there before, and still is */
    ff__memory_release(engine, in->block, in->to.tier);
    if (job->took_root)
        ff__frames_free_owner(frames, in->to.frame / FF_ROOT_LEAVES, in->block);
    else
        ff__frames_free(frames, in->to.frame, ff__engine_leaves(engine, in->block));
}

void ff__chunks_arrived(struct ff__engine *engine, const struct ff__job *job) {
    const struct ff__move *in = &job->in;
    ff__facts(&engine->space, in->block)->busy = 0;
    if (ff_mask_empty(&in->pages))
        give_up_frame(engine, job);
    else if (job->took_root)
        ff__frames_trim_root(&engine->space.frames[in->to.tier], in->to.frame / FF_ROOT_LEAVES,
                             ff__engine_leaves(engine, in->block));
}
