/* Thrashing detection: timelines worked out by hand. Device 1 is tier 1, device 2 tier 2. */
#include "base/random.h"
#include "policy/nvidia/thrash.h"
#include "policy/registry.h"
#include "view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define US            UINT64_C(1000)
#define MS            UINT64_C(1000000)
#define START         UINT64_C(64000000) /* a multiple of 64 ns, as most times here */
#define GAP           (UINT64_C(64) * US)
#define LAPSE         (UINT64_C(500) * US)
#define NAP           LAPSE
#define NAP_END(from) (((from) + NAP) & ~UINT64_C(63))

struct timeline {
    struct fake fake;
    struct ff__thrash thrash;
    struct ff__thrash_block *record;
    uint64_t now;
};

static const struct ff__thrash_settings defaults = {
    .threshold = 3,
    .pin_threshold = 10,
    .lapse_ns = 500 * US,
    .nap = 1,
    .epoch = 2000,
    .pin = 300,
    .max_resets = 4,
};

static void timeline_open(struct timeline *line, const struct ff__thrash_settings *settings) {
    fake_open(&line->fake, 3, 1);
    ff__thrash_start(&line->thrash, settings);
    line->record = fake_zeroed(sizeof *line->record);
    line->now = START;
}

static void timeline_close(struct timeline *line) {
    fake_close(&line->fake);
    free(line->record);
}

static void put(struct timeline *line, uint32_t page, uint32_t tier) {
    for (uint32_t other = 0; other < 3; other++)
        ff_mask_unset(fake_resident(&line->fake, other, 0), page);
    ff_mask_set(fake_resident(&line->fake, tier, 0), page);
}

/* The pages have migrated to `tier` by a fault. */
static void arrive(struct timeline *line, const char *pages, uint32_t tier) {
    struct ff_mask mask = mask_of(pages);
    FF_MASK_FOR_EACH_PAGE(&mask, page)
    put(line, page, tier);
    ff__thrash_arrival(&line->thrash, line->record, tier, &mask, true, line->now);
}

static struct ff__thrash_hint ask(struct timeline *line, uint32_t page, uint32_t tier) {
    line->fake.view.now_ns = line->now;
    return ff__thrash_ask(&line->thrash, line->record, &line->fake.view, 0, page, tier);
}

static void expect_none(struct timeline *line, uint32_t page, uint32_t tier) {
    assert_int_equal(ask(line, page, tier).action, FF__THRASH_NONE);
}

static void expect_throttle(struct timeline *line, uint32_t page, uint32_t tier, uint64_t until) {
    struct ff__thrash_hint hint = ask(line, page, tier);
    assert_int_equal(hint.action, FF__THRASH_THROTTLE);
    assert_int_equal(hint.until_ns, until);
}

static void expect_pin(struct timeline *line, uint32_t page, uint32_t tier, uint32_t at) {
    struct ff__thrash_hint hint = ask(line, page, tier);
    assert_int_equal(hint.action, FF__THRASH_PIN);
    assert_int_equal(hint.tier, at);
}

static bool thrashes(const struct timeline *line, uint32_t page) {
    const struct ff_mask *pages = ff__thrash_pages(line->record);
    return pages && ff_mask_test(pages, page);
}

/* Page 0 goes back and forth, GAP apart, until it thrashes: the first arrival is only the block's,
 * the second starts the page's clock, three more are events. It ends at `first`. */
static void make_thrash(struct timeline *line, uint32_t first, uint32_t second) {
    for (int i = 0; i < 5; i++) {
        assert_false(thrashes(line, 0));
        arrive(line, "0", i % 2 ? second : first);
        line->now += GAP;
    }
    line->now -= GAP;
    assert_true(thrashes(line, 0));
}

/* ---- detection -------------------------------------------------------------------------- */

static void test_detection(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    make_thrash(&line, 1, 2);
    assert_int_equal(line.record->pages[0].events, 3);
    assert_int_equal(line.record->pages[0].processors, 1u << 1 | 1u << 2);
    assert_false(thrashes(&line, 1));
    timeline_close(&line);
}

