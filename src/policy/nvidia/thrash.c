/* Thrashing detection after the NVIDIA driver 595.45.04, uvm_perf_thrashing.c.
 *
 * A page that migrates `threshold` times, each within a lapse of the time before, thrashes. Then
 * its faults are throttled: in each window one processor is favoured and served, the others wait.
 * After pin_threshold throttlings it is pinned to one place for a while, and the others use it from
 * there. Only pages of blocks on which two different processors met within a lapse are watched.
 *
 * What the driver has and these backends do not, so that its rules fall away: revocations of
 * mappings as a second kind of event (and the throttling of pinned pages by them); preferred
 * locations (rules a and c of the decision); fast links with native atomics (all but a remainder of
 * rule b); read duplication and explicit migrations, which reset pages; evictions are no events in
 * the driver either. The driver unpins with a timer of 20 us slack; here a pin that has run out is
 * noticed at the block's next event or fault. */
#include "policy/nvidia/thrash.h"

#include <string.h>

#define STAMP_DROPPED UINT64_C(63) /* the driver keeps 58 bits of a page's time stamps */
#define EVENTS_MAX    7u           /* and 3 of its event counter */

/* Lapse adaptation: only where the lapse is left at the driver's default. */
#define LAPSE_DEFAULT  500000u
#define LAPSE_CAP      500000000u
#define LAPSE_STEP_MAX 50000000u
#define LAPSE_STEP_MIN 5000u
#define LAPSE_VOTES    32u

static uint64_t stamp_of(uint64_t now_ns) {
    return now_ns & ~STAMP_DROPPED;
}

static uint16_t bit_of(uint32_t tier) {
    return (uint16_t)(1u << tier);
}

static uint64_t lapses(uint64_t count, uint64_t lapse_ns) {
    uint64_t product;
    if (__builtin_mul_overflow(count, lapse_ns, &product) || product > INT64_MAX)
        return INT64_MAX; /* still no overflow when added to a time */
    return product;
}

void ff__thrash_start(struct ff__thrash *thrash, const struct ff__thrash_settings *settings) {
    *thrash = (struct ff__thrash){
        .threshold = settings->threshold,
        .pin_threshold = settings->pin_threshold,
        .max_resets = settings->max_resets,
        .lapse_ns = settings->lapse_ns,
        .nap_ns = lapses(settings->nap, settings->lapse_ns),
        .epoch_ns = lapses(settings->epoch, settings->lapse_ns),
        .pin_ns = lapses(settings->pin, settings->lapse_ns),
        .adapts = settings->lapse_ns == LAPSE_DEFAULT,
    };
}

/* ---- the page --------------------------------------------------------------------------- */

/* The end of the window goes with the last processor that waits for it. */
static void stop_throttling(struct ff__thrash_page *page, uint16_t processors) {
    if (!(page->throttled & processors))
        return;
    page->throttled = (uint16_t)(page->throttled & ~processors);
    if (!page->throttled)
        page->throttle_end_ns = 0;
}

/* Keeps the number of throttlings and the favoured processor, as the driver does: a page that
 * comes back to thrashing is pinned sooner. */
static void reset_page(struct ff__thrash_block *record, uint32_t index) {
    struct ff__thrash_page *page = &record->pages[index];
    stop_throttling(page, page->throttled);
    page->pinned_at = 0;
    page->unpin_ns = 0;
    page->last_ns = 0;
    page->events = 0;
    page->processors = 0;
    ff_mask_unset(&record->pinned, index);
    ff_mask_unset(&record->thrashing, index);
}

static void arm_unpin(struct ff__thrash_block *record, uint64_t at_ns) {
    if (record->next_unpin_ns == 0 || at_ns < record->next_unpin_ns)
        record->next_unpin_ns = at_ns;
}

