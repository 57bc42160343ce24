/* Evicts the oldest block or one of the newest, whichever comes back less or later. Ours.
 *
 * Faults alone do not tell whether a resident block is used. If a program iterates over more data
 * than fits, the oldest block is the next one to be used, and evicting the newest keeps a part of
 * the data; once the program works on other data, the kept blocks are dead, and the oldest must go.
 * So blocks are evicted from both ends of the order, and mostly from that whose victims cost less
 * (common/bandit.h). */
#include "policy/common/bandit.h"
#include "policy/common/migration_order.h"
#include "policy/common/reserve.h"
#include "policy/registry.h"

#include <stdio.h>

/* One block fewer is spared after so many evictions of newest blocks, as a share of the device's
 * blocks. */
#define EASE 0.25

enum { PARAM_SPARE = FF__RESERVE_PARAMS, PARAM_PROBE, PARAMS };
static const struct ff_param params[PARAMS + 1] = {
    FF__RESERVE_ROWS,
    [PARAM_SPARE] = {"spare", FF_PARAM_INT, 4, 0, 4096,
                     "newest blocks that are spared at least; at most half of the resident ones"},
    [PARAM_PROBE] = {"probe", FF_PARAM_INT, 3, 1, 50,
                     "percent of evictions that each end gets at least"},
};

enum end { END_NONE, END_OLDEST, END_NEWEST, ENDS };

/* By block. */
struct keep_block {
    struct ff__order_link order;
    uint32_t left; /* how many evictions there had been when it left */
    uint8_t named; /* enum end: from which it was named last */
    uint8_t gone;  /* enum end: from which it was evicted; END_NONE: it was not, or is back */
    bool hot;      /* it came back soon, the last time */
};

struct keep {
    struct ff__order order; /* has to be first */
    struct ff__reserve reserve;
    struct keep_block *records;
    uint32_t evictions, by_end[ENDS], back_by_end[ENDS];
    uint32_t spare_least, spare;
    struct ff__bandit ends; /* the second way is to evict one of the newest */
};

static int init(void *state, const struct ff_policy_env *env) {
    struct keep *keep = state;
    ff__order_start(&keep->order, env->block_state, sizeof(struct keep_block));
    keep->records = env->block_state;
    ff__reserve_start(&keep->reserve, env);
    keep->spare = keep->spare_least = (uint32_t)env->params[PARAM_SPARE];
    ff__bandit_start(&keep->ends, false, 1, 100 / (uint32_t)env->params[PARAM_PROBE]);
    return 0;
}

static const struct ff__recency *used_of(const struct keep *keep) {
    return &keep->order.lists[FF__ORDER_USED - FF__ORDER_DISCARDED];
}

/* A block that comes back after at most so many evictions was in use when it was evicted. */
static uint32_t short_absence(const struct keep *keep) {
    return keep->spare / 2 > keep->spare_least ? keep->spare / 2 : keep->spare_least;
}

static void has_come_back(struct keep *keep, uint64_t capacity, struct keep_block *record) {
    uint32_t absence = keep->evictions - record->left;
    bool soon = absence <= short_absence(keep);
    keep->back_by_end[record->gone]++;
    if (soon && record->gone == END_NEWEST && keep->spare < used_of(keep)->count / 2)
        keep->spare++;
    else
        ff__bandit_cost(&keep->ends, record->gone == END_NEWEST,
                        ff__bandit_late(absence, capacity));
    record->hot = soon;
    record->gone = END_NONE;
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    struct keep *keep = state;
    struct keep_block *record = &keep->records[arrival->block];
    ff__reserve_arrival(&keep->reserve, view, arrival);
    if (arrival->kind == FF_ARRIVAL_ALLOCATED && record->gone != END_NONE)
        has_come_back(keep, view->capacity[arrival->tier], record);
    ff__order_on_arrival(&keep->order, view, arrival);
}

static void has_left(struct keep *keep, uint64_t capacity, struct keep_block *record) {
    uint32_t ease = (uint32_t)(EASE * (double)capacity / FF_BLOCK_PAGES) + 1;
    enum end end = record->named;
    keep->by_end[end]++;
    ff__bandit_used(&keep->ends, end == END_NEWEST);
    if (end == END_NEWEST && keep->by_end[end] % ease == 0 && keep->spare > keep->spare_least)
        keep->spare--;
    record->left = ++keep->evictions;
    record->gone = record->named;
    record->named = END_NONE;
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    struct keep *keep = state;
    struct keep_block *record = &keep->records[leave->block];
    if (leave->kind == FF_LEAVE_RELEASED && record->named != END_NONE)
        has_left(keep, view->capacity[leave->tier], record);
    ff__order_on_leave(&keep->order, view, leave);
}

static void block_freed(void *state, uint32_t block) {
    struct keep *keep = state;
    ff__order_block_freed(&keep->order, block);
    keep->records[block] = (struct keep_block){.named = END_NONE};
}

/* False when the list is full. */
static bool name(struct keep *keep, const struct ff_view *view,
                 const struct ff_evict_request *request, uint32_t block, enum end end,
                 struct ff_victim_list *victims) {
    if (block == request->for_block || !ff_view_evictable(view, request->tier, block))
        return true;
    keep->records[block].named = (uint8_t)end;
    return ff_victim_add(victims, block) && victims->count < victims->capacity;
}

/* False when the list is full. A hot block would come back as soon again. */
static bool name_newest(struct keep *keep, const struct ff_view *view,
                        const struct ff_evict_request *request, struct ff_victim_list *victims) {
    const struct ff__recency *used = used_of(keep);
    uint32_t spare = keep->spare < used->count / 2 ? keep->spare : used->count / 2;
    for (uint32_t number = used->tail; number != 0;) { /* block + 1 */
        uint32_t block = number - 1;
        number = ff__recency_link(used, block)->prev;
        if (spare > 0)
            spare--;
        else if (!keep->records[block].hot &&
                 !name(keep, view, request, block, END_NEWEST, victims))
            return false;
    }
    return true;
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    struct keep *keep = state;
    if (ff__bandit_is_second(&keep->ends) && !name_newest(keep, view, request, victims))
        return;
    for (uint32_t block = ff__order_next(&keep->order, FF_NONE); block != FF_NONE;
         block = ff__order_next(&keep->order, block))
        if (!name(keep, view, request, block, END_OLDEST, victims))
            return;
}

static uint64_t reserve(void *state, const struct ff_view *view) {
    return ff__reserve_pages(&((const struct keep *)state)->reserve, view);
}

static bool report(const void *state, uint32_t index, struct ff_finding *finding) {
    const struct keep *keep = state;
    if (index > 0 || keep->evictions == 0)
        return false;
    finding->launch = finding->range = FF_NONE;
    snprintf(finding->text, sizeof finding->text,
             "evicted the oldest block %u times (%u came back), one of the newest %u times (%u)",
             keep->by_end[END_OLDEST], keep->back_by_end[END_OLDEST], keep->by_end[END_NEWEST],
             keep->back_by_end[END_NEWEST]);
    return true;
}

const struct ff_evict_policy ff__evict_keep = {
    .base =
        {
            .name = "keep",
            .summary = "the oldest block or one of the newest, whichever came back later before",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_VICTIMS,
            .state_size = sizeof(struct keep),
            .block_state_size = sizeof(struct keep_block),
            .params = params,
            .init = init,
            .block_freed = block_freed,
            .on_arrival = on_arrival,
            .on_leave = on_leave,
            .report = report,
        },
    .reserve = reserve,
    .pick = pick,
};
