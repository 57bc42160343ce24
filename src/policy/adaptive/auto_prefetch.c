/* Reacts to faults only, or prefetches ahead as well: the way whose launches were shorter. Ours.
 *
 * What a fault brings is decided by forest with whole blocks: pairs of blocks where a range is
 * linear; and by adaptive/sparse.h where little of a range is used. Meanwhile correlation-plus
 * learns which blocks kernels use, and predicts their uses. Whether to follow it and bring blocks
 * ahead of faults, too, depends on the machine: where the host's processors compute, prefetching
 * takes them from that. So both ways are tried in turns on launches that recur, and compared by the
 * time that launches with the same execution IDs took. */
#include "policy/adaptive/sparse.h"
#include "policy/common/bandit.h"
#include "policy/common/inner.h"
#include "policy/registry.h"

#include <stdio.h>

/* Launches that recur in a turn: as many as there are execution IDs, an iteration of a program that
 * iterates, and no fewer than this. */
#define TURN_LEAST 8u
#define SETTLING   2u  /* launches after a change that are not counted */
#define WEIGHT     0.5 /* of the latest launch in a mean */
#define MOST       64u /* turns of one way to one of the other */
/* The same at first, where transfers are the work of the processors that compute. */
#define FIRST_OF_COPIES 16u

enum way { REACT, AHEAD, WAYS };
enum inner { FOREST, CORRELATION };

enum { PARAM_WAY = FF__SPARSE_PARAMS, PARAMS };
static const struct ff_param params[PARAMS + 1] = {
    FF__SPARSE_ROWS,
    [PARAM_WAY] = {"way", FF_PARAM_INT, 0, 0, WAYS,
                   "0: whichever is faster; 1: only react to faults; 2: always prefetch ahead"},
};

/* By device and slot of an execution ID: how long its launches took, each way. */
struct launch_timing {
    uint32_t id;    /* plus one; 0: none */
    float ns[WAYS]; /* a mean of the latest; 0: not known */
};

/* Of a device. */
struct device_turns {
    uint32_t launch; /* that runs; FF_NONE: none */
    uint64_t begun_ns;
    bool recurs; /* its execution ID has run before */
    enum way way;
    uint32_t turn;  /* launches of this turn that had been known before */
    uint32_t since; /* launches since the latest change */
    double ns;      /* of this turn's launches whose time is known for both ways */
    double mean_ns; /* what they take in the mean of both ways */
    struct ff__bandit bandit;
    uint32_t ids, launches[WAYS], changes;
};

struct auto_prefetch {
    struct ff__inners inners; /* [enum inner] */
    struct ff__sparse sparse;
    struct launch_timing *timings; /* [device][FF_LAUNCH_SLOTS] */
    bool fixed;                    /* there is only one way */
    struct device_turns devices[FF_TIERS_MAX];
};

static const struct ff__inner_param of_correlation[] = {{"beyond", 1}, {NULL, 0}};

static size_t arena_size(const int64_t *values) {
    (void)values;
    return (FF_TIERS_MAX - 1) * (size_t)FF_LAUNCH_SLOTS * sizeof(struct launch_timing);
}

/* With the parameters that it has in specforest-plus. */
static int start_forest(struct auto_prefetch *self, const struct ff_policy_env *env) {
    struct ff__system plus;
    int status = ff__system_parse("specforest-plus", &plus, NULL);
    return status ? status
                  : ff__inners_start_with(&self->inners, plus.policy[FF__PREFETCH],
                                          plus.params[FF__PREFETCH], env);
}

static int init(void *state, const struct ff_policy_env *env) {
    struct auto_prefetch *self = state;
    ff__sparse_start(&self->sparse, env, sizeof(struct ff__sparse_block),
                     sizeof(struct ff__sparse_range), 0);
    self->timings = env->arena;
    self->fixed = env->params[PARAM_WAY] != 0;
    for (uint32_t tier = 0; tier < FF_TIERS_MAX; tier++)
        self->devices[tier] = (struct device_turns){
            .launch = FF_NONE, .way = env->params[PARAM_WAY] == 2 ? AHEAD : REACT};
    int status = start_forest(self, env);
    if (!status)
        status = ff__inners_start(&self->inners, &ff__prefetch_correlation_plus.base,
                                  of_correlation, env);
    if (status)
        ff__inners_fini(state);
    return status;
}

/* ---- which way ---- */

/* Where the kernels' processors copy, prefetching takes the time that it saves from the kernels. */
static void start_turns(struct device_turns *device, const struct ff_view *view) {
    ff__bandit_start(&device->bandit, false, view->copies_on_processors ? FIRST_OF_COPIES : 1,
                     MOST);
}

