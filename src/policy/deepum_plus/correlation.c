/* DeepUM's correlation prefetching as we would have it: on its tables (deepum/), with another walk.
 * Ours.
 *
 * The correlator's step learns from faults and launches. The prefetching thread's step walks: from
 * the block that faulted last, or from the kernel's first one, through the blocks in the order in
 * which the kernel first touched them, then through those of the kernel that is predicted to run
 * next, and so on. Once prefetching works, few faults are left, and pairs of them skip the blocks
 * between; the order stays. A launch begins a walk, too. The walk pauses N kernels ahead and goes
 * on when the running one is over; a new fault begins it anew. When a prefetch finds no room
 * without evicting blocks that are needed sooner, the walk stalls until the next event.
 *
 * What differs from the paper can be switched off:
 *   whole=1     a fault brings its whole block,
 *   sparse=1    but what the driver's tree brings where that costs less (by_tree.h)
 *   fallback=1 a context of kernels that is not in the table is predicted from the running kernel
 *   alone
 *   reach=12 the walk does not get further ahead of the last sign of the kernel than this share of
 *   memory
 *   beyond=1    uses beyond the predicted kernels are forecast, too (deepum-far) */
#include "policy/deepum_plus/by_tree.h"
#include "policy/deepum_plus/forecast.h"

#include "policy/nvidia/tree_mask.h"
#include "policy/registry.h"

/* Where prefetching is, on one device. */
struct ordered_walk {
    uint64_t turn;    /* the launch it is in */
    uint32_t at;      /* in order: the row's block visited last, FF_NONE: none yet */
    uint64_t brought; /* pages advised since the last sign of the kernel */
    bool active, stalled;
};

struct device_ordered_walk {
    struct ordered_walk walk;
    /* of this execution's faults, behind which a new one comes in the order; FF_NONE */
    uint32_t last_block;
};

struct correlation_plus {
    struct ff__forecast forecast;
    struct ff__by_tree by_tree;
    bool whole, sparse, chain;
    uint32_t reach;
    struct device_ordered_walk devices[FF_TIERS_MAX];
};

enum { MEMORY, KERNELS, ROWS, WAYS, SLACK, WHOLE, SPARSE, FALLBACK, CHAIN, REACH, BEYOND, PARAMS };

/* The paper's best: N = 32, configuration 9 of its Table 6. Memory and slack are ours. */
static const struct ff_param params[PARAMS + 1] = {
    [MEMORY] = {"tables", FF_PARAM_SIZE, 64 << 20, 64 << 10, INT64_C(1) << 40,
                "bytes of all correlation tables"},
    [KERNELS] = {"kernels", FF_PARAM_INT, 32, 1, FF__LOOK_MAX,
                 "predicted kernels to prefetch for (N)"},
    [ROWS] = {"rows", FF_PARAM_INT, 2048, 8, 1 << 18, "rows of a block table, a power of two"},
    [WAYS] = {"associativity", FF_PARAM_INT, 2, 1, 16, "entries of a table row (ways)"},
    [SLACK] = {"slack", FF_PARAM_INT, 8, 0, 4096,
               "blocks before its latest fault that a kernel may still use"},
    [WHOLE] = {"whole", FF_PARAM_BOOL, 1, 0, 1,
               "a fault brings its whole block, not only what the driver's tree would bring"},
    [SPARSE] = {"sparse", FF_PARAM_BOOL, 1, 0, 1, "but what the tree brings where that costs less"},
    [FALLBACK] = {"fallback", FF_PARAM_BOOL, 1, 0, 1,
                  "predict from the running kernel alone where the four last ones tell nothing"},
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
    struct correlation_plus *correlation = state;
    const int64_t *value = env->params;
    struct ff__tables_shape shape = {(uint32_t)value[ROWS], (uint32_t)value[WAYS], 0,
                                     value[BEYOND] != 0};
    correlation->forecast.expected.limit = (uint32_t)value[KERNELS];
    correlation->forecast.slack = (uint32_t)value[SLACK];
    unsigned char *blocks = env->block_state;
    correlation->by_tree = (struct ff__by_tree){
        .blocks = (void *)(blocks + env->block_limit * FF__FORECAST_BLOCK_SIZE),
        .ranges = env->range_state};
    correlation->whole = value[WHOLE] != 0;
    correlation->sparse = value[SPARSE] != 0;
    correlation->chain = value[CHAIN] != 0;
    correlation->reach = (uint32_t)value[REACH];
    for (uint32_t tier = 0; tier < FF_TIERS_MAX; tier++)
        correlation->devices[tier].last_block = FF_NONE;
    return ff__forecast_start(&correlation->forecast, env, &shape, value[FALLBACK] != 0);
}

