/* Thrashing detection: timelines worked out by hand. Device 1 is tier 1, device 2 tier 2.
 *
 * A timeline is text, of steps between semicolons. It begins at a multiple of 64 ns, as most times
 * here are. P is a page, T a tier, N a number, TIME 5ns, 5us, 5ms or 5s.
 *   +TIME, -TIME       time passes, or did not
 *   arrive T PAGES     the pages have migrated there by a fault; bring T PAGES: by a prefetch
 *   put T P            the page lies there, and no arrival is told of
 *   meet T T           page 0 goes back and forth, 64 us apart, until it thrashes: the first
 *                      arrival is only the block's, the second starts the page's clock, three are
 *                      events
 *   alone PAGES        device 2 has had page 9; device 1 takes these again and again: they thrash
 *   none P T, wait P T, pin P T T   a fault from there is served, waits until the window's end, or
 *                      pins the page to the second tier
 *   window; end        a window that begins now ends when its nap is over; now is that end
 *   mark; at TIME      so long after the mark, or the begin
 *   from; again N      the steps between are made N times
 *   thrash P, calm P   whether it does
 *   page P WHAT N; block WHAT N; lapse N N (ns, votes)
 *   forget             the block's history */
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
#define START         UINT64_C(64000000)
#define GAP           (UINT64_C(64) * US)
#define NAP           (UINT64_C(500) * US)
#define STAMP(ns)     ((ns) & ~UINT64_C(63))
#define NAP_END(from) STAMP((from) + NAP)

struct timeline {
    struct fake fake;
    struct ff__thrash thrash, first;
    struct ff__thrash_block *record;
    uint64_t now, end, mark;
    const char *text, *from; /* that is being followed; where it began to repeat */
    uint32_t repeats;
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
    *line = (struct timeline){.now = START, .mark = START};
    fake_open(&line->fake, 3, 1);
    ff__thrash_start(&line->thrash, settings);
    line->first = line->thrash;
    line->record = fake_zeroed(sizeof *line->record);
}

static void timeline_close(struct timeline *line) {
    fake_close(&line->fake);
    free(line->record);
}

static void put(struct timeline *line, uint32_t tier, uint32_t page) {
    for (uint32_t other = 0; other < 3; other++)
        ff_mask_unset(fake_resident(&line->fake, other, 0), page);
    ff_mask_set(fake_resident(&line->fake, tier, 0), page);
}

static void arrive(struct timeline *line, uint32_t tier, const char *pages) {
    struct ff_mask mask = mask_of(pages);
    FF_MASK_FOR_EACH_PAGE(&mask, page)
    put(line, tier, page);
    ff__thrash_arrival(&line->thrash, line->record, tier, &mask, true, line->now);
}

static struct ff__thrash_hint ask(struct timeline *line, uint32_t page, uint32_t tier) {
    line->fake.view.now_ns = line->now;
    return ff__thrash_ask(&line->thrash, line->record, &line->fake.view, 0, page, tier);
}

static bool thrashes(const struct timeline *line, uint32_t page) {
    const struct ff_mask *pages = ff__thrash_pages(line->record);
    return pages && ff_mask_test(pages, page);
}

/* ---- steps ------------------------------------------------------------------------------ */

/* Shows the step that was not as expected. */
static void check(const struct timeline *line, bool good, uint64_t found) {
    if (!good)
        fail_msg("%llu in: %s", (unsigned long long)found, line->text);
}

/* "-5us" is so long before now, and "now" the time as a page keeps it. */
static uint64_t time_of(const struct timeline *line, const char *text) {
    char unit[3] = "";
    long long number = 0;
    if (strcmp(text, "now") == 0)
        return STAMP(line->now);
    sscanf(text, "%lld%2[a-z]", &number, unit);
    uint64_t ns = (uint64_t)llabs(number) * (strcmp(unit, "us") == 0   ? US
                                             : strcmp(unit, "ms") == 0 ? MS
                                             : strcmp(unit, "s") == 0  ? 1000 * MS
                                                                       : 1);
    return number < 0 ? STAMP(line->now - ns) : ns;
}