/* One device alone, however often it comes back, is never watched: its pages cost no memory. */
static void test_one_device(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    for (int i = 0; i < 100; i++, line.now += GAP)
        arrive(&line, "0-511", 1);
    assert_false(line.record->tracked);
    assert_null(ff__thrash_pages(line.record));
    expect_none(&line, 0, 1);
    for (size_t i = 0; i < sizeof line.record->pages; i++)
        assert_int_equal(((const uint8_t *)line.record->pages)[i], 0);
    timeline_close(&line);
}

/* Watching starts when another processor follows within a lapse, on any page of the block. */
static void test_start_of_watch(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    arrive(&line, "0", 1);
    line.now += LAPSE + 1;
    arrive(&line, "0", 2);
    assert_false(line.record->tracked);
    line.now += LAPSE;
    arrive(&line, "7", 1);
    assert_true(line.record->tracked);
    assert_int_equal(line.record->pages[7].last_ns, line.now & ~UINT64_C(63));
    assert_int_equal(line.record->pages[0].last_ns, 0);
    timeline_close(&line);
}

/* Once watched, one processor alone can make a page thrash. */
static void test_same_processor_counts(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    arrive(&line, "9", 2);
    for (int i = 0; i < 4; i++, line.now += GAP) {
        assert_false(thrashes(&line, 0));
        arrive(&line, "0", 1);
    }
    assert_true(thrashes(&line, 0));
    timeline_close(&line);
}

static void test_time_stamps_drop_bits(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    line.now += 63;
    arrive(&line, "1", 2);
    arrive(&line, "0", 1);
    assert_int_equal(line.record->pages[0].last_ns, START);
    assert_int_equal(line.record->last_ns, START + 63);
    line.now = START + LAPSE + 1; /* within a lapse of the event, not of its stamp */
    arrive(&line, "0", 2);
    assert_int_equal(line.record->pages[0].events, 0);
    line.now = (START + LAPSE) / 64 * 64 + LAPSE;
    arrive(&line, "0", 1);
    assert_int_equal(line.record->pages[0].events, 1);
    timeline_close(&line);
}

/* A long gap forgets a page that thrashes, and leaves the count of one that does not. */
static void test_long_gap(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    arrive(&line, "1", 1);
    for (int i = 0; i < 3; i++, line.now += GAP)
        arrive(&line, "1", i % 2 ? 1 : 2);
    assert_int_equal(line.record->pages[1].events, 2);
    line.now += 2 * LAPSE;
    arrive(&line, "1", 1);
    assert_int_equal(line.record->pages[1].events, 2);
    line.now += GAP;
    arrive(&line, "1", 2);
    assert_true(thrashes(&line, 1));
    line.now += 2 * LAPSE;
    arrive(&line, "1", 1);
    assert_false(thrashes(&line, 1));
    assert_int_equal(line.record->pages[1].events, 0);
    assert_int_equal(line.record->pages[1].last_ns, 0);
    assert_int_equal(line.record->pages[1].processors, 0);
    timeline_close(&line);
}

static void test_events_saturate(void **state) {
    (void)state;
    struct timeline line;
    struct ff__thrash_settings settings = defaults;
    settings.threshold = 7;
    timeline_open(&line, &settings);
    for (int i = 0; i < 20; i++, line.now += GAP) {
        arrive(&line, "0", i % 2 ? 1 : 2);
        assert_int_equal(thrashes(&line, 0), i >= 8);
    }
    assert_int_equal(line.record->pages[0].events, 7);
    timeline_close(&line);
}

/* ---- throttling and pinning ------------------------------------------------------------- */

/* Two devices ask for the page again as soon as the other has it. Each window favours the one that
 * waited in the last and makes the other wait once; after ten, the favoured one gets the page
 * pinned, and then the two meet at the host, the only place that both reach. */
