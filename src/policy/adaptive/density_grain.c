#include "policy/adaptive/density_grain.h"

/* Ours, all of them. */
/* Leaves and pages that cost as much as a block where parts cost more: near what they take of the
 * processors' time on the software device where kernels serve faults, with what leaves for them
 * (docs/results/auto.md). */
#define DEAR_LEAVES    8u
#define DEAR_PAGES     45u
#define INTERVAL_FIRST 2u  /* blocks that come back for each witness */
#define INTERVAL_DENSE 64u /* likewise, after a witness that was used densely in this launch */
#define WITNESSES      3u  /* witnesses that decide */
#define VISITS         32u /* visits of a sparse range that decide */
#define ALLOWANCE      4u  /* times that all pages may come where they are to stay */

/* ---- costs ---- */

static uint32_t at_least_one(uint64_t value) {
    return value > 1 ? (uint32_t)value : 1;
}

const struct ff__density_break_even *
ff__density_break_even_of(struct ff__density *density, const struct ff_view *view, uint32_t tier) {
    struct ff__density_break_even *break_even = &density->break_even[tier];
    if (break_even->leaves > 0)
        return break_even;
    uint64_t whole = ff_view_faults_ns(view, tier, 1, FF_BLOCK_PAGES),
             leaf = ff_view_faults_ns(view, tier, 1, FF_LEAF_PAGES),
             page = ff_view_faults_ns(view, tier, 1, 1);
    *break_even = view->parts_cost_more
                      ? (struct ff__density_break_even){DEAR_LEAVES, DEAR_PAGES}
                      : (struct ff__density_break_even){at_least_one(whole / leaf),
                                                        at_least_one(whole / page)};
    return break_even;
}

/* ---- the decisions ---- */

static void start_over(struct ff__density *density, struct ff__density_range *range,
                       enum ff__grain grain) {
    if (range->grain != grain)
        density->became[grain]++;
    range->grain = (uint8_t)grain;
    range->faults = range->visits = range->full = range->leaves = 0;
    range->allowance = 0;
    range->stays = false;
}

/* The range is used densely after all. */
static void wait_for_longer(struct ff__density_range *range) {
    range->within.interval = INTERVAL_DENSE;
    if (range->across.interval < UINT32_MAX / 2)
        range->across.countdown = range->across.interval *= 2;
}

/* Whether as much of all ranges as the witnesses have used, in pages, would find room in three
 * quarters of the memory; or in all of it, if the latest witness has come back so often during this
 * launch that its block has cost as much as a trial of pages may. */
static bool pages_fit(struct ff__density *density, const struct ff_view *view, uint32_t tier,
                      const struct ff__density_range *range,
                      const struct ff__density_block *latest) {
    uint64_t all = (uint64_t)range->witnesses * FF_BLOCK_PAGES;
    uint32_t times = latest->times >> range->failed_stays;
    uint32_t cost = times * ff__density_break_even_of(density, view, tier)->pages;
    uint32_t quarters = cost >= ALLOWANCE * FF_BLOCK_PAGES ? 4 : 3;
    return 4 * range->used * density->pages <= quarters * view->capacity[tier] * all;
}

/* Blocks come in pieces only if that saves a third: these are smaller pages for the device, too.
 * Pages leave more room than leaves, so that they need not save anything else. */
static void decide(struct ff__density *density, const struct ff_view *view, uint32_t tier,
                   struct ff__density_range *range, const struct ff__density_block *latest) {
    uint32_t whole = range->witnesses * ff__density_break_even_of(density, view, tier)->pages;
    bool in_leaves =
        range->grain == FF__GRAIN_LEAF; /* visits are longer than those of whole blocks */
    bool leaves_pay = in_leaves || range->by_leaf * 3 < whole * 2;
    bool pays = range->by_page < range->by_leaf && (in_leaves || range->by_page * 3 < whole * 2);
    bool stays = !pays && !leaves_pay && pages_fit(density, view, tier, range, latest);
    range->witnesses = range->by_leaf = range->by_page = range->used = 0;
    if (pays || stays)
        start_over(density, range, FF__GRAIN_PAGE);
    else if (leaves_pay != in_leaves)
        start_over(density, range, FF__GRAIN_LEAF);
    range->stays = stays;
    range->allowance = stays ? ALLOWANCE * range->pages : 0;
}

