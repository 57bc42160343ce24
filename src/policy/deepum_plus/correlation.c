/* DeepUM's correlation prefetching as we would have it: on its tables (deepum/), with another walk. Ours.
 *
 * The correlator's step learns from faults and launches. The prefetching thread's step walks: first the faulted block's
 * successors, then the blocks in the order in which the kernel first touched them, then those of the kernel that is
 * predicted to run next, and so on. Once prefetching works, few faults are left, and pairs of them skip the blocks
 * between; the order stays. A launch begins a walk, too. The walk pauses N kernels ahead and goes on when the running
 * one is over; a new fault begins it anew. When a prefetch finds no room without evicting blocks that are needed sooner,
 * the walk stalls until the next event.
 *
 * What differs from the paper can be switched off:
 *   whole=1     a fault brings its whole block
 *   fallback=1  a context of kernels that is not in the table is predicted from the running kernel alone
 *   trust=1     no prefetch for a kernel in its first run, or whose faults do not follow its table's order
 *   reach=12    the walk does not get further ahead of the last sign of the kernel than this share of memory
 *   beyond=1    uses beyond the predicted kernels are forecast, too (deepum-far) */
#include "policy/deepum_plus/forecast.h"

#include "policy/nvidia/tree_mask.h"
#include "policy/registry.h"

#define FRONTIER 64u /* blocks that a walk remembers to visit */

/* Where prefetching is, on one device. */
struct walk {
    uint64_t turn;    /* the launch it is in */
    uint64_t reached; /* launches before this one have been walked through */
    uint32_t at;      /* in order: the block visited last, FF_NONE: none yet */
    uint32_t stamp;   /* rows that this walk has visited have it */
    uint32_t head, count, frontier[FRONTIER]; /* blocks to visit first */
    uint64_t brought;                         /* pages advised since the last sign of the kernel */
    bool active, stalled;
};

struct device {
    struct walk walk;
    uint32_t last_block; /* of this execution's faults, FF_NONE */
};

struct correlation {
    struct ff__forecast forecast;
    bool whole, chain, trust;
    uint32_t reach;
    uint32_t stamp;
    struct device devices[FF_TIERS_MAX];
};

enum param {
    MEMORY,
    KERNELS,
    ROWS,
    WAYS,
    SUCCESSORS,
    SLACK,
    WHOLE,
    FALLBACK,
    TRUST,
    CHAIN,
    REACH,
    BEYOND,
    PARAMS
};

/* The paper's best: N = 32, configuration 9 of its Table 6. Memory and slack are ours. */
static const struct ff_param params[PARAMS + 1] = {
    [MEMORY] = {"tables", FF_PARAM_SIZE, 64 << 20, 64 << 10, INT64_C(1) << 40,
                "bytes of all correlation tables"},
    [KERNELS] = {"kernels", FF_PARAM_INT, 32, 1, FF__LOOK_MAX,
                 "predicted kernels to prefetch for (N)"},
    [ROWS] = {"rows", FF_PARAM_INT, 2048, 8, 1 << 18, "rows of a block table, a power of two"},
    [WAYS] = {"associativity", FF_PARAM_INT, 2, 1, 16, "entries of a table row (ways)"},
    [SUCCESSORS] = {"successors", FF_PARAM_INT, 4, 1, 16, "successors recorded per block"},
    [SLACK] = {"slack", FF_PARAM_INT, 8, 0, 4096,
               "blocks before its latest fault that a kernel may still use"},
    [WHOLE] = {"whole", FF_PARAM_BOOL, 1, 0, 1,
               "a fault brings its whole block, not only what the driver's tree would bring"},
    [FALLBACK] = {"fallback", FF_PARAM_BOOL, 1, 0, 1,
                  "predict from the running kernel alone where the four last ones tell nothing"},
    [TRUST] = {"trust", FF_PARAM_BOOL, 1, 0, 1,
               "prefetch only for kernels that have run before and keep to their order"},
    [CHAIN] = {"chain", FF_PARAM_BOOL, 1, 0, 1,
               "continue with the predicted next kernels (chaining)"},
    [REACH] = {"reach", FF_PARAM_INT, 12, 1, 100,
               "percent of memory to prefetch before the next fault, launch or launch end"},
    [BEYOND] = {"beyond", FF_PARAM_BOOL, 0, 0, 1,
                "predict uses after the last predicted kernel, from earlier reuse distances"},
};

