/* What the engine's files share. */
#ifndef FF_ENGINE_INTERNAL_H
#define FF_ENGINE_INTERNAL_H

#include "engine/engine.h"

/* ---- engine.c ---- */

/* The view as of now. */
static inline const struct ff_view *ff__engine_view(struct ff__engine *engine, uint64_t now_ns) {
    struct ff__space *space = &engine->space;
    struct ff_view *view = &engine->view;
    view->now_ns = now_ns;
    for (uint32_t tier = 1; tier < space->tier_count; tier++) {
        view->free_roots[tier] = space->frames[tier].free_count;
        view->free_pages[tier] = space->by_page ? ff__space_free(space, tier) : 0;
    }
    return view;
}

/* Queues an event for the correlator. A full queue drops it: learning may miss something, faults do
 * not wait. */
void ff__engine_tell(struct ff__engine *engine, const struct ff_event *event);

/* Prefetched pages that leave without having been used. */
void ff__engine_count_useless(struct ff__engine *engine, uint32_t block,
                              const struct ff_mask *leaving);

static inline uint32_t ff__engine_leaves(const struct ff__engine *engine, uint32_t block) {
    return ff__frames_leaves(engine->space.blocks[block].page_count);
}

/* ---- memory.c: whose memory it is, and who has to leave ---- */

/* Adds the way out of these pages, or of the whole block, to the job. Where memory is handed out by
 * the block and some pages stay, the block keeps it. `dead` may be NULL. False: the job is full. */
bool ff__memory_leave(struct ff__engine *engine, uint32_t block, uint32_t tier,
                      const struct ff_mask *pages, const struct ff_mask *dead, struct ff__job *job);

/* Sees to it that there is memory for pages of a block, by eviction if need be. By page, takes pages
 * out of *wanted that find no room, those that `must` come last. False: there is no room at all. */
bool ff__memory_take(struct ff__engine *engine, uint32_t block, uint32_t tier,
                     enum ff_evict_cause cause, const struct ff_mask *must, struct ff_mask *wanted,
                     struct ff__job *job);

/* Adds a pre-eviction to the job if free memory is short. */
bool ff__memory_restock(struct ff__engine *engine, uint32_t tier, struct ff__job *job);

/* What was held for the job's ways out and is not for its way in is free again. */
void ff__memory_left(struct ff__engine *engine, const struct ff__job *job,
                     const struct ff__move *out);
void ff__memory_arrived(struct ff__engine *engine, const struct ff__job *job);

/* By page: a block that holds nothing, and gets nothing, is released. */
void ff__memory_release_if_empty(struct ff__engine *engine, uint32_t block, uint32_t tier);

/* Somebody has taken memory: counts it, and sees whether it is short. */
void ff__memory_count_taken(struct ff__engine *engine, uint32_t tier);

void ff__memory_count(struct ff__engine *engine);

#endif
