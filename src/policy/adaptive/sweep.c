#include "policy/adaptive/sweep.h"

#include <stdlib.h>

/* Ours, all of them. */
#define SEEN_LEAST 3u /* strides, before pages come along */
#define WIDE       4  /* pages of a stride of which some may be there already */
#define EDGE       16 /* part of a page by which a place may be wrong */
#define SLACK      64 /* part of a page by which a stride may be wrong after a new begin */

#define PAGE       FF__SWEEP_PAGE
#define ROUNDING   2 /* by which bounds may be too far apart */

static struct ff__thread_sweep *sweep_of(struct ff__sweeps *sweeps, uint32_t range,
                                         uint32_t thread) {
    struct ff__thread_sweep *sweep = &sweeps->of[(range * 31 + thread) % FF__SWEEPS];
    if (sweep->range != range || sweep->thread != thread)
        *sweep = (struct ff__thread_sweep){.range = range, .thread = thread};
    return sweep;
}

/* ---- bounds ---- */

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Rounded down. */
static int64_t quotient(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static int64_t middle_of(struct ff__bounds bounds) {
    return (bounds.low + bounds.high) / 2;
}

static int64_t width_of(struct ff__bounds bounds) {
    return bounds.high - bounds.low;
}

static struct ff__bounds both(struct ff__bounds a, struct ff__bounds b) {
    return (struct ff__bounds){larger(a.low, b.low), smaller(a.high, b.high)};
}

static struct ff__bounds pages_from(int64_t first, int64_t last) {
    return (struct ff__bounds){first * PAGE, (last + 1) * PAGE - 1};
}

static struct ff__bounds go_from(struct ff__bounds place, struct ff__bounds stride,
                                 int64_t strides) {
    return (struct ff__bounds){place.low + strides * stride.low,
                               place.high + strides * stride.high};
}

/* ---- the next places ---- */

/* Whole pages, as long as that may be so. */
static struct ff__bounds stride_of(const struct ff__thread_sweep *sweep) {
    int64_t whole = quotient(sweep->stride.high - ROUNDING, PAGE) * PAGE;
    bool may_be = whole >= sweep->stride.low + ROUNDING;
    return may_be ? (struct ff__bounds){whole, whole} : sweep->stride;
}

/* For how many strides it is known where they lead to, but for a page. */
static int64_t trusted(const struct ff__thread_sweep *sweep) {
    struct ff__bounds stride = stride_of(sweep);
    return width_of(stride) == 0 ? 2 * (int64_t)sweep->seen : PAGE / width_of(stride);
}

/* How many strides lie between the latest fault and this one, which may be on the page behind the
 * place; 0: it is not on the way. */
static uint32_t strides_to(const struct ff__thread_sweep *sweep, int64_t page) {
    int64_t stride = middle_of(stride_of(sweep));
    int64_t way = page * PAGE + PAGE / 2 - middle_of(sweep->place);
    if (sweep->seen == 0 || stride == 0 || (way < 0) != (stride < 0))
        return 0;
    int64_t count = (llabs(way) + llabs(stride) / 2) / llabs(stride);
    int64_t most = llabs(stride) >= WIDE * PAGE ? trusted(sweep) : sweep->ahead;
    if (count > most + 1)
        return 0;
    struct ff__bounds there = both(go_from(sweep->place, sweep->stride, count),
                                   pages_from(page - (sweep->width > 0), page));
    return there.low <= there.high ? (uint32_t)count : 0;
}

static void set_pages(struct ff_mask *pages, int64_t from, int64_t to, int64_t first, int64_t end) {
    for (int64_t page = larger(from, first); page <= to && page < end; page++)
        ff_mask_set(pages, (uint32_t)(page - first));
}

/* Of the block's pages, from `first` on, those that are used next. A place that may be in either of
 * two pages brings none. */
static struct ff_mask pages_ahead(struct ff__thread_sweep *sweep, int64_t first, int64_t end) {
    struct ff_mask pages = {{0}};
    int64_t most = sweep->is_lost || sweep->seen < SEEN_LEAST ? 0 : trusted(sweep);
    for (sweep->ahead = 0; sweep->ahead < most; sweep->ahead++) {
        struct ff__bounds place =
            go_from(sweep->place, stride_of(sweep), (int64_t)sweep->ahead + 1);
        if (place.high < first * PAGE || place.low >= end * PAGE)
            break;
        int64_t edge = smaller(PAGE / EDGE, width_of(place) / 2);
        int64_t from = quotient(place.low + edge, PAGE), to = quotient(place.high - edge, PAGE);
        if (from == to)
            set_pages(&pages, from, quotient(place.high - edge + sweep->width, PAGE), first, end);
    }
    return pages;
}

/* ---- what a fault shows ---- */

static void measure_from(struct ff__thread_sweep *sweep, struct ff__bounds place) {
    sweep->origin = place;
    sweep->steps = 0;
}

static void place_at(struct ff__thread_sweep *sweep, int64_t page) {
    sweep->page = page;
    sweep->place = pages_from(page, page);
    measure_from(sweep, sweep->place);
}

/* So many strides on the place is in these pages. False: that cannot be. Once it is known twice as
 * well, the stride is measured from there. */
static bool narrow(struct ff__thread_sweep *sweep, struct ff__bounds pages, uint32_t strides) {
    struct ff__bounds place = both(go_from(sweep->place, sweep->stride, strides), pages);
    uint32_t steps = sweep->steps + strides;
    struct ff__bounds shown = {quotient(place.low - sweep->origin.high, steps),
                               quotient(place.high - sweep->origin.low, steps) + 1};
    struct ff__bounds stride = both(sweep->stride, shown);
    if (place.low > place.high || stride.low > stride.high)
        return false;
    sweep->place = place;
    sweep->stride = stride;
    sweep->steps = steps;
    if (width_of(place) < width_of(sweep->origin) / 2)
        measure_from(sweep, place);
    return true;
}

/* What is used at the latest place goes on in this page, the next one. */
static void goes_on_in(struct ff__thread_sweep *sweep, int64_t page) {
    sweep->width = larger(sweep->width, page * PAGE - smaller(sweep->place.high, page * PAGE - 1));
}

/* `first`: the page, or the one before it, if the place may be there. */
static bool go_on(struct ff__thread_sweep *sweep, int64_t first, int64_t page, uint32_t strides) {
    if (!narrow(sweep, pages_from(first, page), strides))
        return false;
    if (sweep->place.high < page * PAGE)
        goes_on_in(sweep, page);
    sweep->page = page;
    sweep->seen += sweep->seen < INT32_MAX ? strides : 0;
    sweep->is_lost = false;
    return true;
}

static void learn_stride(struct ff__thread_sweep *sweep, int64_t page) {
    int64_t way = page - sweep->page;
    sweep->stride = (struct ff__bounds){(way - 1) * PAGE + 1, (way + 1) * PAGE - 1};
    sweep->width = 0;
    sweep->seen = 0;
    place_at(sweep, sweep->page);
    go_on(sweep, page, page, 1);
}

/* Elsewhere, with about the same stride, as the next fault will show; or else with another one. */
static void begin_again(struct ff__thread_sweep *sweep, int64_t page) {
    if (sweep->is_lost || sweep->seen == 0) {
        learn_stride(sweep, page);
        return;
    }
    sweep->is_lost = true;
    sweep->width /= 2;
    sweep->stride.low -= PAGE / SLACK;
    sweep->stride.high += PAGE / SLACK;
    place_at(sweep, page);
}

/* What has been used at the latest place goes on in this page. */
static bool is_beside(const struct ff__thread_sweep *sweep, int64_t page) {
    return sweep->seen > 0 && page == sweep->page + 1 && llabs(sweep->stride.low) >= 2 * PAGE;
}

/* Whether the page before this one is there: then its use had no fault, and may be what goes on in
 * this one. */
static bool may_begin_before(const struct ff__thread_sweep *sweep, const struct ff_view *view,
                             const struct ff_fault_group *group, uint32_t page) {
    struct ff_mask there = ff_view_expected(view, group->tier, group->block);
    return sweep->width > 0 && page > 0 && ff_mask_test(&there, page - 1);
}

/* Several threads may have met the group's faults, and which of them is known only of one: so the
 * page that is on its way, or else the first one, is its. */
static uint32_t page_of(const struct ff__thread_sweep *sweep, const struct ff_fault_group *group,
                        int64_t first, uint32_t *strides) {
    FF_MASK_FOR_EACH_PAGE(&group->faulted, page) {
        *strides = strides_to(sweep, first + page);
        if (*strides > 0)
            return page;
    }
    return ff_mask_next(&group->faulted, 0);
}

struct ff_mask ff__sweeps_fault(struct ff__sweeps *sweeps, const struct ff_view *view,
                                const struct ff_fault_group *group) {
    const struct ff_block *block = &view->blocks[group->block];
    struct ff__thread_sweep *sweep = sweep_of(sweeps, block->range, group->thread);
    int64_t first = (int64_t)group->block * FF_BLOCK_PAGES;
    uint32_t strides = 0, in_block = page_of(sweep, group, first, &strides);
    int64_t page = first + in_block;
    if (strides == 0 && is_beside(sweep, page)) {
        goes_on_in(sweep, page);
        return (struct ff_mask){{0}};
    }
    bool before = may_begin_before(sweep, view, group, in_block);
    if (strides == 0 || !go_on(sweep, page - before, page, strides))
        begin_again(sweep, page);
    return pages_ahead(sweep, first, first + block->page_count);
}
