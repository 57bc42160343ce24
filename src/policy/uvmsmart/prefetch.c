/* UVMSmart's migrations to the device (github DebashisGanguly/gpgpu-sim_UVMSmart, gpu-sim.cc): one
 * prefetcher until memory first fills and another one after that, delayed migration, and of the
 * smart runtime the part that turns to remote use. The options' numbers are UVMSmart's.
 *
 * Memory has first filled when a fault wants more than is free but for what `buffer` keeps: that
 * one is the last to be served in the old way. UVMSmart, too, asks when it has queued a fault's
 * transfers whether it will have to evict for them. */
#include "policy/common/neighbours.h"
#include "policy/registry.h"
#include "policy/uvmsmart/delay.h"
#include "policy/uvmsmart/pattern.h"

#define AHEAD 8u /* accesses: their counts are fetched */

struct uvmsmart_prefetch_block {
    struct ff__delay_block delay;
    struct ff__pattern_block pattern;
};

struct uvmsmart_prefetch {
    struct uvmsmart_prefetch_block *records;
    enum ff__neighbour_kind before, after;
    enum ff__delay_mode mode;
    uint32_t buffer;
    bool smart;
    bool full[FF_TIERS_MAX];
    struct ff__random random;
    struct ff__delay delay;
    struct ff__pattern pattern;
};

enum { BEFORE, AFTER, REMOTE, THRESHOLD, PENALTY, SMART, BUFFER, PARAMS };

static const struct ff_param params[PARAMS + 1] = {
    [BEFORE] = {"before", FF_PARAM_INT, FF__NEIGHBOURS_TREE, 0, FF__NEIGHBOURS - 1,
                "prefetcher until memory is full: 0 none, 1 tree-half, 2 sequential, 3 random"},
    [AFTER] = {"after", FF_PARAM_INT, FF__NEIGHBOURS_TREE, 0, FF__NEIGHBOURS - 1,
               "prefetcher once memory is full; ignored with smart"},
    [REMOTE] = {"remote", FF_PARAM_INT, FF__DELAY_OFF, 0, FF__DELAY_MODES - 1,
                "delayed migration: 0 never, 1 adaptive, 2 always, 3 once memory is full"},
    [THRESHOLD] = {"ts", FF_PARAM_INT, 8, 1, FF__DELAY_COUNT_FULL,
                   "accesses to a leaf before a read migrates it"},
    [PENALTY] = {"p", FF_PARAM_INT, 2, 1, 1 << 20,
                 "factor on ts for each round trip of a block, once memory is full; only remote=1"},
    [SMART] = {"smart", FF_PARAM_BOOL, 0, 0, 1,
               "switch to remote=3 once the traffic is not linear"},
    [BUFFER] = {"buffer", FF_PARAM_INT, 0, 0, 99,
                "percent of memory that the eviction policy keeps free"},
};

static int init(void *state, const struct ff_policy_env *env) {
    struct uvmsmart_prefetch *smart = state;
    smart->records = env->block_state;
    smart->before = (enum ff__neighbour_kind)env->params[BEFORE];
    smart->after = (enum ff__neighbour_kind)env->params[AFTER];
    smart->mode = (enum ff__delay_mode)env->params[REMOTE];
    smart->smart = env->params[SMART] != 0;
    smart->buffer = (uint32_t)env->params[BUFFER];
    smart->random = ff__random_seeded(env->seed);
    smart->delay.threshold = (uint32_t)env->params[THRESHOLD];
    smart->delay.penalty = (uint32_t)env->params[PENALTY];
    smart->pattern.blocks = (unsigned char *)&smart->records->pattern;
    smart->pattern.stride = sizeof(struct uvmsmart_prefetch_block);
    return 0;
}

static void block_freed(void *state, uint32_t block) {
    struct uvmsmart_prefetch *smart = state;
    smart->records[block].delay = (struct ff__delay_block){
        .count_halvings = smart->delay.count_halvings,
        .trip_halvings = smart->delay.trip_halvings,
    };
    ff__pattern_forget(&smart->pattern, block);
}

/* ---- memory ---- */

/* How much memory a fault takes. */
static uint64_t need_of(const struct ff_view *view, const struct ff_fault_group *group,
                        const struct ff_fault_advice *advice) {
    struct ff_mask coming = ff_mask_minus(&group->faulted, &advice->remote);
    coming = ff_mask_or(&coming, &advice->prefetch);
    if (view->unit == 1)
        return ff_mask_count(&coming);
    bool has_frame = ff_view_holds(view, group->tier, group->block);
    return has_frame || ff_mask_empty(&coming) ? 0 : FF_BLOCK_PAGES;
}

static void notice_full(struct uvmsmart_prefetch *smart, const struct ff_view *view,
                        const struct ff_fault_group *group, const struct ff_fault_advice *advice) {
    uint64_t kept = view->capacity[group->tier] * smart->buffer / 100;
    if (group->tier != FF_TIER_HOST &&
        need_of(view, group, advice) + kept > ff_view_free_pages(view, group->tier))
        smart->full[group->tier] = true;
}

static enum ff__neighbour_kind neighbours_now(const struct uvmsmart_prefetch *smart,
                                              uint32_t tier) {
    return smart->full[tier] && !smart->smart ? smart->after : smart->before;
}