/* The turn's time counts in relation to what the same launches take in the mean of both ways. */
static void end_turn(struct device_turns *device) {
    enum way way = device->way;
    ff__bandit_cost(&device->bandit, way == AHEAD,
                    device->mean_ns > 0 ? device->ns / device->mean_ns : 1);
    ff__bandit_used(&device->bandit, way == AHEAD);
    device->way = ff__bandit_is_second(&device->bandit) ? AHEAD : REACT;
    device->turn = 0;
    device->ns = device->mean_ns = 0;
    if (device->way == way)
        return;
    device->changes++;
    device->since = 0;
}

static struct launch_timing *timing_of(const struct auto_prefetch *self,
                                       const struct device_turns *device, uint32_t id) {
    size_t number = (size_t)(device - self->devices) - 1;
    return &self->timings[number * FF_LAUNCH_SLOTS + ff_launch_slot(id)];
}

/* The first launch of an ID is not counted: much of what it uses comes for the first time. */
static void note_time(struct device_turns *device, struct launch_timing *timing, uint32_t id,
                      double ns) {
    float *mean = &timing->ns[device->way];
    device->ids += timing->id == 0;
    if (timing->id != id + 1)
        *timing = (struct launch_timing){.id = id + 1};
    else
        *mean = (float)(*mean > 0 ? (1 - WEIGHT) * (double)*mean + WEIGHT * ns : ns);
    if (timing->ns[REACT] > 0 && timing->ns[AHEAD] > 0) {
        device->ns += (double)*mean;
        device->mean_ns += (double)(timing->ns[REACT] + timing->ns[AHEAD]) / 2;
    }
}

static bool is_over(const struct device_turns *device) {
    return device->turn >= TURN_LEAST && device->turn >= device->ids;
}

static void end_launch(struct auto_prefetch *self, struct device_turns *device, uint64_t now_ns) {
    uint32_t id = device->launch;
    struct launch_timing *timing = timing_of(self, device, id);
    device->launch = FF_NONE;
    device->launches[device->way]++;
    device->turn += device->recurs;
    if (device->since++ >= SETTLING || device->changes == 0)
        note_time(device, timing, id, (double)(now_ns - device->begun_ns));
    if (!self->fixed && is_over(device))
        end_turn(device);
}

static void on_launch(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice) {
    struct auto_prefetch *self = state;
    struct device_turns *device = &self->devices[event->tier];
    ff__sparse_launch(&self->sparse, event);
    if (event->begins) {
        if (device->ids == 0)
            start_turns(device, view);
        device->launch = event->launch;
        device->begun_ns = view->now_ns;
        device->recurs = timing_of(self, device, event->launch)->id == event->launch + 1;
    } else if (device->launch == event->launch) {
        end_launch(self, device, view->now_ns);
    }
    ff__inners_on_launch(state, view, event, advice);
}

/* ---- what comes ---- */

/* Forest advises on the other blocks of its trees; not of ranges that are used sparsely, or may be.
 */
static bool may_bring(const struct auto_prefetch *self, const struct ff_view *view,
                      const struct ff_advice *advice) {
    return !ff__sparse_is(&self->sparse, view, advice->block) &&
           !ff__sparse_is_tried(&self->sparse, view, advice->tier, advice->block);
}

static void on_batch(void *state, const struct ff_view *view, const struct ff_fault_group *groups,
                     uint32_t count, struct ff_advice_list *advice) {
    struct auto_prefetch *self = state;
    uint32_t first = advice->count, kept = first;
    ff__prefetch_forest.on_batch(self->inners.at[FOREST].state, view, groups, count, advice);
    for (uint32_t i = first; i < advice->count; i++)
        if (may_bring(self, view, &advice->items[i]))
            advice->items[kept++] = advice->items[i];
    advice->count = kept;
}

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    struct auto_prefetch *self = state;
    if (!ff__sparse_fault(&self->sparse, view, group, advice))
        ff__prefetch_forest.on_fault(self->inners.at[FOREST].state, view, group, advice);
}

static void on_access(void *state, const struct ff_view *view, const struct ff_access_batch *batch,
                      struct ff_advice_list *advice) {
    ff__sparse_access(&((struct auto_prefetch *)state)->sparse, view, batch, advice);
}

static void publish(void *state, const struct ff_event *events, uint32_t count) {
    struct auto_prefetch *self = state;
    ff__prefetch_correlation_plus.learning->publish(self->inners.at[CORRELATION].state, events,
                                                    count);
}

