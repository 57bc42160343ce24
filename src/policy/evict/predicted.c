/* DeepUM's pre-eviction (section 5.1): the least recently migrated block that neither the running
 * kernel nor the next N predicted ones are expected to use, ahead of need.
 *
 * Where all blocks are expected, as in a loop over more data than fits, the paper is silent. Then a
 * prefetch takes the least recently migrated block that only a later kernel needs than what it brings,
 * or nothing; the stock and a fault take one that only a later kernel needs than the running one. If
 * there is none, the stock stays short, and a fault takes what the running kernel needs last. What the
 * expectation is comes from the prefetch policy; from one that foretells nothing, this is lrm. */
#include "policy/evict/ahead.h"
#include "policy/evict/migration_order.h"

#include "policy/registry.h"

#define LOOK      512u /* blocks of the order that one pick looks at; ours */
#define NAMED_MAX 16u
#define CHOICES   4u /* by the block: the engine takes one, and the first may share its root */

/* Where the search for a block that is not expected goes on: at the least recently migrated one when a
 * kernel begins, behind those that were found to be expected after that, and so round and round. */
struct hand {
    uint64_t launch;
    uint32_t at; /* FF_NONE: in front of all */
};

struct predicted {
    struct ff__order order;
    struct ff__ahead ahead;
    struct hand hand;
};

static int init(void *state, const struct ff_policy_env *env) {
    struct predicted *predicted = state;
    ff__order_start(&predicted->order, env->block_state, sizeof(struct ff__order_link));
    ff__ahead_start(&predicted->ahead, env);
    predicted->hand.at = FF_NONE;
    return 0;
}

/* The block leaves its place in the order. */
static void leave_place(struct predicted *predicted, uint32_t block) {
    if (predicted->hand.at == block)
        predicted->hand.at = ff__order_next(&predicted->order, block);
}

static void on_used(void *state, const struct ff_view *view, uint32_t block,
                    const struct ff_mask *pages) {
    if (ff__order_is_movable(state, view, block))
        leave_place(state, block);
    ff__order_on_used(state, view, block, pages);
}

/* It goes to the front part of the order. */
static void on_discarded(void *state, const struct ff_view *view, uint32_t block) {
    ((struct predicted *)state)->hand.at = FF_NONE;
    ff__order_on_discarded(state, view, block);
}

static void on_release(void *state, const struct ff_view *view, uint32_t block) {
    leave_place(state, block);
    ff__order_on_release(state, view, block);
}

static void block_freed(void *state, uint32_t block) {
    leave_place(state, block);
    ff__order_block_freed(state, block);
}

static uint64_t stock(void *state, const struct ff_view *view) {
    return ff__ahead_stock(&((const struct predicted *)state)->ahead, view);
}

/* Names blocks, least recently migrated first, whose next use is in launch `from` or later. What has
 * just come may be unexpected because nothing has been learned from it yet. */
static void name_from(const struct ff__order *order, const struct ff_view *view,
                      const struct ff_evict_request *request, uint64_t from, uint32_t first,
                      struct ff_advice_list *victims) {
    struct ff_advice victim = {.tier = request->tier, .launch = FF_NONE};
    uint32_t looked = 0, wanted = view->by_page ? victims->capacity : CHOICES;
    for (uint32_t block = first; block != FF_NONE && victims->count < wanted && looked < LOOK;
         block = ff__order_next(order, block), looked++) {
        if (block == request->for_block || !ff_view_evictable(view, request->tier, block) ||
            (from > 0 && ff__order_is_recent(order, block)) ||
            ff_view_next_launch(view, request->tier, block) < from)
            continue;
        victim.block = block;
        ff_advice_add(victims, &victim);
    }
}

