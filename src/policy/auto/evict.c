/* Evicts by predicted next uses where there are any; else by the rival that regrets its victims least. Ours.
 *
 * Two evictors, told of everything, each name a share of the victims. A victim that comes back soon is one that its
 * evictor regrets, and lowers its share, as in LeCaR (Vietri et al., HotStorage 2018) and in EXP3 (Auer et al., 2002), which
 * simple/keep.c does with the two ends of one order. So whoever is right about the running work evicts most, and the
 * others are asked just often enough to find out that the work has changed.
 *
 * While blocks are prefetched ahead, all leave by the forecast: a victim that is needed before what was brought would
 * undo the prefetch. */
#include "policy/auto/rival.h"
#include "policy/registry.h"

#include <math.h>
#include <stdio.h>

/* As simple/keep.c's, for the same reasons. */
#define STEP     0.30 /* change of a share by a regret of 1, at even shares; as a logarithm */
#define STEP_MAX 1.0  /* by one block */
#define HALF     0.25 /* evictions by which regret halves, as a share of the device's blocks */

enum rival { KEEP, CLASSES, RIVALS, FORECAST = RIVALS, ALL };

enum param { PARAM_PROBE, PARAMS };
static const struct ff_param params[PARAMS + 1] = {
    [PARAM_PROBE] = {"probe", FF_PARAM_INT, 3, 1, 20,
                     "percent of evictions that each rival gets at least"},
};

/* By block. */
struct record {
    uint32_t left; /* how many evictions there had been when it left */
    uint8_t named; /* 1 + the rival that named it last; 0: none */
    uint8_t gone;  /* 1 + the rival that it was evicted by; 0: it was not, or is back */
};

struct auto_evict {
    struct ff__rival rivals[ALL];
    struct record *records;
    double share[RIVALS], owed[RIVALS]; /* of evictions; their sum is 1, and 0 */
    double probe;
    uint32_t evictions, by[ALL], back[ALL];
};

static const struct ff__rival_param settings[] = {
    {"record", 1}, {"declared", 1}, {"similar", 1}, {NULL, 0}};

static const struct ff_evict_policy *policy_of(enum rival rival) {
    static const struct ff_evict_policy *const policies[ALL] = {
        [KEEP] = &ff__evict_keep,
        [CLASSES] = &ff__evict_forest_plus,
        [FORECAST] = &ff__evict_farthest,
    };
    return policies[rival];
}

static void fini(void *state) {
    struct auto_evict *self = state;
    for (unsigned i = 0; i < ALL; i++)
        ff__rival_stop(&self->rivals[i]);
}

static int init(void *state, const struct ff_policy_env *env) {
    struct auto_evict *self = state;
    int status = 0;
    self->records = env->block_state;
    self->probe = (double)env->params[PARAM_PROBE] / 100;
    for (unsigned i = 0; i < ALL && !status; i++)
        status = ff__rival_start(&self->rivals[i], &policy_of(i)->base, settings, env);
    for (unsigned i = 0; i < RIVALS; i++)
        self->share[i] = 1.0 / RIVALS;
    if (status)
        fini(state);
    return status;
}

/* ---- regret ---- */

static double regret_of(uint32_t absence, uint64_t capacity) {
    return exp2(-(double)absence * FF_BLOCK_PAGES / (HALF * (double)capacity));
}

/* What is taken from it goes to the others as they have; none gets less than `probe`. */
static void regret(struct auto_evict *self, unsigned rival, double amount) {
    double sum = 0, free = 1 - RIVALS * self->probe;
    double scale = exp(-fmin(STEP_MAX, STEP * amount / (RIVALS * self->share[rival])));
    for (unsigned i = 0; i < RIVALS; i++)
        sum += self->share[i] - self->probe;
    for (unsigned i = 0; i < RIVALS; i++) {
        double above = fmax((self->share[i] - self->probe) / sum, 1e-3);
        self->share[i] = i == rival ? above * scale : above;
    }
    sum = 0;
    for (unsigned i = 0; i < RIVALS; i++)
        sum += self->share[i];
    for (unsigned i = 0; i < RIVALS; i++)
        self->share[i] = self->probe + free * self->share[i] / sum;
}

static void has_come_back(struct auto_evict *self, uint64_t capacity, struct record *record) {
    unsigned rival = record->gone - 1u;
    self->back[rival]++;
    if (rival < RIVALS)
        regret(self, rival, regret_of(self->evictions - record->left, capacity));
    record->gone = 0;
}