static void test_ping_pong(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    make_thrash(&line, 1, 2);
    line.now += GAP;
    uint32_t favoured = 2, other = 1;
    for (int window = 1; window <= 10; window++) {
        uint64_t end = NAP_END(line.now);
        expect_none(&line, 0, favoured); /* rule g */
        arrive(&line, "0", favoured);
        line.now += GAP;
        expect_throttle(&line, 0, other, end); /* rule e */
        line.now += GAP;
        expect_throttle(&line, 0, other, end); /* too early: counts once */
        assert_int_equal(line.record->pages[0].throttlings, window);
        line.now = end;
        uint32_t swap = favoured;
        favoured = other;
        other = swap;
    }

    assert_int_equal(favoured, 2);
    uint64_t pinned_at = line.now, end = NAP_END(line.now);
    expect_pin(&line, 0, 2, 2); /* rule f */
    assert_int_equal(line.record->pages[0].throttlings, 0);
    arrive(&line, "0", 2);
    line.now += GAP;
    expect_throttle(&line, 0, 1, end); /* rule d: device 1 cannot reach device 2 */
    assert_int_equal(line.record->pages[0].throttlings, 0);

    line.now = end;
    end = NAP_END(line.now);
    expect_pin(&line, 0, 1, FF_TIER_HOST); /* rule d: favoured, but device 2 could not follow */
    put(&line, 0, FF_TIER_HOST);
    line.now += GAP;
    expect_pin(&line, 0, 2, FF_TIER_HOST); /* rule d: within reach */
    line.now += 10 * MS;
    expect_pin(&line, 0, 2, FF_TIER_HOST);
    expect_pin(&line, 0, 1, FF_TIER_HOST);
    assert_true(thrashes(&line, 0));

    line.now = pinned_at + 150 * MS - 1;
    expect_pin(&line, 0, 1, FF_TIER_HOST);
    line.now = pinned_at + 150 * MS; /* 300 lapses from the first pin */
    expect_none(&line, 0, 1);
    assert_false(thrashes(&line, 0));
    assert_true(ff_mask_empty(&line.record->pinned));
    assert_int_equal(line.record->next_unpin_ns, 0);
    timeline_close(&line);
}

/* The host and one device: the host cannot reach the device, the device reaches the host. */
static void test_host_and_device(void **state) {
    (void)state;
    struct timeline line;
    struct ff__thrash_settings settings = defaults;
    settings.pin_threshold = 1;
    timeline_open(&line, &settings);
    make_thrash(&line, 1, 0);
    line.now += GAP;
    uint64_t end = NAP_END(line.now);
    expect_none(&line, 0, 0);
    arrive(&line, "0", 0);
    line.now += GAP;
    expect_throttle(&line, 0, 1, end);
    line.now = end;
    end = NAP_END(line.now);
    expect_pin(&line, 0, 1, 1); /* rule f */
    arrive(&line, "0", 1);
    line.now += GAP;
    expect_throttle(&line, 0, 0, end);
    line.now = end;
    expect_pin(&line, 0, 0, 0); /* rule d: favoured, and all reach it */
    arrive(&line, "0", 0);
    line.now += GAP;
    expect_pin(&line, 0, 1, 0);
    timeline_close(&line);
}

/* A pin that moves to the host serves the faults that waited for the old place at once. */
static void test_moving_pin(void **state) {
    (void)state;
    struct timeline line;
    struct ff__thrash_settings settings = defaults;
    settings.pin_threshold = 1;
    timeline_open(&line, &settings);
    make_thrash(&line, 2, 1);
    line.now += GAP;
    uint64_t end = NAP_END(line.now);
    expect_none(&line, 0, 1);
    arrive(&line, "0", 1);
    expect_throttle(&line, 0, 2, end);
    line.now = end;
    end = NAP_END(line.now);
    expect_pin(&line, 0, 2, 2);
    arrive(&line, "0", 2);
    expect_throttle(&line, 0, 1, end);
    line.now = end + 64;
    expect_pin(&line, 0, FF_TIER_HOST, FF_TIER_HOST); /* favoured in a new window */
    assert_int_equal(line.record->pages[0].throttled, 0);
    put(&line, 0, FF_TIER_HOST);
    expect_pin(&line, 0, 1, FF_TIER_HOST);
    timeline_close(&line);
}

