/* The memory behind a software device, as areas of address space that mirror each other:
 *
 *   managed   What the program sees, registered with userfaultfd. A page is on a device if and
 *             only if it is mapped here.
 *   frames    One a device, of the size of its memory and its spare chunks. What leaves a device
 *             is moved here before it is copied. The memory of free 2 MiB chunks that are
 *             `ready` for the next block lies here; the memory of all other chunks is mapped in
 *             the managed area or has not been allocated. Memory moves between the two areas
 *             (UFFDIO_MOVE), so that together they hold no more than has been allocated.
 *   fresh     Where a chunk's memory is allocated: of the size of `frames`, but not registered,
 *             so that touching it allocates.
 *   lent      One a device, of the size of its memory: what other devices have evicted to it
 *             (guests). A chunk's memory is allocated either here or in the areas above. A
 *             device of another program has this area alone, and its memory is the lease
 *             (soft/leases.h).
 *   aside     A staging area for what leaves in single leaves or pages: the page at offset x of
 *             the managed area moves to offset x. Nothing stays here.
 *
 * The managed area is without access where nothing is allocated. All areas are hidden from forked
 * children: copy-on-write would break the exclusive ownership that moves need. The host tier has
 * areas of its own (host.h). */
#ifndef FF_SOFT_MEMORY_H
#define FF_SOFT_MEMORY_H

#include <farfault/farfault.h>
#include <farfault/policy.h>

#include "backend/soft/uffd.h"

struct ff__memory {
    char *managed, *aside;
    char *frames[FF_TIERS_MAX], *fresh[FF_TIERS_MAX], *lent[FF_TIERS_MAX];
    uint32_t *ready[FF_TIERS_MAX];  /* [chunk] a bit a leaf whose memory lies in `frames` */
    bool *holds_lent[FF_TIERS_MAX]; /* [chunk] its memory is allocated in `lent`; atomic */
    bool *has_tail; /* [block] its chunk is mapped as a whole, with a tail behind its last page */
    const char *zeros; /* one block */
    uint64_t lent_size[FF_TIERS_MAX];
    uint64_t size;        /* of managed and aside */
    uint64_t device_size; /* bytes of a device's memory */
    uint64_t frames_size; /* bytes of `frames` and of `fresh`, spare chunks included */
    uint32_t devices;     /* how many of the first tiers are this program's own devices */
    uint32_t tier_count;
};

/* -ENOMEM: addresses. What there is by then is for ff__memory_fini, once the descriptors are
 * closed: unmapping registered memory waits for a reader. */
int ff__memory_init(struct ff__memory *memory, const struct ff_config *config,
                    const struct ff__neighbours *neighbours, const struct ff__uffd *uffd,
                    struct ff_error *error);
void ff__memory_fini(struct ff__memory *memory);

/* Chunks that a device may use beyond its memory. */
static inline uint32_t ff__memory_spare(const struct ff__memory *memory) {
    return (uint32_t)((memory->frames_size - memory->device_size) >> FF_BLOCK_SHIFT);
}

/* Makes the memory that the program has locked pageable again, which moves need. */
void ff__memory_unlock(struct ff__memory *memory);

#endif
