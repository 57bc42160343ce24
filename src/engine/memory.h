/* What the files of device memory share: which block holds what (memory.c), which stay
 * (memory_stay.c), and the two allocators of the engine: by the chunk (memory_chunks.c), and of
 * blocks that are split by the leaf (memory_leaves.c). */
#ifndef FF_ENGINE_MEMORY_H
#define FF_ENGINE_MEMORY_H

#include "engine/internal.h"

#define FF__VICTIMS_MAX 16u /* that a policy is asked for at a time */

/* ---- memory.c ---- */

/* The block holds nothing on the tier any more. */
void ff__memory_release(struct ff__engine *engine, uint32_t block, uint32_t tier);

/* The way out of the block in the job; NULL: it has none. */
struct ff__move *ff__memory_find_out(struct ff__job *job, uint32_t block, uint32_t tier);

/* The granule of the block's memory on the tier; if it holds none, the one that the job gives it.
 */
uint32_t ff__memory_granule(const struct ff__engine *engine, uint32_t block, uint32_t tier,
                            const struct ff__job *job);

/* ---- memory_stay.c ---- */

/* The block could not leave: it is let alone for a while. */
void ff__memory_refuse(struct ff__engine *engine, uint32_t block);
bool ff__memory_is_refused(const struct ff__engine *engine, uint32_t block);

/* Whether the block, which exists, can leave the tier now, by all that is known. */
bool ff__memory_may_leave(const struct ff__engine *engine, uint32_t tier, uint32_t block);

/* ---- peers.c ---- */

/* Asks where a victim goes, of which these pages are `going`, and takes the memory for it. False:
 * more of it than went there before finds no room. */
bool ff__peers_place(struct ff__engine *engine, struct ff__move *out, const struct ff_mask *going);

/* Pages of a guest are going. */
void ff__peers_leave(struct ff__engine *engine, uint32_t block, uint32_t tier,
                     const struct ff_mask *going);

/* The device wants more of a block that is its guest: it is the device's own from now on. */
void ff__peers_adopt(struct ff__engine *engine, uint32_t block, uint32_t tier);

/* The guest that leaves first, before any victim of the policy: one that needs no copy if there is
 * one. FF_NONE: there is none. */
uint32_t ff__peers_guest(struct ff__engine *engine, const struct ff_evict_request *request);

/* ---- the allocators ---- */

/* Blocks that are whole, and what is common to all blocks; and blocks that are split. */
extern const struct ff__allocator ff__chunk_allocator, ff__leaf_allocator;

/* Whether no block can leave for the request, however many jobs finish: every chunk has a block
 * that could not, or where leaves are wanted, all its blocks could not. A system call that has one
 * half of its buffer pinned and waits for the other would wait for ever. */
bool ff__chunks_none_can_leave(const struct ff__engine *engine,
                               const struct ff_evict_request *request);

/* Adds the way out of all that is in a spare chunk to the job. False: none can be emptied. */
bool ff__chunks_empty_spare(struct ff__engine *engine, uint32_t tier, struct ff__job *job);

#endif