static void has_left(struct auto_evict *self, struct record *record) {
    unsigned rival = record->named - 1u;
    self->by[rival]++;
    for (unsigned i = 0; i < RIVALS && rival < RIVALS; i++)
        self->owed[i] = fmin(fmax(self->owed[i] + self->share[i] - (i == rival), -2), 2);
    record->left = ++self->evictions;
    record->gone = record->named;
    record->named = 0;
}

/* ---- what happens ---- */

static void on_launch(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice) {
    struct auto_evict *self = state;
    for (unsigned i = 0; i < ALL; i++)
        ff__rival_on_launch(&self->rivals[i], view, event, advice);
}

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    struct auto_evict *self = state;
    struct record *record = &self->records[arrival->block];
    if (arrival->kind == FF_ARRIVAL_ALLOCATED && record->gone)
        has_come_back(self, view->capacity[arrival->tier], record);
    for (unsigned i = 0; i < ALL; i++)
        ff__rival_on_arrival(&self->rivals[i], view, arrival);
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    struct auto_evict *self = state;
    struct record *record = &self->records[leave->block];
    if (leave->kind == FF_LEAVE_RELEASED && record->named)
        has_left(self, record);
    for (unsigned i = 0; i < ALL; i++)
        ff__rival_on_leave(&self->rivals[i], view, leave);
}

static void on_samples(void *state, const struct ff_view *view, const struct ff_sample_round *round,
                       struct ff_advice_list *advice) {
    struct auto_evict *self = state;
    for (unsigned i = 0; i < ALL; i++)
        ff__rival_on_samples(&self->rivals[i], view, round, advice);
}

static void range_added(void *state, const struct ff_view *view, uint32_t range) {
    struct auto_evict *self = state;
    for (unsigned i = 0; i < ALL; i++)
        ff__rival_range_added(&self->rivals[i], view, range);
}

static void range_freed(void *state, uint32_t range) {
    struct auto_evict *self = state;
    for (unsigned i = 0; i < ALL; i++)
        ff__rival_range_freed(&self->rivals[i], range);
}

static void block_freed(void *state, uint32_t block) {
    struct auto_evict *self = state;
    struct record *record = &self->records[block];
    for (unsigned i = 0; i < ALL; i++)
        ff__rival_block_freed(&self->rivals[i], block);
    if (record->named || record->gone) /* otherwise what was never written stays unallocated */
        *record = (struct record){0};
}

/* ---- victims ---- */

static unsigned next_rival(const struct auto_evict *self, const struct ff_view *view,
                           const struct ff_evict_request *request) {
    unsigned best = 0;
    if (ff_view_current_use(view, request->tier) > 0)
        return FORECAST;
    for (unsigned i = 1; i < RIVALS; i++)
        if (self->owed[i] + self->share[i] > self->owed[best] + self->share[best])
            best = i;
    return best;
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    struct auto_evict *self = state;
    unsigned rival = next_rival(self, view, request);
    policy_of(rival)->pick(self->rivals[rival].state, view, request, victims);
    if (victims->count == 0 && rival < RIVALS) {
        rival = RIVALS - 1 - rival; /* the other one */
        policy_of(rival)->pick(self->rivals[rival].state, view, request, victims);
    }
    for (uint32_t i = 0; i < victims->count; i++)
        self->records[victims->items[i].block].named = (uint8_t)(rival + 1);
}

static bool report(const void *state, uint32_t index, struct ff_finding *finding) {
    const struct auto_evict *self = state;
    if (index >= ALL || self->evictions == 0)
        return false;
    finding->launch = finding->range = FF_NONE;
    snprintf(finding->text, sizeof finding->text, "%s evicted %u times (%u came back)",
             policy_of(index)->base.name, self->by[index], self->back[index]);
    return true;
}

static const struct ff_sample_hooks samples = {.on_samples = on_samples};

const struct ff_evict_policy ff__evict_auto = {
    .base =
        {
            .name = "auto",
            .summary =
                "farthest where uses are predicted; else keep or forest-plus, whoever regrets less",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_LAUNCHES | FF_SEES_SAMPLES,
            .controls = FF_CONTROLS_VICTIMS | FF_CONTROLS_SAMPLING,
            .state_size = sizeof(struct auto_evict),
            .block_state_size = sizeof(struct record),
            .params = params,
            .init = init,
            .fini = fini,
            .report = report,
            .on_launch = on_launch,
            .on_arrival = on_arrival,
            .on_leave = on_leave,
            .range_added = range_added,
            .range_freed = range_freed,
            .block_freed = block_freed,
            .samples = &samples,
        },
    .pick = pick,
};
