/* DeepUM's correlation prefetching with chaining, as published (Jung, Kim and Lee, ASPLOS 2023,
 * section 4).
 *
 * The correlator's step records faults and launches in the tables. The prefetching thread's step
 * walks: from the block that faulted last to its successors in the running kernel's table, to
 * theirs, and so on. At the table's end block it goes on with the start block of the kernel that is
 * predicted to run next. It pauses N kernels ahead and goes on when the running one is over. A new
 * fault begins it anew, and a kernel that was not predicted ends it. What comes is whole UM blocks,
 * with a fault, too: the migration thread "migrates the UM blocks" of both its queues (section
 * 3.1). tree=1 leaves to the driver what comes with a fault.
 *
 * The paper leaves open what happens to a prefetch that finds no memory without evicting a block
 * that is expected. Here the walk waits with it for the next event; G10's model of DeepUM does
 * likewise. Where no successor leads to the end block, the walk ends: to go on with the next kernel
 * instead makes no difference to the paper's networks. */
#include "policy/deepum/expected.h"

#include "policy/nvidia/tree_mask.h"
#include "policy/registry.h"

/* Where prefetching is, on one device. */
struct walk {
    uint64_t turn;       /* the launch it is in */
    uint32_t stamp;      /* rows that were put down to be visited have it */
    uint32_t head, tail; /* of the blocks to visit */
    uint32_t *blocks;
    bool active, waits, at_end;
};

struct device_walk {
    struct walk walk;
    uint32_t last_block; /* of this execution's faults; FF_NONE: none yet */
    uint32_t last_met;   /* the same, or what the walk has met since in this kernel */
};

struct correlation {
    struct ff__expected expected;
    uint32_t stamp, most_blocks; /* to visit: as many as a table has rows */
    bool tree, faulted_end;
    struct device_walk devices[FF_TIERS_MAX];
};

enum { MEMORY, KERNELS, ROWS, WAYS, SUCCESSORS, TREE, FAULTED_END, PARAMS };

/* The paper's best: N = 32, configuration 9 of its Table 6. The memory is ours: the paper gives no
 * bound. */
static const struct ff_param params[PARAMS + 1] = {
    [MEMORY] = {"tables", FF_PARAM_SIZE, 64 << 20, 64 << 10, INT64_C(1) << 40,
                "bytes of all correlation tables"},
    [KERNELS] = {"kernels", FF_PARAM_INT, 32, 1, FF__LOOK_MAX,
                 "predicted kernels to prefetch for (N)"},
    [ROWS] = {"rows", FF_PARAM_INT, 2048, 8, 1 << 18, "rows of a block table, a power of two"},
    [WAYS] = {"associativity", FF_PARAM_INT, 2, 1, 16, "entries of a table row (ways)"},
    [SUCCESSORS] = {"successors", FF_PARAM_INT, 4, 1, 16, "successors recorded per block"},
    [TREE] = {"tree", FF_PARAM_BOOL, 0, 0, 1,
              "a fault brings what the driver's tree brings, not its whole block"},
    [FAULTED_END] = {"faulted_end", FF_PARAM_BOOL, 0, 0, 1,
                     "a kernel's end block is its last fault's, whatever was prefetched since"},
};

static size_t walk_size(const int64_t *values) {
    return (size_t)values[ROWS] * (size_t)values[WAYS] * sizeof(uint32_t);
}

static size_t arena_size(const int64_t *values) {
    return (size_t)values[MEMORY] + FF_TIERS_MAX * walk_size(values);
}

static int init(void *state, const struct ff_policy_env *env) {
    struct correlation *correlation = state;
    const int64_t *value = env->params;
    struct ff__tables_shape shape = {(uint32_t)value[ROWS], (uint32_t)value[WAYS],
                                     (uint32_t)value[SUCCESSORS], false};
    struct ff_policy_env rest = *env;
    rest.arena_size = (size_t)value[MEMORY];
    unsigned char *walks = (unsigned char *)env->arena + rest.arena_size;
    correlation->expected.limit = (uint32_t)value[KERNELS];
    correlation->tree = value[TREE] != 0;
    correlation->faulted_end = value[FAULTED_END] != 0;
    correlation->most_blocks = (uint32_t)(walk_size(value) / sizeof(uint32_t));
    for (uint32_t tier = 0; tier < FF_TIERS_MAX; tier++) {
        correlation->devices[tier].last_block = correlation->devices[tier].last_met = FF_NONE;
        correlation->devices[tier].walk.blocks = (void *)(walks + tier * walk_size(value));
    }
    return ff__expected_start(&correlation->expected, &rest, &shape, false);
}

static void block_freed(void *state, uint32_t block) {
    ff__expected_forget(&((struct correlation *)state)->expected, block);
}

/* ---- the walk ---- */