static size_t arena_size(const int64_t *values) {
    return (size_t)values[MEMORY];
}

static int init(void *state, const struct ff_policy_env *env) {
    struct correlation *correlation = state;
    const int64_t *value = env->params;
    struct ff__tables_shape shape = {(uint32_t)value[ROWS], (uint32_t)value[WAYS],
                                     (uint32_t)value[SUCCESSORS], value[BEYOND] != 0};
    correlation->forecast.expected.limit = (uint32_t)value[KERNELS];
    correlation->forecast.slack = (uint32_t)value[SLACK];
    correlation->trust = value[TRUST] != 0;
    correlation->whole = value[WHOLE] != 0;
    correlation->chain = value[CHAIN] != 0;
    correlation->reach = (uint32_t)value[REACH];
    for (uint32_t tier = 0; tier < FF_TIERS_MAX; tier++)
        correlation->devices[tier].last_block = FF_NONE;
    return ff__forecast_start(&correlation->forecast, env, &shape, value[FALLBACK] != 0);
}

static void block_freed(void *state, uint32_t block) {
    ff__forecast_forget(&((struct correlation *)state)->forecast, block);
}

/* ---- the walk ---- */

static void visit_later(struct walk *walk, uint32_t block) {
    if (block != FF_NONE && walk->count < FRONTIER)
        walk->frontier[(walk->head + walk->count++) % FRONTIER] = block;
}

static void visit_successors(const struct correlation *correlation, struct walk *walk,
                             const struct ff__row *row) {
    for (uint32_t i = 0; i < correlation->forecast.expected.tables.successors; i++)
        visit_later(walk, row->successor[i]);
}

/* At the start of a launch's table. */
static void begin(struct correlation *correlation, uint32_t tier, uint64_t turn) {
    struct walk *walk = &correlation->devices[tier].walk;
    walk->turn = turn;
    walk->at = FF_NONE;
    walk->stamp = ++correlation->stamp;
    walk->count = 0;
    walk->active = true;
}

/* At a block of it: behind it, or with it. */
static void begin_at(struct correlation *correlation, uint32_t tier, uint64_t turn, uint32_t block,
                     bool with) {
    struct walk *walk = &correlation->devices[tier].walk;
    begin(correlation, tier, turn);
    struct ff__table *table = ff__launch_table(&correlation->forecast.expected, tier, turn);
    uint32_t row =
        table ? ff__row_find(&correlation->forecast.expected.tables, table, block) : FF_NONE;
    if (row == FF_NONE)
        return;
    struct ff__row *at = ff__row_at(&correlation->forecast.expected.tables, table, row);
    walk->count = 0;
    walk->at = block;
    if (with) {
        visit_later(walk, block);
    } else {
        at->walked = walk->stamp;
        visit_successors(correlation, walk, at);
    }
}

static bool pass(struct walk *walk, struct ff__row *row) {
    bool is_first = row->walked != walk->stamp;
    row->walked = walk->stamp;
    return is_first;
}

/* The next of the blocks that were put down to be visited; FF_NONE: none. */
static uint32_t next_of_frontier(struct correlation *correlation, struct walk *walk,
                                 const struct ff__table *table) {
    const struct ff__tables *tables = &correlation->forecast.expected.tables;
    while (walk->count > 0) {
        uint32_t block = walk->frontier[walk->head++ % FRONTIER];
        uint32_t number = ff__row_find(tables, table, block);
        walk->count--;
        if (number == FF_NONE || !pass(walk, ff__row_at(tables, table, number)))
            continue;
        return block;
    }
    return FF_NONE;
}

