#include "backend/sim/device/tracker.h"

#include "backend/sim/device/tracker_use.h"
#include "base/lazy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TIMER_FULL 0x40000000u /* far below FF_PAGE_UNUSED */
#define ADVICE_MAX 256u        /* of one round: leaves of so many blocks are completed; ours */

/* ---- making ---- */

int ff__tracker_open(struct sim *sim, struct tracker *tracker) {
    size_t blocks = sim->space->block_limit;
    tracker->block_limit = blocks;
    tracker->ranges =
        ff__lazy_map(blocks * sizeof *tracker->ranges); /* a range has a block at least */
    tracker->range_used = ff__lazy_map(blocks * sizeof *tracker->range_used);
    tracker->page_used = ff__lazy_map(blocks * FF_BLOCK_PAGES * sizeof *tracker->page_used);
    return tracker->ranges && tracker->range_used && tracker->page_used ? 0 : -ENOMEM;
}

void ff__tracker_close(struct tracker *tracker) {
    size_t blocks = tracker->block_limit;
    ff__lazy_unmap(tracker->ranges, blocks * sizeof *tracker->ranges);
    ff__lazy_unmap(tracker->range_used, blocks * sizeof *tracker->range_used);
    ff__lazy_unmap(tracker->page_used, blocks * FF_BLOCK_PAGES * sizeof *tracker->page_used);
    free(tracker->items);
    free(tracker->used);
}

/* What the engine calls for FF_SAMPLE. */
static bool sample(void *self, uint32_t tier, uint32_t range, uint32_t launch, bool wanted) {
    struct sim *sim = self;
    const struct device *device = &sim->devices[tier - 1];
    struct tracked *tracked = &device->tracker->ranges[range];
    if (!wanted) {
        tracked->armed = 0;
    } else if (tracked->armed != device->current.number) {
        tracked->armed = device->current.number;
        tracked->launch = launch;
        tracked->start = tracked->timer;
        tracked->rounds = tracked->read = 0;
        if (tracked->left > 0)
            tracked->left = sim->gpu->sample_interval;
    }
    return true;
}

static void forget_on(struct sim *sim, struct tracker *tracker, uint32_t range) {
    const struct ff_range *r = &sim->space->ranges[range];
    if (tracker->ranges[range].timer > 0)
        memset(&tracker->page_used[(size_t)r->first_block * FF_BLOCK_PAGES], 0,
               (size_t)r->block_count * FF_BLOCK_PAGES * sizeof *tracker->page_used);
    tracker->ranges[range] = (struct tracked){0};
    tracker->range_used[range] = 0;
}

/* What the engine calls when a range is freed. */
static void forget(void *self, uint32_t range) {
    struct sim *sim = self;
    for (uint32_t i = 0; i < sim->config->devices; i++)
        forget_on(sim, sim->devices[i].tracker, range);
}

void ff__trackers_attach(struct sim *sim) {
    struct ff__sampler sampler = {.self = sim, .sample = sample, .forget = forget};
    for (uint32_t i = 0; i < sim->config->devices; i++) {
        const struct tracker *tracker = sim->devices[i].tracker;
        sampler.last_uses[i + 1] = (struct ff_last_uses){tracker->range_used, tracker->page_used};
    }
    ff__engine_set_sampler(sim->engine, &sampler);
}

/* ---- the table ---- */

void ff__tracker_launch(struct tracker *tracker) {
    for (uint32_t i = 0; i < tracker->row_count; i++)
        tracker->ranges[tracker->rows[i]].left = 0;
    tracker->row_count = 0;
}

static uint64_t pages_of(const struct sim *sim, uint32_t range) {
    return sim->space->ranges[range].page_count;
}

static uint32_t smallest_row(const struct sim *sim, const struct tracker *tracker) {
    uint32_t smallest = 0;
    for (uint32_t i = 1; i < tracker->row_count; i++)
        if (pages_of(sim, tracker->rows[i]) < pages_of(sim, tracker->rows[smallest]))
            smallest = i;
    return smallest;
}