static void test_favoured_is_not_throttled(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    make_thrash(&line, 1, 2);
    line.now += GAP;
    uint64_t end = NAP_END(line.now);
    expect_none(&line, 0, 2);
    expect_none(&line, 0, 2); /* for all of the window */
    line.now = end;
    expect_none(&line, 0, 2);
    line.now = end + 64; /* never favoured twice running: now no processor is, so 2 waits */
    uint64_t next = NAP_END(line.now);
    expect_throttle(&line, 0, 2, next);
    line.now += 64; /* 1 takes the empty place; 2 goes on waiting */
    expect_none(&line, 0, 1);
    expect_throttle(&line, 0, 2, next);
    timeline_close(&line);
}

/* A fault long after the last event is no thrashing, unless the page is pinned. */
static void test_late_fault(void **state) {
    (void)state;
    struct timeline line;
    struct ff__thrash_settings settings = defaults;
    settings.lapse_ns = 400 * US; /* does not adapt */
    timeline_open(&line, &settings);
    make_thrash(&line, 1, 2);
    line.now += 400 * US + 1;
    expect_none(&line, 0, 2);
    assert_int_equal(line.record->pages[0].favoured, 0);
    line.now -= 1;
    expect_none(&line, 0, 2);
    assert_int_equal(line.record->pages[0].favoured, 3);
    timeline_close(&line);
}

/* Rule b, as far as it goes here: a page that only its own device pulls back, and that is there. */
static void test_alone_on_page(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    arrive(&line, "9", 2);
    for (int i = 0; i < 4; i++, line.now += GAP)
        arrive(&line, "0 1", 1);
    expect_pin(&line, 0, 1, 1);
    put(&line, 1, FF_TIER_HOST); /* evicted */
    uint64_t end = NAP_END(line.now);
    expect_none(&line, 1, 1);
    line.now = end + 64;
    expect_throttle(&line, 1, 1, NAP_END(line.now));
    timeline_close(&line);
}

/* Arrivals of pinned pages are the pins being carried out; a run that is not all pinned counts. */
static void test_pinned_arrivals(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    arrive(&line, "9", 2);
    for (int i = 0; i < 4; i++, line.now += GAP)
        arrive(&line, "0-1", 1);
    expect_pin(&line, 0, 1, 1);
    uint64_t last = line.record->pages[0].last_ns;
    arrive(&line, "0", 1);
    arrive(&line, "0 8", 1);
    assert_int_equal(line.record->pages[0].last_ns, last);
    assert_int_equal(line.record->pages[8].last_ns, line.now & ~UINT64_C(63));
    arrive(&line, "0-1", 1);
    assert_int_equal(line.record->pages[0].last_ns, line.now & ~UINT64_C(63));
    line.now += 2 * LAPSE; /* a pinned page is not forgotten after a long gap */
    arrive(&line, "0-1", 1);
    assert_true(thrashes(&line, 0));
    assert_false(thrashes(&line, 1));
    struct ff_mask page = mask_of("0");
    line.now += GAP;
    ff__thrash_arrival(&line.thrash, line.record, 1, &page, false, line.now); /* by prefetch */
    assert_int_equal(line.record->pages[0].last_ns, line.now & ~UINT64_C(63));
    timeline_close(&line);
}

/* Two pins run out one after the other, each by itself; 0 means never. */
static void test_unpin(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    arrive(&line, "9", 2);
    for (int i = 0; i < 4; i++, line.now += GAP)
        arrive(&line, "0-1", 1);
    uint64_t first = line.now;
    expect_pin(&line, 0, 1, 1);
    line.now += GAP;
    expect_pin(&line, 1, 1, 1);
    line.now = first + 150 * MS;
    expect_none(&line, 5, 1); /* any fault of the block notices */
    assert_false(thrashes(&line, 0));
    assert_true(thrashes(&line, 1));
    line.now += GAP;
    arrive(&line, "5", 1); /* and so does any arrival */
    assert_false(thrashes(&line, 1));
    timeline_close(&line);

    struct ff__thrash_settings settings = defaults;
    settings.pin = 0;
    timeline_open(&line, &settings);
    arrive(&line, "9", 2);
    for (int i = 0; i < 4; i++, line.now += GAP)
        arrive(&line, "0", 1);
    expect_pin(&line, 0, 1, 1);
    line.now += UINT64_C(3600) * 1000 * MS;
    expect_pin(&line, 0, 1, 1);
    timeline_close(&line);
}