struct field {
    const char *name;
    uint64_t value;
};

static void check_field(const struct timeline *line, const struct field *fields, const char *name,
                        const char *value) {
    while (fields->name && strcmp(fields->name, name) != 0)
        fields++;
    assert_non_null(fields->name);
    check(line, fields->value == time_of(line, value), fields->value);
}

static void check_page_field(const struct timeline *line, uint32_t page, const char *name,
                             const char *value) {
    const struct ff__thrash_page *at = &line->record->pages[page];
    const struct field fields[] = {{"events", at->events},
                                   {"processors", at->processors},
                                   {"last", at->last_ns},
                                   {"throttled", at->throttled},
                                   {"throttlings", at->throttlings},
                                   {"throttle_end", at->throttle_end_ns},
                                   {"favoured", at->favoured},
                                   {NULL, 0}};
    check_field(line, fields, name, value);
}

static void check_block_field(const struct timeline *line, const char *name, const char *value) {
    const struct ff__thrash_block *record = line->record;
    uint64_t used = 0;
    for (size_t i = 0; i < sizeof record->pages; i++)
        used |= ((const uint8_t *)record->pages)[i];
    const struct field fields[] = {{"tracked", record->tracked},
                                   {"last", record->last_ns},
                                   {"resets", record->resets},
                                   {"pinned", ff_mask_count(&record->pinned)},
                                   {"next_unpin", record->next_unpin_ns},
                                   {"used", used}, /* bytes of its pages that are not zero */
                                   {NULL, 0}};
    check_field(line, fields, name, value);
}

/* The lapse alone adapts. */
static void check_lapse(const struct timeline *line, uint64_t ns, int vote) {
    const struct ff__thrash *now = &line->thrash, *first = &line->first;
    check(line, now->lapse_ns == ns, now->lapse_ns);
    assert_int_equal(now->vote, vote);
    assert_int_equal(now->nap_ns, first->nap_ns);
    assert_int_equal(now->epoch_ns, first->epoch_ns);
    assert_int_equal(now->pin_ns, first->pin_ns);
}

static void check_hint_is(struct timeline *line, uint32_t page, uint32_t tier,
                          enum ff__thrash_action action, uint32_t at) {
    struct ff__thrash_hint hint = ask(line, page, tier);
    check(line, hint.action == action, hint.action);
    check(line, action != FF__THRASH_THROTTLE || hint.until_ns == line->end, hint.until_ns);
    check(line, action != FF__THRASH_PIN || hint.tier == at, hint.tier);
}

static void meet(struct timeline *line, uint32_t first, uint32_t second) {
    for (int i = 0; i < 5; i++, line->now += GAP) {
        check(line, !thrashes(line, 0), (uint64_t)i);
        arrive(line, i % 2 ? second : first, "0");
    }
    line->now -= GAP;
    check(line, thrashes(line, 0), 5);
}

static void alone(struct timeline *line, const char *pages) {
    arrive(line, 2, "9");
    for (int i = 0; i < 4; i++, line->now += GAP) {
        check(line, !thrashes(line, 0), (uint64_t)i);
        arrive(line, 1, pages);
    }
    check(line, thrashes(line, 0), 4);
}

/* Whether to go back to where the repetition began. */
static bool repeats(struct timeline *line, uint32_t times) {
    line->repeats = line->repeats + 1 < times ? line->repeats + 1 : 0;
    return line->repeats > 0;
}

/* False: `step` is none of those without a number before a name, which follow. */
static bool do_time(struct timeline *line, const char *step, const char *rest) {
    if (*step == '+')
        line->now += time_of(line, step + 1);
    else if (*step == '-')
        line->now -= time_of(line, step + 1);
    else if (strcmp(step, "window") == 0)
        line->end = NAP_END(line->now);
    else if (strcmp(step, "end") == 0)
        line->now = line->end;
    else if (strcmp(step, "mark") == 0)
        line->mark = line->now;
    else if (strcmp(step, "at") == 0)
        line->now = line->mark + time_of(line, rest);
    else
        return false;
    return true;
}