static uint32_t next_in_order(struct correlation *correlation, struct walk *walk,
                              const struct ff__table *table) {
    const struct ff__tables *tables = &correlation->forecast.expected.tables;
    uint32_t number = walk->at == FF_NONE ? FF_NONE : ff__row_find(tables, table, walk->at);
    if (walk->at != FF_NONE && number == FF_NONE)
        return FF_NONE; /* its row is gone, and with it the place in the order */
    number = number == FF_NONE ? table->first : ff__row_at(tables, table, number)->after;
    while (number != FF_NONE && !pass(walk, ff__row_at(tables, table, number)))
        number = ff__row_at(tables, table, number)->after;
    if (number == FF_NONE)
        return FF_NONE;
    walk->at = ff__row_at(tables, table, number)->block;
    return walk->at;
}

/* The next block of the launch that the walk is in; FF_NONE: it ends here. */
static uint32_t next_block(struct correlation *correlation, uint32_t tier) {
    struct walk *walk = &correlation->devices[tier].walk;
    struct ff__table *table = ff__launch_table(&correlation->forecast.expected, tier, walk->turn);
    if (!table || (correlation->trust && !ff__table_is_ordered(table)))
        return FF_NONE;
    uint32_t block = next_of_frontier(correlation, walk, table);
    return block != FF_NONE ? block : next_in_order(correlation, walk, table);
}

/* On to the next predicted launch, or back to where the walk had come before a fault. False: nothing is
 * predicted, or it pauses. */
static bool next_launch(struct correlation *correlation, uint32_t tier) {
    const struct ff__sequence *sequence = &correlation->forecast.expected.sequences[tier];
    struct walk *walk = &correlation->devices[tier].walk;
    uint64_t next = walk->turn + 1;
    if (walk->turn == sequence->now && walk->reached > next)
        next = walk->reached;
    if (!correlation->chain || next > sequence->now + sequence->ahead)
        return false;
    walk->reached = next;
    begin(correlation, tier, next);
    return true;
}

/* How many pages the walk may prefetch beyond the last known position of the kernel. Without this bound, a loop over
 * more data than fits would be prefetched completely in every iteration, although a part of it could have stayed
 * resident. */
static uint64_t far_enough(const struct correlation *correlation, const struct ff_view *view,
                           uint32_t tier) {
    uint64_t most = view->capacity[tier] * correlation->reach / 100;
    return most > FF_BLOCK_PAGES ? most : FF_BLOCK_PAGES;
}

static void plan(void *state, const struct ff_view *view, struct ff_advice_list *list) {
    struct correlation *correlation = state;
    for (uint32_t tier = 1; tier < view->tier_count; tier++) {
        struct walk *walk = &correlation->devices[tier].walk;
        const uint64_t most = far_enough(correlation, view, tier);
        while (walk->active && !walk->stalled && list->count < list->capacity &&
               walk->brought < most) {
            uint32_t block = next_block(correlation, tier);
            if (block != FF_NONE)
                walk->brought += ff__expected_advise(&correlation->forecast.expected, view, tier,
                                                     walk->turn, block, list);
            else if (!next_launch(correlation, tier))
                break;
        }
    }
}

/* ---- learning ---- */

static void on_launch_event(struct correlation *correlation, const struct ff_event *event) {
    struct device *device = &correlation->devices[event->tier];
    uint64_t turn = correlation->forecast.expected.sequences[event->tier].now + 1;
    device->last_block = FF_NONE;
    bool right = ff__forecast_launch(&correlation->forecast, event->tier, event->launch);
    if (!right || device->walk.reached <= turn)
        device->walk.reached = turn + 1;
    begin(correlation, event->tier, turn);
}

static void on_fault_event(struct correlation *correlation, const struct ff_event *event) {
    struct ff__forecast *forecast = &correlation->forecast;
    struct device *device = &correlation->devices[event->tier];
    struct ff__sequence *sequence = &forecast->expected.sequences[event->tier];
    struct ff__recorded recorded;
    if (event->launch == FF_NONE)
        return; /* the host's, not a kernel's */
    bool is_running = ff__launch_at(sequence, sequence->now)->id == event->launch;
    uint32_t before = is_running ? device->last_block : FF_NONE;
    const struct ff__table *table =
        ff__forecast_fault(forecast, event->tier, event->launch, before, event->block, &recorded);
    if (!table || !is_running)
        return;
    if (table->runs > 0)
        ff__forecast_progress(forecast, event->tier, &recorded);
    device->last_block = event->block;
    /* a row that is new has no successors, and the walk under way is as good as before */
    if (!recorded.is_new)
        begin_at(correlation, event->tier, sequence->now, event->block, false);
}

