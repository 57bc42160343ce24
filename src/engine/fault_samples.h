/* Samples of use from far faults, for live backends without access counters: which pages of a range
 * came when, under which launch.
 *
 * Where a page that is not on the device is used, it faults. So the order of the faults is the
 * order of use, at no cost, of what was absent. What is there already is not seen to be used, but
 * no policy has anything to bring there either. An evictor by use is shown what the backend can
 * tell of that (`accessed`): a look finds all uses since the one before, and gives them one number.
 * Rounds have none of them, since pages that were found by one look have no order. Pages that come
 * with a fault count as used at the same time: more cannot be seen without faults of their own, nor
 * can less than what came. Witness leaves, write protection and PAGEMAP_SCAN would show more and
 * were measured: docs/forest.md, "Live".
 *
 * Armed samples are a row of a table of each device, as in Forest's tracker
 * (backend/sim/device/tracker.h): the range's arrivals by faults since then, in order. A round is
 * shown whenever as many leaves have come as a share of the range has, so that intensity means
 * something; a launch that brings less is not learned from. Beside the rows, the last uses of all
 * ranges and pages are kept for the view: a range is used when pages of it come, and as long as a
 * launch runs that has it as an operand.
 *
 * Kernels that report their accesses give samples of what is there, too: the leaf of each. A leaf
 * then counts once towards the next round.
 *
 * The caller holds the lock of the engine. */
#ifndef FF_ENGINE_FAULT_SAMPLES_H
#define FF_ENGINE_FAULT_SAMPLES_H

#include "engine/backend.h"
#include "engine/engine.h"

#define FF__SAMPLE_ROWS   10u /* ranges that are sampled at a time; as in Forest's table */
#define FF__SAMPLE_ROUNDS 10u /* after which a row is ceased; likewise */
/* Percent of a range's leaves that come between rounds, and how many these are at least and at
 * most: a round of a large range is a small share. All ours. */
#define FF__SAMPLE_SHARE 40u
#define FF__SAMPLE_LEAST 16u
#define FF__SAMPLE_MOST  256u
#define FF__SAMPLES_MAX  (FF__SAMPLE_MOST * FF__SAMPLE_ROUNDS + FF_CHUNK_LEAVES) /* of a row */

/* Blocks whose uses are looked for at a time, in at most so many chunks, and ns from one such look
 * to the next: a hundredth of the time, if a block takes 6 us. Ours. */
#define FF__LOOK_BLOCKS 16u
#define FF__LOOK_CHUNKS 256u
#define FF__LOOK_NS     UINT64_C(10000000)

struct ff__sample_row {
    bool armed;
    uint32_t range, launch;
    uint32_t rounds; /* shown so far */
    uint32_t left;   /* leaves that are to come until the next one */
    uint32_t count;
    struct ff_sample items[FF__SAMPLES_MAX]; /* the oldest use first */
};

/* Of one device. */
struct ff__sample_table {
    struct ff__sample_row rows[FF__SAMPLE_ROWS];
    uint32_t clock;       /* arrivals so far */
    uint64_t *range_used; /* [range] ns */
    uint32_t *page_used;  /* [block * FF_BLOCK_PAGES + page] as in struct ff_last_uses */
    /* [block] pages that have not come since the latest look; NULL: uses are not looked for */
    struct ff_mask *watched;
    uint32_t chunk; /* where the next look begins */
};

/* Zero where no policy must see samples. */
struct ff__fault_samples {
    struct ff__engine *engine;
    struct ff__sample_table *tables; /* [tier]; NULL: nothing is sampled */
    /* Is asked for the uses of pages that stay; NULL: nobody is, or not any more */
    const struct ff__backend *backend;
    void *self;       /* the backend's */
    uint64_t look_ns; /* when it is asked next */
};

/* Has the engine take its samples from here, if a policy must see any. The backend, which is
 * borrowed, is asked for what it sees if the evictor goes by use. -ENOMEM. */
int ff__fault_samples_open(struct ff__fault_samples *samples, struct ff__engine *engine,
                           const struct ff__backend *backend, void *self);
void ff__fault_samples_close(struct ff__fault_samples *samples);

/* A launch is about to begin: samples of launches that have ended are dropped. */
void ff__fault_samples_begin(struct ff__fault_samples *samples, const struct ff__launch *launch,
                             uint64_t now_ns);

/* Before policies are asked who leaves: the operands of running launches are in use now, and if it
 * is time, uses are looked for. From a thread that may ask the backend for them. */
void ff__fault_samples_use(struct ff__fault_samples *samples, uint64_t now_ns);

/* A launch is about to end. */
void ff__fault_samples_end(struct ff__fault_samples *samples, uint32_t tier, uint64_t now_ns);

/* A job has been finished. Shows a round if one is due; what the policies advise is to be queued.
 */
void ff__fault_samples_arrived(struct ff__fault_samples *samples, const struct ff__job *job,
                               uint64_t now_ns, struct ff_advice_list *advice);

/* A page is used, whether or not it was there. Only where `samples->tables` is not NULL. */
void ff__fault_samples_used(struct ff__fault_samples *samples, uint32_t tier, uint32_t block,
                            uint32_t page, uint64_t now_ns, struct ff_advice_list *advice);

#endif
