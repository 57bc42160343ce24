/* The memory behind a software device, as areas of address space that mirror each other:
 *
 *   managed   what the program sees, registered with userfaultfd: a page is on a device if and
 *             only if it is mapped
 *   host      the host tier: the page at offset x of the managed area is kept at offset x; RAM or
 *             a file
 *   frames    one a device, of its memory's size: free device memory. A 2 MiB root of it is
 *             `ready` when its memory lies here, and empty when its memory is mapped in the managed
 *             area or has not been allocated yet. Memory moves between the two (UFFDIO_MOVE), so
 *             together they never hold more than the device has
 *   nursery   where a root's memory is born: like `frames`, but not registered, so that touching
 *             it allocates
 *
 * All areas are hidden from forked children: copy-on-write would break the exclusive ownership
 * that moves need. */
#ifndef FF_SOFT_MEMORY_H
#define FF_SOFT_MEMORY_H

#include <farfault/farfault.h>
#include <farfault/policy.h>

#include "backend/soft/uffd.h"
#include "base/copy.h"

struct ff__memory {
    char *managed, *host;
    char *frames[FF_TIERS_MAX], *nursery[FF_TIERS_MAX];
    uint8_t *ready[FF_TIERS_MAX];           /* [root] */
    struct ff__sum (*sums)[FF_BLOCK_PAGES]; /* [block]: what the host's copy of a page holds */
    const char *zeros;                      /* one block */
    uint64_t size;                          /* of managed and host */
    uint64_t device_size;
    uint32_t tier_count;
    int host_fd; /* -1: RAM */
};

/* -ENOMEM: addresses. -EEXIST, -ENOSPC, ...: the host file. */
int ff__memory_init(struct ff__memory *memory, const struct ff_config *config,
                    const struct ff__uffd *uffd, struct ff_error *error);
void ff__memory_fini(struct ff__memory *memory);

/* Makes sure that the host tier can take [offset, offset + size): a file must have the room
 * before anybody relies on it, for a full disk under a mapping is a SIGBUS. -ENOSPC. */
int ff__memory_reserve_host(struct ff__memory *memory, uint64_t offset, uint64_t size);

/* Gives the host tier's memory of a freed range back; it reads as zeros. */
void ff__memory_release_host(struct ff__memory *memory, uint64_t offset, uint64_t size);

#endif