/* Back to the first block that found no room. */
static void on_no_room(struct correlation *correlation, const struct ff_event *event) {
    const struct ff__sequence *sequence = &correlation->forecast.expected.sequences[event->tier];
    struct walk *walk = &correlation->devices[event->tier].walk;
    uint64_t turn;
    if (walk->stalled ||
        !ff__expected_find(&correlation->forecast.expected, event->tier, event->launch, &turn))
        return;
    begin_at(correlation, event->tier, turn, event->block, true);
    walk->stalled = true;
    if (walk->reached > turn)
        walk->reached = turn > sequence->now ? turn : sequence->now + 1;
}

/* Whether it shows where the kernel is. */
static bool is_sign(const struct ff_event *event) {
    return event->kind == FF_EVENT_FAULT || event->kind == FF_EVENT_LAUNCH ||
           event->kind == FF_EVENT_LAUNCH_END;
}

/* The tables are read and written by every other hook, too, so that all learning is done here. An event takes
 * less than 1 us on average, a launch 2 us, and longer if the predicted kernels change, whose blocks are
 * marked one by one. */
static void publish(void *state, const struct ff_event *events, uint32_t count) {
    struct correlation *correlation = state;
    for (uint32_t i = 0; i < count; i++) {
        const struct ff_event *event = &events[i];
        if (is_sign(event)) {
            struct walk *walk = &correlation->devices[event->tier].walk;
            walk->stalled = false;
            walk->brought = 0;
        }
        if (event->kind == FF_EVENT_LAUNCH) {
            on_launch_event(correlation, event);
        } else if (event->kind == FF_EVENT_FAULT) {
            on_fault_event(correlation, event);
        } else if (event->kind == FF_EVENT_NO_ROOM) {
            on_no_room(correlation, event);
        } else if (event->kind == FF_EVENT_LAUNCH_END) {
            ff__forecast_end(&correlation->forecast, event->tier, event->launch);
        }
    }
}

/* ---- with a fault ---- */

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    const struct correlation *correlation = state;
    if (correlation->whole)
        advice->prefetch = ff_view_pages(view, group->block);
    else
        ff__tree_prefetch(view, group, advice);
}

/* ---- the forecast ---- */

static void next_uses(const void *state, const struct ff_view *view, uint32_t tier,
                      const uint32_t *blocks, uint32_t count, bool launches_only, uint64_t *uses) {
    const struct ff__forecast *forecast = &((const struct correlation *)state)->forecast;
    (void)view;
    for (uint32_t i = 0; i < count; i++) {
        if (launches_only) {
            uint64_t launch = ff__forecast_next_launch(forecast, tier, blocks[i]);
            uses[i] = launch == FF_NO_USE ? FF_NO_USE : launch << 32;
        } else {
            uses[i] = ff__forecast_next(forecast, tier, blocks[i]);
        }
    }
}

static uint64_t now(const void *state, uint32_t tier) {
    return ff__forecast_now(&((const struct correlation *)state)->forecast, tier);
}

static uint64_t retractions(const void *state, uint32_t tier) {
    return ((const struct correlation *)state)->forecast.expected.sequences[tier].retractions;
}

static const struct ff_forecast_hooks forecast_hooks = {
    .next_uses = next_uses, .now = now, .retractions = retractions};

static const struct ff_learn_hooks learning = {.publish = publish, .plan = plan};

const struct ff_prefetch_policy ff__prefetch_correlation_plus = {
    .base =
        {
            .name = "correlation-plus",
            .summary =
                "as correlation, but goes by the order of first touch; whole blocks; with trust",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_LAUNCHES,
            .controls = FF_CONTROLS_FAULTS,
            .state_size = sizeof(struct correlation),
            .block_state_size = FF__FORECAST_BLOCK_SIZE,
            .arena_size = arena_size,
            .params = params,
            .init = init,
            .block_freed = block_freed,
        },
    .on_fault = on_fault,
    .forecast = &forecast_hooks,
    .learning = &learning,
};
