/* Policies for tests: some break every rule that a policy can break, some watch whether the engine
 * keeps its own, and one looks ahead. ff__policy_register() makes them known, so that every test
 * that walks through the registry meets them. */
#ifndef FF_TESTS_ENGINE_ROGUES_H
#define FF_TESTS_ENGINE_ROGUES_H

#include "base/random.h"
#include "policy/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How often a tier was named that blocks cannot go to. */
static uint64_t rogue_places;

/* Whether they also watch the order of events in time. */
static bool rogue_watches_time = true;

/* What the watching policies found wrong first. */
static char rogue_finding[160];

#define ROGUE_EXPECT(condition, what)                                                              \
    do {                                                                                           \
        if (!(condition) && !rogue_finding[0])                                                     \
            snprintf(rogue_finding, sizeof rogue_finding, "%s: %s", __func__, what);               \
    } while (0)

struct rogue {
    struct ff__random random;
    uint32_t tier, block_limit;
};

static int rogue_init(void *state, const struct ff_policy_env *env) {
    struct rogue *rogue = state;
    rogue->random = ff__random_seeded(env->seed + 77);
    rogue->tier = env->tier;
    rogue->block_limit = env->block_limit;
    return 0;
}

#define ROGUE_BASE(its_name, its_summary)                                                          \
    .base = {.name = its_name,                                                                     \
             .summary = its_summary,                                                               \
             .api = FF_POLICY_API,                                                                 \
             .state_size = sizeof(struct rogue),                                                   \
             .init = rogue_init}

/* A block id that is valid in one of four cases. */
static uint32_t rogue_block(struct rogue *rogue) {
    static const uint32_t odd[] = {FF_NONE, FF_NONE - 1, UINT32_C(1) << 31, 0};
    uint32_t choice = ff__random_below(&rogue->random, 8);
    if (choice < 4)
        return odd[choice];
    if (choice == 4)
        return rogue->block_limit;
    return ff__random_below(&rogue->random, rogue->block_limit);
}

static uint32_t rogue_granule(struct rogue *rogue) {
    static const uint32_t granules[] = {0, FF_LEAF_PAGES, FF_BLOCK_PAGES, 1};
    uint32_t choice = ff__random_below(&rogue->random, 5);
    return choice < 4 ? granules[choice] : ff__random_below(&rogue->random, 1000);
}

/* ---- prefetch ---- */

/* Wants everything, everywhere, and half the time later. */
static void greedy_on_fault(void *state, const struct ff_view *view,
                            const struct ff_fault_group *group, struct ff_fault_advice *advice) {
    struct rogue *rogue = state;
    (void)group;
    memset(&advice->prefetch, 0xff, sizeof advice->prefetch);
    memset(&advice->remote, 0xff, sizeof advice->remote);
    advice->granule = rogue_granule(rogue);
    for (int i = 0; i < FF_MASK_WORDS; i++)
        advice->throttle.word[i] = ff__random_next(&rogue->random);
    if (ff__random_below(&rogue->random, 4) == 0)
        memset(&advice->throttle, 0xff, sizeof advice->throttle);
    uint64_t delay = ff__random_below(&rogue->random, 200000);
    advice->throttle_until_ns =
        ff__random_below(&rogue->random, 2) ? view->now_ns + delay : view->now_ns / 2;
}

static void greedy_plan(void *state, const struct ff_view *view, struct ff_advice_list *list) {
    struct rogue *rogue = state;
    struct ff_advice advice = {.launch = 12345};
    (void)view;
    memset(&advice.pages, 0xff, sizeof advice.pages);
    do {
        advice.action = (enum ff_action)ff__random_below(&rogue->random, FF_ACTIONS + 2);
        advice.block = rogue_block(rogue);
        advice.granule = rogue_granule(rogue);
        advice.ceases = ff__random_below(&rogue->random, 2);
        advice.tier = ff__random_below(&rogue->random, FF_TIERS_MAX + 2);
    } while (ff_advice_add(list, &advice));
    ROGUE_EXPECT(list->count == list->capacity, "the list took too much");
}

static const struct ff_learn_hooks greedy_learning = {.plan = greedy_plan};

static const struct ff_prefetch_policy rogue_greedy = {
    ROGUE_BASE("rogue-greedy", "sets every bit"),
    .on_fault = greedy_on_fault,
    .learning = &greedy_learning,
};

