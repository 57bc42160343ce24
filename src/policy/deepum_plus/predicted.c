/* DeepUM's pre-eviction (section 5.1): the least recently migrated block that neither the running
 * kernel nor the next N predicted ones are expected to use, ahead of need.
 *
 * The paper does not say what to evict if all blocks are expected, as in a loop over more data than
 * fits. Here, a prefetch evicts the least recently migrated block that is first needed by a later
 * kernel than the prefetched one, or nothing. Pre-eviction and faults evict one that the running
 * kernel does not need. If there is none, pre-eviction evicts nothing, and a fault evicts the block
 * that the running kernel needs last. The expectation is the forecast of the prefetch policy;
 * without a forecast, this is lrm. */
#include "policy/common/evictor.h"
#include "policy/common/migration_order.h"
#include "policy/common/reserve.h"
#include "policy/deepum_plus/ahead.h"

#include "policy/registry.h"

#define LOOK 512u /* blocks of the order that one pick looks at; ours */
/* Where no single pages leave: the engine takes one chunk, and the first block may share its own.
 */
#define CHOICES 4u

/* Of a block. A launch that is predicted to use it is cached: a search over many expected blocks,
 * which is repeated often, then asks the forecast about few of them again. */
struct predicted_block {
    struct ff__order_link link;
    uint32_t launch, retractions; /* as of then */
};

/* Where the search for a block that is not expected continues. It starts at the least recently
 * migrated block when a kernel begins, skips the blocks that were found to be expected since, and
 * wraps around at the end. */
struct hand {
    uint64_t launch;
    uint32_t at; /* FF_NONE: in front of all */
};

struct predicted_plus {
    struct ff__order order;
    struct ff__reserve reserve;
    struct hand hand;
};

static int init(void *state, const struct ff_policy_env *env) {
    struct predicted_plus *predicted = state;
    ff__order_start(&predicted->order, env->block_state, sizeof(struct predicted_block));
    ff__reserve_start(&predicted->reserve, env);
    predicted->hand.at = FF_NONE;
    return 0;
}

/* The block leaves its place in the order. */
static void leave_place(struct predicted_plus *predicted, uint32_t block) {
    if (predicted->hand.at == block)
        predicted->hand.at = ff__order_next(&predicted->order, block);
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    if (arrival->kind != FF_ARRIVAL_ALLOCATED && ff__order_is_movable(state, view, arrival->block))
        leave_place(state, arrival->block);
    ff__order_on_arrival(state, view, arrival);
}

/* Discarded blocks become the first eviction candidates. */
static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    if (leave->kind == FF_LEAVE_DEAD)
        ((struct predicted_plus *)state)->hand.at = FF_NONE;
    else if (leave->kind == FF_LEAVE_RELEASED)
        leave_place(state, leave->block);
    ff__order_on_leave(state, view, leave);
}

static void block_freed(void *state, uint32_t block) {
    struct predicted_block *place = (void *)ff__order_at(state, block);
    leave_place(state, block);
    ff__order_block_freed(state, block);
    place->launch = 0;
}

static uint64_t reserve(void *state, const struct ff_view *view) {
    return ff__reserve_pages(&((const struct predicted_plus *)state)->reserve, view);
}

/* What is asked of every block of a search. */
struct question {
    const struct ff_view *view;
    uint32_t tier, launch, retractions; /* the running launch, and the forecast's count */
    uint64_t from;                      /* no use before this launch is expected */
};

static struct question question_of(const struct ff_view *view, uint32_t tier) {
    return (struct question){.view = view,
                             .tier = tier,
                             .launch = (uint32_t)(ff_view_current_use(view, tier) >> 32),
                             .retractions = (uint32_t)ff_view_retractions(view, tier),
                             .from = FF_NO_USE};
}

/* Whether a block may go. What has just come may be unexpected because nothing has been learned
 * from it yet. */
static inline bool may_go(const struct ff__order *order, uint32_t block,
                          const struct question *question) {
    struct predicted_block *place = (void *)ff__order_at(order, block);
    if (place->launch > question->launch && place->launch < question->from &&
        place->retractions == question->retractions)
        return false;
    if (!ff_view_evictable(question->view, question->tier, block))
        return false;
    if (question->from == 0)
        return true;
    if (ff__order_is_recent(order, block))
        return false;
    uint64_t launch = ff_view_next_launch(question->view, question->tier, block);
    if (launch != FF_NO_USE) {
        place->launch = (uint32_t)launch;
        place->retractions = question->retractions;
    }
    return launch >= question->from;
}