/* What a page keeps when it is forgotten: its throttlings, so that it is pinned sooner. */
static void test_reset_keeps_throttlings(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    make_thrash(&line, 1, 2);
    line.now += GAP;
    expect_none(&line, 0, 2);
    expect_throttle(&line, 0, 1, NAP_END(line.now));
    line.now += 2 * MS;
    arrive(&line, "0", 2);
    assert_false(thrashes(&line, 0));
    assert_int_equal(line.record->pages[0].throttlings, 1);
    assert_int_equal(line.record->pages[0].throttled, 0);
    assert_int_equal(line.record->pages[0].throttle_end_ns, 0);
    timeline_close(&line);
}

/* ---- the epoch -------------------------------------------------------------------------- */

static void test_epoch(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    for (uint32_t reset = 1; reset <= 4; reset++) {
        make_thrash(&line, 1, 2);
        line.now += 1000 * MS; /* 2000 lapses: not yet over */
        expect_none(&line, 0, 1);
        assert_true(line.record->tracked);
        line.now += 1;
        expect_none(&line, 300, 1);
        assert_false(line.record->tracked);
        assert_int_equal(line.record->resets, reset);
        assert_int_equal(line.record->last_ns, 0);
        assert_int_equal(line.record->pages[0].events, 0);
        line.now += 63;
    }
    make_thrash(&line, 1, 2);
    line.now += 2000 * MS; /* a fifth time is not forgiven */
    expect_none(&line, 0, 1);
    assert_true(line.record->tracked);
    assert_true(thrashes(&line, 0));
    ff__thrash_forget(line.record);
    assert_false(line.record->tracked);
    assert_int_equal(line.record->resets, 0);
    make_thrash(&line, 1, 2);
    timeline_close(&line);
}

/* A block on which a page was ever pinned is never forgiven. */
static void test_no_epoch_after_pin(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    arrive(&line, "9", 2);
    for (int i = 0; i < 4; i++, line.now += GAP)
        arrive(&line, "0-1", 1);
    expect_pin(&line, 0, 1, 1);
    line.now += 5000 * MS;
    expect_none(&line, 1, 1);
    assert_true(line.record->tracked);
    assert_false(thrashes(&line, 0)); /* unpinned */
    assert_true(thrashes(&line, 1));
    timeline_close(&line);
}

/* Without a page that thrashes there is nothing to be over. */
static void test_no_epoch_without_thrashing(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    arrive(&line, "0", 1);
    arrive(&line, "0", 2);
    line.now += 5000 * MS;
    expect_none(&line, 0, 1);
    assert_true(line.record->tracked);
    timeline_close(&line);
}

/* ---- lapse adaptation ------------------------------------------------------------------- */

/* One vote for a shorter lapse: the favoured processor asks again at once. */
static void vote_short(struct timeline *line) {
    expect_none(line, 0, 2);
}

