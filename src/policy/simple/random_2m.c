/* Evicts a random block, but not one of the latest arrivals. When a program iterates over more data
 * than fits, an order by age evicts every block before its next use; random choice keeps a part.
 * The latest arrivals stay because the threads that faulted may still be using them. */
#include "policy/common/lot.h"
#include "policy/registry.h"

enum { PARAM_LATEST, PARAMS };
static const struct ff_param params[PARAMS + 1] = {
    [PARAM_LATEST] = {"latest", FF_PARAM_INT, 8, 0, 4096,
                      "latest arrivals that are spared; at most half of the resident blocks"},
};

/* By block. */
struct random_block {
    struct ff__lot_record lot;
    uint32_t when; /* of its last arrival */
};

struct random_2m {
    struct ff__lot lot;
    uint32_t latest;
    uint32_t clock; /* arrivals so far; pieces of one block, with no other between, are one */
};

static int init(void *state, const struct ff_policy_env *env) {
    struct random_2m *any = state;
    any->lot = (struct ff__lot){.records = env->block_state,
                                .stride = sizeof(struct random_block),
                                .unit_pages = FF_BLOCK_PAGES,
                                .random = ff__random_seeded(env->seed)};
    any->latest = (uint32_t)env->params[PARAM_LATEST];
    return 0;
}

static struct random_block *record_of(const struct random_2m *any, uint32_t block) {
    return (struct random_block *)(void *)ff__lot_at(&any->lot, block);
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    struct random_2m *any = state;
    struct random_block *record = record_of(any, arrival->block);
    (void)view;
    if (arrival->kind == FF_ARRIVAL_ALLOCATED)
        ff__lot_add(&any->lot, arrival->block);
    else if (any->clock == 0 || record->when != any->clock)
        record->when = ++any->clock;
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    (void)view;
    if (leave->kind == FF_LEAVE_RELEASED)
        ff__lot_remove(&((struct random_2m *)state)->lot, leave->block);
}

static void block_freed(void *state, uint32_t block) {
    struct random_2m *any = state;
    ff__lot_remove(&any->lot, block);
    record_of(any, block)->when = 0;
}

static bool is_late(const struct random_2m *any, uint32_t block) {
    uint32_t half = any->lot.count / 2, when = record_of(any, block)->when;
    return when > 0 && any->clock - when < (any->latest < half ? any->latest : half);
}

/* A late arrival is evicted only for a fault, and only if there is no other victim. */
static enum ff__lot_answer may_go(const void *state, const struct ff_evict_request *request,
                                  uint32_t block) {
    if (!is_late(state, block))
        return FF__LOT_YES;
    return request->cause == FF_EVICT_FOR_FAULT ? FF__LOT_IF_NOBODY_ELSE : FF__LOT_NO;
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    ff__lot_pick(&((struct random_2m *)state)->lot, may_go, state, view, request, victims);
}

const struct ff_evict_policy ff__evict_random_2m = {
    .base =
        {
            .name = "random-2m",
            .summary = "a random block, but not one of the latest arrivals",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS,
            .controls = FF_CONTROLS_VICTIMS,
            .state_size = sizeof(struct random_2m),
            .block_state_size = sizeof(struct random_block),
            .params = params,
            .init = init,
            .block_freed = block_freed,
            .on_arrival = on_arrival,
            .on_leave = on_leave,
        },
    .pick = pick,
};