static void do_step(struct timeline *line, const char *step, const char *rest) {
    char what[16] = "", value[16] = "", text[24] = "";
    int a = 0, b = 0, c = 0, numbers = sscanf(rest, "%d %d %d", &a, &b, &c);
    const uint32_t first = (uint32_t)a, second = (uint32_t)b;
    if (do_time(line, step, rest) || strcmp(step, "from") == 0)
        return;
    if (strcmp(step, "arrive") == 0)
        arrive(line, first, strchr(rest, ' '));
    else if (strcmp(step, "bring") == 0 && sscanf(rest, "%*d %23s", text) == 1)
        ff__thrash_arrival(&line->thrash, line->record, first, &(struct ff_mask){{1}}, false,
                           line->now);
    else if (strcmp(step, "put") == 0 && numbers == 2)
        put(line, first, second);
    else if (strcmp(step, "meet") == 0 && numbers == 2)
        meet(line, first, second);
    else if (strcmp(step, "alone") == 0)
        alone(line, rest);
    else if (strcmp(step, "none") == 0 && numbers == 2)
        check_hint_is(line, first, second, FF__THRASH_NONE, 0);
    else if (strcmp(step, "wait") == 0 && numbers == 2)
        check_hint_is(line, first, second, FF__THRASH_THROTTLE, 0);
    else if (strcmp(step, "pin") == 0 && numbers == 3)
        check_hint_is(line, first, second, FF__THRASH_PIN, (uint32_t)c);
    else if (strcmp(step, "thrash") == 0 && numbers == 1)
        check(line, thrashes(line, first), first);
    else if (strcmp(step, "calm") == 0 && numbers == 1)
        check(line, !thrashes(line, first), first);
    else if (strcmp(step, "lapse") == 0 && numbers == 2)
        check_lapse(line, first, b);
    else if (strcmp(step, "page") == 0 && sscanf(rest, "%*d %15s %15s", what, value) == 2)
        check_page_field(line, first, what, value);
    else if (strcmp(step, "block") == 0 && sscanf(rest, "%15s %15s", what, value) == 2)
        check_block_field(line, what, value);
    else if (strcmp(step, "forget") == 0)
        ff__thrash_forget(line->record);
    else
        fail_msg("no step: %s %s", step, rest);
}

static void follow(struct timeline *line, const char *text) {
    for (const char *at = text, *end; *at; at = end + (*end == ';')) {
        char step[16] = "", rest[32] = "";
        at += strspn(at, " ");
        end = at + strcspn(at, ";");
        line->text = at;
        sscanf(at, "%15[^ ;] %31[^;]", step, rest);
        if (strcmp(step, "from") == 0)
            line->from = end;
        if (strcmp(step, "again") != 0)
            do_step(line, step, rest);
        else if (repeats(line, (uint32_t)strtoul(rest, NULL, 10)))
            end = line->from;
    }
}

/* ---- timelines -------------------------------------------------------------------------- */

