/* What pages that come to the device and pages that leave it have in common: places, and what to do
 * about the kernel's refusals. */
#ifndef FF_SOFT_MOVE_H
#define FF_SOFT_MOVE_H

#include "backend/soft/device.h"
#include "base/copy.h"

#include <errno.h>

#define FF__SOFT_ALL_LEAVES UINT32_MAX

/* ---- places ---- */

static inline char *ff__soft_managed_at(const struct ff__soft *soft, uint32_t block,
                                        uint32_t page) {
    return soft->memory.managed + ff__soft_offset(soft, block, page);
}

static inline size_t ff__soft_bytes(uint32_t first, uint32_t end) {
    return (size_t)(end - first) * FF_PAGE_SIZE;
}

static inline char *ff__soft_host_at(const struct ff__soft *soft, uint32_t block, uint32_t page) {
    return ff__host_at(&soft->host, block) + (size_t)page * FF_PAGE_SIZE;
}

/* Not of a split block. */
static inline uint32_t ff__soft_chunk(const struct ff__move *move) {
    return ff__move_place(move)->frame / FF_CHUNK_LEAVES;
}

/* Where the block's pages go when they leave: its own leaves of the chunk; the leaves of a split
 * block lie apart, and go aside. What is only mapped goes back to its place on the host. */
static inline char *ff__soft_staging_at(const struct ff__soft *soft, const struct ff__move *move,
                                        uint32_t page) {
    if (move->mapped)
        return ff__soft_host_at(soft, move->block, page);
    if (ff__frame_is_split(move->from.frame))
        return soft->memory.aside + ff__soft_offset(soft, move->block, page);
    return soft->memory.frames[move->from.tier] + (size_t)move->from.frame * FF_LEAF_SIZE +
           (size_t)page * FF_PAGE_SIZE;
}

static inline uint32_t *ff__soft_ready(struct ff__soft *soft, const struct ff__move *move) {
    return &soft->memory.ready[ff__move_place(move)->tier][ff__soft_chunk(move)];
}

/* The block takes the whole chunk: nothing else changes what is ready of it. */
static inline bool ff__soft_is_ready(struct ff__soft *soft, const struct ff__move *move) {
    return *ff__soft_ready(soft, move) == FF__SOFT_ALL_LEAVES;
}

/* The pages of a chunk behind the last one of a block that takes all of it, but is shorter. They
 * come and go with the block, and hold nothing: the chunk stays one huge page, and waits for the
 * next block when this one has left. */
static inline struct ff_mask ff__soft_tail(const struct ff__soft *soft, uint32_t block) {
    return ff_mask_of_run(soft->space->blocks[block].page_count, FF_BLOCK_PAGES);
}

/* ---- what both ways need: move.c ---- */

/* When a paced link between the places has had the time for these pages since `start_ns`. Takes it
 * from the link. */
uint64_t ff__soft_link_end(struct ff__soft *soft, const struct ff__place *from,
                           const struct ff__place *to, const struct ff_mask *pages,
                           uint64_t start_ns);

/* Whether the submission is to end early. */
static inline bool ff__soft_is_aborted(const struct ff__submission *submission) {
    return __atomic_load_n(&submission->aborted, __ATOMIC_RELAXED);
}

/* A program that has locked its memory has locked ours with it, which keeps pages from moving. */
void ff__soft_unlock_memory(struct ff__soft *soft);

/* Whether there is a page at the address, in memory or in swap; true if that cannot be told. */
bool ff__soft_is_there(const struct ff__soft *soft, const char *page);

/* Has the faults served that were read by a thread that waits for the kernel. */
void ff__soft_tell_of_backlog(struct ff__soft *soft);

/* What may help after an ioctl has failed for the `tries`th time. False: nothing does. */
bool ff__soft_is_worth_another(struct ff__soft *soft, int status, uint32_t tries);

/* Gives unused pages back to the kernel, which hardly ever has a reason to refuse. */
void ff__soft_give_back(struct ff__soft *soft, char *area, size_t size);

/* Whether the error (a negative errno) is that of a call which the program has forbidden (seccomp)
 * since the context was opened, and which will fail for ever. */
static inline bool ff__soft_is_forbidden(int status) {
    return status == -EPERM || status == -EACCES || status == -ENOSYS;
}

/* Says once that what leaves a device may be kept there, if the error is such a one. */
void ff__soft_tell_forbidden(struct ff__soft *soft, int status);

/* ---- one move; each keeps its outcome up to date: in.c, out.c ---- */

/* -ECANCELED: it was aborted. Returns when the pages are there. */
int ff__soft_in(struct ff__soft *soft, struct ff__move *move,
                const struct ff__submission *submission);

/* Maps pages of the host, for `mapped` moves: mapped.c. */
int ff__soft_map(struct ff__soft *soft, struct ff__move *move,
                 const struct ff__submission *submission);

/* Puts *end_ns off to when the link will be through with it. */
int ff__soft_out(struct ff__soft *soft, struct ff__move *move, uint64_t *end_ns);

#endif