static void block_freed(void *state, uint32_t block) {
    struct correlation_plus *correlation = state;
    ff__forecast_forget(&correlation->forecast, block);
    correlation->by_tree.blocks[block] = (struct ff__tree_block){0};
}

static void range_freed(void *state, uint32_t range) {
    ((struct correlation_plus *)state)->by_tree.ranges[range] = (struct ff__tree_range){0};
}

/* ---- the walk ---- */

/* At the start of a launch's table. */
static void begin(struct correlation_plus *correlation, uint32_t tier, uint64_t turn) {
    struct ordered_walk *walk = &correlation->devices[tier].walk;
    walk->turn = turn;
    walk->at = FF_NONE;
    walk->active = true;
}

/* Behind a block of it. */
static void begin_behind(struct correlation_plus *correlation, uint32_t tier, uint64_t turn,
                         uint32_t block) {
    begin(correlation, tier, turn);
    correlation->devices[tier].walk.at = block;
}

/* With a block of it, if it has the block: behind the one before. */
static void begin_with(struct correlation_plus *correlation, uint32_t tier, uint64_t turn,
                       uint32_t block) {
    const struct ff__tables *tables = &correlation->forecast.expected.tables;
    const struct ff__block_table *table =
        ff__launch_table(&correlation->forecast.expected, tier, turn);
    uint32_t row = table ? ff__row_find(tables, table, block) : FF_NONE;
    uint32_t before = row == FF_NONE ? FF_NONE : ff__row_at(tables, table, row)->before;
    begin_behind(correlation, tier, turn,
                 before == FF_NONE ? FF_NONE : ff__row_at(tables, table, before)->block);
}

/* The next block of the launch that the walk is in; FF_NONE: it ends here. */
static uint32_t next_block(struct correlation_plus *correlation, uint32_t tier) {
    const struct ff__tables *tables = &correlation->forecast.expected.tables;
    struct ordered_walk *walk = &correlation->devices[tier].walk;
    const struct ff__block_table *table =
        ff__launch_table(&correlation->forecast.expected, tier, walk->turn);
    if (!table)
        return FF_NONE;
    uint32_t row = walk->at == FF_NONE ? FF_NONE : ff__row_find(tables, table, walk->at);
    if (walk->at != FF_NONE && row == FF_NONE)
        return FF_NONE; /* its row is gone, and with it the place in the order */
    row = row == FF_NONE ? table->first : ff__row_at(tables, table, row)->after;
    if (row == FF_NONE)
        return FF_NONE;
    walk->at = ff__row_at(tables, table, row)->block;
    return walk->at;
}

/* On to the next predicted launch. False: nothing is predicted, or it pauses. */
static bool next_launch(struct correlation_plus *correlation, uint32_t tier) {
    const struct ff__sequence *sequence = &correlation->forecast.expected.sequences[tier];
    uint64_t next = correlation->devices[tier].walk.turn + 1;
    if (!correlation->chain || next > sequence->now + sequence->ahead)
        return false;
    begin(correlation, tier, next);
    return true;
}

static uint64_t reach_of(const struct correlation_plus *correlation, const struct ff_view *view,
                         uint32_t tier) {
    return view->capacity[tier] * correlation->reach / 100;
}

/* How many pages the walk may prefetch beyond the last known position of the kernel. Without this
 * bound, a loop over more data than fits would be prefetched completely in every iteration,
 * although a part of it could have stayed resident. */
static uint64_t far_enough(const struct correlation_plus *correlation, const struct ff_view *view,
                           uint32_t tier) {
    uint64_t most = reach_of(correlation, view, tier);
    return most > FF_BLOCK_PAGES ? most : FF_BLOCK_PAGES;
}

