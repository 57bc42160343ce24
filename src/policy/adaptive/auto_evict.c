/* Evicts by predicted next uses where there are any. Otherwise it evicts blocks whose whole content
 * is dead, while that costs less, and then by keep or forest-plus, whichever costs less. Ours.
 *
 * All three evictors get every event. While blocks are prefetched ahead, the forecast names all
 * victims: to evict a block that is needed before the prefetched ones would undo the prefetch.
 * Otherwise the one of keep and forest-plus evicts whose victims come back less or later; the other
 * one is asked just often enough to notice that the work has changed (common/bandit.h).
 *
 * A block whose whole content is dead needs no copy, neither now nor when its allocator gives it
 * out again. But that may be soon: then it faults again, while an old block may never be needed. So
 * dead blocks leave first as long as that costs less than other victims do, another trial. */
#include "policy/common/bandit.h"
#include "policy/common/inner.h"
#include "policy/common/reserve.h"
#include "policy/registry.h"

#include <stdio.h>

/* Where the kernels' processors copy: what zeroing a dead block costs as a part of copying a living
 * one, which reads as much as it writes. */
#define DEAD_COST 0.5

enum evictor { KEEP, CLASSES, FORECAST, EVICTORS };

enum { PARAM_PROBE = FF__RESERVE_PARAMS, PARAMS };
static const struct ff_param params[PARAMS + 1] = {
    FF__RESERVE_ROWS,
    [PARAM_PROBE] = {"probe", FF_PARAM_INT, 1, 1, 50,
                     "percent of evictions that keep and forest-plus each get at least"},
};

/* By block. */
struct auto_block {
    uint32_t left; /* how many evictions there had been when it left */
    uint8_t named; /* 1 + the evictor that named it last; 0: none */
    uint8_t gone;  /* 1 + the evictor that it was evicted by; 0: it was not, or is back */
    bool dead;     /* as a whole, when it was named last */
};

struct auto_evict {
    struct ff__inners inners; /* [enum evictor] */
    struct ff__reserve reserve;
    struct auto_block *records;
    struct ff__bandit shares; /* the second way is forest-plus */
    struct ff__bandit dead;   /* the second way is that dead blocks leave first */
    bool any_dead;            /* blocks have died since none was found dead */
    bool has_begun;           /* there has been a victim */
    double dead_cost;         /* of a dead block's coming back, as a part of a living one's */
    uint32_t most;            /* victims of one of both evictors to one of the other, at most */
    uint32_t evictions, by[EVICTORS], back[EVICTORS], dead_left, dead_back;
};

static const struct ff__inner_param settings[] = {
    {"record", 1}, {"declared", 1}, {"similar", 1}, {NULL, 0}};

static const struct ff_evict_policy *const policies[EVICTORS] = {
    [KEEP] = &ff__evict_keep,
    [CLASSES] = &ff__evict_forest_plus,
    [FORECAST] = &ff__evict_farthest,
};

static int init(void *state, const struct ff_policy_env *env) {
    struct auto_evict *self = state;
    int status = 0;
    self->records = env->block_state;
    ff__reserve_start(&self->reserve, env);
    self->most = 100 / (uint32_t)env->params[PARAM_PROBE];
    for (unsigned i = 0; i < EVICTORS && !status; i++)
        status = ff__inners_start(&self->inners, &policies[i]->base, settings, env);
    if (status)
        ff__inners_fini(state);
    return status;
}

/* ---- what happens ---- */

static void has_come_back(struct auto_evict *self, uint64_t capacity, struct auto_block *record) {
    enum evictor evictor = record->gone - 1u;
    double cost = ff__bandit_late(self->evictions - record->left, capacity);
    ff__bandit_cost(&self->dead, record->dead, record->dead ? cost * self->dead_cost : cost);
    self->back[evictor]++;
    self->dead_back += record->dead;
    if (evictor != FORECAST)
        ff__bandit_cost(&self->shares, evictor == CLASSES, cost);
    record->gone = 0;
}

static void has_left(struct auto_evict *self, struct auto_block *record) {
    enum evictor evictor = record->named - 1u;
    ff__bandit_used(&self->dead, record->dead);
    self->by[evictor]++;
    self->dead_left += record->dead;
    if (evictor != FORECAST)
        ff__bandit_used(&self->shares, evictor == CLASSES);
    record->left = ++self->evictions;
    record->gone = record->named;
    record->named = 0;
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    struct auto_evict *self = state;
    struct auto_block *record = &self->records[arrival->block];
    ff__reserve_arrival(&self->reserve, view, arrival);
    if (arrival->kind == FF_ARRIVAL_ALLOCATED && record->gone)
        has_come_back(self, view->capacity[arrival->tier], record);
    ff__inners_on_arrival(state, view, arrival);
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    struct auto_evict *self = state;
    struct auto_block *record = &self->records[leave->block];
    if (leave->kind == FF_LEAVE_RELEASED && record->named)
        has_left(self, record);
    if (leave->kind == FF_LEAVE_DEAD)
        self->any_dead = true;
    ff__inners_on_leave(state, view, leave);
}