/* ---- delayed migration ---- */

static enum ff__delay_mode mode_now(const struct uvmsmart_prefetch *smart) {
    return smart->smart && smart->pattern.irregular ? FF__DELAY_OVERSUBSCRIBED : smart->mode;
}

static bool counts(const struct uvmsmart_prefetch *smart) {
    return smart->smart || smart->mode != FF__DELAY_OFF;
}

/* So many accesses to a page that is not there: whether it is read over the link. */
static bool stays(struct uvmsmart_prefetch *smart, const struct ff_view *view, uint32_t tier,
                  uint32_t block, uint32_t page, uint64_t accesses) {
    struct ff__delay_block *record = &smart->records[block].delay;
    uint64_t capacity = view->capacity[tier], used = capacity - ff_view_free_pages(view, tier);
    uint32_t count = ff__delay_count(&smart->delay, record, page / FF_LEAF_PAGES, accesses);
    return count < ff__delay_threshold(&smart->delay, mode_now(smart), record, smart->full[tier],
                                       used, capacity);
}

/* What is written migrates at once, whatever the count. */
static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    struct uvmsmart_prefetch *smart = state;
    if (counts(smart) && group->tier != FF_TIER_HOST) {
        FF_MASK_FOR_EACH_PAGE(&group->faulted, page) {
            if (stays(smart, view, group->tier, group->block, page, 1) &&
                !ff_mask_test(&group->written, page))
                ff_mask_set(&advice->remote, page);
        }
    }
    ff__neighbours_advise(neighbours_now(smart, group->tier), view, group, &smart->random, advice);
    notice_full(smart, view, group, advice);
}

/* ---- accesses ---- */

/* The page with its neighbours, as a fault would bring it. */
static void advise(struct uvmsmart_prefetch *smart, const struct ff_view *view,
                   const struct ff_access *access, struct ff_advice_list *list) {
    struct ff_mask there = ff_view_expected(view, access->tier, access->block);
    struct ff_advice advice = {.block = access->block, .tier = access->tier, .launch = FF_NONE};
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].block == access->block && list->items[i].tier == access->tier)
            there = ff_mask_or(&there, &list->items[i].pages);
    if (ff_mask_test(&there, access->page))
        return;
    struct ff_mask page = {{0}};
    ff_mask_set(&page, access->page);
    advice.pages = ff__neighbours_of(neighbours_now(smart, access->tier), &page, &there,
                                     view->blocks[access->block].page_count, &smart->random);
    ff_mask_set(&advice.pages, access->page);
    ff_advice_add(list, &advice);
}

/* Misses are counted as faults, so that the count does not depend on which of the two is told
 * first. */
static void on_access(void *state, const struct ff_view *view, const struct ff_access_batch *batch,
                      struct ff_advice_list *advice) {
    const struct ff_access *accesses = batch->items;
    const uint32_t count = batch->count;
    struct uvmsmart_prefetch *smart = state;
    if (!counts(smart))
        return;
    for (uint32_t i = 0; i < count; i++) {
        const struct ff_access *access = &accesses[i];
        if (i + AHEAD < count)
            __builtin_prefetch(&smart->records[accesses[i + AHEAD].block]
                                    .delay.count[accesses[i + AHEAD].page / FF_LEAF_PAGES],
                               1);
        if (access->flags & FF_ACCESS_MISS)
            continue;
        uint64_t alike = UINT64_C(1) + access->more;
        if (!(access->flags & FF_ACCESS_REMOTE))
            ff__delay_count(&smart->delay, &smart->records[access->block].delay,
                            access->page / FF_LEAF_PAGES, alike);
        else if (!stays(smart, view, access->tier, access->block, access->page, alike) ||
                 access->flags & FF_ACCESS_WRITE)
            advise(smart, view, access, advice);
    }
}

/* ---- learning ---- */

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    struct uvmsmart_prefetch *smart = state;
    if (smart->smart && arrival->kind == FF_ARRIVAL_SERVED)
        ff__pattern_arrival(&smart->pattern, view, arrival->block, arrival->pages);
}

static void on_launch(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice) {
    (void)view, (void)advice;
    ff__pattern_launch(&((struct uvmsmart_prefetch *)state)->pattern, event);
}

static void publish(void *state, const struct ff_event *events, uint32_t count) {
    struct uvmsmart_prefetch *smart = state;
    for (uint32_t i = 0; i < count && counts(smart); i++)
        if (events[i].kind == FF_EVENT_EVICTED)
            ff__delay_written_back(&smart->delay, &smart->records[events[i].block].delay);
}

static const struct ff_access_hooks accesses = {.on_access = on_access};

static const struct ff_learn_hooks learning = {.publish = publish};

const struct ff_prefetch_policy ff__prefetch_uvmsmart = {
    .base =
        {
            .name = "uvmsmart",
            .summary = "one prefetcher until memory is full, another after that; delayed migration "
                       "(UVMSmart)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_FAULTS,
            .state_size = sizeof(struct uvmsmart_prefetch),
            .block_state_size = sizeof(struct uvmsmart_prefetch_block),
            .params = params,
            .init = init,
            .block_freed = block_freed,
            .on_arrival = on_arrival,
            .on_launch = on_launch,
            .accesses = &accesses,
        },
    .on_fault = on_fault,
    .learning = &learning,
};