static void unpin_expired(struct ff__thrash_block *record, uint64_t now_ns) {
    if (record->next_unpin_ns == 0 || now_ns < record->next_unpin_ns)
        return;
    record->next_unpin_ns = 0;
    FF_MASK_FOR_EACH_PAGE(&record->pinned, index) {
        uint64_t unpin_ns = record->pages[index].unpin_ns;
        if (now_ns >= unpin_ns)
            reset_page(record, index);
        else
            arm_unpin(record, unpin_ns);
    }
}

static void forget_pages(struct ff__thrash_block *record) {
    if (record->tracked)
        memset(record->pages, 0, sizeof record->pages);
    record->tracked = false;
    record->last_ns = record->last_thrash_ns = record->next_unpin_ns = 0;
    ff_mask_clear(&record->thrashing);
    ff_mask_clear(&record->pinned);
}

void ff__thrash_forget(struct ff__thrash_block *record) {
    if (record->last_ns == 0 && record->resets == 0) /* nothing is kept; let it cost nothing */
        return;
    forget_pages(record);
    record->resets = 0;
    record->was_pinned = false;
}

/* ---- events ----------------------------------------------------------------------------- */

static void count_event(struct ff__thrash *thrash, struct ff__thrash_block *record, uint32_t index,
                        uint64_t now_ns) {
    struct ff__thrash_page *page = &record->pages[index];
    if (page->events < EVENTS_MAX)
        page->events++;
    if (page->events < thrash->threshold)
        return;
    ff_mask_set(&record->thrashing, index);
    record->last_thrash_ns = now_ns;
}

/* A long gap forgets a page that thrashes, but not the count of one that does not yet. */
static void record_page(struct ff__thrash *thrash, struct ff__thrash_block *record, uint32_t index,
                        uint32_t tier, uint64_t now_ns) {
    struct ff__thrash_page *page = &record->pages[index];
    uint64_t last_ns = page->last_ns;
    page->processors |= bit_of(tier);
    page->last_ns = stamp_of(now_ns);
    if (last_ns == 0)
        return;
    if (now_ns - last_ns <= thrash->lapse_ns)
        count_event(thrash, record, index, now_ns);
    else if (page->events >= thrash->threshold && !page->pinned_at)
        reset_page(record, index);
}

/* Whether the block's pages are worth watching from now on: another processor was here just now. */
static bool is_contested(const struct ff__thrash *thrash, const struct ff__thrash_block *record,
                         uint32_t tier, uint64_t now_ns) {
    return record->last_ns != 0 && record->last_tier != tier &&
           now_ns - record->last_ns <= thrash->lapse_ns;
}

/* Each run of pages is an event of its own in the driver, and one that is all pinned pages is the
 * pin itself being carried out. */
static void record_pages(struct ff__thrash *thrash, struct ff__thrash_block *record, uint32_t tier,
                         const struct ff_mask *pages, bool faulted, uint64_t now_ns) {
    FF_MASK_FOR_EACH_RUN(pages, run) {
        uint32_t length = run.end - run.first;
        if (faulted && ff_mask_count_run(&record->pinned, run.first, run.end) == length)
            continue;
        for (uint32_t index = run.first; index < run.end; index++)
            record_page(thrash, record, index, tier, now_ns);
    }
}

void ff__thrash_arrival(struct ff__thrash *thrash, struct ff__thrash_block *record, uint32_t tier,
                        const struct ff_mask *pages, bool faulted, uint64_t now_ns) {
    if (!record->tracked)
        record->tracked = is_contested(thrash, record, tier, now_ns);
    if (record->tracked) {
        unpin_expired(record, now_ns);
        record_pages(thrash, record, tier, pages, faulted, now_ns);
    }
    record->last_ns = now_ns;
    record->last_tier = (uint8_t)tier;
}

/* ---- the hint --------------------------------------------------------------------------- */

