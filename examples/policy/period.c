/* period: a prefetch policy that uses launches, their operands and a forecast, in one file.
 *
 * Iterative programs use a range every so many launches. The policy learns that number, brings what
 * the next launch will use while the current one runs, and predicts when each block is used next.
 *
 *     cc -shared -fPIC -Iinclude examples/policy/period.c -o period.so
 *     farfault run --policy ./period.so --system deepum-far:prefetch=period ./program */
#include <farfault/policy.h>

struct period {
    struct use {
        uint64_t last, period; /* the launch that used it last; launches between uses; 0: unknown */
    } * uses;                  /* [range], zero at first */
    uint64_t launches;
};

static int init(void *state, const struct ff_policy_env *env) {
    ((struct period *)state)->uses = env->range_state;
    return 0;
}

static uint64_t next_use(const struct period *period, uint32_t range) {
    const struct use *use = &period->uses[range];
    uint64_t next = use->last + use->period;
    return use->period > 0 && next >= period->launches ? next << 32 : FF_NO_USE;
}

static void on_launch(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice) {
    struct period *period = state;
    const struct ff_block *blocks = view->blocks;
    period->launches += event->begins;
    for (uint32_t i = 0; i < event->operand_count; i++) {
        struct use *use = &period->uses[event->operands[i].range];
        if (use->last > 0 && use->last < period->launches)
            use->period = period->launches - use->last;
        use->last = period->launches;
    }
    for (uint32_t i = 0; i < view->block_limit && event->begins; i++)
        if (blocks[i].page_count && next_use(period, blocks[i].range) >> 32 == period->launches + 1)
            ff_advise_block(advice, view, FF_BRING, i, event->tier);
}

static void next_uses(const void *state, const struct ff_view *view, uint32_t tier,
                      const uint32_t *blocks, uint32_t count, bool launches_only, uint64_t *uses) {
    (void)tier, (void)launches_only;
    for (uint32_t i = 0; i < count; i++)
        uses[i] = next_use(state, view->blocks[blocks[i]].range);
}

static uint64_t now(const void *state, uint32_t tier) {
    (void)tier;
    return ((const struct period *)state)->launches << 32;
}

static const struct ff_prefetch_policy period = {
    .base = {.name = "period",
             .summary = "example: ranges that come back every so many launches",
             .api = FF_POLICY_API,
             .sees = FF_SEES_LAUNCHES | FF_SEES_OPERANDS,
             .state_size = sizeof(struct period),
             .range_state_size = sizeof(struct use),
             .init = init,
             .on_launch = on_launch},
    .forecast = &(const struct ff_forecast_hooks){.next_uses = next_uses, .now = now},
};

const struct ff_policy_module ff_policy_module = {.api = FF_POLICY_API, .prefetch = &period};