static void test_lapse_grows(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    make_thrash(&line, 1, 2);
    vote_short(&line);
    assert_int_equal(line.thrash.lapse_ns, 562500);
    assert_int_equal(line.thrash.vote, 0);
    vote_short(&line);
    assert_int_equal(line.thrash.lapse_ns, 632812);
    for (int i = 3; i <= 58; i++) {
        vote_short(&line);
        assert_true(line.thrash.lapse_ns < 500000000);
    }
    vote_short(&line);
    assert_int_equal(line.thrash.lapse_ns, 511776316);
    assert_int_equal(line.thrash.vote, 0);
    assert_int_equal(line.thrash.nap_ns, 500 * US);
    assert_int_equal(line.thrash.epoch_ns, 1000 * MS);
    assert_int_equal(line.thrash.pin_ns, 150 * MS);

    for (int i = 1; i <= 128; i++) { /* at the cap the sum of votes runs down */
        vote_short(&line);
        assert_int_equal(line.thrash.lapse_ns, 511776316);
        assert_int_equal(line.thrash.vote, -i);
    }
    vote_short(&line); /* wraps, and shrinks by an eighth, once */
    assert_int_equal(line.thrash.lapse_ns, 511776316 - 63972039);
    assert_int_equal(line.thrash.vote, 63);
    vote_short(&line);
    assert_int_equal(line.thrash.lapse_ns, 511776316 - 63972039 + 50000000);
    assert_int_equal(line.thrash.vote, 31);
    timeline_close(&line);
}

/* 32 votes for a longer lapse lengthen it too, as meant. */
static void test_lapse_grows_by_long_votes(void **state) {
    (void)state;
    struct timeline line;
    timeline_open(&line, &defaults);
    make_thrash(&line, 1, 2);
    line.now += LAPSE + 64;
    for (int i = 1; i < 32; i++) {
        expect_none(&line, 0, 2);
        assert_int_equal(line.thrash.vote, i);
        assert_int_equal(line.thrash.lapse_ns, 500000);
    }
    expect_none(&line, 0, 2);
    assert_int_equal(line.thrash.lapse_ns, 562500);
    assert_int_equal(line.thrash.vote, 16);
    timeline_close(&line);
}

static void test_lapse_of_ones_own(void **state) {
    (void)state;
    struct timeline line;
    struct ff__thrash_settings settings = defaults;
    settings.lapse_ns = 600 * US;
    timeline_open(&line, &settings);
    make_thrash(&line, 1, 2);
    for (int i = 0; i < 100; i++)
        vote_short(&line);
    assert_int_equal(line.thrash.lapse_ns, 600 * US);
    timeline_close(&line);
}

/* Extreme settings saturate instead of wrapping. */
static void test_huge_settings(void **state) {
    (void)state;
    struct ff__thrash_settings settings = defaults;
    struct ff__thrash thrash;
    settings.lapse_ns = UINT32_MAX * UINT64_C(1000);
    settings.pin = settings.epoch = UINT32_MAX;
    ff__thrash_start(&thrash, &settings);
    assert_int_equal(thrash.pin_ns, INT64_MAX);
    assert_int_equal(thrash.epoch_ns, INT64_MAX);
    assert_int_equal(thrash.nap_ns, settings.lapse_ns);
}

/* ---- invariants ------------------------------------------------------------------------- */

static void check_page(const struct timeline *line, uint32_t index) {
    const struct ff__thrash_page *page = &line->record->pages[index];
    bool pinned = ff_mask_test(&line->record->pinned, index);
    assert_int_equal(thrashes(line, index), page->events >= line->thrash.threshold);
    assert_int_equal(pinned, page->pinned_at != 0);
    assert_true(!pinned || thrashes(line, index));
    assert_true(!pinned ||
                (page->throttlings == 0 && line->record->next_unpin_ns <= page->unpin_ns));
    assert_int_equal(page->throttled & ~page->processors, 0);
    assert_true(!page->throttled || page->throttle_end_ns);
}

static void check_hint(const struct timeline *line, uint32_t tier, struct ff__thrash_hint hint) {
    if (hint.action == FF__THRASH_THROTTLE)
        assert_true(hint.until_ns + 63 >= line->now && hint.until_ns <= line->now + NAP);
    if (hint.action == FF__THRASH_PIN)
        assert_true(hint.tier == tier || hint.tier == FF_TIER_HOST);
}

