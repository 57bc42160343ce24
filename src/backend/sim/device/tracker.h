/* The access time tracker that Forest adds to a GPU's MMU (ISCA 2025), and the driver's part of it.
 * Only there if a policy must see samples.
 *
 * The hardware, a device: a table with a row for each of the 10 largest ranges that the running
 * kernel uses. A row has the range's first and last page (40 bits each), its access timer (32), its
 * rank among the rows by last use (4), and a cease bit: 117 bits. An access of a warp to a page of
 * such a range advances the timer and writes it to the page's access counter, which GPUs have (32
 * bits a page). After 10 000 accesses to a range whose cease bit is not set an interrupt has the
 * driver read its counters, and after 10 of them the driver ceases by itself.
 *
 * What the sources do not settle, and was chosen here:
 *   - The simulator's models do not say which ranges a kernel uses: a range takes part from its
 *     first access on.
 *   - All accesses of warps are counted, as the notes say; what a GMMU sees are those that miss the
 *     TLB (`tracker_sees` of the device).
 *   - The driver keeps timers and counters from kernel to kernel, so that pages of a range can
 *     always be compared. It
 *     halves them when the timer is full.
 *   - The cease bit stops interrupts only: eviction needs timers, counters and ranks all the time.
 *   - A page that comes gets the timer as its counter, with a mark that it has not been used since:
 *     else what has just been
 *     prefetched would be evicted first. The mark takes a bit of the counter.
 *   - Samples of a profile are what was used since it was armed, not only in the last 10 000
 *     accesses: the counters stay.
 *   - Instead of a rank, the time of a range's last use is kept. It orders ranges in the same way,
 *     those of other kernels
 *     and those without a row, of which only arrivals are known, included. */
#ifndef FF_BACKEND_SIM_DEVICE_TRACKER_H
#define FF_BACKEND_SIM_DEVICE_TRACKER_H

#include <farfault/extensions.h>
#include <farfault/policy.h>

struct device;
struct ff__operand;
struct sim;

#define FF__TRACKER_ROWS     10u  /* the paper's, as is the next */
#define FF__TRACKER_ROUNDS   10u  /* interrupts, after which a range has no pattern */
#define FF__TRACKER_ROW_BITS 117u /* 40 + 40 + 32 + 4 + 1 */

/* Bytes of hardware for as many kernels as run at a time. */
static inline uint64_t ff__tracker_bytes(uint32_t kernels) {
    return (uint64_t)kernels * ((FF__TRACKER_ROWS * FF__TRACKER_ROW_BITS + 7) / 8);
}

/* A range, on a device. */
struct tracked {
    uint32_t timer;  /* its uses and arrivals */
    uint32_t left;   /* uses until it is looked at; 0: it has no row, or an unknown one */
    uint32_t number; /* of the launch that it last asked for a row under; 0: none */
    uint32_t row;    /* of the table then; FF_NONE: none */
    uint32_t armed;  /* number of the launch whose samples are wanted; 0: the cease bit */
    uint32_t launch; /* its execution ID */
    uint32_t start;  /* timer when they were armed */
    uint32_t rounds; /* interrupts since */
    uint32_t read;   /* of these, those after which the driver has read the counters */
};

/* Numbers of uses, 64 of them. */
struct use_word {
    uint64_t bits;   /* those that are some page's last */
    uint32_t before; /* how many such there are in the words before */
};

struct tracker {
    struct tracked *ranges; /* [range] */
    uint64_t *range_used;   /* [range] ps: its last use or arrival */
    uint32_t *page_used;    /* [block * FF_BLOCK_PAGES + page] the access counters */
    uint32_t rows[FF__TRACKER_ROWS], row_count; /* of the running kernel: ranges */
    size_t block_limit;
    /* of the round that the driver reads */
    struct ff_sample *items;
    struct use_word *used;
    uint64_t item_capacity;
    uint32_t word_capacity;
};

/* -ENOMEM. The caller closes it in any case; the tracker is all zero before. */
int ff__tracker_open(struct sim *sim, struct tracker *tracker);
void ff__tracker_close(struct tracker *tracker);

/* Has the trackers of all devices serve the engine. */
void ff__trackers_attach(struct sim *sim);

/* A kernel starts. */
void ff__tracker_launch(struct tracker *tracker);

/* A use of the range that the page lies in, at that time, in ps, by an access that faults: the page
 * is not used before it has come. Returns whether the range has a row. */
bool ff__tracker_use_range(const struct sim *sim, const struct device *device, uint64_t page,
                           uint64_t time);

/* ff__tracker_use() (tracker_use.h), where an interval ends or the range may have no row. */
bool ff__tracker_use_up(struct sim *sim, const struct device *device, uint64_t page, uint32_t pages,
                        uint32_t uses, uint64_t time);

/* `pages` of the block have arrived. */
void ff__tracker_arrived(struct sim *sim, struct device *device, uint32_t block,
                         const struct ff_mask *pages, uint64_t time);

/* The driver has read the counters after an interrupt. */
void ff__tracker_round(struct sim *sim, struct device *device, uint32_t range, uint64_t time);

#endif