static uint32_t wanted_of(const struct ff_view *view, const struct ff_victim_list *victims) {
    uint32_t wanted = ff__names_pages(view) ? FF__AHEAD_NAMED : CHOICES;
    return victims->capacity < wanted ? victims->capacity : wanted;
}

/* Names blocks that may go, least recently migrated first. */
static void name_from(const struct ff__order *order, const struct question *question,
                      uint32_t for_block, uint32_t first, struct ff_victim_list *victims) {
    uint32_t looked = 0, wanted = wanted_of(question->view, victims);
    for (uint32_t block = first; block != FF_NONE && victims->count < wanted && looked < LOOK;
         block = ff__order_next(order, block), looked++) {
        if (block == for_block || !may_go(order, block, question))
            continue;
        ff_victim_add(victims, block);
    }
}

/* Names the blocks that the running kernel is expected to need last; of those that are alike, the
 * least recently migrated. */
static void name_last_needed(const struct ff__order *order, const struct question *question,
                             uint32_t for_block, struct ff_victim_list *victims) {
    uint64_t uses[FF__AHEAD_NAMED];
    uint32_t looked = 0, wanted = wanted_of(question->view, victims);
    if (wanted == 0)
        return;
    for (uint32_t i = 0; i < wanted; i++)
        victims->items[i] = (struct ff_victim){0};
    for (uint32_t block = ff__order_next(order, FF_NONE); block != FF_NONE && looked < LOOK;
         block = ff__order_next(order, block), looked++)
        if (block != for_block && may_go(order, block, question) &&
            !ff__order_is_recent(order, block))
            ff__ahead_insert(block, ff_view_next_use(question->view, question->tier, block), uses,
                             wanted, victims);
}

/* Moves the hand to a block whose use is not expected. */
static void search(struct predicted_plus *predicted, const struct question *question) {
    const struct ff__order *order = &predicted->order;
    struct hand *hand = &predicted->hand;
    if (hand->launch != question->launch || hand->at == FF_NONE)
        *hand = (struct hand){question->launch, ff__order_next(order, FF_NONE)};
    for (uint32_t looked = 0; hand->at != FF_NONE && looked < LOOK; looked++) {
        if (may_go(order, hand->at, question))
            break;
        hand->at = ff__order_next(order, hand->at);
    }
}

static void name_victims(struct predicted_plus *predicted, const struct ff_view *view,
                         const struct ff_evict_request *request, struct ff_victim_list *victims) {
    struct question question = question_of(view, request->tier);
    search(predicted, &question);
    name_from(&predicted->order, &question, request->for_block, predicted->hand.at, victims);
    if (victims->count > 0)
        return;
    uint64_t launch = request->cause == FF_EVICT_FOR_PREFETCH
                          ? ff_view_next_launch(view, request->tier, request->for_block)
                          : ff_view_current_use(view, request->tier) >> 32;
    uint32_t first = ff__order_next(&predicted->order, FF_NONE);
    question.from = launch + 1;
    if (launch != FF_NO_USE)
        name_from(&predicted->order, &question, request->for_block, first, victims);
    question.from = 0;
    if (victims->count == 0 && request->cause == FF_EVICT_FOR_FAULT)
        name_last_needed(&predicted->order, &question, request->for_block, victims);
    if (victims->count == 0 && request->cause == FF_EVICT_FOR_FAULT)
        name_from(&predicted->order, &question, request->for_block, first, victims);
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    name_victims(state, view, request, victims);
    ff__ahead_judge_chunks(view, request, victims);
}

const struct ff_evict_policy ff__evict_predicted_plus = {
    .base =
        {
            .name = "predicted-plus",
            .summary = "as predicted; where every block is expected, one that is needed later",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_VICTIMS,
            .state_size = sizeof(struct predicted_plus),
            .block_state_size = sizeof(struct predicted_block),
            .params = ff__reserve_params,
            .init = init,
            .block_freed = block_freed,
            .on_arrival = on_arrival,
            .on_leave = on_leave,
        },
    .reserve = reserve,
    .pick = pick,
};
