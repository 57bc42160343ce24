/* Whether the blocks of a range are used densely enough to migrate whole, or only in leaves of 64
 * KiB, or in single pages. Ours.
 *
 * A whole block costs one fault and one transfer of 2 MiB. In leaves, it costs a fault for each
 * leaf that is used before the block leaves again; in pages, a fault for each page. A visit of a
 * block is the time from its arrival until a whole block would have left. What leaves or pages cost
 * in a visit, compared with a whole block, decides.
 *
 * A range whose blocks come whole:
 *   - Of the blocks that come back again and again during one launch, every so often one is a
 *     witness: it comes in pages, and shows how many pages, and of how many leaves, are used until
 *     it leaves.
 *   - Of blocks that come back once a launch, few are: most programs go through their data so, and
 *     a block in pieces costs its device the huge page. The first is one when whole blocks have
 *     cost as much as all pages of the range would. If it is used densely, it takes twice as many
 *     blocks until the next one.
 *
 * A range whose blocks come in leaves or pages:
 *   - All of its blocks come so. They stay for longer than whole blocks would, because fewer
 *     bytes come. So the end of a visit is not seen, but estimated: a stamp a block says how
 *     many other blocks have come since. A block in leaves also ends its visit if one of its
 *     leaves has to come again.
 *   - In leaves, there are witnesses as well, to see whether pages would cost less.
 *   - In pages, those that the thread uses next come along, as far as its stride shows them
 *     (sweep.h). They cost little.
 *
 * Pages may win where they cost more in a visit. Example: a sweep down the columns of a matrix uses
 * one page of each row, again and again. Whole rows do not fit, the pages do. So a range comes in
 * pages, too, if both hold:
 *   - What the witnesses have used, as a part of all ranges, fits into memory.
 *   - The blocks have come back so often that their pages have cost less.
 * Pages that stay are used without a fault, so that the gain is not seen. The trial therefore ends
 * once all pages have come a few times over during a launch, if they cost more in a visit by then;
 * the next trial in this launch takes twice as many visits.
 *
 * A block comes whole after all if more of its leaves are used than a whole one costs, and so does
 * a leaf of which many pages are used. Between launches the program itself uses its data, from end
 * to end: then nothing comes in pages. */
#ifndef FF_POLICY_ADAPTIVE_DENSITY_H
#define FF_POLICY_ADAPTIVE_DENSITY_H

#include "policy/adaptive/sweep.h"

#include <farfault/policy.h>

/* In what blocks come. */
enum ff__grain { FF__GRAIN_BLOCK, FF__GRAIN_LEAF, FF__GRAIN_PAGE };

/* By block, zero at first. A visit begins when a whole block would have come. */
struct ff__density_block {
    uint32_t stamp;      /* 1 + the tier's `clock` when the latest visit began; 0: never */
    uint32_t leaves;     /* bit i: leaf i has been faulted on in this visit */
    uint8_t touched[16]; /* in pages: how many of leaf i are used, up to 15; 4 bits a leaf */
    uint32_t launch;     /* number of the launch during which the block came back last */
    uint8_t times;       /* times that it came back during that launch, up to 255 */
    uint8_t grain;       /* enum ff__grain: in which what is resident came */
    uint32_t used;       /* pages of this visit: faulted on, or brought along with those */
    uint32_t cost;       /* of all that has come in this visit, in faults on pages */
    bool is_witness;     /* it comes in pages to show how much of it is used */
    bool is_across;      /* whether these would stay from launch to launch; not: whether they pay */
    bool is_full;        /* all of it has been brought after all */
};

struct ff__density_turns {
    uint32_t countdown; /* blocks that come back until the next witness */
    uint32_t interval;  /* from one witness to the next; 0: there has been none */
};

/* By range, zero at first. Those of blocks in pieces are halved now and then. */
struct ff__density_range {
    uint32_t faults;    /* cost of blocks in pieces: in leaves, or in pages */
    uint32_t visits;    /* visits of blocks in pieces */
    uint32_t witnesses; /* witnesses that have ended since the last decision */
    uint32_t by_leaf;   /* cost of the witnesses' leaves, in pages */
    uint32_t by_page;   /* cost of the witnesses' pages, in pages */
    uint32_t used;      /* pages of the witnesses that were used */
    /* Which are witnesses: of the blocks that come back often in a launch, and once a launch. */
    struct ff__density_turns within, across;
    uint32_t full;        /* in pages: blocks that have come whole after all */
    uint32_t leaves;      /* in pages: leaves used, summed over visits */
    uint64_t pages;       /* of the range; 0: not known yet */
    uint32_t launch;      /* number of the launch for which the members below hold */
    uint64_t allowance;   /* cost, in pages, up to which a trial of pages is not judged */
    uint8_t grain;        /* enum ff__grain */
    uint8_t failed_stays; /* trials of pages that were to stay, and did not, up to 8 */
    bool stays;           /* it is in pages because they are to stay */
};

/* So many leaves, or pages, cost as much as a whole block; 0: not known yet. */
struct ff__density_break_even {
    uint32_t leaves, pages;
};

struct ff__density {
    unsigned char *blocks, *ranges;    /* the records of block 0 and range 0 */
    size_t block_stride, range_stride; /* bytes from one record to the next */
    uint32_t clock[FF_TIERS_MAX];      /* by tier: visits that have begun */
    struct ff__density_break_even break_even[FF_TIERS_MAX];
    uint32_t launches;  /* that have begun; 0: there are none, and all time is one launch */
    uint32_t running;   /* launches that have begun and not ended */
    uint64_t pages;     /* of all ranges that have been faulted on */
    uint32_t became[3]; /* by enum ff__grain: times that a range began to come so */
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
