/* The software device: real faults through userfaultfd, real data, a memory budget.
 *
 * Two mechanisms bring pages in and out (ff_config.mechanism):
 *
 *   MOVE   In: a whole block is copied into a free chunk of device memory, which is then moved
 *          under the program's address. Smaller pieces come by UFFDIO_COPY, because a move costs a
 *          TLB shoot-down. Out: pages are moved to the device's staging area, which unmaps them
 *          atomically, and copied from there. The kernel moves no page that input or output has
 *          pinned: it stays, and another block is evicted. Many single pages of what kernels alone
 *          use, which nothing pins, leave in a cheaper way (drop.h).
 *   COPY   In: UFFDIO_COPY. Out: write-protect, copy, unmap; a thread that writes meanwhile waits,
 *          and then faults. For kernels without MOVE. Such an eviction cannot tell whether a page
 *          is pinned: what input that bypasses the page cache (O_DIRECT, io_uring) writes to it
 *          meanwhile is lost.
 *
 * A page with the same content as the host's copy is not copied back. That is found out when the
 * page leaves, by a 128-bit checksum of each page. To track writes by write protection instead is
 * not safe with MOVE, which always installs pages writable: a write before the protection would be
 * lost. */
#ifndef FF_SOFT_DEVICE_H
#define FF_SOFT_DEVICE_H

#include "backend/live.h"
#include "backend/soft/changes.h"
#include "backend/soft/host.h"
#include "backend/soft/leases.h"
#include "backend/soft/link.h"
#include "backend/soft/memory.h"
#include "backend/soft/page_tables.h"
#include "backend/soft/stray.h"
#include "backend/soft/uffd.h"
#include "backend/soft/windows.h"
#include "engine/pipeline.h"

#include <sys/stat.h>

/* Ours, as measured by `farfault probe` for whole blocks: bytes per second, where a link is not
 * paced. Fixed, so that policies decide alike on every machine. */
#define FF__SOFT_COPY_RATE UINT64_C(7000000000)

/* Descriptors that stay in the program's table where its threads serve faults */
#define FF__SOFT_USED 4

struct ff__soft {
    struct ff__uffd uffd;
    struct ff__memory memory;
    struct ff__host host;
    struct ff__windows windows;
    struct ff__changes changes;
    struct ff__told told;
    struct ff__page_tables page_tables;
    struct ff__strays strays;
    struct ff__leases leases;
    struct ff__link links[FF_TIERS_MAX][FF_TIERS_MAX]; /* [from][to] */
    struct ff__link unpaced[FF_TIERS_MAX];             /* from the host, for what is not copied */
    struct ff__pipeline *pipeline;                     /* set by `attach` */
    const struct ff__space *space;                     /* the pipeline's: where blocks lie */
    enum ff_handler handler;
    uint32_t granule;       /* pages in which memory is allocated; 0: by block */
    uint32_t kernels_count; /* ranges that kernels alone use; atomic */
    bool serves_itself;     /* the program does: faults of all managed memory, or of a part of it */
    bool use_move;
    bool can_drop;      /* pages can leave without moves (drop.h) */
    bool sees_uses;     /* the kernel says which pages are used (accessed.h); atomic */
    bool maps_remote;   /* pages can be used from the host */
    bool has_own_table; /* the device's threads have a table of descriptors of their own */
    bool hidden;        /* the device's descriptors are in that table alone */
    int interrupt_fd;
    int pagemap_fd;
    struct stat used[FF__SOFT_USED]; /* what the descriptors were when they were opened */
    uint64_t looked_ns;              /* when a fault's place was last looked up; the leader's */
    uint64_t spin_ns;                /* how long a thread spins for faults; 0: not at all */
    uint32_t process;                /* the process that opened the device */
    bool said_locked;                /* a line was logged: managed memory stays pageable */
    bool is_ended;                   /* the program is ended: managed memory cannot be served */
    bool said_forbidden;             /* a line was logged: content may stay on the devices */
    struct ff__log log;
};

/* Where a page of a block is in the managed area. */
static inline uint64_t ff__soft_offset(const struct ff__soft *soft, uint32_t block, uint32_t page) {
    return ((uint64_t)block << FF_BLOCK_SHIFT) +
           (uint64_t)(soft->space->blocks[block].lead + page) * FF_PAGE_SIZE;
}

/* ---- describe.c ---- */

void ff__soft_describe(void *self, struct ff__description *out);

/* Tells what is weaker here than elsewhere (docs/architecture.md). */
void ff__soft_tell_limits(const struct ff__soft *soft);

/* ---- verbs: ranges.c, faults.c, accessed.c, submit.c ---- */

int ff__soft_open_range(void *self, uint32_t first_block, uint64_t page_count);
int ff__soft_reserve_host(void *self, uint32_t first_block, uint64_t page_count);
int ff__soft_close_range(void *self, uint32_t first_block, uint64_t page_count);
int ff__soft_set_kernels(void *self, uint32_t first_block, uint64_t page_count);
int ff__soft_change_kernels(void *self, uint32_t first_block, uint64_t page_count, bool kernels);
void ff__soft_write_host(void *self, uint32_t block, const struct ff_mask *pages, uint32_t first,
                         const char *from);
void ff__soft_discard(void *self, uint32_t block, const struct ff_mask *pages);
uint64_t ff__soft_host_held(void *self);
bool ff__soft_owns(void *self, uintptr_t low, uintptr_t high);
uint64_t ff__soft_now(void *self);
int ff__soft_wait(void *self, struct ff__fault *faults, uint32_t capacity, bool soon,
                  uint64_t timeout_ns);
void ff__soft_interrupt(void *self);
void ff__soft_replay(void *self, uint32_t block, const struct ff_mask *pages);
void ff__soft_reject(void *self, const struct ff__fault *fault);
int ff__soft_accessed(void *self, uint32_t block, const struct ff_mask *pages,
                      struct ff_mask *used);
int ff__soft_lease(void *self, uint32_t tier, int memory_fd, int states_fd);
void ff__soft_release(void *self, uint32_t tier);
void ff__soft_submit(void *self, struct ff__submission *submission);
void ff__soft_complete(void *self, struct ff__submission *submission);
void ff__soft_abort(void *self, struct ff__submission *submission);

/* ---- sigbus.c ---- */

/* Faults of the device's memory are served by the threads that meet them. -EBUSY: too many such
 * devices. */
int ff__sigbus_attach(struct ff__soft *soft);
void ff__sigbus_detach(struct ff__soft *soft);

#endif
