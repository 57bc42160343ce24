/* Thrashing: several processors pull the same page back and forth. Finds such pages and says what
 * to do with them, as the NVIDIA driver does (595.45.04, uvm_perf_thrashing.c). A processor is a
 * tier. Owned by the prefetch policy that uses it; a record a block, all zero at first. */
#ifndef FF_POLICY_NVIDIA_THRASH_H
#define FF_POLICY_NVIDIA_THRASH_H

#include <farfault/policy.h>

/* The driver's parameters. nap, epoch and pin are multiples of the lapse. */
struct ff__thrash_settings {
    uint32_t threshold;     /* events in a row that make a page thrash; 1..7 */
    uint32_t pin_threshold; /* throttlings before it is pinned; 1..255 */
    uint64_t lapse_ns;      /* events at most this far apart count */
    uint64_t nap;           /* a throttled processor waits this long */
    uint64_t epoch;         /* so long without thrashing: forget the block's history */
    uint64_t pin;           /* a page stays pinned this long; 0: for good */
    uint32_t max_resets;    /* times that history may be forgotten */
};

struct ff__thrash {
    uint32_t threshold, pin_threshold, max_resets;
    uint64_t lapse_ns; /* adapts; the three below keep their first value */
    uint64_t nap_ns, epoch_ns, pin_ns;
    bool adapts;
    int8_t vote;
};

/* Times have their low 6 bits cleared; 0 means never. Tiers are stored plus one; 0 means none. */
struct ff__thrash_page {
    uint64_t last_ns;
    uint64_t throttle_end_ns;
    uint64_t unpin_ns;
    uint16_t processors, throttled; /* sets of tiers */
    uint8_t events;
    uint8_t throttlings;
    uint8_t favoured;  /* the processor that is not throttled in this window */
    uint8_t pinned_at; /* where the page is to stay */
};

/* The pages are untouched memory until `tracked`, so a block that never thrashes costs its first
 * cache line. */
struct ff__thrash_block {
    uint64_t last_ns, last_thrash_ns;
    uint64_t next_unpin_ns; /* the earliest pin to run out; 0: none */
    uint32_t resets;
    uint8_t last_tier;
    bool tracked;
    bool was_pinned; /* some page, ever */
    struct ff_mask thrashing, pinned;
    struct ff__thrash_page pages[FF_BLOCK_PAGES];
};

enum ff__thrash_action {
    FF__THRASH_NONE,     /* migrate as ever */
    FF__THRASH_THROTTLE, /* do not serve before until_ns */
    FF__THRASH_PIN,      /* keep the page at `tier`; a requester elsewhere maps it from there */
};

struct ff__thrash_hint {
    enum ff__thrash_action action;
    uint32_t tier;
    uint64_t until_ns;
};

void ff__thrash_start(struct ff__thrash *thrash, const struct ff__thrash_settings *settings);

/* Pages have arrived at `tier`, by a fault or a prefetch. */
void ff__thrash_arrival(struct ff__thrash *thrash, struct ff__thrash_block *record, uint32_t tier,
                        const struct ff_mask *pages, bool faulted, uint64_t now_ns);

/* `tier` faults on `page` of `block`: what to do with it. */
struct ff__thrash_hint ff__thrash_ask(struct ff__thrash *thrash, struct ff__thrash_block *record,
                                      const struct ff_view *view, uint32_t block, uint32_t page,
                                      uint32_t tier);

/* The pages that thrash, pinned ones among them; NULL: none. Not to be prefetched. */
static inline const struct ff_mask *ff__thrash_pages(const struct ff__thrash_block *record) {
    return record->tracked ? &record->thrashing : NULL;
}

/* Forgets the block. */
void ff__thrash_forget(struct ff__thrash_block *record);

#endif
