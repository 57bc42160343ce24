/* period: a prefetch policy that uses launches, their operands and a forecast, in one file.
 *
 * Iterative programs use a range every so many launches. The policy learns that number for each range,
 * brings the ranges that the next launch is expected to use while the current one runs, and predicts
 * for evict policies when each block is used next.
 *
 *     cc -shared -fPIC -Iinclude examples/policy/period.c -o period.so
 *     farfault run --policy ./period.so --system deepum-far:prefetch=period ./program */
#include <farfault/policy.h>

/* By range, zero at first. */
struct use {
    uint64_t last, period; /* the launch that used it last; launches between uses; 0: not known */
};

struct period {
    struct use *uses;     /* [range] */
    uint32_t range_limit; /* ranges that were ever used are below it */
    uint64_t launches;
};

static int init(void *state, const struct ff_policy_env *env) {
    ((struct period *)state)->uses = env->range_state;
    return 0;
}

static uint64_t next_use_of(const struct period *period, uint32_t range) {
    const struct use *use = &period->uses[range];
    uint64_t next = use->last + use->period;
    return use->period > 0 && next >= period->launches ? next : FF_NO_USE;
}

static void learn_operand(struct period *period, uint32_t range) {
    struct use *use = &period->uses[range];
    if (use->last > 0 && use->last < period->launches)
        use->period = period->launches - use->last;
    use->last = period->launches;
    if (range >= period->range_limit)
        period->range_limit = range + 1;
}

static void on_launch(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice) {
    struct period *period = state;
    if (!event->begins)
        return;
    period->launches++;
    for (uint32_t i = 0; i < event->operand_count; i++)
        learn_operand(period, event->operands[i].range);
    for (uint32_t range = 0; range < period->range_limit; range++)
        if (next_use_of(period, range) == period->launches + 1)
            ff_advise_range(advice, view, FF_BRING, range, event->tier);
}

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    (void)state;
    advice->prefetch = ff_view_pages(view, group->block);
}

static void range_freed(void *state, uint32_t range) {
    ((struct period *)state)->uses[range] = (struct use){0, 0};
}

/* ---- the forecast ---- */

static void next_uses(const void *state, const struct ff_view *view, uint32_t tier,
                      const uint32_t *blocks, uint32_t count, bool launches_only, uint64_t *uses) {
    (void)tier;
    (void)launches_only;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t launch = next_use_of(state, view->blocks[blocks[i]].range);
        uses[i] = launch == FF_NO_USE ? FF_NO_USE : launch << 32;
    }
}

static uint64_t now(const void *state, uint32_t tier) {
    (void)tier;
    return ((const struct period *)state)->launches << 32;
}

static const struct ff_forecast_hooks forecast = {.next_uses = next_uses, .now = now};

static const struct ff_prefetch_policy period = {
    .base = {.name = "period",
             .summary = "example: ranges that come back every so many launches",
             .api = FF_POLICY_API,
             .sees = FF_SEES_LAUNCHES | FF_SEES_OPERANDS,
             .controls = FF_CONTROLS_FAULTS,
             .state_size = sizeof(struct period),
             .range_state_size = sizeof(struct use),
             .init = init,
             .on_launch = on_launch,
             .range_freed = range_freed},
    .on_fault = on_fault,
    .forecast = &forecast,
};

const struct ff_policy_module ff_policy_module = {.api = FF_POLICY_API, .prefetch = &period};