static void random_step(struct timeline *line, struct ff__random *random) {
    static const uint64_t steps[] = {0, 50, 20 * US, 90 * US, 300 * US, 600 * US, 40 * MS};
    char text[16];
    uint32_t tier = ff__random_below(random, 3), page = ff__random_below(random, 4);
    uint32_t rare = ff__random_below(random, 2000);
    line->now += rare == 0 ? 3000 * MS : steps[ff__random_below(random, rare < 100 ? 7 : 5)];
    if (rare == 1)
        ff__thrash_forget(line->record);
    struct ff__thrash_hint hint = ask(line, page, tier);
    check_hint(line, tier, hint);
    if (hint.action == FF__THRASH_THROTTLE)
        return;
    if (hint.action == FF__THRASH_PIN)
        tier = hint.tier;
    snprintf(text, sizeof text, "%u-%u", page, page + (rare % 8 == 0));
    arrive(line, text, tier);
}

static void test_invariants(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(9);
    struct timeline line;
    struct ff__thrash_settings settings = defaults;
    settings.lapse_ns = 499 * US; /* does not adapt, so that gaps stay gaps */
    settings.pin_threshold = 3;
    settings.max_resets = 1000000;
    timeline_open(&line, &settings);
    unsigned long pins = 0;
    for (unsigned long i = 0, count = scaled(300000, 30000); i < count; i++) {
        random_step(&line, &random);
        for (uint32_t page = 0; page < 5; page++)
            check_page(&line, page);
        pins += !ff_mask_empty(&line.record->pinned);
    }
    assert_true(pins > 1000);
    timeline_close(&line);
}

/* ---- in the tree policy ----------------------------------------------------------------- */

struct bench {
    struct fake fake;
    struct instance instance;
};

static void bench_open(struct bench *bench, int64_t thrashing, int64_t pin_threshold) {
    fake_open(&bench->fake, 3, 2);
    instance_init(&bench->instance, &ff__prefetch_tree.base);
    instance_set(&bench->instance, "thrashing", thrashing);
    instance_set(&bench->instance, "thrash_pin_threshold", pin_threshold);
    instance_open(&bench->instance, &bench->fake.view, FF_NONE);
    bench->fake.view.now_ns = START;
}

static void bench_close(struct bench *bench) {
    instance_close(&bench->instance);
    fake_close(&bench->fake);
}

static struct ff_fault_advice bench_fault(struct bench *bench, uint32_t tier, const char *pages) {
    struct ff_fault_group group = {.block = 1, .tier = tier, .launch = FF_NONE};
    struct ff_fault_advice advice;
    memset(&advice, 0, sizeof advice);
    group.faulted = mask_of(pages);
    ff__prefetch_tree.on_fault(bench->instance.state, &bench->fake.view, &group, &advice);
    return advice;
}

static void bench_arrive(struct bench *bench, uint32_t tier, const char *pages) {
    struct ff_mask mask = mask_of(pages);
    for (uint32_t other = 0; other < 3; other++)
        *fake_resident(&bench->fake, other, 1) =
            ff_mask_minus(fake_resident(&bench->fake, other, 1), &mask);
    *fake_resident(&bench->fake, tier, 1) = ff_mask_or(fake_resident(&bench->fake, tier, 1), &mask);
    const struct ff_arrival arrival = {
        .kind = FF_ARRIVAL_SERVED, .block = 1, .tier = tier, .faulted = true, .pages = &mask};
    ff__prefetch_tree.base.on_arrival(bench->instance.state, &bench->fake.view, &arrival);
}

static void bench_thrash(struct bench *bench, const char *pages) {
    for (int i = 0; i < 5; i++) {
        bench_arrive(bench, i % 2 ? 2 : 1, pages);
        bench->fake.view.now_ns += GAP;
    }
}

static void check_mask(const struct ff_mask *mask, const char *expected) {
    char text[MASK_TEXT];
    assert_string_equal(mask_text(mask, text), expected);
}