static void plan(void *state, const struct ff_view *view, struct ff_advice_list *list) {
    struct correlation_plus *correlation = state;
    for (uint32_t tier = 1; tier < view->tier_count; tier++) {
        struct ordered_walk *walk = &correlation->devices[tier].walk;
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

static void on_launch_event(struct correlation_plus *correlation, const struct ff_event *event) {
    correlation->devices[event->tier].last_block = FF_NONE;
    ff__forecast_launch(&correlation->forecast, event->tier, event->launch);
    begin(correlation, event->tier, correlation->forecast.expected.sequences[event->tier].now);
}

static void on_fault_event(struct correlation_plus *correlation, const struct ff_event *event) {
    struct ff__forecast *forecast = &correlation->forecast;
    struct device_ordered_walk *device = &correlation->devices[event->tier];
    struct ff__sequence *sequence = &forecast->expected.sequences[event->tier];
    struct ff__recorded recorded;
    if (event->launch == FF_NONE)
        return; /* the host's, not a kernel's */
    bool is_running = ff__launch_at(sequence, sequence->now)->id == event->launch;
    uint32_t before = is_running ? device->last_block : FF_NONE;
    const struct ff__block_table *table =
        ff__forecast_fault(forecast, event->tier, event->launch, before, event->block, &recorded);
    if (!table || !is_running)
        return;
    if (table->runs > 0)
        ff__forecast_progress(forecast, event->tier, &recorded);
    device->last_block = event->block;
    begin_behind(correlation, event->tier, sequence->now, event->block);
}

/* Back to the first block that found no room. */
static void on_no_room(struct correlation_plus *correlation, const struct ff_event *event) {
    struct ordered_walk *walk = &correlation->devices[event->tier].walk;
    uint64_t turn;
    if (walk->stalled ||
        !ff__expected_find(&correlation->forecast.expected, event->tier, event->launch, &turn))
        return;
    begin_with(correlation, event->tier, turn, event->block);
    walk->stalled = true;
}

/* Whether it shows where the kernel is. */
static bool is_sign(const struct ff_event *event) {
    return event->kind == FF_EVENT_FAULT || event->kind == FF_EVENT_LAUNCH ||
           event->kind == FF_EVENT_LAUNCH_END;
}

/* The tables are read and written by every other hook, too, so that all learning is done here. An
 * event takes less than 1 us on average, a launch 2 us, and longer if the predicted kernels change,
 * whose blocks are marked one by one. */
static void publish(void *state, const struct ff_event *events, uint32_t count) {
    struct correlation_plus *correlation = state;
    for (uint32_t i = 0; i < count; i++) {
        const struct ff_event *event = &events[i];
        if (is_sign(event)) {
            struct ordered_walk *walk = &correlation->devices[event->tier].walk;
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
    struct correlation_plus *correlation = state;
    bool is_large = reach_of(correlation, view, group->tier) < FF_BLOCK_PAGES;
    if (!correlation->whole)
        ff__tree_prefetch(view, group, advice);
    else if (!correlation->sparse ||
             !ff__by_tree_fault(&correlation->by_tree, view, group, is_large, advice))
        advice->prefetch = ff_view_pages(view, group->block);
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    ff__by_tree_leave(&((struct correlation_plus *)state)->by_tree, view, leave);
}

/* ---- the forecast ---- */

static void next_uses(const void *state, const struct ff_view *view, uint32_t tier,
                      const uint32_t *blocks, uint32_t count, bool launches_only, uint64_t *uses) {
    const struct ff__forecast *forecast = &((const struct correlation_plus *)state)->forecast;
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
    return ff__forecast_now(&((const struct correlation_plus *)state)->forecast, tier);
}

static uint64_t retractions(const void *state, uint32_t tier) {
    return ((const struct correlation_plus *)state)->forecast.expected.sequences[tier].retractions;
}

static const struct ff_forecast_hooks forecast_hooks = {
    .next_uses = next_uses, .now = now, .retractions = retractions};

static const struct ff_learn_hooks learning = {.publish = publish, .plan = plan};

const struct ff_prefetch_policy ff__prefetch_correlation_plus = {
    .base =
        {
            .name = "correlation-plus",
            .summary = "as correlation, but goes by the order of first touch; whole blocks where "
                       "that pays",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_LAUNCHES,
            .controls = FF_CONTROLS_FAULTS,
            .state_size = sizeof(struct correlation_plus),
            .block_state_size = FF__FORECAST_BLOCK_SIZE + sizeof(struct ff__tree_block),
            .range_state_size = sizeof(struct ff__tree_range),
            .arena_size = arena_size,
            .params = params,
            .init = init,
            .block_freed = block_freed,
            .range_freed = range_freed,
            .on_leave = on_leave,
        },
    .on_fault = on_fault,
    .forecast = &forecast_hooks,
    .learning = &learning,
};
