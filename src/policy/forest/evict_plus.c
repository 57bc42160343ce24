/* Ours: evicts by the classes that Forest's samples give, what is needed farthest in the future.
 *
 * A program that iterates goes through its linear ranges again and again in one order. Of such a
 * range, what a launch has just passed is needed last, and what came longest ago may be the next:
 * Forest's order (evict.c), and any order by age, evicts each block just before its use. So
 *   - a range is needed again as many launches after its last use as lay between its last uses. The
 *     range that is needed
 *     farthest in the future loses a block. One that has not been used for twice as long is not
 *     needed any more, nor is one that no
 *     launch has used although launches repeat;
 *   - a linear range, and one of high coverage and intensity, loses the block that came last, and
 *     thereby keeps a part of it
 *     for all passes. Any other range, and one whose blocks come in pieces, loses the block that
 *     came first;
 *   - the `latest` arrivals are spared, which the threads may still be using. Each range that a
 *     running launch uses has a part
 *     of them, because a launch may pass a small range slowly while it passes a large one, whose
 *     arrivals are then the latest;
 *   - what a running launch uses in another order than a line may be needed at once.
 * It needs only classes, launches and arrivals, and no times of last uses. */
#include "policy/common/evictor.h"
#include "policy/forest/profile.h"
#include "policy/registry.h"

#include <string.h>

#define RUNNING 8u         /* launches at a time; with one more, the oldest is forgotten */
#define CHOICES 8u         /* victims named for a whole block, for when the first cannot leave */
#define FAR     UINT32_MAX /* launches until a use that is not expected */

/* Blocks in the order of their last arrivals are a list; ids are one more, and 0 is none. */
struct forest_plus_range {
    struct ff__profile_range profile;
    uint32_t first, last; /* blocks of it on the tier */
    /* Number of the latest launch with it; launches since the one before it. 0: none */
    uint32_t used, interval;
    uint32_t arrivals; /* so far */
    uint32_t came;     /* launches by the last of these */
    bool reached;      /* by faults of a launch, perhaps through a pointer that no operand shows */
};

struct forest_plus_block {
    uint32_t before, after;
    uint32_t when;   /* number of its last arrival; 0: nothing of it is there */
    uint32_t number; /* the same, among those of its range */
    uint32_t picked; /* number of the last answer that it was named in */
};

/* A launch that runs. */
struct running_launch {
    uint32_t id, number;     /* execution ID; how many have begun with it */
    uint32_t ranges, blocks; /* that it uses */
};

struct plus {
    struct ff__profile profile;
    struct forest_plus_block *blocks;
    uint32_t tier, latest;
    uint32_t launches, arrivals, picks;     /* so far */
    uint32_t held;                          /* blocks that are there */
    struct running_launch running[RUNNING]; /* in the order in which they began */
    uint32_t running_count;
    uint32_t used, used_blocks; /* ranges that running launches use; their blocks */
    uint32_t repeat;            /* number of the latest launch that named only what others had */
};

enum { LATEST = FF__PROFILE_PARAMS, PARAMS };

static const struct ff_param params[PARAMS + 1] = {
    FF__PROFILE_ROWS,
    [LATEST] = {"latest", FF_PARAM_INT, 8, 0, 4096,
                "latest arrivals that are spared, by ranges in use; at most half of the resident "
                "blocks"},
};

static int init(void *state, const struct ff_policy_env *env) {
    struct plus *plus = state;
    plus->blocks = env->block_state;
    plus->tier = env->tier;
    plus->latest = (uint32_t)env->params[LATEST];
    return ff__profile_start(&plus->profile, env, sizeof(struct forest_plus_range));
}

static struct forest_plus_range *range_at(const struct plus *plus, uint32_t range) {
    return (struct forest_plus_range *)ff__profile_range(&plus->profile, range);
}

/* ---- launches ---- */

static void use_range(struct running_launch *launch, struct forest_plus_range *range,
                      uint32_t blocks) {
    if (range->used == launch->number)
        return;
    range->interval = range->used > 0 ? launch->number - range->used : 0;
    range->used = launch->number;
    launch->ranges++;
    launch->blocks += blocks;
}

static void forget_launch(struct plus *plus, uint32_t index) {
    struct running_launch *at = &plus->running[index];
    memmove(at, at + 1, (--plus->running_count - index) * sizeof *at);
}

static void begin_launch(struct plus *plus, const struct ff_view *view,
                         const struct ff_launch_event *event) {
    if (plus->running_count == RUNNING)
        forget_launch(plus, 0);
    struct running_launch *launch = &plus->running[plus->running_count++];
    *launch = (struct running_launch){.id = event->launch, .number = ++plus->launches};
    bool repeats = event->operands != NULL;
    for (uint32_t i = 0; event->operands && i < event->operand_count; i++) {
        uint32_t range = event->operands[i].range;
        repeats = repeats && range_at(plus, range)->used > 0;
        use_range(launch, range_at(plus, range), view->ranges[range].block_count);
    }
    if (repeats)
        plus->repeat = launch->number;
}