/* Settings that are not 0 replace the defaults; a pin of 1 lasts for ever. */
static const struct {
    const char *about, *text;
    uint32_t threshold, pin_threshold, pin;
    uint64_t lapse_ns;
} timelines[] = {
    {"three events make a page thrash",
     .text = "meet 1 2; page 0 events 3; page 0 processors 6; calm 1"},
    {"one device alone, however often it comes back, is not watched, and its pages cost no memory",
     .text =
         "from; arrive 1 0-511; +64us; again 100; block tracked 0; calm 0; none 0 1; block used 0"},
    {"watching starts when another processor follows within a lapse, on any page of the block",
     .text =
         "arrive 1 0; +500001ns; arrive 2 0; block tracked 0; +500us; arrive 1 7; block tracked 1;"
         "page 7 last now; page 0 last 0"},
    {"once watched, one processor alone can make a page thrash", .text = "alone 0; thrash 0"},
    {"stamps drop bits: within a lapse of the event is not within one of its stamp",
     .text = "+63ns; arrive 2 1; arrive 1 0; page 0 last now; block last 64000063; at 500001ns;"
             "arrive 2 0; page 0 events 0; at 999968ns; arrive 1 0; page 0 events 1"},
    {"a long gap forgets a page that thrashes, and leaves the count of one that does not",
     .text = "arrive 1 1; arrive 2 1; +64us; arrive 1 1; +64us; arrive 2 1; +64us; page 1 events 2;"
             "+1ms; arrive 1 1; page 1 events 2; +64us; arrive 2 1; thrash 1;"
             "+1ms; arrive 1 1; calm 1; page 1 events 0; page 1 last 0; page 1 processors 0"},
    {"events saturate",
     .text = "from; arrive 2 0; +64us; arrive 1 0; +64us; again 4; calm 0; arrive 2 0; thrash 0;"
             "from; +64us; arrive 1 0; +64us; arrive 2 0; again 6; thrash 0; page 0 events 7",
     .threshold = 7},

    /* Two devices ask for the page again as soon as the other has it. Each window favours the one
     * that waited in the last and makes the other wait once (rules g and e); after ten, the
     * favoured one gets the page pinned (f), and then the two meet at the host (d), the only place
     * that both reach. The pin lasts 300 lapses from the first one. */
    {"ping-pong",
     .text =
         "meet 1 2; +64us; from;"
         "window; none 0 2; arrive 2 0; +64us; wait 0 1; +64us; wait 0 1; end;"
         "window; none 0 1; arrive 1 0; +64us; wait 0 2; +64us; wait 0 2; end; again 5;"
         "page 0 throttlings 10; mark; window; pin 0 2 2; page 0 throttlings 0; arrive 2 0;"
         "+64us; wait 0 1; page 0 throttlings 0;"
         "end; window; pin 0 1 0; put 0 0; +64us; pin 0 2 0; +10ms; pin 0 2 0; pin 0 1 0; thrash 0;"
         "at 149999999ns; pin 0 1 0; at 150ms; none 0 1; calm 0; block pinned 0; block next_unpin "
         "0"},
    {"the host cannot reach the device, the device reaches the host",
     .text = "meet 1 0; +64us; window; none 0 0; arrive 0 0; +64us; wait 0 1;"
             "end; window; pin 0 1 1; arrive 1 0; +64us; wait 0 0; end; pin 0 0 0; arrive 0 0;"
             "+64us; pin 0 1 0",
     .pin_threshold = 1},
    {"a pin that moves to the host serves the faults that waited for the old place at once",
     .text = "meet 2 1; +64us; window; none 0 1; arrive 1 0; wait 0 2;"
             "end; window; pin 0 2 2; arrive 2 0; wait 0 1;"
             "end; +64ns; pin 0 0 0; page 0 throttled 0; put 0 0; pin 0 1 0",
     .pin_threshold = 1},
    {"the favoured one is not throttled in all of its window, and never favoured twice running:"
     " then it waits, while another takes the empty place",
     .text = "meet 1 2; +64us; window; none 0 2; none 0 2; end; none 0 2;"
             "+64ns; window; wait 0 2; +64ns; none 0 1; wait 0 2"},
    {"a fault long after the last event is no thrashing",
     .text = "meet 1 2; +400001ns; none 0 2; page 0 favoured 0; -1ns; none 0 2; page 0 favoured 3",
     .lapse_ns = 400 * US},
    {"rule b, as far as it goes here: a page that only its own device pulls back, and is there;"
     " the other one has been evicted",
     .text = "alone 0-1; pin 0 1 1; put 0 1; window; none 1 1; end; +64ns; window; wait 1 1"},
    {"arrivals of pinned pages are the pins being carried out; a run that is not all pinned, and a"
     " prefetch, count; a pinned page is not forgotten after a long gap",
     .text = "alone 0-1; pin 0 1 1; arrive 1 0; arrive 1 0 8; page 0 last -64us; page 8 last now;"
             "arrive 1 0-1; page 0 last now; +1ms; arrive 1 0-1; thrash 0; calm 1;"
             "+64us; bring 1 0; page 0 last now"},
    {"pins run out each by itself; any fault of the block notices, and any arrival",
     .text = "alone 0-1; mark; pin 0 1 1; +64us; pin 1 1 1; at 150ms; none 5 1; calm 0; thrash 1;"
             "+64us; arrive 1 5; calm 1"},
    {"a pin that never runs out", .text = "alone 0; pin 0 1 1; +3600s; pin 0 1 1", .pin = 1},
    {"a page that is forgotten keeps its throttlings, so that it is pinned sooner",
     .text = "meet 1 2; +64us; window; none 0 2; wait 0 1; +2ms; arrive 2 0; calm 0;"
             "page 0 throttlings 1; page 0 throttled 0; page 0 throttle_end 0"},
    {"an epoch of 2000 lapses without thrashing is forgiven four times",
     .text =
         "from; meet 1 2; +1000ms; none 0 1; block tracked 1; +1ns; none 300 1; block tracked 0;"
         "block last 0; page 0 events 0; +63ns; again 4; block resets 4;"
         "meet 1 2; +2000ms; none 0 1; block tracked 1; thrash 0;"
         "forget; block tracked 0; block resets 0; meet 1 2"},
    {"a block on which a page was ever pinned is never forgiven",
     .text = "alone 0-1; pin 0 1 1; +5000ms; none 1 1; block tracked 1; calm 0; thrash 1"},
    {"without a page that thrashes there is nothing to be over",
     .text = "arrive 1 0; arrive 2 0; +5000ms; none 0 1; block tracked 1"},

    /* A vote for a shorter lapse: the favoured processor asks again at once. It lengthens the
     * lapse, up to a cap, where the sum of votes runs down, wraps, and shrinks it once. */
    {"the lapse grows by short votes",
     .text =
         "meet 1 2; none 0 2; lapse 562500 0; none 0 2; lapse 632812 0; from; none 0 2; again 57;"
         "lapse 511776316 0; from; none 0 2; again 128; lapse 511776316 -128;"
         "none 0 2; lapse 447804277 63; none 0 2; lapse 497804277 31"},
    {"32 votes for a longer lapse lengthen it too, as meant",
     .text = "meet 1 2; +500064ns; from; none 0 2; again 31; lapse 500000 31; none 0 2;"
             "lapse 562500 16"},
    {"a lapse of one's own does not adapt",
     .text = "meet 1 2; from; none 0 2; again 100; lapse 600000 0", .lapse_ns = 600 * US},
};

static void test_timelines(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof timelines / sizeof timelines[0]; i++) {
        struct ff__thrash_settings settings = defaults;
        struct timeline line;
        if (timelines[i].threshold)
            settings.threshold = timelines[i].threshold;
        if (timelines[i].pin_threshold)
            settings.pin_threshold = timelines[i].pin_threshold;
        if (timelines[i].lapse_ns)
            settings.lapse_ns = timelines[i].lapse_ns;
        settings.pin = timelines[i].pin == 1 ? 0 : defaults.pin;
        print_message("%s\n", timelines[i].about);
        timeline_open(&line, &settings);
        follow(&line, timelines[i].text);
        timeline_close(&line);
    }
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
    arrive(line, tier, text);
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
        cmocka_unit_test(test_timelines),
        cmocka_unit_test(test_huge_settings),
        cmocka_unit_test(test_invariants),
        cmocka_unit_test(test_policy_throttles),
        cmocka_unit_test(test_policy_maps_remotely),
        cmocka_unit_test(test_policy_without_detector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