void ff__density_end_witness(struct ff__density *density, const struct ff_view *view, uint32_t tier,
                             struct ff__density_range *range,
                             const struct ff__density_block *block) {
    const struct ff__density_break_even *break_even =
        ff__density_break_even_of(density, view, tier);
    uint32_t leaves =
        block->is_full ? FF_CHUNK_LEAVES : (uint32_t)__builtin_popcount(block->leaves);
    uint32_t by_leaf = leaves * ff__density_leaf_cost(break_even);
    uint32_t least = block->cost < by_leaf ? block->cost : by_leaf;
    range->within.interval = INTERVAL_FIRST;
    if (block->is_across ? block->is_full : least > break_even->pages)
        wait_for_longer(range);
    range->witnesses++;
    range->by_page += block->cost;
    range->by_leaf += by_leaf;
    range->used += block->is_full ? FF_BLOCK_PAGES : block->used;
    if (range->witnesses == WITNESSES)
        decide(density, view, tier, range, block);
}

void ff__density_judge(struct ff__density *density, struct ff__density_range *range,
                       const struct ff__density_break_even *break_even) {
    bool by_page = range->grain == FF__GRAIN_PAGE;
    uint32_t whole = range->visits * (by_page ? break_even->pages : break_even->leaves);
    bool is_dense = range->full >= WITNESSES && range->full * 2 > range->visits;
    if (!is_dense && (range->visits < VISITS || range->faults < range->allowance))
        return;
    if (is_dense || range->faults > whole) {
        range->failed_stays =
            (uint8_t)(range->failed_stays + (range->stays && range->failed_stays < 8));
        start_over(density, range, FF__GRAIN_BLOCK);
        wait_for_longer(range);
        return;
    }
    if (by_page && !range->stays &&
        range->faults * 2 > range->leaves * ff__density_leaf_cost(break_even) * 3) {
        start_over(density, range, FF__GRAIN_LEAF);
        return;
    }
    range->faults /= 2;
    range->visits /= 2;
    range->full /= 2;
    range->leaves /= 2;
}

void ff__density_renew(const struct ff__density *density, struct ff__density_range *range) {
    if (range->launch == density->launches)
        return;
    range->launch = density->launches;
    range->within.interval /= 2; /* probably it is used as densely as in the last launches */
    if (range->within.interval < INTERVAL_FIRST)
        range->within.interval = INTERVAL_FIRST;
    range->within.countdown = range->within.interval;
    range->failed_stays = 0;
    if (range->grain != FF__GRAIN_PAGE)
        return;
    range->faults = range->visits = range->full = range->leaves = 0;
    range->allowance = range->stays ? ALLOWANCE * range->pages : 0;
}

static bool next_within(struct ff__density_turns *turns) {
    if (turns->interval == 0)
        turns->interval = turns->countdown = INTERVAL_FIRST;
    if (--turns->countdown > 0)
        return false;
    turns->countdown = turns->interval;
    return true;
}

/* Pages that are to stay come once, and then save what whole blocks cost in each launch. So they
 * are tried when whole blocks have cost as much (the rule for the ski rental problem): from then on
 * there is a witness each time that all blocks have come. */
static bool next_across(struct ff__density_range *range, uint32_t block_cost) {
    struct ff__density_turns *turns = &range->across;
    if (turns->interval == 0)
        turns->interval = turns->countdown = at_least_one(range->pages / block_cost);
    if (--turns->countdown > 0)
        return false;
    turns->countdown = at_least_one(range->pages / FF_BLOCK_PAGES);
    return true;
}

bool ff__density_next_witness(struct ff__density *density, const struct ff_view *view,
                              uint32_t tier, struct ff__density_range *range, bool often) {
    return often ? next_within(&range->within)
                 : next_across(range, ff__density_break_even_of(density, view, tier)->pages);
}
