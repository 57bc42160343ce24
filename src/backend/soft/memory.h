/* The memory behind a software device, as areas of address space that mirror each other:
 *
 *   managed   what the program sees, registered with userfaultfd: a page is on a device if and
 *             only if it is mapped
 *   frames    one a device, of its memory's size and what spare chunks it may use: what leaves a
 *             device is moved here before it is copied. Here, too, lies the memory of free 2 MiB
 *             chunks that are `ready` for the next block; the memory of all others is mapped in the
 *             managed area or has not been allocated. Memory moves between the two (UFFDIO_MOVE),
 *             so together they hold no more than has been allocated
 *   fresh     where a chunk's memory is allocated: of the size of `frames`, but not registered, so
 *             that touching it allocates
 *   lent one a device, of its memory's size: what other devices have evicted to it (guests). A
 *   chunk's memory is
 *             allocated either here or in the areas above. Of a device of another program there is
 *             this area alone, and
 *             the memory is its lease (soft/leases.h)
 *   aside what leaves in single leaves or pages (of split blocks) is moved here before it is
 *   copied: the page at
 *             offset x of the managed area to offset x. Nothing stays here
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
    uint64_t device_size; /* of a device's memory, */
    uint64_t frames_size; /* and of `frames` and `fresh`, which have spare chunks, too */
    uint32_t devices;     /* tiers that are this program's own devices: the first ones */
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
