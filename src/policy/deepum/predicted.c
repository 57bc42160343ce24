/* DeepUM's pre-eviction, as published (section 5.1): when no memory is free, and ahead of need, the
 * least recently migrated block leaves that neither the running kernel nor the next N predicted
 * ones are expected to use.
 *
 * The paper does not say what leaves when all blocks are expected, as in a loop over more data than
 * fits. Here a fault then evicts what the driver would, the least recently migrated block, and a
 * prefetch and a pre-eviction evict nothing. Nor does it say how much memory is kept free:
 * `reserve`. */
#include "policy/common/migration_order.h"

#include "policy/registry.h"

/* By the block. The engine takes one chunk, and the first block may share its own. */
#define CHOICES 4u

struct predicted {
    struct ff__order order;
    uint64_t reserve; /* pages */
    /* All blocks before this one were expected, as of then; FF_NONE: so were all, or none is known
     * to be. */
    uint32_t at;
    bool all;
    uint64_t now, retractions;
};

enum { RESERVE, PARAMS };

static const struct ff_param params[PARAMS + 1] = {
    [RESERVE] = {"reserve", FF_PARAM_INT, 1, 0, 1 << 20,
                 "free blocks below which blocks are evicted ahead of need"},
};

static int init(void *state, const struct ff_policy_env *env) {
    struct predicted *predicted = state;
    ff__order_start(&predicted->order, env->block_state, sizeof(struct ff__order_link));
    predicted->reserve = (uint64_t)env->params[RESERVE] * FF_BLOCK_PAGES;
    predicted->at = FF_NONE;
    return 0;
}

static void begin_again(struct predicted *predicted) {
    predicted->at = FF_NONE;
    predicted->all = false;
}

/* The block leaves its place in the order. */
static void leave_place(struct predicted *predicted, uint32_t block) {
    if (predicted->at == block)
        predicted->at = ff__order_next(&predicted->order, block);
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    if (arrival->kind != FF_ARRIVAL_ALLOCATED && ff__order_is_movable(state, view, arrival->block))
        leave_place(state, arrival->block);
    ff__order_on_arrival(state, view, arrival);
    ((struct predicted *)state)->all = false;
}

/* Discarded blocks leave first. */
static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    if (leave->kind == FF_LEAVE_DEAD)
        begin_again(state);
    else if (leave->kind == FF_LEAVE_RELEASED)
        leave_place(state, leave->block);
    ff__order_on_leave(state, view, leave);
}

static void block_freed(void *state, uint32_t block) {
    leave_place(state, block);
    ff__order_block_freed(state, block);
}

static uint64_t reserve(void *state, const struct ff_view *view) {
    (void)view;
    return ((const struct predicted *)state)->reserve;
}

/* What was expected still is, unless a kernel has begun or a prediction was retracted. */
static void begin_anew(struct predicted *predicted, const struct ff_view *view, uint32_t tier) {
    uint64_t now = ff_view_current_use(view, tier), retractions = ff_view_retractions(view, tier);
    if (predicted->now != now || predicted->retractions != retractions)
        begin_again(predicted);
    predicted->now = now;
    predicted->retractions = retractions;
    if (predicted->at == FF_NONE && !predicted->all)
        predicted->at = ff__order_next(&predicted->order, FF_NONE);
}

static bool is_expected(const struct ff_view *view, uint32_t tier, uint32_t block) {
    return ff_view_next_launch(view, tier, block) != FF_NO_USE;
}

static void name_unexpected(struct predicted *predicted, const struct ff_view *view,
                            const struct ff_evict_request *request,
                            struct ff_victim_list *victims) {
    uint32_t tier = request->tier, block = predicted->at;
    while (block != FF_NONE && is_expected(view, tier, block))
        block = ff__order_next(&predicted->order, block);
    predicted->at = block;
    predicted->all = block == FF_NONE;
    for (; block != FF_NONE && victims->count < CHOICES;
         block = ff__order_next(&predicted->order, block))
        if (block != request->for_block && ff_view_evictable(view, tier, block) &&
            !is_expected(view, tier, block) && !ff_victim_add(victims, block))
            return;
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    begin_anew(state, view, request->tier);
    name_unexpected(state, view, request, victims);
    if (victims->count == 0 && request->cause == FF_EVICT_FOR_FAULT)
        ff__order_name(state, view, request, victims);
}

const struct ff_evict_policy ff__evict_predicted = {
    .base =
        {
            .name = "predicted",
            .summary = "the least recently migrated block that is not expected to be used (DeepUM)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_VICTIMS,
            .state_size = sizeof(struct predicted),
            .block_state_size = sizeof(struct ff__order_link),
            .params = params,
            .init = init,
            .block_freed = block_freed,
            .on_arrival = on_arrival,
            .on_leave = on_leave,
        },
    .reserve = reserve,
    .pick = pick,
};