/* Lets every fault wait until 20 ms have passed, whatever happens. */
#define STALL_NS 20000000u

static void stall_on_fault(void *state, const struct ff_view *view,
                           const struct ff_fault_group *group, struct ff_fault_advice *advice) {
    (void)state;
    if (view->now_ns >= STALL_NS)
        return;
    advice->throttle = group->faulted;
    advice->throttle_until_ns = view->now_ns + 1000000;
}

static const struct ff_prefetch_policy rogue_stall = {
    ROGUE_BASE("rogue-stall", "throttles all faults for a long time"),
    .on_fault = stall_on_fault,
};

/* ---- evict ---- */

static void quiet_pick(void *state, const struct ff_view *view,
                       const struct ff_evict_request *request, struct ff_victim_list *victims) {
    (void)state, (void)view, (void)request, (void)victims;
}

static const struct ff_evict_policy rogue_quiet = {
    ROGUE_BASE("rogue-quiet", "names no victim"),
    .pick = quiet_pick,
};

static void liar_pick(void *state, const struct ff_view *view,
                      const struct ff_evict_request *request, struct ff_victim_list *victims) {
    (void)view;
    ff_victim_add(victims, request->for_block);
    while (ff_victim_add(victims, rogue_block(state)))
        memset(&victims->items[victims->count - 1].pages, 0xff, sizeof(struct ff_mask));
}

static const struct ff_evict_policy rogue_liar = {
    ROGUE_BASE("rogue-liar", "names victims that cannot go"),
    .pick = liar_pick,
};

/* ---- place, discard ---- */

static uint32_t nowhere_place(void *state, const struct ff_view *view, uint32_t block,
                              uint32_t from_tier, uint32_t tiers[FF_TIERS_MAX]) {
    (void)view, (void)block, (void)from_tier;
    tiers[0] = rogue_block(state);
    rogue_places += tiers[0] != FF_TIER_HOST;
    return 1;
}

static const struct ff_place_policy rogue_nowhere = {
    ROGUE_BASE("rogue-nowhere", "sends evicted blocks to tiers that do not exist"),
    .place = nowhere_place,
};

/* Not a lie by itself: a discard policy is believed when it says that content is dead. */
static void all_dead(void *state, const struct ff_view *view, uint32_t block,
                     struct ff_mask *pages) {
    struct rogue *rogue = state;
    (void)view, (void)block;
    if (ff__random_below(&rogue->random, 3) == 0)
        memset(pages, 0xff, sizeof *pages);
    else
        ff_mask_set_run(pages, ff__random_below(&rogue->random, 512), FF_BLOCK_PAGES);
}

static const struct ff_discard_policy rogue_dead = {
    ROGUE_BASE("rogue-dead", "declares pages dead at random"),
    .dead = all_dead,
};

/* ---- watching ---- */

struct watched_range {
    bool exists;
    uint64_t added_ns;
};

struct watch {
    uint8_t *active;
    struct watched_range *ranges;
    uint32_t tier, tier_count;
    /* learning's */
    uint64_t learned_ns;
    uint32_t learned_count; /* events that have not been published yet */
    struct ff_event learned[FF_LEARN_EVENTS];
};

static int watch_init(void *state, const struct ff_policy_env *env) {
    struct watch *watch = state;
    watch->active = env->block_state;
    watch->ranges = env->range_state;
    watch->tier = env->tier;
    watch->tier_count = env->tier_count;
    return 0;
}

static void watch_memory(void *state, const struct ff_view *view,
                         const struct ff_arrival *arrival) {
    struct watch *watch = state;
    uint32_t block = arrival->block;
    ROGUE_EXPECT(arrival->tier == watch->tier, "another tier's arrival");
    ROGUE_EXPECT(ff_view_holds(view, watch->tier, block), "the block has no memory");
    if (arrival->kind == FF_ARRIVAL_ALLOCATED) {
        ROGUE_EXPECT(!watch->active[block], "the block was active");
        watch->active[block] = 1;
    } else {
        ROGUE_EXPECT(!ff_mask_empty(arrival->pages), "nothing has arrived");
        ROGUE_EXPECT(watch->active[block], "the block is not active");
    }
}

