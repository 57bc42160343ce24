/* Perfect prefetching: what a recorded run of the same work needs next, in that order, as far ahead
 * as memory goes, and nothing that is needed later than what would have to leave for it ("do no
 * harm": Cao et al., 1995).
 *
 * With a fault come pages of the same block, ahead of need those of others. Of several devices, one
 * is provided for at a time. */
#include "policy/bounds/future.h"
#include "policy/bounds/belady.h"

#include "policy/registry.h"

#define LOOK  16384u /* positions a step of the plan looks at */
#define EVERY 2048u  /* uses from plan to plan while nothing faults: less makes small transfers */
#define NEAR  32u    /* of the newest pieces of advice, those that a page is added to */

struct future {
    struct ff__belady belady;
    uint64_t ahead;      /* positions to look at */
    uint64_t passed;     /* up to here, every use has been made */
    uint64_t planned;    /* up to here, everything has been advised */
    uint64_t planned_at; /* uses so far when accesses last led to a plan */
};

enum { AHEAD, PARAMS };

static const struct ff_param params[PARAMS + 1] = {
    [AHEAD] = FF__FUTURE_AHEAD_ROW,
};

static int init(void *state, const struct ff_policy_env *env) {
    struct future *future = state;
    future->ahead = (uint64_t)env->params[AHEAD];
    return ff__belady_start(&future->belady, env);
}

static void block_freed(void *state, uint32_t block) {
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    ff__belady_departure(&((struct future *)state)->belady, block, &all);
}

/* ---- room ---- */

/* Memory that may be taken: what is free, and then what is needed last. */
struct future_room {
    struct ff__belady *belady;
    const struct ff_view *view;
    uint32_t tier;
    uint64_t free; /* units */
};

static struct future_room room_on(struct future *future, const struct ff_view *view,
                                  uint32_t tier) {
    return (struct future_room){&future->belady, view, tier,
                                ff_view_free_pages(view, tier) / ff__belady_unit(view)};
}

/* Departures are not told to prefetching: they are noticed here. */
static bool is_on_device(const struct ff_view *view, uint32_t unit) {
    struct ff_page page = {unit / FF_BLOCK_PAGES, unit % FF_BLOCK_PAGES};
    for (uint32_t tier = 1; tier < view->tier_count; tier++)
        if (ff_view_holds_page(view, tier, page))
            return true;
    return false;
}

/* Takes a unit for something that is needed at `next`. */
static bool take(struct future_room *room, uint64_t next) {
    uint32_t unit;
    uint64_t last;
    if (room->free > 0) {
        room->free--;
        return true;
    }
    while (ff__belady_last(room->belady, room->view, &unit, &last)) {
        if (!is_on_device(room->view, unit))
            ff__belady_drop(room->belady);
        else if (last <= next)
            return false;
        else if (ff_view_holds(room->view, room->tier, unit / FF_BLOCK_PAGES))
            return true;
    }
    return false;
}

/* Memory for a page: in larger units the first one of a block takes it for all. */
static bool take_for(struct future_room *room, uint32_t block, bool is_first, uint64_t next) {
    bool has = ff__belady_unit(room->view) > 1 &&
               (!is_first || ff_view_holds(room->view, room->tier, block));
    return has || take(room, next);
}

/* ---- with a fault ---- */

/* The faulted pages take their memory first, whatever is evicted for them. */
static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    struct future *future = state;
    struct ff__next_use next[FF_BLOCK_PAGES];
    if (group->tier == FF_TIER_HOST)
        return;
    struct future_room room = room_on(future, view, group->tier);
    struct ff_mask pages = ff_view_pages(view, group->block);
    struct ff_mask there = ff_view_expected(view, group->tier, group->block);
    struct ff_mask absent = ff_mask_minus(&pages, &there);
    absent = ff_mask_minus(&absent, &group->faulted);
    future->planned = 0;
    uint32_t count = ff__belady_sort(&future->belady, group->block, &absent, next);
    uint64_t end = future->belady.at + future->ahead;
    for (uint32_t i = 0, need = ff_mask_count(&group->faulted); i < need; i++)
        take_for(&room, group->block, false, 0);
    for (uint32_t i = 0; i < count && next[i].next < end; i++) {
        if (!take_for(&room, group->block, false, next[i].next))
            break;
        ff_mask_set(&advice->prefetch, next[i].page);
    }
    ff__belady_put_back(&future->belady, view);
}

