/* Which pages are to be on the device, where those of the host can be used remotely. Ours.
 *
 * A known future lets two plans be compared:
 *
 *   migrate   Every page that is used migrates, and the one that is needed last leaves for it (Belady).
 *   stay      The pages that are used most, as many as the device has room for, migrate once and stay; all others are
 *             used from the host.
 *
 * The cheaper one is followed in the whole run. Their costs are those of the link alone: a transfer for each page that
 * comes, in the order of the recording, and an access for each remote use. A unit that is used less often than its transfer
 * costs does not stay. Pages that the host has never had are not used from there. */
#ifndef FF_POLICY_BOUNDS_RESIDENTS_H
#define FF_POLICY_BOUNDS_RESIDENTS_H

#include "policy/bounds/belady.h"

/* Zero at first. */
struct ff__residents {
    bool chosen, stay;
    uint64_t least; /* uses of the units that stay, */
    uint32_t tie;   /* and of those with just one use less, the units up to here */
};

/* Chooses, once: by rehearsing the whole run on `belady`, which must not have seen a use yet, and is as new afterwards. */
void ff__residents_choose(struct ff__residents *residents, struct ff__belady *belady,
                          const struct ff_view *view, uint32_t tier);

/* Whether the page is one that the host has, and that is to be used from there; and all those of a block. */
bool ff__residents_are_without(const struct ff__residents *residents,
                               const struct ff__belady *belady, const struct ff_view *view,
                               uint64_t page);
struct ff_mask ff__residents_remote(const struct ff__residents *residents,
                                    const struct ff__belady *belady, const struct ff_view *view,
                                    uint32_t block);

#endif
