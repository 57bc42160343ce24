/* Belady: evicts the page whose next use, in a recorded run of the same work, is farthest. No order
 * on demand has fewer faults. */
#include "policy/bounds/belady.h"

#include "policy/common/evictor.h"
#include "policy/registry.h"

static int init(void *state, const struct ff_policy_env *env) {
    return ff__belady_start(state, env);
}

static void block_freed(void *state, uint32_t block) {
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    ff__belady_departure(state, block, &all);
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    if (arrival->kind != FF_ARRIVAL_ALLOCATED)
        ff__belady_arrival(state, view, arrival->block, arrival->pages);
}

static void on_access(void *state, const struct ff_view *view, const struct ff_access_batch *batch,
                      struct ff_advice_list *advice) {
    (void)advice;
    ff__belady_access(state, view, batch->items, batch->count);
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    if (leave->kind == FF_LEAVE_PAGES && ff__belady_unit(view) == 1)
        ff__belady_departure(state, leave->block, leave->pages);
    else if (leave->kind == FF_LEAVE_RELEASED)
        block_freed(state, leave->block);
}

/* A prefetch evicts no page that is needed before the prefetched ones: as many of the block's
 * absent pages as units of room are wanted. */
static uint64_t needed_after(struct ff__belady *belady, const struct ff_view *view,
                             const struct ff_evict_request *request) {
    struct ff__next_use next[FF_BLOCK_PAGES];
    uint32_t block = request->for_block;
    if (request->cause != FF_EVICT_FOR_PREFETCH || block >= view->block_limit)
        return 0;
    struct ff_mask there = ff_view_expected(view, request->tier, block);
    struct ff_mask absent = ff_view_pages(view, block);
    absent = ff_mask_minus(&absent, &there);
    uint32_t count = ff__belady_sort(belady, block, &absent, next);
    uint64_t wanted = (request->pages + ff__belady_unit(view) - 1) / ff__belady_unit(view);
    wanted += wanted == 0;
    return wanted <= count ? next[wanted - 1].next : FF__NEVER;
}

static void name(struct ff__naming *naming, uint32_t unit) {
    uint32_t block = unit / FF_BLOCK_PAGES;
    struct ff_mask page = ff_mask_of_page(unit % FF_BLOCK_PAGES);
    struct ff_mask pages = ff__to_name(naming, block, &page);
    if (ff__may_name(naming, block))
        ff__name(naming, block, &pages);
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    struct ff__belady *belady = state;
    struct ff__naming naming = ff__naming_of(view, request, victims);
    uint64_t after = needed_after(belady, view, request), next;
    uint32_t unit;
    while (!ff__naming_done(&naming) && ff__belady_last(belady, view, &unit, &next) &&
           next >= after)
        name(&naming, unit);
    ff__belady_put_back(belady, view);
}

static const struct ff_access_hooks accesses = {.on_access = on_access};

const struct ff_evict_policy ff__evict_belady = {
    .base =
        {
            .name = "belady",
            .summary = "what is needed farthest in the future, by a recorded run of the same work",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_ACCESSES | FF_SEES_FUTURE,
            .controls = FF_CONTROLS_VICTIMS,
            .state_size = sizeof(struct ff__belady),
            .block_state_size = FF_BLOCK_PAGES * sizeof(struct ff__use),
            .init = init,
            .block_freed = block_freed,
            .on_arrival = on_arrival,
            .on_leave = on_leave,
            .accesses = &accesses,
        },
    .pick = pick,
};