/* The driver's vote on the lapse, quirk and all: a negative sum of votes, seen unsigned, exceeds
 * any limit, so short intervals lengthen the lapse instead of shortening it, up to the cap. There
 * the sum falls to -128 and wraps to 127, and only then does the lapse shrink, once. */
static void adapt_lapse(struct ff__thrash *thrash, uint64_t interval_ns) {
    if (!thrash->adapts)
        return;
    uint64_t lapse_ns = thrash->lapse_ns, step = lapse_ns / 8;
    thrash->vote = (int8_t)(thrash->vote + (interval_ns >= lapse_ns ? 1 : -1));
    if ((unsigned)thrash->vote >= LAPSE_VOTES && lapse_ns < LAPSE_CAP)
        thrash->lapse_ns += step < LAPSE_STEP_MAX ? step : LAPSE_STEP_MAX;
    else if (thrash->vote >= (int)LAPSE_VOTES && lapse_ns > LAPSE_STEP_MIN)
        thrash->lapse_ns -= step > LAPSE_STEP_MIN ? step : LAPSE_STEP_MIN;
    else
        return;
    thrash->vote /= 2;
}

/* Opens a new window once the old one is over; never favours the same processor twice running. */
static void update_window(const struct ff__thrash *thrash, struct ff__thrash_page *page,
                          uint32_t tier, uint64_t now_ns) {
    uint8_t self = (uint8_t)(tier + 1);
    if (now_ns > page->throttle_end_ns) {
        page->throttle_end_ns = stamp_of(now_ns + thrash->nap_ns);
        page->favoured = page->favoured == self ? 0 : self;
    } else if (page->favoured == 0) {
        page->favoured = self;
    }
}

/* A host page beside a device's is that page's clean copy, not where it lives. */
static bool lives_at(const struct ff_view *view, uint32_t block, uint32_t index, uint32_t tier) {
    if (tier != FF_TIER_HOST)
        return ff_mask_test(ff_view_resident(view, tier, block), index);
    for (uint32_t device = 1; device < view->tier_count; device++)
        if (ff_mask_test(ff_view_resident(view, device, block), index))
            return false;
    return ff_mask_test(ff_view_resident(view, FF_TIER_HOST, block), index);
}

/* A device reaches its own memory and the host's; the host only its own. */
static bool can_reach(uint32_t from, uint32_t to) {
    return to == from || to == FF_TIER_HOST;
}

static bool all_can_reach(uint16_t processors, uint32_t to) {
    return to == FF_TIER_HOST || processors == bit_of(to);
}

static struct ff__thrash_hint pin_at(uint32_t tier) {
    return (struct ff__thrash_hint){.action = FF__THRASH_PIN, .tier = tier};
}

/* Rule d: the page is pinned already. The favoured one may have it, if all the others can use it
 * there; else it goes to the place that all of them reach, which is the host. */
static struct ff__thrash_hint decide_pinned(const struct ff__thrash_page *page, uint32_t tier,
                                            bool favoured) {
    uint32_t pinned_at = page->pinned_at - 1u;
    if (favoured)
        return pin_at(all_can_reach(page->processors, tier) ? tier : FF_TIER_HOST);
    if (can_reach(tier, pinned_at))
        return pin_at(pinned_at);
    return (struct ff__thrash_hint){.action = FF__THRASH_THROTTLE};
}

/* The driver's rules b and d to g in its order; the first that fits decides. */
static struct ff__thrash_hint decide(const struct ff__thrash *thrash,
                                     const struct ff__thrash_page *page, uint32_t tier,
                                     bool is_here) {
    bool favoured = page->favoured == tier + 1;
    if (is_here && page->processors == bit_of(tier)) /* b: a processor has fast access to itself */
        return tier == FF_TIER_HOST ? (struct ff__thrash_hint){.action = FF__THRASH_NONE}
                                    : pin_at(tier);
    if (page->pinned_at) /* d */
        return decide_pinned(page, tier, favoured);
    if (!favoured) /* e */
        return (struct ff__thrash_hint){.action = FF__THRASH_THROTTLE};
    if (page->throttlings >= thrash->pin_threshold) /* f */
        return pin_at(tier);
    return (struct ff__thrash_hint){.action = FF__THRASH_NONE}; /* g */
}

