/* How devices give out their memory, as a table of functions. The engine has two: by the chunk, and
 * by the leaf for blocks that are split (memory_chunks.c, memory_leaves.c). A modelled device that
 * gives it out in another way brings its own. */
#ifndef FF_ENGINE_ALLOCATOR_H
#define FF_ENGINE_ALLOCATOR_H

#include "engine/engine.h"

/* Pages of a tier's memory. */
struct ff__tier_memory {
    uint64_t free;   /* that may be allocated */
    uint64_t held;   /* that are allocated */
    uint64_t excess; /* of these, above the capacity */
};

struct ff__allocator {
    uint32_t unit; /* pages: so many at a time are allocated, and asked for of an evictor */
    /* Several jobs of one block may be under way: its pages come and leave one by one. Otherwise a
     * block has one job at a time. */
    bool overlaps;
    struct ff__tier_memory (*memory)(const struct ff__engine *engine, uint32_t tier);
    /* See ff__memory_take(); request->pages is the allocator's to set. */
    bool (*take)(struct ff__engine *engine, struct ff_evict_request *request,
                 const struct ff_mask *must, struct ff_mask *wanted, struct ff__job *job);
    /* Evicts for the request; returns how many pages of memory will be free then. */
    uint64_t (*evict)(struct ff__engine *engine, const struct ff_evict_request *request,
                      struct ff__job *job);
    /* A way out has ended with the pages that are now in it; out->left are still there. */
    void (*left)(struct ff__engine *engine, const struct ff__move *out);
    /* The job's way in has ended with the pages that are now in it. */
    void (*arrived)(struct ff__engine *engine, const struct ff__job *job);

    /* Pages of memory that so many pages of a block take; 0 of none. */
    uint64_t (*size)(const struct ff__engine *engine, uint32_t block, uint32_t pages);
    /* Takes so much memory on place->tier for the block, and sets the frame. False: there is none.
     */
    bool (*lend)(struct ff__engine *engine, uint32_t block, uint64_t size, struct ff__place *place);
    void (*give_back)(struct ff__engine *engine, uint64_t size, const struct ff__place *place);
};

/* ---- what an allocator calls of the engine ---- */

/* The state that the engine was configured with. */
void *ff__allocator_state(const struct ff__engine *engine);

/* The block now holds memory on the tier, from this frame on, unless it holds some already. */
void ff__memory_hold(struct ff__engine *engine, uint32_t block, uint32_t tier, uint32_t frame);

/* Adds the way out of these pages, or of the whole block, to the job. `dead`, which may be NULL:
 * these without a copy. `is_victim`: it goes where the place policy says. False: the job is full.
 */
bool ff__memory_leave(struct ff__engine *engine, uint32_t block, uint32_t tier,
                      const struct ff_mask *pages, const struct ff_mask *dead, bool is_victim,
                      struct ff__job *job);

/* Sends the victim's named pages away, or all of it, with what has to leave with them, and adds the
 * pages of memory that this frees to *freed. False: stop. */
typedef bool (*ff__send_fn)(struct ff__engine *engine, uint32_t tier,
                            const struct ff_victim *victim, struct ff__job *job, uint64_t *freed);

/* Sends guests away, and then what the policy names, until so much is free as the request wants.
 * Returns how much that is. */
uint64_t ff__memory_evict_named(struct ff__engine *engine, const struct ff_evict_request *request,
                                ff__send_fn send, struct ff__job *job);

/* Whether the block, which need not exist, can leave the tier now; `held_too`: even if it is to
 * stay as long as anything else can leave. */
bool ff__memory_is_victim(const struct ff__engine *engine, uint32_t tier, uint32_t block,
                          bool held_too);

/* Keeps `room` of the pages, the low ones of those that must come first. */
void ff__memory_keep_first(struct ff_mask *wanted, const struct ff_mask *must, uint64_t room);

#endif