static void end_launch(struct plus *plus, uint32_t id) {
    uint32_t i = 0;
    while (i < plus->running_count && plus->running[i].id != id)
        i++;
    if (i < plus->running_count)
        forget_launch(plus, i);
}

static bool is_in_use(const struct plus *plus, const struct forest_plus_range *range) {
    for (uint32_t i = 0; i < plus->running_count; i++)
        if (plus->running[i].number == range->used)
            return true;
    return false;
}

static void count_used(struct plus *plus) {
    plus->used = plus->used_blocks = 0;
    for (uint32_t i = 0; i < plus->running_count; i++) {
        plus->used += plus->running[i].ranges;
        plus->used_blocks += plus->running[i].blocks;
    }
}

static void on_launch(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice) {
    struct plus *plus = state;
    if (event->begins)
        begin_launch(plus, view, event);
    else
        end_launch(plus, event->launch);
    count_used(plus);
    ff__profile_on_launch(state, view, event, advice);
}

/* ---- the order of arrivals ---- */

static void unlink_block(struct plus *plus, struct forest_plus_range *range, uint32_t block) {
    const struct forest_plus_block *b = &plus->blocks[block];
    *(b->before ? &plus->blocks[b->before - 1].after : &range->first) = b->after;
    *(b->after ? &plus->blocks[b->after - 1].before : &range->last) = b->before;
    plus->blocks[block] = (struct forest_plus_block){0};
    plus->held--;
}

static void append_block(struct plus *plus, struct forest_plus_range *range, uint32_t block) {
    plus->blocks[block] = (struct forest_plus_block){
        .before = range->last, .when = ++plus->arrivals, .number = ++range->arrivals};
    *(range->last ? &plus->blocks[range->last - 1].after : &range->first) = block + 1;
    range->last = block + 1;
    range->came = plus->launches;
    plus->held++;
}

/* Pieces of one block, with no other between, are one arrival. */
static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    struct plus *plus = state;
    struct forest_plus_range *range = range_at(plus, view->blocks[arrival->block].range);
    uint32_t when = plus->blocks[arrival->block].when;
    if (arrival->kind == FF_ARRIVAL_ALLOCATED || (when > 0 && when == plus->arrivals))
        return;
    if (when > 0)
        unlink_block(plus, range, arrival->block);
    if (arrival->faulted && plus->running_count > 0)
        range->reached = true;
    append_block(plus, range, arrival->block);
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    struct plus *plus = state;
    if (leave->kind == FF_LEAVE_RELEASED && plus->blocks[leave->block].when > 0)
        unlink_block(plus, range_at(plus, view->blocks[leave->block].range), leave->block);
}

static void range_freed(void *state, uint32_t range) {
    *range_at(state, range) = (struct forest_plus_range){0};
}

static void block_freed(void *state, uint32_t block) {
    ((struct plus *)state)->blocks[block] = (struct forest_plus_block){0};
}

static bool is_linear(const struct forest_plus_range *range) {
    return range->profile.found && range->profile.pattern == FF__CLASS_LINEAR;
}

/* Launches go through all of it, be it in order, from several places at once, or in no order. */
static bool is_passed(const struct forest_plus_range *range) {
    return range->profile.found && (range->profile.pattern == FF__CLASS_LINEAR ||
                                    range->profile.pattern == FF__CLASS_HIGH_INTENSITY);
}

/* Launches until the range is needed again, of what has been passed of it; 0: it may be needed now.
 */
static uint32_t next_use(const struct plus *plus, const struct forest_plus_range *range) {
    uint32_t age = plus->launches - range->used;
    if (range->used == 0)
        return plus->repeat > range->came && !range->reached ? FAR : 0;
    if (is_in_use(plus, range))
        return is_linear(range) ? range->interval : 0;
    if (range->interval == 0 || age > 2 * range->interval)
        return FAR;
    return age < range->interval ? range->interval - age : 1;
}

/* ---- victims ---- */

struct forest_plus_hunt {
    struct plus *plus;
    struct ff__naming naming;
    bool spares; /* the latest arrivals */
};

/* What a range would lose. */
struct block_candidate {
    uint32_t block; /* FF_NONE: nothing */
    uint32_t next_use, when;
    bool newest; /* it came last; else first */
};

/* Whether half of what is there has room for a third of `latest` of each range that running
 * launches use. */
static bool has_room(const struct plus *plus) {
    return plus->used_blocks > 0 && plus->latest / 3 * plus->used <= plus->held / 2;
}

/* Whether a running launch may be using the block, as one of the latest arrivals. If there is room,
 * each range that launches use has a share of `latest` by its size, and at least a third. Else they
 * are the latest of all ranges. */