static void plan(void *state, const struct ff_view *view, struct ff_advice_list *advice) {
    struct auto_prefetch *self = state;
    uint32_t count = advice->count, kept = count;
    ff__prefetch_correlation_plus.learning->plan(self->inners.at[CORRELATION].state, view, advice);
    for (uint32_t i = count; i < advice->count; i++)
        if (self->devices[advice->items[i].tier].way == AHEAD)
            advice->items[kept++] = advice->items[i];
    advice->count = kept;
}

static bool is_used(const void *state) {
    const struct auto_prefetch *self = state;
    for (uint32_t tier = 0; tier < FF_TIERS_MAX; tier++)
        if (self->devices[tier].way == AHEAD)
            return true;
    return false;
}

/* ---- the forecast: there is one only while it is followed, and not of a launch that nothing has
 * been learned of ---- */

static bool has_forecast(const struct device_turns *device) {
    return device->way == AHEAD && device->recurs;
}

static void next_uses(const void *state, const struct ff_view *view, uint32_t tier,
                      const uint32_t *blocks, uint32_t count, bool launches_only, uint64_t *uses) {
    const struct auto_prefetch *self = state;
    if (has_forecast(&self->devices[tier]))
        ff__prefetch_correlation_plus.forecast->next_uses(self->inners.at[CORRELATION].state, view,
                                                          tier, blocks, count, launches_only, uses);
    else
        for (uint32_t i = 0; i < count; i++)
            uses[i] = FF_NO_USE;
}

static uint64_t now(const void *state, uint32_t tier) {
    const struct auto_prefetch *self = state;
    return has_forecast(&self->devices[tier]) ? ff__prefetch_correlation_plus.forecast->now(
                                                    self->inners.at[CORRELATION].state, tier)
                                              : 0;
}

static uint64_t retractions(const void *state, uint32_t tier) {
    const struct auto_prefetch *self = state;
    return ff__prefetch_correlation_plus.forecast->retractions(self->inners.at[CORRELATION].state,
                                                               tier);
}

/* ---- what happens ---- */

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    struct auto_prefetch *self = state;
    ff__sparse_leave(&self->sparse, view, leave);
    ff__inners_on_leave(state, view, leave);
}

static void range_freed(void *state, uint32_t range) {
    struct auto_prefetch *self = state;
    ff__sparse_range_freed(&self->sparse, range);
    ff__inners_range_freed(state, range);
}

static void block_freed(void *state, uint32_t block) {
    struct auto_prefetch *self = state;
    ff__sparse_block_freed(&self->sparse, block);
    ff__inners_block_freed(state, block);
}

static bool report(const void *state, uint32_t index, struct ff_finding *finding) {
    const struct auto_prefetch *self = state;
    const struct device_turns *device = &self->devices[1];
    if (index > 0 || device->launches[REACT] == 0)
        return ff__sparse_report(&self->sparse, index - (device->launches[REACT] > 0), finding);
    finding->launch = finding->range = FF_NONE;
    snprintf(finding->text, sizeof finding->text,
             "%u launches with prefetching ahead, %u without; changed %u times",
             device->launches[AHEAD], device->launches[REACT], device->changes);
    return true;
}

static const struct ff_forecast_hooks forecast_hooks = {
    .next_uses = next_uses, .now = now, .retractions = retractions};
static const struct ff_learn_hooks learning = {
    .publish = publish, .plan = plan, .is_used = is_used};
static const struct ff_access_hooks accesses = {.on_access = on_access, .remote_only = true};

const struct ff_prefetch_policy ff__prefetch_auto = {
    .base =
        {
            .name = "auto",
            .summary = "forest with whole blocks; correlation-plus as well where that is faster",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_LAUNCHES,
            .controls = FF_CONTROLS_FAULTS,
            .state_size = sizeof(struct auto_prefetch),
            .block_state_size = sizeof(struct ff__sparse_block),
            .range_state_size = sizeof(struct ff__sparse_range),
            .arena_size = arena_size,
            .params = params,
            .init = init,
            .fini = ff__inners_fini,
            .report = report,
            .on_launch = on_launch,
            .on_arrival = ff__inners_on_arrival,
            .on_leave = on_leave,
            .range_added = ff__inners_range_added,
            .range_freed = range_freed,
            .block_freed = block_freed,
            .accesses = &accesses,
            .samples = &ff__inners_samples,
        },
    .on_batch = on_batch,
    .on_fault = on_fault,
    .forecast = &forecast_hooks,
    .learning = &learning,
};