/* Puts the block among those named, which are in the order of their next use, farthest first. */
static void insert(uint32_t block, uint64_t turn, uint64_t *turns, uint32_t wanted,
                   struct ff_advice_list *victims) {
    uint32_t at = victims->count < wanted ? victims->count++ : wanted;
    for (; at > 0 && turns[at - 1] < turn; at--) {
        if (at == wanted)
            continue;
        turns[at] = turns[at - 1];
        victims->items[at].block = victims->items[at - 1].block;
    }
    if (at == wanted)
        return;
    turns[at] = turn;
    victims->items[at].block = block;
}

/* Names the blocks that the running kernel is expected to need last; of those that are alike, the
 * least recently migrated. */
static void name_last_needed(const struct ff__order *order, const struct ff_view *view,
                             const struct ff_evict_request *request,
                             struct ff_advice_list *victims) {
    uint64_t turns[NAMED_MAX];
    uint32_t looked = 0, wanted = view->by_page ? victims->capacity : CHOICES;
    wanted = wanted < NAMED_MAX ? wanted : NAMED_MAX;
    for (uint32_t i = 0; i < wanted; i++)
        victims->items[i] = (struct ff_advice){.tier = request->tier, .launch = FF_NONE};
    for (uint32_t block = ff__order_next(order, FF_NONE); block != FF_NONE && looked < LOOK;
         block = ff__order_next(order, block), looked++)
        if (block != request->for_block && ff_view_evictable(view, request->tier, block) &&
            !ff__order_is_recent(order, block))
            insert(block, ff_view_next_turn(view, request->tier, block), turns, wanted, victims);
}

/* Moves the hand to a block that nobody expects. */
static void search(struct predicted *predicted, const struct ff_view *view, uint32_t tier) {
    const struct ff__order *order = &predicted->order;
    struct hand *hand = &predicted->hand;
    uint64_t launch = ff_view_this_turn(view, tier) >> 32;
    if (hand->launch != launch || hand->at == FF_NONE)
        *hand = (struct hand){launch, ff__order_next(order, FF_NONE)};
    for (uint32_t looked = 0; hand->at != FF_NONE && looked < LOOK; looked++) {
        if (!ff__order_is_recent(order, hand->at) && ff_view_evictable(view, tier, hand->at) &&
            ff_view_next_launch(view, tier, hand->at) == FF_TURN_NEVER)
            break;
        hand->at = ff__order_next(order, hand->at);
    }
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_advice_list *victims) {
    struct predicted *predicted = state;
    search(predicted, view, request->tier);
    name_from(&predicted->order, view, request, FF_TURN_NEVER, predicted->hand.at, victims);
    if (victims->count > 0)
        return;
    uint64_t launch = request->cause == FF_EVICT_FOR_PREFETCH
                          ? ff_view_next_launch(view, request->tier, request->for_block)
                          : ff_view_this_turn(view, request->tier) >> 32;
    uint32_t first = ff__order_next(&predicted->order, FF_NONE);
    if (launch != FF_TURN_NEVER)
        name_from(&predicted->order, view, request, launch + 1, first, victims);
    if (victims->count == 0 && request->cause == FF_EVICT_FOR_FAULT)
        name_last_needed(&predicted->order, view, request, victims);
    if (victims->count == 0 && request->cause == FF_EVICT_FOR_FAULT)
        name_from(&predicted->order, view, request, 0, first, victims);
}

const struct ff_evict_policy ff__evict_predicted = {
    .base =
        {
            .name = "predicted",
            .summary = "least recently migrated and not expected to be used soon (DeepUM)",
            .api = FF_POLICY_API,
            .needs = FF_SEES_FAULTS,
            .state_size = sizeof(struct predicted),
            .block_state_size = sizeof(struct ff__order_link),
            .params = ff__ahead_params,
            .init = init,
            .block_freed = block_freed,
        },
    .on_activate = ff__order_on_activate,
    .on_used = on_used,
    .on_discarded = on_discarded,
    .on_release = on_release,
    .stock = stock,
    .pick = pick,
};
