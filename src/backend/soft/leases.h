/* Memory of other programs' devices that a broker has lent to this program (share/lease.h): one
 * lease a tier.
 *
 * The engine allocates chunks of the tier; each that a guest lies in has a slot of the lease, with
 * the epoch in which the program got it. When the broker has taken a slot, its word has another
 * epoch, and what lay there is on the host, or lost if the program did not write it back in time. A
 * chunk is used by one job at a time. */
#ifndef FF_SOFT_LEASES_H
#define FF_SOFT_LEASES_H

#include "backend/soft/memory.h"
#include "share/lease.h"

/* Jobs that read of leases at a time; the others wait. */
#define FF__BOUNCES 10u

struct ff__chunk_slot {
    uint32_t slot; /* 1 + its number; 0: none */
    ff__slot word; /* as it was when this chunk got it; its epoch counts */
};

struct ff__lease {
    ff__slot *states;              /* [slot], shared with the broker; NULL: no lease yet. Atomic */
    struct ff__chunk_slot *chunks; /* [chunk] */
    uint32_t slots, chunk_count;
    uint32_t cursor; /* where to look for a free slot next; atomic */
};

struct ff__leases {
    struct ff__lease of[FF_TIERS_MAX];
    char *bounces;                     /* FF__BOUNCES of a block */
    bool is_bounce_taken[FF__BOUNCES]; /* atomic */
};

int ff__leases_init(struct ff__leases *leases, const struct ff__memory *memory);
void ff__leases_fini(struct ff__leases *leases, const struct ff__memory *memory);

/* Maps a lease's files. -EPROTO: they are not sealed, or of another size. */
int ff__lease_map(struct ff__leases *leases, struct ff__memory *memory, uint32_t tier,
                  int memory_fd, int states_fd);

/* The slot of the chunk becomes USED, so that nobody takes it meanwhile; *was_clean: it was CLEAN,
 * or is new. FF_NONE: it has been taken, or there is none; with `fresh` another one is looked for
 * then. */
uint32_t ff__lease_claim(struct ff__lease *lease, uint32_t chunk, bool fresh, bool *was_clean);

/* Whether the chunk still has the slot that has been claimed. */
bool ff__lease_has(const struct ff__lease *lease, uint32_t chunk);

/* What becomes of a claimed slot: CLEAN or FREE; FREE is not the chunk's any more. */
void ff__lease_rest(struct ff__lease *lease, uint32_t chunk, enum ff__slot_state state);

/* Memory of a block for what is read of a lease, which must not be seen before it is certain. Waits
 * until there is one. */
char *ff__bounce_take(struct ff__leases *leases);
void ff__bounce_give(struct ff__leases *leases, const char *bounce);

#endif