/* A range that the running kernel has not used before gets a row if it is among the largest. */
static void ask_for_row(const struct sim *sim, const struct device *device, uint32_t range) {
    struct tracker *tracker = device->tracker;
    struct tracked *tracked = &tracker->ranges[range];
    uint32_t row = tracker->row_count;
    tracked->number = device->current.number;
    tracked->row = FF_NONE;
    if (row < FF__TRACKER_ROWS) {
        tracker->row_count++;
    } else {
        row = smallest_row(sim, tracker);
        if (pages_of(sim, tracker->rows[row]) >= pages_of(sim, range))
            return;
        tracker->ranges[tracker->rows[row]].row = FF_NONE;
        tracker->ranges[tracker->rows[row]].left = 0;
    }
    tracked->row = row;
    tracked->left = sim->gpu->sample_interval;
    tracker->rows[row] = range;
}

/* ---- uses ---- */

static void halve(const struct sim *sim, struct tracker *tracker, uint32_t range) {
    const struct ff_range *r = &sim->space->ranges[range];
    uint32_t *used = &tracker->page_used[(size_t)r->first_block * FF_BLOCK_PAGES];
    for (size_t i = 0; i < (size_t)r->block_count * FF_BLOCK_PAGES; i++)
        used[i] = (used[i] & FF_PAGE_UNUSED) | (used[i] & ~FF_PAGE_UNUSED) / 2;
    tracker->ranges[range].timer /= 2;
    tracker->ranges[range].start /= 2;
}

/* An interval is over. The interrupt does not stop the device; the driver reads a counter a page of
 * the range. */
static bool look_at(struct sim *sim, const struct device *device, uint32_t range, uint64_t time) {
    struct tracked *tracked = &device->tracker->ranges[range];
    tracked->left = sim->gpu->sample_interval;
    if (tracked->timer >= TIMER_FULL)
        halve(sim, device->tracker, range);
    if (tracked->armed != device->current.number || tracked->rounds == FF__TRACKER_ROUNDS)
        return false;
    tracked->rounds++;
    uint64_t ns = sim->gpu->sample_ns + sim->gpu->sample_page_ns * pages_of(sim, range);
    device->counters->sample_ns += ns;
    ff__sim_post_range(sim, time + ns * PS_PER_NS, EVENT_SAMPLES, device->tier - 1, range);
    return true;
}

/* Pages that are used before the range is looked at; the last one may be that. */
static uint32_t pages_until_look(const struct tracked *tracked, uint32_t uses, uint32_t pages) {
    uint32_t most = (tracked->left + uses - 1) / uses;
    return pages < most ? pages : most;
}

bool ff__tracker_use_range(const struct sim *sim, const struct device *device, uint64_t page,
                           uint64_t time) {
    struct tracker *tracker = device->tracker;
    uint32_t range = ff__tracker_range(sim, page);
    if (tracker->ranges[range].number != device->current.number)
        ask_for_row(sim, device, range);
    if (tracker->ranges[range].row == FF_NONE)
        return false;
    tracker->range_used[range] = ff__sim_ns(time);
    return true;
}

bool ff__tracker_use_up(struct sim *sim, const struct device *device, uint64_t page, uint32_t pages,
                        uint32_t uses, uint64_t time) {
    struct tracker *tracker = device->tracker;
    uint32_t range = ff__tracker_range(sim, page);
    struct tracked *tracked = &tracker->ranges[range];
    bool interrupts = false;
    if (!ff__tracker_use_range(sim, device, page, time))
        return false;
    for (uint32_t done = 0, some; done < pages; done += some) {
        some = pages_until_look(tracked, uses, pages - done);
        ff__tracker_count(tracked, &tracker->page_used[page + done], some, uses);
        tracked->left = tracked->left > some * uses ? tracked->left - some * uses : 0;
        if (tracked->left == 0)
            interrupts |= look_at(sim, device, range, time);
    }
    return interrupts;
}

