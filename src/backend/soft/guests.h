/* Guests: what devices evict to memory that other devices lend. It lies there as plain memory,
 * absent for all threads, and is never written to: a touch faults, and brings it back over the link
 * between the two devices. */
#ifndef FF_SOFT_GUESTS_H
#define FF_SOFT_GUESTS_H

#include "backend/soft/move.h"

/* Where pages of a way in come from. */
struct ff__page_source {
    struct ff_mask pages;
    const char *from;     /* the block's first page, or where it would be */
    struct ff__move *out; /* of a guest: its way out; NULL: they come from the host */
    bool is_bounced;      /* they are in a bounce of the leases, and their slot is claimed: */
    bool was_clean;       /* the host has the same */
};

struct ff__sources {
    uint32_t count;
    struct ff__page_source of[FF_TIERS_MAX]; /* the last one is the host */
};

/* A guest's way out to a device, which is part of the way in of the same submission. */
static inline bool ff__guests_is_fetch(const struct ff__move *out) {
    return out->guest && !ff__move_arrives(out) && out->to.tier != FF_TIER_HOST;
}

/* The sources of the pages that are left of a way in, and that have content. Pages that the program
 * has dropped since they left come from the host, as zeros. */
void ff__guests_find(struct ff__soft *soft, const struct ff__move *in,
                     const struct ff__submission *submission, struct ff__sources *sources);

/* Ends the use of the sources. Pages that have not come go to the host: the memory of their guest
 * is given up. */
void ff__guests_end(struct ff__soft *soft, const struct ff__move *in,
                    const struct ff__sources *sources);

/* Copies pages of a victim, `from` its first page, to memory that a device lends. Returns those
 * that went to the host, as the memory has been reclaimed. */
struct ff_mask ff__guests_put(struct ff__soft *soft, struct ff__move *out,
                              const struct ff_mask *pages, const char *from, uint64_t *end_ns);

/* `pages` of a victim that goes to memory that a device lends are gone, and read as zeros. */
void ff__guests_lose(struct ff__soft *soft, struct ff__move *out, const struct ff_mask *pages);

/* A guest's way out: to the host, or with `keep` a copy there; to a device, its bytes go with the
 * way in. */
int ff__guests_out(struct ff__soft *soft, struct ff__move *out, uint64_t *end_ns);

/* Pages of the host come to memory that a device lends. -ECANCELED: it was aborted. */
int ff__guests_in(struct ff__soft *soft, struct ff__move *in,
                  const struct ff__submission *submission);

/* The device uses the chunk itself: what guests have left allocated of it is the kernel's again. */
void ff__guests_clear(struct ff__soft *soft, uint32_t tier, uint32_t chunk);

#endif
