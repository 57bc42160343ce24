/* What the engine's files share. */
#ifndef FF_ENGINE_INTERNAL_H
#define FF_ENGINE_INTERNAL_H

#include "engine/engine.h"

/* ---- engine.c ---- */

/* The view as of now: all else in it is the engine's own, and always up to date. */
static inline const struct ff_view *ff__engine_view(struct ff__engine *engine, uint64_t now_ns) {
    engine->view.now_ns = now_ns;
    return &engine->view;
}

/* Queues an event for the correlator. A full queue drops it, and counts it: learning may miss something,
 * faults do not wait. But a launch that is missed would put all that follows under the wrong kernel: for
 * it the oldest events are learned at once. */
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

/* Asks where the block goes. No backend has a peer tier yet: a place policy that names one is not
 * followed. */
static inline void ff__memory_place(struct ff__engine *engine, uint32_t block, uint32_t tier) {
    if (engine->place->place &&
        engine->place->place(engine->place_state, &engine->view, block, tier) != FF_TIER_HOST)
        engine->space.stats.advice_dropped++;
}

/* Sees to it that there is memory for pages of a block, by eviction if need be. By page, takes pages
 * out of *wanted that find no room, those that `must` come last. False: there is no room at all. */
bool ff__memory_take(struct ff__engine *engine, uint32_t block, uint32_t tier,
                     enum ff_evict_cause cause, const struct ff_mask *must, struct ff_mask *wanted,
                     struct ff__job *job);

/* Adds a pre-eviction to the job if free memory is short. */
bool ff__memory_restock(struct ff__engine *engine, uint32_t tier, struct ff__job *job);

/* What was held for a way out of the job, and is not for its way in, is free again; `stayed`: these
 * pages are still there. */
void ff__memory_left(struct ff__engine *engine, const struct ff__job *job,
                     const struct ff__move *out, const struct ff_mask *stayed);

/* The job's way in has ended, with the pages that are now in it. */
void ff__memory_arrived(struct ff__engine *engine, const struct ff__job *job);

/* The block has come for a fault, on this page first: it stays for a while, if need be. */
void ff__memory_served(struct ff__engine *engine, uint32_t block, uint32_t page);

/* When somebody may leave who may not now; 0: that depends on jobs. */
uint64_t ff__memory_retry(const struct ff__engine *engine);

/* The block can leave, for all that is known. */
void ff__memory_forget_refusal(struct ff__engine *engine, uint32_t block);

/* These pages of the block are faulted on. */
void ff__memory_faulted(struct ff__engine *engine, uint32_t block, uint32_t tier,
                        const struct ff_mask *pages);

/* By page: a block that holds nothing, and gets nothing, is released. */
void ff__memory_release_if_empty(struct ff__engine *engine, uint32_t block, uint32_t tier);

/* Somebody has taken memory: counts it, and sees whether it is short. */
void ff__memory_count_taken(struct ff__engine *engine, uint32_t tier);

void ff__memory_count(struct ff__engine *engine);

#endif