static void watch_on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    struct watch *watch = state;
    ROGUE_EXPECT(leave->tier == watch->tier, "another tier's leave");
    ROGUE_EXPECT(watch->active[leave->block], "the block is not active");
    if (leave->kind != FF_LEAVE_RELEASED)
        return;
    ROGUE_EXPECT(!ff_view_holds(view, watch->tier, leave->block), "the block has memory");
    watch->active[leave->block] = 0;
}

static void watch_block_freed(void *state, uint32_t block) {
    struct watch *watch = state;
    ROGUE_EXPECT(!watch->active[block], "the block is still active");
}

static void watch_pick(void *state, const struct ff_view *view,
                       const struct ff_evict_request *request, struct ff_victim_list *victims) {
    struct watch *watch = state;
    ROGUE_EXPECT(request->tier == watch->tier, "another tier's request");
    ROGUE_EXPECT((request->for_block == FF_NONE) == (request->cause == FF_EVICT_AHEAD), "cause");
    ROGUE_EXPECT(victims->count == 0 && victims->capacity > 0, "the list is not empty");
    for (uint32_t block = 0; block < view->block_limit; block++) {
        if (watch->active[block] && ff_view_evictable(view, watch->tier, block) &&
            !ff_victim_add(victims, block))
            return;
    }
}

static const struct ff_evict_policy rogue_watch_evict = {
    .base = {.name = "watch",
             .summary = "checks the order of the engine's calls",
             .api = FF_POLICY_API,
             .state_size = sizeof(struct watch),
             .block_state_size = 1,
             .init = watch_init,
             .on_arrival = watch_memory,
             .on_leave = watch_on_leave,
             .block_freed = watch_block_freed},
    .pick = watch_pick,
};

static void watch_on_fault(void *state, const struct ff_view *view,
                           const struct ff_fault_group *group, struct ff_fault_advice *advice) {
    static const struct ff_fault_advice none;
    (void)state;
    struct ff_mask block = ff_mask_of_run(0, view->blocks[group->block].page_count);
    ROGUE_EXPECT(!ff_mask_empty(&group->faulted), "nothing faulted");
    ROGUE_EXPECT(ff_mask_within(&group->faulted, &block), "faults beyond the block");
    ROGUE_EXPECT(group->tier > 0 && group->tier < view->tier_count, "no such device");
    ROGUE_EXPECT(memcmp(&advice->prefetch, &none.prefetch, sizeof none.prefetch) == 0 &&
                     ff_mask_empty(&advice->throttle) && ff_mask_empty(&advice->remote) &&
                     advice->throttle_until_ns == 0,
                 "the advice is not clear");
    for (uint32_t tier = 1; tier < view->tier_count; tier++) {
        struct ff_mask there =
            ff_mask_and(&group->faulted, ff_view_resident(view, tier, group->block));
        ROGUE_EXPECT(ff_mask_empty(&there), "a page that is there faulted");
    }
}

static void watch_on_arrival(void *state, const struct ff_view *view,
                             const struct ff_arrival *arrival) {
    const struct ff_mask *there = ff_view_resident(view, arrival->tier, arrival->block);
    (void)state;
    if (arrival->kind == FF_ARRIVAL_ALLOCATED)
        return;
    ROGUE_EXPECT(!ff_mask_empty(arrival->pages), "nothing arrived");
    ROGUE_EXPECT(ff_mask_within(arrival->pages, there), "it is not there");
}

static void watch_range_added(void *state, const struct ff_view *view, uint32_t range) {
    ((struct watch *)state)->ranges[range] = (struct watched_range){true, view->now_ns};
}

static void watch_range_freed(void *state, uint32_t range) {
    ((struct watch *)state)->ranges[range].exists = false;
}

static void watch_learn(void *state, const struct ff_event *events, uint32_t count) {
    struct watch *watch = state;
    ROGUE_EXPECT(count > 0 && count <= FF_LEARN_EVENTS, "no events, or too many");
    ROGUE_EXPECT(watch->learned_count == 0, "other events have not been published");
    for (uint32_t i = 0; i < count; i++) {
        ROGUE_EXPECT(!rogue_watches_time || events[i].now_ns >= watch->learned_ns,
                     "events are not in order");
        ROGUE_EXPECT(events[i].tier > 0 && events[i].tier < watch->tier_count, "no such device");
        ROGUE_EXPECT(events[i].kind != FF_EVENT_LAUNCH || i + 1 == count,
                     "more events behind a launch");
        watch->learned_ns = events[i].now_ns;
        watch->learned[i] = events[i];
    }
    watch->learned_count = count;
}

