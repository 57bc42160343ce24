/* The software device: real faults through userfaultfd, real data, a memory budget.
 *
 * Two mechanisms bring pages in and out (ff_config.mechanism):
 *   MOVE   A whole block is copied into a free root of device memory, which is then moved under the
 *          program's address; smaller pieces come by UFFDIO_COPY, because every move costs a TLB
 *          shoot-down. On the way out pages are moved to the device's staging area first, an atomic
 *          unmap, and copied from there. The kernel moves no page that input or output has pinned:
 *          it stays, and another block goes.
 *   COPY   UFFDIO_COPY in. Out: write-protect, copy, unmap; a writer waits and then faults like
 *          anybody else. For kernels without MOVE. Such an eviction cannot tell whether a page is
 *          pinned: what input that bypasses the page cache (O_DIRECT, io_uring) writes to it
 *          meanwhile is lost.
 *
 * A page that is as the host last had it is not copied back. That is found out when it leaves, by
 * a 128-bit sum of each page. Tracking writes by write protection instead is not safe with MOVE,
 * which always installs pages writable: a write that slips in before the protection would be
 * lost. */
#ifndef FF_SOFT_DEVICE_H
#define FF_SOFT_DEVICE_H

#include "backend/soft/changes.h"
#include "backend/soft/link.h"
#include "backend/soft/memory.h"
#include "backend/soft/stray.h"
#include "backend/soft/uffd.h"
#include "engine/backend.h"
#include "space/space.h"
#include "trace/record.h"

struct ff__soft {
    struct ff__uffd uffd;
    struct ff__memory memory;
    struct ff__changes changes;
    struct ff__strays strays;
    struct ff__link links[FF_TIERS_MAX];
    const struct ff__space *space; /* for the blocks' places; set once the engine exists */
    uint8_t *moved;                /* [block] it came as a whole root */
    bool use_move;
    bool has_own_table; /* of descriptors, with ours: the threads' */
    bool hidden;        /* and there alone */
    int interrupt_fd;
    int pagemap_fd;
    uint64_t spin_ns; /* 0: never spins */
    bool served;      /* the last wait found faults; who waits alone uses it */
    bool said_locked; /* that managed memory stays pageable */
    struct ff__log log;
    struct ff__recorder *recorder; /* NULL: nothing is recorded */
};

extern const struct ff__backend ff__soft_backend;

/* Opens the kernel's side and reserves all memory. */
int ff__soft_init(struct ff__soft *soft, const struct ff_config *config, struct ff_error *error);
void ff__soft_fini(struct ff__soft *soft);

/* Once the threads have the descriptors: takes them from the program, which could close them, or have
 * them in the way of its own. With the SIGBUS handler its threads use one, and keep that. */
void ff__soft_hide(struct ff__soft *soft);

/* Where a page of a block is in the managed and the host area. */
static inline uint64_t ff__soft_offset(const struct ff__soft *soft, uint32_t block, uint32_t page) {
    return ((uint64_t)block << FF_BLOCK_SHIFT) +
           (uint64_t)(soft->space->blocks[block].lead + page) * FF_PAGE_SIZE;
}

#endif
