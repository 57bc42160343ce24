#include "engine/prediction.h"

/* ---- intervals ---- */

static void drop(struct ff__intervals *intervals, uint32_t number) {
    intervals->count--;
    for (uint32_t i = number; i < intervals->count; i++)
        intervals->of[i] = intervals->of[i + 1];
}

static void insert(struct ff__intervals *intervals, uint32_t number, struct ff__interval interval) {
    for (uint32_t i = intervals->count++; i > number; i--)
        intervals->of[i] = intervals->of[i - 1];
    intervals->of[number] = interval;
}

static struct ff__interval hull(struct ff__interval a, struct ff__interval b) {
    return (struct ff__interval){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

static uint64_t distance(struct ff__interval a, struct ff__interval b) {
    return a.low > b.high ? a.low - b.high : b.low > a.high ? b.low - a.high : 0;
}

bool ff__intervals_add(struct ff__intervals *intervals, struct ff__interval interval,
                       uint64_t gap) {
    uint32_t into = intervals->count;
    for (uint32_t i = 0; i < intervals->count;) {
        if (distance(interval, intervals->of[i]) > gap) {
            i++;
            continue;
        }
        interval = hull(interval, intervals->of[i]);
        into = i < into ? i : into;
        drop(intervals, i);
        i = 0;
    }
    if (intervals->count == FF__INTERVALS)
        return false;
    insert(intervals, into < intervals->count ? into : intervals->count, interval);
    return true;
}

/* ---- predictions ---- */

static uint32_t nearest(const struct ff__intervals *intervals, struct ff__interval interval) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < intervals->count; i++)
        if (distance(interval, intervals->of[i]) < distance(interval, intervals->of[best]))
            best = i;
    return best;
}

void ff__prediction_add(struct ff__prediction *prediction, struct ff__interval bytes) {
    struct ff__intervals *intervals = &prediction->intervals;
    const uint64_t page = FF_PAGE_SIZE - 1;
    struct ff__interval interval = {bytes.low & ~page, (bytes.high + page) & ~page};
    if (!ff__intervals_add(intervals, interval, 0))
        ff__intervals_add(intervals, hull(interval, intervals->of[nearest(intervals, interval)]),
                          0);
}

uint64_t ff__prediction_pages(const struct ff__prediction *prediction) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < prediction->intervals.count; i++)
        bytes += prediction->intervals.of[i].high - prediction->intervals.of[i].low;
    return bytes / FF_PAGE_SIZE;
}

/* Of a block that begins at the address, the number of the first page behind `until`. */
static uint32_t page_of(uint64_t address, uint64_t until) {
    uint64_t page = until > address ? (until - address) / FF_PAGE_SIZE : 0;
    return page < FF_BLOCK_PAGES ? (uint32_t)page : FF_BLOCK_PAGES;
}

void ff__prediction_fault(struct ff__prediction *prediction, uint64_t address,
                          const struct ff_mask *faulted) {
    struct ff_mask outside = *faulted;
    for (uint32_t i = 0; i < prediction->intervals.count; i++) {
        const struct ff__interval *interval = &prediction->intervals.of[i];
        uint32_t first = page_of(address, interval->low), end = page_of(address, interval->high);
        if (first == end)
            continue;
        struct ff_mask inside = ff_mask_of_run(first, end);
        outside = ff_mask_minus(&outside, &inside);
    }
    prediction->faults += ff_mask_count(faulted);
    prediction->outside += ff_mask_count(&outside);
}