/* ---- ahead of need ---- */

static struct ff_advice *find(const struct ff_advice_list *list, uint32_t block) {
    for (uint32_t i = list->count, seen = 0; i-- > 0 && seen < NEAR; seen++)
        if (list->items[i].block == block)
            return &list->items[i];
    return NULL;
}

/* False: not now, and nothing after it. */
static bool add(struct future_room *room, struct ff_advice_list *list, uint32_t block,
                uint32_t page, uint64_t next) {
    struct ff_mask there = ff_view_expected(room->view, room->tier, block);
    struct ff_advice *entry = find(list, block);
    if (ff_mask_test(&there, page) || (entry && ff_mask_test(&entry->pages, page)))
        return true;
    if (ff_view_facts(room->view, block)->busy || (!entry && list->count == list->capacity) ||
        !take_for(room, block, !entry, next))
        return false;
    struct ff_advice advice = {.block = block, .tier = room->tier, .launch = FF_NONE};
    if (!entry) {
        ff_advice_add(list, &advice);
        entry = &list->items[list->count - 1];
    }
    ff_mask_set(&entry->pages, page);
    return true;
}

/* The device of the page at this position; FF_TIER_HOST if there is no such page now. */
static uint32_t device_of(const struct ff_view *view, uint64_t page) {
    uint64_t block = page / FF_BLOCK_PAGES;
    if (block >= view->block_limit || page % FF_BLOCK_PAGES >= view->blocks[block].page_count)
        return FF_TIER_HOST;
    return view->ranges[view->blocks[block].range].home_tier;
}

/* Whether the use at position `i` of the recording has been made. */
static bool is_passed(struct future *future, uint64_t i) {
    uint64_t page = future->belady.future->order[i];
    return page >= future->belady.future->page_count ||
           ff__belady_next(&future->belady, (uint32_t)page) > i;
}

static void plan(void *state, const struct ff_view *view, struct ff_advice_list *list) {
    struct future *future = state;
    const struct ff_future *recorded = future->belady.future;
    while (future->passed < recorded->length && is_passed(future, future->passed))
        future->passed++;
    uint64_t i = future->planned > future->passed ? future->planned : future->passed;
    uint64_t sight = future->belady.at + future->ahead, end = sight < i + LOOK ? sight : i + LOOK;
    struct future_room room = {0};
    for (; i < end && i < recorded->length; i++) {
        if (is_passed(future, i))
            continue;
        uint64_t page = recorded->order[i];
        uint32_t tier = device_of(view, page);
        if (tier == FF_TIER_HOST)
            continue;
        if (!room.belady)
            room = room_on(future, view, tier);
        if (tier != room.tier || !add(&room, list, (uint32_t)(page / FF_BLOCK_PAGES),
                                      (uint32_t)(page % FF_BLOCK_PAGES), i))
            break;
    }
    future->planned = i;
    ff__belady_put_back(&future->belady, view);
}

/* ---- the run ---- */

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    if (arrival->kind == FF_ARRIVAL_SERVED)
        ff__belady_arrival(&((struct future *)state)->belady, view, arrival->block, arrival->pages);
}

static void on_access(void *state, const struct ff_view *view, const struct ff_access_batch *batch,
                      struct ff_advice_list *advice) {
    struct future *future = state;
    ff__belady_access(&future->belady, view, batch->items, batch->count);
    if (future->belady.at - future->planned_at < EVERY)
        return;
    future->planned_at = future->belady.at;
    plan(state, view, advice);
}

static const struct ff_access_hooks accesses = {.on_access = on_access};

static const struct ff_learn_hooks learning = {.plan = plan};

const struct ff_prefetch_policy ff__prefetch_future = {
    .base =
        {
            .name = "future",
            .summary = "what a recorded run needs next, unless it displaces what is needed sooner",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_ACCESSES | FF_SEES_FUTURE,
            .controls = FF_CONTROLS_FAULTS,
            .state_size = sizeof(struct future),
            .block_state_size = FF_BLOCK_PAGES * sizeof(struct ff__use),
            .params = params,
            .init = init,
            .block_freed = block_freed,
            .on_arrival = on_arrival,
            .accesses = &accesses,
        },
    .on_fault = on_fault,
    .learning = &learning,
};