/* A pin that changes place ends the waiting; only the first one of a page starts the clock. */
static void pin_page(const struct ff__thrash *thrash, struct ff__thrash_block *record,
                     uint32_t index, uint32_t tier, bool moves, uint64_t now_ns) {
    struct ff__thrash_page *page = &record->pages[index];
    if (!page->pinned_at || moves)
        stop_throttling(page, page->throttled);
    if (!page->pinned_at) {
        page->throttlings = 0;
        ff_mask_set(&record->pinned, index);
        record->was_pinned = true;
        if (thrash->pin_ns) {
            page->unpin_ns = now_ns + thrash->pin_ns;
            arm_unpin(record, page->unpin_ns);
        }
    }
    page->pinned_at = (uint8_t)(tier + 1);
}

static void throttle_page(struct ff__thrash_page *page, uint32_t tier) {
    if (page->throttled & bit_of(tier))
        return;
    page->throttled |= bit_of(tier);
    if (!page->pinned_at && page->throttlings < UINT8_MAX)
        page->throttlings++;
}

/* History is forgotten after an epoch of peace, unless a page of the block was ever pinned: the
 * driver counts pins and never uncounts them. */
static bool is_over(const struct ff__thrash *thrash, const struct ff__thrash_block *record,
                    uint64_t now_ns) {
    return record->last_thrash_ns != 0 && now_ns - record->last_thrash_ns > thrash->epoch_ns &&
           !record->was_pinned && record->resets < thrash->max_resets;
}

/* Whether the page's thrashing concerns this fault at all; if so, takes note of the requester. */
static bool take_part(struct ff__thrash *thrash, struct ff__thrash_page *page, uint32_t tier,
                      uint64_t now_ns) {
    stop_throttling(page, bit_of(tier));
    uint64_t interval_ns = now_ns - page->last_ns;
    adapt_lapse(thrash, interval_ns);
    if (interval_ns > thrash->lapse_ns && !page->pinned_at)
        return false;
    page->processors |= bit_of(tier);
    update_window(thrash, page, tier, now_ns);
    return true;
}

static bool is_waiting(const struct ff__thrash_page *page, uint32_t tier, uint64_t now_ns) {
    return (page->throttled & bit_of(tier)) && now_ns < page->throttle_end_ns &&
           page->favoured != tier + 1;
}

struct ff__thrash_hint ff__thrash_ask(struct ff__thrash *thrash, struct ff__thrash_block *record,
                                      const struct ff_view *view, uint32_t block, uint32_t index,
                                      uint32_t tier) {
    struct ff__thrash_hint hint = {.action = FF__THRASH_NONE};
    uint64_t now_ns = view->now_ns;
    if (!record->tracked)
        return hint;
    unpin_expired(record, now_ns);
    if (is_over(thrash, record, now_ns)) {
        forget_pages(record);
        record->resets++;
        return hint;
    }

    struct ff__thrash_page *page = &record->pages[index];
    if (page->events < thrash->threshold)
        return hint;
    if (is_waiting(page, tier, now_ns)) {
        hint.action = FF__THRASH_THROTTLE;
    } else {
        if (!take_part(thrash, page, tier, now_ns))
            return hint;
        hint = decide(thrash, page, tier, lives_at(view, block, index, tier));
    }

    if (hint.action == FF__THRASH_PIN)
        pin_page(thrash, record, index, hint.tier, !lives_at(view, block, index, hint.tier),
                 now_ns);
    if (hint.action == FF__THRASH_THROTTLE) {
        throttle_page(page, tier);
        hint.until_ns = page->throttle_end_ns;
    }
    return hint;
}