void ff__tracker_arrived(struct sim *sim, struct device *device, uint32_t block,
                         const struct ff_mask *pages, uint64_t time) {
    struct tracker *tracker = device->tracker;
    uint32_t range = sim->space->blocks[block].range;
    uint32_t *used = &tracker->page_used[(size_t)block * FF_BLOCK_PAGES];
    uint32_t timer = ++tracker->ranges[range].timer;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        used[page] = timer | FF_PAGE_UNUSED;
    }
    tracker->range_used[range] = ff__sim_ns(time);
}

/* ---- a round ---- */

/* Room for a sample of each page, and for numbers of uses up to this one. */
static bool make_room(struct tracker *tracker, uint64_t pages, uint32_t uses) {
    uint32_t words = uses / 64 + 1;
    if (pages > tracker->item_capacity) {
        struct ff_sample *items = realloc(tracker->items, pages * sizeof *items);
        if (!items)
            return false;
        tracker->items = items;
        tracker->item_capacity = pages;
    }
    if (words > tracker->word_capacity) {
        struct use_word *used = realloc(tracker->used, words * sizeof *used);
        if (!used)
            return false;
        tracker->used = used;
        tracker->word_capacity = words;
    }
    memset(tracker->used, 0, words * sizeof *tracker->used);
    return true;
}

/* The pages that were used since `start`, with the numbers of their last uses since then as ranks.
 */
static uint32_t read_counters(const struct sim *sim, struct tracker *tracker, uint32_t range) {
    const struct ff_range *r = &sim->space->ranges[range];
    const uint32_t start = tracker->ranges[range].start;
    uint32_t count = 0;
    for (uint32_t block = r->first_block; block < r->first_block + r->block_count; block++) {
        const uint32_t *used = &tracker->page_used[(size_t)block * FF_BLOCK_PAGES];
        for (uint32_t page = 0; page < sim->space->blocks[block].page_count; page++) {
            if (used[page] <= start || (used[page] & FF_PAGE_UNUSED))
                continue;
            uint32_t number = used[page] - start;
            tracker->used[number / 64].bits |= UINT64_C(1) << number % 64;
            tracker->items[count++] = (struct ff_sample){
                .block = block, .page = (uint16_t)page, .page_count = 1, .rank = number};
        }
    }
    return count;
}

/* The rank of a use is how many of the last uses were before it. */
static void rank(struct tracker *tracker, uint32_t count, uint32_t uses) {
    uint32_t before = 0;
    for (uint32_t i = 0; i <= uses / 64; i++) {
        tracker->used[i].before = before;
        before += (uint32_t)__builtin_popcountll(tracker->used[i].bits);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = tracker->items[i].rank;
        const struct use_word *word = &tracker->used[number / 64];
        uint64_t earlier = word->bits & ((UINT64_C(1) << number % 64) - 1);
        tracker->items[i].rank = word->before + (uint32_t)__builtin_popcountll(earlier);
    }
}

void ff__tracker_round(struct sim *sim, struct device *device, uint32_t range, uint64_t time) {
    struct tracker *tracker = device->tracker;
    struct tracked *tracked = &tracker->ranges[range];
    struct ff_advice items[ADVICE_MAX];
    struct ff_advice_list advice = {.items = items, .capacity = ADVICE_MAX};
    if (tracked->armed == 0 || tracked->read == tracked->rounds) /* ceased, freed or armed anew */
        return;
    uint32_t uses = tracked->timer - tracked->start;
    if (!make_room(tracker, pages_of(sim, range), uses)) {
        ff__sim_fail(sim, -ENOMEM, "samples");
        return;
    }
    struct ff_sample_round round = {.range = range,
                                    .launch = tracked->launch,
                                    .tier = device->tier,
                                    .items = tracker->items,
                                    .count = read_counters(sim, tracker, range)};
    rank(tracker, round.count, uses);
    round.accesses = (uint64_t)++tracked->read * sim->gpu->sample_interval;
    if (tracked->read == FF__TRACKER_ROUNDS)
        tracked->armed = 0;
    device->counters->sample_rounds++;
    ff__engine_samples(sim->engine, ff__sim_ns(time), &round, &advice);
    for (uint32_t i = 0; i < advice.count; i++)
        ff__prefetch_advise(sim, &items[i], time);
}
