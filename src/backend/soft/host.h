/* The host tier of a software device: what is not on a device lies here, in RAM or in a file.
 *
 * In RAM it has two areas as large as the managed one. The page at offset x of the managed area
 * lies at offset x of one of the two: in `huge` if its block came as a huge page's worth of pages
 * at once, else in `small`, which never has huge pages. So the host tier takes hardly more memory
 * than the data it holds, and large data still costs few page faults and TLB misses. */
#ifndef FF_SOFT_HOST_H
#define FF_SOFT_HOST_H

#include <farfault/farfault.h>
#include <farfault/mask.h>

#include "backend/soft/uffd.h"
#include "base/sum.h"

struct ff__host {
    char *small, *huge; /* of a file there is `small` alone */
    bool *is_huge;      /* [block] it lies in `huge`; atomic: pages may be dropped at any time */
    struct ff_mask *backed; /* [block] pages that have memory here; atomic by word */
    struct ff__sum (*sums)[FF_BLOCK_PAGES]; /* [block]: what the copy of a page holds */
    uint64_t size;                          /* bytes of each area */
    uint64_t held;                          /* bytes of memory that are backed; atomic */
    int fd;                                 /* -1: RAM */
};

/* `path`: the file to make, NULL for RAM. -ENOMEM: addresses. -EEXIST, -ENOSPC, ...: the file. A
 * line says which. What there is by then is for ff__host_fini(). */
int ff__host_init(struct ff__host *host, uint64_t size, const char *path, struct ff_error *error);
void ff__host_fini(struct ff__host *host);

/* Where the block's window lies, to read what was written there. */
static inline char *ff__host_at(const struct ff__host *host, uint32_t block) {
    bool is_huge = host->huge && __atomic_load_n(&host->is_huge[block], __ATOMIC_RELAXED);
    return (is_huge ? host->huge : host->small) + ((uint64_t)block << FF_BLOCK_SHIFT);
}

/* Where the block lies, to write `pages` of it. Nothing else writes to the block meanwhile. */
char *ff__host_to_write(struct ff__host *host, uint32_t block, const struct ff_mask *pages);

/* Makes `pages` of the block read as zeros. */
void ff__host_zero(struct ff__host *host, uint32_t block, const struct ff_mask *pages);

/* Gives the memory of these pages back, whose content is dead. */
void ff__host_discard(struct ff__host *host, uint32_t block, const struct ff_mask *pages);

/* Gives the memory of these blocks back; they read as zeros. */
void ff__host_release(struct ff__host *host, uint32_t first_block, uint32_t block_count);

/* Lets pages come back that have been moved out of the areas in RAM; a page that is absent there is
 * the kernel's to fill, as before. */
int ff__host_register(const struct ff__host *host, const struct ff__uffd *uffd);

/* Makes them pageable again if the program has locked them, which moves need. */
void ff__host_unlock(const struct ff__host *host);

/* Makes sure that [offset, offset + size) can be written: a file must have the room before it is
 * relied on, for a full disk under a mapping is a SIGBUS. -ENOSPC. Where the descriptors are
 * (engine/pipeline.h). */
int ff__host_reserve(struct ff__host *host, uint64_t offset, uint64_t size);

#endif