static bool is_spared(const struct forest_plus_hunt *hunt, uint32_t number, uint32_t block) {
    const struct plus *plus = hunt->plus;
    const struct forest_plus_range *range = range_at(plus, number);
    uint32_t half = plus->held / 2, latest = plus->latest < half ? plus->latest : half;
    if (!has_room(plus))
        return plus->arrivals - plus->blocks[block].when < latest;
    uint32_t least = plus->latest / 3;
    uint32_t share = latest * hunt->naming.view->ranges[number].block_count / plus->used_blocks;
    return is_in_use(plus, range) &&
           range->arrivals - plus->blocks[block].number < (share > least ? share : least);
}

static bool can_go(const struct forest_plus_hunt *hunt, uint32_t range, uint32_t block) {
    return hunt->plus->blocks[block].picked != hunt->plus->picks &&
           block != hunt->naming.request->for_block &&
           !(hunt->spares && is_spared(hunt, range, block)) &&
           ff_view_evictable(hunt->naming.view, hunt->plus->tier, block);
}

static bool is_whole(const struct forest_plus_hunt *hunt, uint32_t block) {
    return ff_view_granule(hunt->naming.view, hunt->plus->tier, block) == FF_BLOCK_PAGES;
}

/* Whether blocks of the range come whole. A block that comes in pieces is in use as long as pieces
 * come, so that the latest arrivals are not blocks that the program is done with. A single block in
 * pieces may be a witness (adaptive/density.h). */
static bool comes_whole(const struct forest_plus_hunt *hunt,
                        const struct forest_plus_range *range) {
    uint32_t last = range->last, before = last ? hunt->plus->blocks[last - 1].before : 0;
    return last && (is_whole(hunt, last - 1) || (before && is_whole(hunt, before - 1)));
}

static struct block_candidate candidate_of(const struct forest_plus_hunt *hunt, uint32_t number) {
    const struct plus *plus = hunt->plus;
    const struct forest_plus_range *range = range_at(plus, number);
    uint32_t use = next_use(plus, range);
    bool newest = is_passed(range) && use != FAR && comes_whole(hunt, range);
    struct block_candidate candidate = {FF_NONE, use, 0, newest};
    uint32_t at = newest ? range->last : range->first;
    while (at && !can_go(hunt, number, at - 1))
        at = newest ? plus->blocks[at - 1].before : plus->blocks[at - 1].after;
    if (at) {
        candidate.block = at - 1;
        candidate.when = plus->blocks[at - 1].when;
    }
    return candidate;
}

/* Whether a goes before b. */
static bool is_better(const struct block_candidate *a, const struct block_candidate *b) {
    if (a->block == FF_NONE || b->block == FF_NONE)
        return b->block == FF_NONE && a->block != FF_NONE;
    if (a->next_use != b->next_use)
        return a->next_use > b->next_use;
    if (a->newest != b->newest)
        return a->newest;
    return a->newest ? a->when > b->when : a->when < b->when;
}

static uint32_t find_victim(const struct forest_plus_hunt *hunt) {
    struct block_candidate best = {.block = FF_NONE};
    for (uint32_t i = 0; i < hunt->plus->profile.range_end; i++) {
        if (!range_at(hunt->plus, i)->first)
            continue;
        struct block_candidate candidate = candidate_of(hunt, i);
        if (is_better(&candidate, &best))
            best = candidate;
    }
    return best.block;
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    struct plus *plus = state;
    struct forest_plus_hunt hunt = {plus, ff__naming_of(view, request, victims), true};
    uint32_t block;
    plus->picks++;
    while (!ff__naming_done(&hunt.naming) &&
           (request->granule < FF_BLOCK_PAGES || victims->count < CHOICES)) {
        block = find_victim(&hunt);
        if (block == FF_NONE && (!hunt.spares || request->cause != FF_EVICT_FOR_FAULT))
            return;
        if (block == FF_NONE) {
            hunt.spares = false; /* a fault takes what there is */
            continue;
        }
        plus->blocks[block].picked = plus->picks;
        ff__name(&hunt.naming, block, ff_view_resident(view, plus->tier, block));
    }
}

const struct ff_evict_policy ff__evict_forest_plus = {
    .base =
        {
            .name = "forest-plus",
            .summary = "what its range's class and uses say is needed farthest in the future",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_LAUNCHES | FF_SEES_SAMPLES,
            .controls = FF_CONTROLS_VICTIMS | FF_CONTROLS_SAMPLING,
            .state_size = sizeof(struct plus),
            .block_state_size = sizeof(struct forest_plus_block),
            .range_state_size = sizeof(struct forest_plus_range),
            .arena_size = ff__profile_arena_size,
            .params = params,
            .init = init,
            .report = ff__profile_report,
            .on_launch = on_launch,
            .on_arrival = on_arrival,
            .on_leave = on_leave,
            .range_added = ff__profile_range_added,
            .range_freed = range_freed,
            .block_freed = block_freed,
            .samples = &ff__profile_samples_only,
        },
    .pick = pick,
};
