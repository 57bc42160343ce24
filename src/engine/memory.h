/* What the files of device memory share: which block holds what (memory.c), which stay (memory_stay.c), and the ways of
 * allocation: by chunk (memory_chunks.c), there also by leaf (memory_leaves.c), and by page
 * (memory_pages.c). */
#ifndef FF_ENGINE_MEMORY_H
#define FF_ENGINE_MEMORY_H

#include "engine/internal.h"

#define FF__VICTIMS_MAX 16u /* that a policy is asked for at a time */

/* ---- memory.c ---- */

/* The block now holds memory on the tier, from this frame on. */
void ff__memory_hold(struct ff__engine *engine, uint32_t block, uint32_t tier, uint32_t frame);

/* The block holds nothing on the tier any more. */
void ff__memory_release(struct ff__engine *engine, uint32_t block, uint32_t tier);

/* The way out of the block in the job; NULL: it has none. */
struct ff__move *ff__memory_find_out(struct ff__job *job, uint32_t block, uint32_t tier);

/* ---- memory_stay.c ---- */

/* The block could not leave: it is let alone for a while. */
void ff__memory_refuse(struct ff__engine *engine, uint32_t block);
bool ff__memory_is_refused(const struct ff__engine *engine, uint32_t block);

/* Whether the block, which exists, can leave the tier now, by all that is known. */
bool ff__memory_may_leave(const struct ff__engine *engine, uint32_t tier, uint32_t block);

/* The same of a block that a policy has named. */
bool ff__memory_is_victim(const struct ff__engine *engine, uint32_t tier, uint32_t block);

/* ---- peers.c ---- */

/* Asks where a victim goes, of which these pages are `going`, and takes the memory for it; and for more of
 * it: false: there is none. */
void ff__peers_place(struct ff__engine *engine, struct ff__move *out, const struct ff_mask *going);
bool ff__peers_place_more(struct ff__engine *engine, struct ff__move *out,
                          const struct ff_mask *going);

/* Pages of a guest are going. */
void ff__peers_leave(struct ff__engine *engine, uint32_t block, uint32_t tier,
                     const struct ff_mask *going);

/* The device wants more of a block that is its guest: it is the device's own from now on. */
void ff__peers_adopt(struct ff__engine *engine, uint32_t block, uint32_t tier);

/* The guest that leaves first, before any victim of the policy: one that needs no copy if there is
 * one. FF_NONE: there is none. */
uint32_t ff__peers_guest(struct ff__engine *engine, const struct ff_evict_request *request);

/* ---- the ways of allocation: each has its own of these ---- */

/* See ff__memory_take(). */
bool ff__chunks_take(struct ff__engine *engine, uint32_t block, uint32_t tier,
                     enum ff_evict_cause cause, struct ff__job *job);
bool ff__leaves_take(struct ff__engine *engine, uint32_t block, uint32_t tier,
                     enum ff_evict_cause cause, const struct ff_mask *must, struct ff_mask *wanted,
                     struct ff__job *job);
bool ff__pieces_take(struct ff__engine *engine, uint32_t block, uint32_t tier,
                     enum ff_evict_cause cause, const struct ff_mask *must, struct ff_mask *wanted,
                     struct ff__job *job); /* of split blocks in single pages */
bool ff__pages_take(struct ff__engine *engine, uint32_t block, uint32_t tier,
                    enum ff_evict_cause cause, const struct ff_mask *must, struct ff_mask *wanted,
                    struct ff__job *job);

/* Keeps `room` of the pages, the low ones of those that must come first. */
void ff__memory_keep_first(struct ff_mask *wanted, const struct ff_mask *must, uint64_t room);

/* Evicts for the request; returns how many pages of memory will be free then. By chunk, at most one. */
uint64_t ff__chunks_evict(struct ff__engine *engine, const struct ff_evict_request *request,
                          struct ff__job *job);
uint64_t ff__leaves_evict(struct ff__engine *engine, const struct ff_evict_request *request,
                          struct ff__job *job);
uint64_t ff__pages_evict(struct ff__engine *engine, const struct ff_evict_request *request,
                         struct ff__job *job);

/* See ff__memory_leave(): `out` is filled in, and of its pages these are `going` now. */
void ff__chunks_leave(struct ff__engine *engine, const struct ff__move *out);
void ff__pages_leave(struct ff__engine *engine, const struct ff__move *out,
                     const struct ff_mask *going);

/* See ff__memory_left(): first for the pages that stayed, if there are any, then for the rest. */
void ff__chunks_stay(struct ff__engine *engine, const struct ff__move *out);
void ff__pages_stay(struct ff__engine *engine, const struct ff__move *out);
void ff__chunks_left(struct ff__engine *engine, const struct ff__move *out, bool all_left);
void ff__pages_left(struct ff__engine *engine, const struct ff__move *out);

/* See ff__memory_arrived(). */
void ff__chunks_arrived(struct ff__engine *engine, const struct ff__job *job);
void ff__pages_arrived(struct ff__engine *engine, const struct ff__job *job);

/* A job of a split block ends, which lies or lay at `at`; `resident`: what is there now. The leaves that lie under these pages are the
 * block's, also if the job has passed them on, and no others. */
void ff__leaves_settle(struct ff__engine *engine, uint32_t block, struct ff__place at,
                       const struct ff_mask *resident);

/* Whether no block can leave for the request, however many jobs finish: every chunk has a block
 * that could not, or where leaves are wanted, all its blocks could not. A system call that has one half of its buffer
 * pinned and waits for the other would wait for ever. */
bool ff__chunks_none_can_leave(const struct ff__engine *engine,
                               const struct ff_evict_request *request);

/* Adds the way out of all that is in a spare chunk to the job. False: none can be emptied. */
bool ff__chunks_empty_spare(struct ff__engine *engine, uint32_t tier, struct ff__job *job);

#endif