static void block_freed(void *state, uint32_t block) {
    struct auto_evict *self = state;
    struct auto_block *record = &self->records[block];
    ff__inners_block_freed(state, block);
    if (record->named || record->gone) /* otherwise what was never written stays unallocated */
        *record = (struct auto_block){0};
}

/* ---- victims ---- */

/* Of a dead block's coming back, as a part of a living one's. It is a fault, and where the kernels'
 * processors copy, they write zeros instead. */
static double dead_cost(const struct ff_view *view, uint32_t tier) {
    if (view->copies_on_processors)
        return DEAD_COST;
    return (double)ff_view_faults_ns(view, tier, 1, 0) /
           (double)ff_view_faults_ns(view, tier, 1, FF_BLOCK_PAGES);
}

/* The first victims. Both evictors take turns until one of them has cost less. */
static void start_trials(struct auto_evict *self, const struct ff_view *view, uint32_t tier) {
    ff__bandit_start(&self->shares, false, 1, self->most);
    ff__bandit_start(&self->dead, true, self->most, self->most);
    self->dead_cost = dead_cost(view, tier);
    self->has_begun = true;
}

/* Room for a block that comes as one of a pair is forest-plus's to make: it spares what is in use.
 */
static enum evictor choose(const struct auto_evict *self, const struct ff_view *view,
                           const struct ff_evict_request *request) {
    if (ff_view_current_use(view, request->tier) > 0)
        return FORECAST;
    return request->cause == FF_EVICT_FOR_PREFETCH || ff__bandit_is_second(&self->shares) ? CLASSES
                                                                                          : KEEP;
}

static void name(struct auto_evict *self, uint32_t block, enum evictor evictor, bool dead) {
    self->records[block].named = (uint8_t)(evictor + 1);
    self->records[block].dead = dead;
}

static void ask(struct auto_evict *self, enum evictor evictor, const struct ff_view *view,
                const struct ff_evict_request *request, struct ff_victim_list *victims) {
    policies[evictor]->pick(self->inners.at[evictor].state, view, request, victims);
    for (uint32_t i = 0; i < victims->count; i++)
        name(self, victims->items[i].block, evictor, false);
}

static bool is_dead(const struct ff_view *view, uint32_t tier, uint32_t block) {
    return ff_mask_within(ff_view_resident(view, tier, block),
                          &ff_view_facts(view, block)->inactive);
}

/* Names blocks that are dead as a whole, which farthest names before all others. False: there are
 * none. */
static bool ask_for_dead(struct auto_evict *self, const struct ff_view *view,
                         const struct ff_evict_request *request, struct ff_victim_list *victims) {
    uint32_t dead = 0;
    policies[FORECAST]->pick(self->inners.at[FORECAST].state, view, request, victims);
    while (dead < victims->count && is_dead(view, request->tier, victims->items[dead].block))
        name(self, victims->items[dead++].block, FORECAST, true);
    victims->count = dead;
    self->any_dead = dead > 0;
    return dead > 0;
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    struct auto_evict *self = state;
    if (!self->has_begun)
        start_trials(self, view, request->tier);
    enum evictor evictor = choose(self, view, request);
    if (evictor != FORECAST && self->any_dead && ff__bandit_is_second(&self->dead) &&
        ask_for_dead(self, view, request, victims))
        return;
    ask(self, evictor, view, request, victims);
    if (victims->count == 0 && request->cause != FF_EVICT_FOR_PREFETCH && evictor == CLASSES)
        ask(self, KEEP, view, request, victims); /* names all that can leave */
}

static uint64_t reserve(void *state, const struct ff_view *view) {
    return ff__reserve_pages(&((const struct auto_evict *)state)->reserve, view);
}

static bool report(const void *state, uint32_t index, struct ff_finding *finding) {
    const struct auto_evict *self = state;
    if (index >= EVICTORS + (self->dead_left > 0) || self->evictions == 0)
        return false;
    finding->launch = finding->range = FF_NONE;
    if (index == EVICTORS)
        snprintf(finding->text, sizeof finding->text,
                 "dead blocks left first %u times, by farthest (%u came back)", self->dead_left,
                 self->dead_back);
    else
        snprintf(finding->text, sizeof finding->text, "%s evicted %u times (%u came back)",
                 policies[index]->base.name, self->by[index], self->back[index]);
    return true;
}

const struct ff_evict_policy ff__evict_auto = {
    .base =
        {
            .name = "auto",
            .summary = "farthest where uses are predicted; else keep or forest-plus, whichever "
                       "costs less",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_LAUNCHES,
            .controls = FF_CONTROLS_VICTIMS,
            .state_size = sizeof(struct auto_evict),
            .block_state_size = sizeof(struct auto_block),
            .params = params,
            .init = init,
            .fini = ff__inners_fini,
            .report = report,
            .on_launch = ff__inners_on_launch,
            .on_arrival = on_arrival,
            .on_leave = on_leave,
            .range_added = ff__inners_range_added,
            .range_freed = ff__inners_range_freed,
            .block_freed = block_freed,
            .samples = &ff__inners_samples,
        },
    .reserve = reserve,
    .pick = pick,
};