/* Puts a block down to be visited, unless it was before. A successor may have lost its row. */
static void visit_later(const struct correlation *correlation, struct walk *walk,
                        const struct ff__block_table *table, uint32_t block) {
    const struct ff__tables *tables = &correlation->expected.tables;
    uint32_t row = ff__row_find(tables, table, block);
    if (row != FF_NONE && ff__row_at(tables, table, row)->walked == walk->stamp)
        return;
    if (row != FF_NONE)
        ff__row_at(tables, table, row)->walked = walk->stamp;
    if (walk->tail < correlation->most_blocks)
        walk->blocks[walk->tail++] = block;
}

/* The walk has met a block: its successors are next, or it was the last one of its kernel. */
static void meet(const struct correlation *correlation, struct walk *walk,
                 const struct ff__block_table *table, uint32_t block) {
    const struct ff__tables *tables = &correlation->expected.tables;
    uint32_t row = ff__row_find(tables, table, block);
    walk->at_end = block == table->end;
    if (walk->at_end)
        walk->head = walk->tail;
    if (walk->at_end || row == FF_NONE)
        return;
    const struct ff__row *at = ff__row_at(tables, table, row);
    for (uint32_t i = 0; i < tables->successors && at->successor[i] != FF_NONE; i++)
        visit_later(correlation, walk, table, at->successor[i]);
}

static struct ff__block_table *begin(struct correlation *correlation, uint32_t tier,
                                     uint64_t turn) {
    struct walk *walk = &correlation->devices[tier].walk;
    walk->turn = turn;
    walk->stamp = ++correlation->stamp;
    walk->head = walk->tail = 0;
    walk->active = true;
    walk->at_end = false;
    return ff__launch_table(&correlation->expected, tier, turn);
}

/* With the start block of a launch's table. A kernel that never had a fault needs nothing. */
static void begin_at_start(struct correlation *correlation, uint32_t tier, uint64_t turn) {
    struct walk *walk = &correlation->devices[tier].walk;
    const struct ff__block_table *table = begin(correlation, tier, turn);
    walk->at_end = !table || table->start == FF_NONE;
    if (!walk->at_end)
        visit_later(correlation, walk, table, table->start);
}

/* The next block of the launch that the walk is in; FF_NONE: there are no more. */
static uint32_t next_block(struct correlation *correlation, uint32_t tier) {
    struct walk *walk = &correlation->devices[tier].walk;
    const struct ff__block_table *table =
        ff__launch_table(&correlation->expected, tier, walk->turn);
    if (!table || walk->head == walk->tail)
        return FF_NONE;
    uint32_t block = walk->blocks[walk->head++];
    meet(correlation, walk, table, block);
    if (walk->turn == correlation->expected.sequences[tier].now)
        correlation->devices[tier].last_met = block;
    return block;
}

/* On to the next predicted launch. False: nothing is predicted, or the walk pauses, or it does not
 * know the way. */
static bool next_launch(struct correlation *correlation, uint32_t tier) {
    const struct ff__sequence *sequence = &correlation->expected.sequences[tier];
    struct walk *walk = &correlation->devices[tier].walk;
    bool is_over = walk->turn < sequence->now;
    if ((!walk->at_end && !is_over) || walk->turn + 1 > sequence->now + sequence->ahead)
        return false;
    begin_at_start(correlation, tier, walk->turn + 1);
    return true;
}

static void plan(void *state, const struct ff_view *view, struct ff_advice_list *list) {
    struct correlation *correlation = state;
    for (uint32_t tier = 1; tier < view->tier_count; tier++) {
        const struct walk *walk = &correlation->devices[tier].walk;
        while (walk->active && !walk->waits && list->count < list->capacity) {
            uint32_t block = next_block(correlation, tier);
            if (block != FF_NONE)
                ff__expected_advise(&correlation->expected, view, tier, walk->turn, block, list);
            else if (!next_launch(correlation, tier))
                break;
        }
    }
}

/* ---- learning ---- */

/* The table's end block "points to the last UM block prefetched": what the walk of the latest fault
 * met last, or the block that faulted if it met nothing. A walk that has not come to an end yet
 * says nothing of it. With faulted_end=1 it is the block that "lastly faulted right before" the
 * next kernel, which section 4.2 says of it, too. */
static void capture_end(struct correlation *correlation, uint32_t tier) {
    struct ff__expected *expected = &correlation->expected;
    const struct device_walk *device = &correlation->devices[tier];
    const struct walk *walk = &device->walk;
    uint64_t turn = expected->sequences[tier].now;
    struct ff__block_table *table = ff__launch_table(expected, tier, turn);
    uint32_t last = correlation->faulted_end ? device->last_block : device->last_met;
    bool goes_on = walk->active && walk->turn == turn && walk->head != walk->tail;
    if (!table || device->last_block == FF_NONE)
        return;
    if (goes_on && !correlation->faulted_end && table->end != FF_NONE)
        return;
    bool is_freed = ff__row_find(&expected->tables, table, last) == FF_NONE;
    table->end = is_freed ? FF_NONE : last;
}