static bool watch_same_event(const struct ff_event *a, const struct ff_event *b) {
    return a->tier == b->tier && a->block == b->block && a->page == b->page &&
           a->range == b->range && a->launch == b->launch && a->thread == b->thread &&
           a->now_ns == b->now_ns;
}

static void watch_publish(void *state, const struct ff_event *events, uint32_t count) {
    struct watch *watch = state;
    ROGUE_EXPECT(count == watch->learned_count, "other events than were learned from");
    for (uint32_t i = 0; i < count; i++) {
        const struct ff_event *event = &events[i];
        ROGUE_EXPECT(watch_same_event(event, &watch->learned[i]), "another event");
        if (event->kind == FF_EVENT_VOID)
            continue;
        ROGUE_EXPECT(event->kind == watch->learned[i].kind, "an event of another kind");
        if (event->range == FF_NONE)
            continue;
        const struct watched_range *range = &watch->ranges[event->range];
        ROGUE_EXPECT(range->exists, "an event of a range that is gone");
        ROGUE_EXPECT(!rogue_watches_time || event->now_ns >= range->added_ns,
                     "an event of an earlier range");
    }
    watch->learned_count = 0;
}

static const struct ff_learn_hooks watch_learning = {.learn = watch_learn,
                                                     .publish = watch_publish};

static const struct ff_prefetch_policy rogue_watch_prefetch = {
    .base = {.name = "watch",
             .summary = "checks what the engine tells",
             .api = FF_POLICY_API,
             .state_size = sizeof(struct watch),
             .block_state_size = 1,
             .range_state_size = sizeof(struct watched_range),
             .init = watch_init,
             .on_arrival = watch_on_arrival,
             .range_added = watch_range_added,
             .range_freed = watch_range_freed},
    .on_fault = watch_on_fault,
    .learning = &watch_learning,
};

/* ---- looking ahead ---- */

struct next {
    uint32_t block, tier, ahead;
    bool news;
};

static void next_publish(void *state, const struct ff_event *events, uint32_t count) {
    struct next *next = state;
    for (uint32_t i = 0; i < count; i++) {
        if (events[i].kind != FF_EVENT_FAULT)
            continue;
        next->block = events[i].block;
        next->tier = events[i].tier;
        next->news = true;
    }
}

static void next_plan(void *state, const struct ff_view *view, struct ff_advice_list *advice) {
    struct next *next = state;
    for (uint32_t i = 1; next->news && i <= 2 && next->block + i < view->block_limit; i++) {
        uint32_t block = next->block + i;
        struct ff_advice item = {.block = block, .tier = next->tier, .launch = FF_NONE};
        item.pages = ff_mask_of_run(0, view->blocks[block].page_count);
        if (view->blocks[block].page_count > 0)
            ff_advice_add(advice, &item);
    }
    next->news = false;
}

static const struct ff_learn_hooks next_learning = {.publish = next_publish, .plan = next_plan};

static const struct ff_prefetch_policy rogue_next = {
    .base = {.name = "next",
             .summary = "the two blocks behind a faulting one",
             .api = FF_POLICY_API,
             .sees = FF_SEES_FAULTS,
             .state_size = sizeof(struct next)},
    .learning = &next_learning,
};

static inline void rogues_register(void) {
    const struct {
        enum ff__slot slot;
        const struct ff_policy *policy;
    } rows[] = {
        {FF__PREFETCH, &rogue_greedy.base},   {FF__PREFETCH, &rogue_stall.base},
        {FF__PREFETCH, &rogue_next.base},     {FF__PREFETCH, &rogue_watch_prefetch.base},
        {FF__EVICT, &rogue_quiet.base},       {FF__EVICT, &rogue_liar.base},
        {FF__EVICT, &rogue_watch_evict.base}, {FF__PLACE, &rogue_nowhere.base},
        {FF__DISCARD, &rogue_dead.base},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ff_error error;
        if (ff__policy_register(rows[i].slot, rows[i].policy, &error)) {
            fprintf(stderr, "%s\n", error.message);
            exit(1);
        }
    }
}

#endif
