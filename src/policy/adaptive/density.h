/* Whether the blocks of a range are used densely enough to migrate whole, or only in leaves of 64
 * KiB, or in single pages. Ours.
 *
 * A whole block costs one fault and one transfer of 2 MiB; in leaves it costs a fault for each leaf
 * that is used before the block leaves again, and in pages one for each page. So it is decided by
 * how many these are: by what they cost for each visit, that is for each time that a whole block
 * would have had to come.
 *
 *   whole Of the blocks that come back again and again during one launch, every so often one is a
 *   witness: it comes in
 *             pages, and shows how many of them, and of how many leaves, are used until it leaves.
 *             A program that goes through
 *             its data once a launch has none: a block in pieces costs its device the huge page. So
 *             it is in leaves, too, to
 *             tell whether pages would do.
 *   leaves, All blocks come so. They stay for longer than whole blocks would, because fewer bytes
 *   come; so how much is used
 *   pages until they leave says nothing. Whole blocks would leave in about the order in which they
 *   came: each stays until
 *             a number of others have come, which a stamp a block tells. In leaves a block has also
 *             left if one of its leaves
 *             has to come again.
 *
 * Where pages come, those that the thread uses next come along, as far as its stride shows them
 * (sweep.h). They cost little.
 *
 * Pages also win where they cost more by the visit: a sweep down the columns of a matrix uses a
 * page of each row, again and again; whole rows are too many for the device, these pages are not.
 * So pages come, too, if as much of all ranges as the witnesses have used would find room, and the
 * blocks have come back so often that these pages have cost less. What that wins is not seen, as
 * what is there is used without a fault; so it ends once all pages have come a few times over
 * during a launch, if by then they cost more by the visit, and the next time in this launch it
 * takes twice as many visits.
 *
 * A block of which more leaves are used than a whole one is worth comes whole after all, and so
 * does a leaf in pages. Outside of launches the program itself uses its data, from end to end: then
 * nothing comes in pages. */
#ifndef FF_POLICY_ADAPTIVE_DENSITY_H
#define FF_POLICY_ADAPTIVE_DENSITY_H

#include "policy/adaptive/sweep.h"

#include <farfault/policy.h>

/* In what blocks come. */
enum ff__grain { FF__GRAIN_BLOCK, FF__GRAIN_LEAF, FF__GRAIN_PAGE };

/* By block, zero at first. */
struct ff__density_block {
    /* 1 + how many whole blocks would have come when it would have come last; 0: never */
    uint32_t stamp;
    uint32_t leaves;     /* bit i: leaf i has been faulted on since then; in pages, */
    uint8_t touched[16]; /* of how many pages of leaf i: 4 bits each, up to 15 */
    uint32_t launch;     /* number of the launch during which it came back last, */
    uint8_t times;       /* and how often it did, up to 255 */
    uint8_t grain;       /* in which what is resident came */
    uint32_t used;       /* pages that have been faulted on since then, or came along with those, */
    uint32_t cost;       /* and what all that has come has cost, in pages */
    bool is_witness, is_full; /* all of it has been brought after all */
};

/* By range, zero at first. */
struct ff__density_range {
    uint32_t faults,
        /* the evidence of blocks in pieces: of leaves, or what they cost in pages; halved now and
         * then */
        visits;
    uint32_t witnesses, by_leaf, by_page,
        used; /* of witnesses: what their leaves and pages cost, in pages; pages used */
    uint32_t countdown, interval; /* blocks that come back until the next witness */
    uint32_t full,
        leaves;     /* in pages: blocks that have come whole after all; leaves used, by the visit */
    uint64_t pages; /* of the range, once it is known */
    uint32_t launch;      /* number of the launch for which the following holds */
    uint64_t credit;      /* pages that may come before it is asked what they cost */
    uint8_t grain, doubt; /* how often pages were to stay, and did not */
    bool stays;           /* in pages, because they are to stay */
};

/* What a whole block costs; 0: not known yet. */
struct ff__density_worth {
    uint32_t leaves, pages;
};

struct ff__density {
    unsigned char *blocks, *ranges;    /* where the records of block and range 0 are, */
    size_t block_stride, range_stride; /* and how far from each other */
    uint32_t clock[FF_TIERS_MAX];      /* whole blocks that would have come */
    struct ff__density_worth worth[FF_TIERS_MAX];
    uint32_t launches, running; /* so far; 0 where there are none, which is one that does not end */
    uint64_t pages;             /* of all ranges that have been faulted on */
    uint32_t became[3];         /* [grain] ranges, how often */
    struct ff__sweeps sweeps;
};

/* The records lie in arrays of the caller's, each at the beginning of an element. */
void ff__density_start(struct ff__density *density, void *blocks, size_t block_stride, void *ranges,
                       size_t range_stride);

/* A launch begins or ends. */
static inline void ff__density_launch(struct ff__density *density,
                                      const struct ff_launch_event *event) {
    density->launches += event->begins;
    if (event->begins)
        density->running++;
    else if (density->running > 0)
        density->running--;
}

/* Before the faults of a group are served. True: the block comes in pieces, as `advice` now says;
 * false: whole. */
bool ff__density_fault(struct ff__density *density, const struct ff_view *view,
                       const struct ff_fault_group *group, struct ff_fault_advice *advice);

/* How often the block has come back during this launch; up to 255, and counted by faults. */
uint32_t ff__density_times(const struct ff__density *density, uint32_t block);

/* Whether blocks of the range come in pieces. */
bool ff__density_is_sparse(const struct ff__density *density, uint32_t range);

void ff__density_leave(struct ff__density *density, const struct ff_view *view,
                       const struct ff_leave *leave);
void ff__density_range_freed(struct ff__density *density, uint32_t range);
void ff__density_block_freed(struct ff__density *density, uint32_t block);

/* For a policy's `report`. */
bool ff__density_report(const struct ff__density *density, uint32_t index,
                        struct ff_finding *finding);

#endif
