/* What the program does to managed memory of its own accord: it drops content (madvise), unmaps or
 * moves memory (munmap, mremap, mmap over it).
 *
 * Content that it drops reads as zeros from then on. The kernel tells of it before it takes the
 * pages away, and goes on as soon as that has been read; so the host's copy is zeroed at once, and
 * what is on its way to a device must not arrive as it was. A thread that lets pages arrive
 * therefore holds off the reading of messages between looking for drops and the arrival.
 *
 * After a drop the pages may be there for a while yet; and after MADV_FREE, which is told alike,
 * for as long as the program uses them. So a block that has such pages keeps them for a second:
 * then what is still there has been used again, and counts.
 *
 * What is unmapped is not managed any more: it is neither touched nor given out again. */
#ifndef FF_SOFT_CHANGES_H
#define FF_SOFT_CHANGES_H

#include "backend/soft/host.h"
#include "backend/soft/memory.h"
#include "backend/soft/uffd.h"
#include "base/log.h"

#include <pthread.h>

#define FF__BACKLOG_MAX 4096u

struct ff__changes {
    struct ff__memory *memory;
    struct ff__host *host;
    struct ff__log log;
    pthread_rwlock_t reading;     /* for writing: messages are read. For reading: pages arrive */
    uint64_t count;               /* changes so far; atomic. 0: there is nothing to look for */
    uint32_t expected;            /* block; see ff__changes_expect_drop() */
    struct ff_mask expected_seen; /* of it: pages whose drop has been told of */
    uint64_t replaced_start, replaced_end; /* see ff__changes_expect_unmap() */
    struct ff_mask *dropped;               /* [block] */
    uint64_t *dropped_ns;                  /* [block] */
    struct ff_mask *gone;                  /* [block] */
    uint32_t backlog_count; /* faults that were read while looking for changes; atomic */
    struct ff__fault backlog[FF__BACKLOG_MAX];
};

/* 0 or -ENOMEM. Zeroed before; fini may follow a failed init. */
int ff__changes_init(struct ff__changes *changes, struct ff__memory *memory, struct ff__host *host,
                     struct ff__log log);
void ff__changes_fini(struct ff__changes *changes);

/* Reads messages, as soon as no pages arrive: faults go to `faults`, the rest is dealt with. The
 * number of faults, or negative errno. */
int ff__changes_read(struct ff__changes *changes, const struct ff__uffd *uffd,
                     struct ff__fault *faults, uint32_t capacity);

/* Deals with what messages there are of memory that kernels alone use. */
void ff__changes_read_kernels(struct ff__changes *changes, const struct ff__uffd *uffd);

/* Deals with all messages there are, for a thread that finds that the kernel lets nothing come or
 * go before that; faults are kept for the next read. */
void ff__changes_settle(struct ff__changes *changes, const struct ff__uffd *uffd);

/* From now on the first drop of each page of the block is not the program's, and changes nothing.
 * FF_NONE: all drops are the program's. */
void ff__changes_expect_drop(struct ff__changes *changes, uint32_t block);

/* From now on what is unmapped within the area is not the program's doing, and changes nothing.
 * Size 0: everything is. */
void ff__changes_expect_unmap(struct ff__changes *changes, const char *area, size_t size);

/* ---- pages on their way ---- */

/* What was dropped so far is zero on the host. Before the host is read. Returns what of `pages` was
 * dropped since they left, or since the last call: what lies in memory that a device lends is not
 * as the host has it. */
struct ff_mask ff__changes_begin_in(struct ff__changes *changes, uint32_t block,
                                    const struct ff_mask *pages);

/* Holds messages off; returns the pages dropped since ff__changes_begin_in. */
struct ff_mask ff__changes_begin_arrival(struct ff__changes *changes, uint32_t block);
void ff__changes_end_arrival(struct ff__changes *changes);

/* Pages of the block that must not leave now. */
struct ff_mask ff__changes_unsettled(struct ff__changes *changes, uint32_t block);

/* After write-back: what of `pages` was dropped meanwhile is zero on the host. */
void ff__changes_end_out(struct ff__changes *changes, uint32_t block, const struct ff_mask *pages);

/* A dropped page has been filled with zeros. */
void ff__changes_filled(struct ff__changes *changes, uint32_t block, uint32_t page);

/* ---- unmapped memory ---- */

/* Pages of the block that the program has unmapped. */
struct ff_mask ff__changes_gone(struct ff__changes *changes, uint32_t block);

/* Reserves the block's addresses again if nothing else is mapped there by now. False: something is.
 */
bool ff__changes_restore(struct ff__changes *changes, const struct ff__uffd *uffd, uint32_t block);

/* Unmaps what is still ours of the managed area. After the descriptor has been closed. */
void ff__changes_unmap_rest(struct ff__changes *changes);

#endif