static void on_launch_event(struct correlation *correlation, const struct ff_event *event) {
    struct device_walk *device = &correlation->devices[event->tier];
    capture_end(correlation, event->tier);
    device->last_block = device->last_met = FF_NONE;
    if (!ff__expected_launch(&correlation->expected, event->tier, event->launch))
        device->walk.active = false;
}

static void on_fault_event(struct correlation *correlation, const struct ff_event *event) {
    struct ff__expected *expected = &correlation->expected;
    struct device_walk *device = &correlation->devices[event->tier];
    struct ff__sequence *sequence = &expected->sequences[event->tier];
    struct ff__recorded recorded;
    if (event->launch == FF_NONE)
        return; /* the host's, not a kernel's */
    bool is_running = ff__launch_at(sequence, sequence->now)->id == event->launch;
    uint32_t before = is_running ? device->last_block : FF_NONE;
    struct ff__block_table *table =
        ff__expected_fault(expected, event->tier, event->launch, before, event->block, &recorded);
    if (!table || !is_running)
        return;
    if (before == FF_NONE)
        table->start = event->block;
    device->last_block = device->last_met = event->block;
    begin(correlation, event->tier, sequence->now);
    ff__row_at(&expected->tables, table, recorded.row)->walked = device->walk.stamp;
    meet(correlation, &device->walk, table, event->block);
}

/* Back to the first block that found no room. */
static void on_no_room(struct correlation *correlation, const struct ff_event *event) {
    struct walk *walk = &correlation->devices[event->tier].walk;
    uint64_t turn;
    if (walk->waits || !walk->active ||
        !ff__expected_find(&correlation->expected, event->tier, event->launch, &turn))
        return;
    const struct ff__block_table *table = begin(correlation, event->tier, turn);
    if (table)
        visit_later(correlation, walk, table, event->block);
    walk->waits = true;
}

/* The tables are read and written by every other hook, too, so that all learning is done here. */
static void publish(void *state, const struct ff_event *events, uint32_t count) {
    struct correlation *correlation = state;
    for (uint32_t i = 0; i < count; i++) {
        const struct ff_event *event = &events[i];
        if (event->kind == FF_EVENT_FAULT || event->kind == FF_EVENT_LAUNCH ||
            event->kind == FF_EVENT_LAUNCH_END)
            correlation->devices[event->tier].walk.waits = false;
        if (event->kind == FF_EVENT_LAUNCH)
            on_launch_event(correlation, event);
        else if (event->kind == FF_EVENT_FAULT)
            on_fault_event(correlation, event);
        else if (event->kind == FF_EVENT_NO_ROOM)
            on_no_room(correlation, event);
    }
}

/* ---- with a fault ---- */

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    if (((const struct correlation *)state)->tree)
        ff__tree_prefetch(view, group, advice);
    else
        advice->prefetch = ff_view_pages(view, group->block);
}

/* ---- what is expected ---- */

static void next_uses(const void *state, const struct ff_view *view, uint32_t tier,
                      const uint32_t *blocks, uint32_t count, bool launches_only, uint64_t *uses) {
    const struct ff__expected *expected = &((const struct correlation *)state)->expected;
    (void)view;
    (void)launches_only; /* the tables tell no more */
    for (uint32_t i = 0; i < count; i++) {
        uint64_t now = expected->sequences[tier].now;
        uint64_t launch = ff__expected_next(expected, tier, blocks[i], now);
        uses[i] = launch == FF_NO_USE ? FF_NO_USE : launch << 32;
    }
}

static uint64_t now(const void *state, uint32_t tier) {
    return ((const struct correlation *)state)->expected.sequences[tier].now << 32;
}

static uint64_t retractions(const void *state, uint32_t tier) {
    return ((const struct correlation *)state)->expected.sequences[tier].retractions;
}

static const struct ff_forecast_hooks forecast_hooks = {
    .next_uses = next_uses, .now = now, .retractions = retractions};

static const struct ff_learn_hooks learning = {.publish = publish, .plan = plan};

const struct ff_prefetch_policy ff__prefetch_correlation = {
    .base =
        {
            .name = "correlation",
            .summary = "what the running kernel and the predicted next ones used before (DeepUM)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_LAUNCHES,
            .controls = FF_CONTROLS_FAULTS,
            .state_size = sizeof(struct correlation),
            .block_state_size = FF__EXPECTED_BLOCK_SIZE(FF_TIERS_MAX),
            .arena_size = arena_size,
            .params = params,
            .init = init,
            .block_freed = block_freed,
        },
    .on_fault = on_fault,
    .forecast = &forecast_hooks,
    .learning = &learning,
};
