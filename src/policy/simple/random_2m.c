/* Any block but the latest arrivals. What comes round and round in a device that is too small for it always loses
 * everything to an order by age; by lot, a part of it stays. The latest arrivals stay because whoever asked for
 * them may still be at them. */
#include "policy/common/evictor.h"
#include "policy/common/row.h"
#include "policy/registry.h"

enum param { PARAM_LATEST, PARAMS };
static const struct ff_param params[PARAMS + 1] = {
    [PARAM_LATEST] = {"latest", FF_PARAM_INT, 8, 0, 4096,
                      "latest arrivals that stay; at most half of what is there"},
};

/* By block. */
struct record {
    struct ff__row_record row;
    uint32_t when; /* of its last arrival */
};

struct any {
    struct ff__row row;
    uint32_t tier, latest;
    uint32_t
        clock; /* arrivals so far; what comes in several pieces, nothing else between, is one */
};

static int init(void *state, const struct ff_policy_env *env) {
    struct any *any = state;
    any->row = (struct ff__row){.records = env->block_state,
                                .stride = sizeof(struct record),
                                .random = ff__random_seeded(env->seed)};
    any->tier = env->tier;
    any->latest = (uint32_t)env->params[PARAM_LATEST];
    return 0;
}

static struct record *record_of(const struct any *any, uint32_t block) {
    return (struct record *)(void *)ff__row_at(&any->row, block);
}

static void on_activate(void *state, const struct ff_view *view, uint32_t block) {
    struct any *any = state;
    (void)view;
    ff__row_add(&any->row, block);
}

static void on_used(void *state, const struct ff_view *view, uint32_t block,
                    const struct ff_mask *pages) {
    struct any *any = state;
    struct record *record = record_of(any, block);
    (void)view, (void)pages;
    if (any->clock == 0 || record->when != any->clock)
        record->when = ++any->clock;
}

static void on_release(void *state, const struct ff_view *view, uint32_t block) {
    struct any *any = state;
    (void)view;
    ff__row_remove(&any->row, block);
}

static void block_freed(void *state, uint32_t block) {
    struct any *any = state;
    ff__row_remove(&any->row, block);
    record_of(any, block)->when = 0;
}

static bool is_late(const struct any *any, uint32_t block) {
    uint32_t half = any->row.count / 2, when = record_of(any, block)->when;
    return when > 0 && any->clock - when < (any->latest < half ? any->latest : half);
}

static bool is_named(const struct ff_advice_list *victims, uint32_t block) {
    for (uint32_t i = 0; i < victims->count; i++)
        if (victims->items[i].block == block)
            return true;
    return false;
}

struct question {
    const struct any *any;
    struct ff__naming naming;
};

/* Only a fault that finds nobody else takes the memory of a late arrival. */
static enum ff__row_answer can_go(const void *self, uint32_t block) {
    const struct question *question = self;
    const struct ff__naming *naming = &question->naming;
    if (block == naming->request->for_block || is_named(naming->victims, block) ||
        !ff_view_evictable(naming->view, question->any->tier, block))
        return FF__ROW_NO;
    if (!is_late(question->any, block))
        return FF__ROW_YES;
    return naming->request->cause == FF_EVICT_FOR_FAULT ? FF__ROW_IF_NOBODY_ELSE : FF__ROW_NO;
}

/* By page as many as make room; by block the first is enough, as others would only be second choices. */
static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_advice_list *victims) {
    struct any *any = state;
    struct question question = {any, ff__naming_of(view, request, victims)};
    while (!ff__naming_done(&question.naming)) {
        uint32_t block = ff__row_draw(&any->row, can_go, &question);
        if (block == FF_NONE)
            return;
        ff__name(&question.naming, block, ff_view_resident(view, any->tier, block));
        if (!view->by_page)
            return;
    }
}

const struct ff_evict_policy ff__evict_random_2m = {
    .base =
        {
            .name = "random-2m",
            .summary = "any block but the latest arrivals",
            .api = FF_POLICY_API,
            .needs = FF_SEES_FAULTS,
            .state_size = sizeof(struct any),
            .block_state_size = sizeof(struct record),
            .params = params,
            .init = init,
            .block_freed = block_freed,
        },
    .on_activate = on_activate,
    .on_used = on_used,
    .on_release = on_release,
    .pick = pick,
};