static void test_policy_throttles(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 1, 10);
    bench_thrash(&bench, "3 40");
    uint64_t start = bench.fake.view.now_ns;
    struct ff_fault_advice advice = bench_fault(&bench, 2, "3");
    check_mask(&advice.throttle, "");
    check_mask(&advice.prefetch, ""); /* a thrashing page's group does not grow */
    bench.fake.view.now_ns += GAP;
    advice = bench_fault(&bench, 2, "40");
    bench_arrive(&bench, 2, "3 40");
    bench.fake.view.now_ns += GAP;
    advice = bench_fault(&bench, 1, "3 17 40");
    check_mask(&advice.throttle, "3 40");
    assert_int_equal(advice.throttle_until_ns, NAP_END(start)); /* the earlier of the two */
    check_mask(&advice.prefetch, "16 18-31");                   /* for page 17, which is served */
    advice = bench_fault(&bench, 1, "40");
    check_mask(&advice.throttle, "40");
    assert_int_equal(advice.throttle_until_ns, NAP_END(start + GAP));
    check_mask(&advice.prefetch, "");
    ff__prefetch_tree.base.block_freed(bench.instance.state, 1);
    advice = bench_fault(&bench, 1, "3 17 40");
    check_mask(&advice.throttle, "");
    bench_close(&bench);
}

/* Pinned at the host, page 3 is advised to be mapped; beside pages that migrate it ends
 * prefetching, for the driver prefetches only towards a single destination. */
static void test_policy_maps_remotely(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 1, 1);
    bench_thrash(&bench, "3");
    uint64_t end = NAP_END(bench.fake.view.now_ns);
    bench_fault(&bench, 2, "3");
    bench_fault(&bench, 1, "3");
    bench.fake.view.now_ns = end;
    struct ff_fault_advice advice = bench_fault(&bench, 1, "3"); /* pinned at 1 */
    check_mask(&advice.remote, "");
    check_mask(&advice.throttle, "");
    bench_arrive(&bench, 1, "3");
    bench_fault(&bench, 2, "3");
    bench.fake.view.now_ns = NAP_END(end);
    advice = bench_fault(&bench, 2, "3");
    check_mask(&advice.remote, "3");
    check_mask(&advice.prefetch, "");
    bench_arrive(&bench, 0, "3");
    advice = bench_fault(&bench, 2, "3 100");
    check_mask(&advice.remote, "3");
    check_mask(&advice.prefetch, "");
    advice = bench_fault(&bench, 2, "100");
    check_mask(&advice.prefetch, "96-99 101-111");
    bench_close(&bench);
}

static void test_policy_without_detector(void **state) {
    (void)state;
    struct bench bench;
    bench_open(&bench, 0, 1);
    bench_thrash(&bench, "3");
    bench_fault(&bench, 2, "3");
    struct ff_fault_advice advice = bench_fault(&bench, 1, "3 4");
    check_mask(&advice.throttle, "");
    check_mask(&advice.remote, "");
    check_mask(&advice.prefetch, "0-2 5-15");
    bench_close(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_detection),
        cmocka_unit_test(test_one_device),
        cmocka_unit_test(test_start_of_watch),
        cmocka_unit_test(test_same_processor_counts),
        cmocka_unit_test(test_time_stamps_drop_bits),
        cmocka_unit_test(test_long_gap),
        cmocka_unit_test(test_events_saturate),
        cmocka_unit_test(test_ping_pong),
        cmocka_unit_test(test_host_and_device),
        cmocka_unit_test(test_moving_pin),
        cmocka_unit_test(test_favoured_is_not_throttled),
        cmocka_unit_test(test_late_fault),
        cmocka_unit_test(test_alone_on_page),
        cmocka_unit_test(test_pinned_arrivals),
        cmocka_unit_test(test_unpin),
        cmocka_unit_test(test_reset_keeps_throttlings),
        cmocka_unit_test(test_epoch),
        cmocka_unit_test(test_no_epoch_after_pin),
        cmocka_unit_test(test_no_epoch_without_thrashing),
        cmocka_unit_test(test_lapse_grows),
        cmocka_unit_test(test_lapse_grows_by_long_votes),
        cmocka_unit_test(test_lapse_of_ones_own),
        cmocka_unit_test(test_huge_settings),
        cmocka_unit_test(test_invariants),
        cmocka_unit_test(test_policy_throttles),
        cmocka_unit_test(test_policy_maps_remotely),
        cmocka_unit_test(test_policy_without_detector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
