#include "engine/internal.h"

#include "base/error.h"
#include "base/lazy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 8192u
#define OLDEST     64u /* learned at once, so that a launch finds room in the queue */

/* ---- making and unmaking ---- */

/* Allocates and initializes one policy instance; *state stays NULL, and nothing is owed to it, if
 * that fails. */
static int make_policy(struct ff__engine *engine, const struct ff__engine_config *config,
                       enum ff__slot slot, uint32_t tier, void **state, struct ff_error *error) {
    const struct ff_policy *policy = engine->system.policy[slot];
    uint32_t at = tier == FF_NONE ? 0 : tier;
    engine->block_state[slot][at] =
        ff__lazy_map(policy->block_state_size * engine->space.block_limit);
    size_t arena_size = policy->arena_size ? policy->arena_size(engine->system.params[slot]) : 0;
    engine->arena[slot][at] = ff__lazy_map(arena_size);
    void *born = calloc(1, policy->state_size ? policy->state_size : 1);
    if (!born || !engine->block_state[slot][at] || !engine->arena[slot][at]) {
        free(born);
        return ff__fail(error, -ENOMEM, "no memory for the state of policy '%s'", policy->name);
    }
    struct ff_error why = {""};
    struct ff_policy_env env = {
        .tier_count = engine->space.tier_count,
        .tier = tier,
        .block_limit = engine->space.block_limit,
        .block_state = engine->block_state[slot][at],
        .arena = engine->arena[slot][at],
        .arena_size = arena_size,
        .seed = config->seed,
        .params = engine->system.params[slot],
        .text = engine->system.text,
        .virtual_time = config->virtual_time,
        .error = &why,
        .future = config->future,
    };
    int status = policy->init ? policy->init(born, &env) : 0;
    if (status) {
        free(born);
        return ff__fail(error, status, "policy '%s' could not start: %s", policy->name,
                        why.message[0] ? why.message : strerror(-status));
    }
    *state = born;
    return 0;
}

static void unmake_policy(struct ff__engine *engine, enum ff__slot slot, uint32_t tier,
                          void **state) {
    const struct ff_policy *policy = engine->system.policy[slot];
    if (*state && policy->fini)
        policy->fini(*state);
    free(*state);
    *state = NULL;
    ff__lazy_unmap(engine->block_state[slot][tier],
                   policy->block_state_size * engine->space.block_limit);
    ff__lazy_unmap(engine->arena[slot][tier],
                   policy->arena_size ? policy->arena_size(engine->system.params[slot]) : 0);
}

static int make_policies(struct ff__engine *engine, const struct ff__engine_config *config,
                         struct ff_error *error) {
    int status = make_policy(engine, config, FF__PREFETCH, FF_NONE, &engine->prefetch_state, error);
    engine->view.forecast = (struct ff_forecast){
        engine->prefetch_state, engine->prefetch->next_turn, engine->prefetch->next_launch,
        engine->prefetch->this_turn, engine->prefetch->taken_back};
    for (uint32_t tier = 1; tier < engine->space.tier_count && !status; tier++)
        status = make_policy(engine, config, FF__EVICT, tier, &engine->evict_state[tier], error);
    if (!status)
        status = make_policy(engine, config, FF__PLACE, FF_NONE, &engine->place_state, error);
    if (!status)
        status = make_policy(engine, config, FF__DISCARD, FF_NONE, &engine->discard_state, error);
    return status;
}

/* "faults, launches" */
static void name_visibility(uint32_t visibility, char text[96]) {
    static const char *const names[] = {"faults", "launches", "accesses", "instructions",
                                        "a recorded run of the same work"};
    text[0] = '\0';
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (visibility >> i & 1)
            snprintf(text + strlen(text), 96 - strlen(text), "%s%s", text[0] ? ", " : "", names[i]);
}

static int check_visibility(const struct ff__engine_config *config, struct ff_error *error) {
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        const struct ff_policy *policy = config->system.policy[slot];
        char missing[96], shown[96];
        name_visibility(policy->needs & ~config->shows, missing);
        name_visibility(config->shows, shown);
        if (missing[0])
            return ff__fail(error, -ENOTSUP,
                            "%s policy '%s' must see %s; this kind of device shows only %s",
                            ff__slot_name((enum ff__slot)slot), policy->name, missing, shown);
    }
    return 0;
}

static void set_view(struct ff__engine *engine) {
    struct ff__space *space = &engine->space;
    engine->view = (struct ff_view){
        .tier_count = space->tier_count,
        .block_limit = space->block_limit,
        .blocks = space->blocks,
        .ranges = space->ranges,
        .facts = space->facts,
        .facts_size = space->facts_size,
        .page_facts_at = space->page_facts_at,
        .by_page = space->by_page,
        .free_pages = space->free_pages,
    };
    for (uint32_t tier = 0; tier < space->tier_count; tier++) {
        engine->view.free_roots[tier] = &space->frames[tier].free_count;
        engine->view.root_used[tier] = space->frames[tier].used;
        engine->view.leaf_owner[tier] = space->frames[tier].owner;
        engine->view.capacity[tier] = tier == FF_TIER_HOST ? 0 : space->capacity;
    }
}

static size_t late_pages_size(const struct ff__engine *engine) {
    return (size_t)engine->space.block_limit * engine->space.tier_count *
           sizeof *engine->late_pages;
}

void ff__engine_configure(struct ff__engine_config *config, const struct ff__description *backend) {
    config->base = backend->base;
    config->address_space = backend->address_space;
    config->devices = backend->tier_count - 1;
    config->memory = backend->tier[1].memory;
    config->spare = backend->tier[1].spare;
    config->separate = backend->separate;
    config->maps_remotely = backend->controls & FF__CONTROLS_REMOTE;
    config->shows = backend->shows;
}

int ff__engine_init(struct ff__engine *engine, const struct ff__engine_config *config,
                    struct ff_error *error) {
    memset(engine, 0, sizeof *engine);
    int status = check_visibility(config, error);
    if (status)
        return status;
    status = ff__space_init(&engine->space, config->base, config->address_space, config->devices,
                            config->memory, config->by_page, config->shows & FF_SEES_ACCESSES,
                            config->spare);
    if (status)
        return ff__fail(error, status, "cannot set up %u devices of %llu bytes: %s",
                        config->devices, (unsigned long long)config->memory, strerror(-status));
    engine->system = config->system;
    engine->prefetch = (const void *)config->system.policy[FF__PREFETCH];
    engine->evict = (const void *)config->system.policy[FF__EVICT];
    engine->place = (const void *)config->system.policy[FF__PLACE];
    engine->discard = (const void *)config->system.policy[FF__DISCARD];
    engine->stock = config->stock;
    engine->separate = config->separate;
    engine->maps_remotely = config->maps_remotely;
    engine->watched = config->shows & FF_SEES_ACCESSES;
    engine->check = config->check;
    engine->virtual_time = config->virtual_time;
    for (uint32_t tier = 0; tier < FF_TIERS_MAX; tier++)
        engine->launch[tier] = FF_NONE;
    engine->late_head = FF_NONE;
    status = ff__launch_ids_init(&engine->launches,
                                 config->launch_limit ? config->launch_limit : FF_LAUNCH_SLOTS);
    set_view(engine);
    engine->late = ff__lazy_map(engine->space.block_limit * sizeof *engine->late);
    engine->late_pages = ff__lazy_map(late_pages_size(engine));
    engine->stay = ff__lazy_map(engine->space.block_limit * sizeof *engine->stay);
    status = ff__launch_ids_init(&engine->launches,
                                 config->launch_limit ? config->launch_limit : FF_LAUNCH_SLOTS);
    status = engine->late && engine->late_pages && engine->stay && !status
                 ? make_policies(engine, config, error)
                 : ff__fail(error, -ENOMEM, "no memory for the engine's tables");
    if (!status && (engine->prefetch->learn || engine->prefetch->plan))
        status = ff__queue_init(&engine->events, EVENTS_MAX, sizeof(struct ff_event))
                     ? ff__fail(error, -ENOMEM, "no memory for the engine's events")
                     : 0;
    if (status)
        ff__engine_fini(engine);
    return status;
}

void ff__engine_fini(struct ff__engine *engine) {
    unmake_policy(engine, FF__PREFETCH, 0, &engine->prefetch_state);
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        unmake_policy(engine, FF__EVICT, tier, &engine->evict_state[tier]);
    unmake_policy(engine, FF__PLACE, 0, &engine->place_state);
    unmake_policy(engine, FF__DISCARD, 0, &engine->discard_state);
    ff__lazy_unmap(engine->late, engine->space.block_limit * sizeof *engine->late);
    ff__lazy_unmap(engine->late_pages, late_pages_size(engine));
    ff__lazy_unmap(engine->stay, engine->space.block_limit * sizeof *engine->stay);
    ff__launch_ids_fini(&engine->launches);
    ff__queue_fini(&engine->events);
    ff__space_fini(&engine->space);
}

/* ---- small helpers ---- */

void ff__engine_tell(struct ff__engine *engine, const struct ff_event *event) {
    struct ff_event oldest[OLDEST];
    if (!engine->events.items || ff__queue_push(&engine->events, event))
        return;
    bool is_launch = event->kind == FF_EVENT_LAUNCH || event->kind == FF_EVENT_LAUNCH_END;
    if (is_launch && ff__engine_learn(engine, engine->view.now_ns, oldest, OLDEST) > 0)
        ff__queue_push(&engine->events, event);
    else
        engine->space.stats.events_dropped++;
}

/* ---- ranges, launches, events ---- */

int ff__engine_range_add(struct ff__engine *engine, uint64_t page_count, uint32_t lead,
                         uint32_t home_tier, uint32_t *range) {
    return ff__range_add(&engine->space, page_count, lead, home_tier, range);
}

bool ff__engine_set_home(struct ff__engine *engine, uint32_t range, uint32_t tier) {
    bool changes = engine->space.ranges[range].home_tier != tier;
    ff__range_set_home(&engine->space, range, tier);
    return changes;
}

void ff__engine_close_block(struct ff__engine *engine, uint32_t block) {
    ff__facts(&engine->space, block)->busy = 1;
}

void ff__engine_discard(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages) {
    struct ff_mask present = ff__block_present(&engine->space, block);
    struct ff_mask gone = ff_mask_minus(pages, &present);
    struct ff_mask *host = &ff__facts(&engine->space, block)->tier[FF_TIER_HOST].resident;
    *host = ff_mask_minus(host, &gone);
}

/* The evictor forgets the block's pages on the tier; they stay. */
static uint64_t forget_pages(struct ff__engine *engine, uint32_t block, uint32_t tier) {
    const struct ff_mask *resident = &ff__facts(&engine->space, block)->tier[tier].resident;
    if (!ff_view_holds(&engine->view, tier, block))
        return 0;
    if (engine->evict->on_leave)
        engine->evict->on_leave(engine->evict_state[tier], &engine->view, block, resident);
    if (engine->evict->on_release)
        engine->evict->on_release(engine->evict_state[tier], &engine->view, block);
    return ff_mask_count(resident);
}

void ff__engine_forget(struct ff__engine *engine, uint64_t now_ns, uint32_t tier) {
    struct ff__space *space = &engine->space;
    uint64_t pages = 0;
    ff__engine_view(engine, now_ns);
    for (uint32_t range = 0; range < space->range_limit && space->by_page; range++)
        for (uint32_t i = 0; i < space->ranges[range].block_count; i++)
            pages += forget_pages(engine, space->ranges[range].first_block + i, tier);
    space->free_pages[tier] += pages - space->forgotten[tier];
    space->forgotten[tier] = pages;
}

void ff__engine_set_inactive(struct ff__engine *engine, uint32_t block, const struct ff_mask *pages,
                             bool inactive) {
    struct ff_mask *known = &ff__facts(&engine->space, block)->inactive;
    *known = inactive ? ff_mask_or(known, pages) : ff_mask_minus(known, pages);
    for (uint32_t tier = 1; tier < engine->space.tier_count && inactive; tier++) {
        const struct ff_mask *resident = &ff__facts(&engine->space, block)->tier[tier].resident;
        bool all_dead = !ff_mask_empty(resident) && ff_mask_within(resident, known);
        if (all_dead && engine->evict->on_discarded)
            engine->evict->on_discarded(engine->evict_state[tier], &engine->view, block);
    }
}

static void forget_block(struct ff__engine *engine, uint32_t block) {
    ff__engine_forget_late(engine, block);
    ff__memory_forget_refusal(engine, block);
    if (engine->prefetch->base.block_freed)
        engine->prefetch->base.block_freed(engine->prefetch_state, block);
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        if (engine->evict->base.block_freed)
            engine->evict->base.block_freed(engine->evict_state[tier], block);
    if (engine->place->base.block_freed)
        engine->place->base.block_freed(engine->place_state, block);
    if (engine->discard->base.block_freed)
        engine->discard->base.block_freed(engine->discard_state, block);
}

void ff__engine_range_remove(struct ff__engine *engine, uint32_t range) {
    const struct ff_range *r = &engine->space.ranges[range];
    for (uint32_t i = 0; i < r->block_count; i++)
        forget_block(engine, r->first_block + i);
    ff__range_remove(&engine->space, range);
    ff__memory_count(engine);
}

int ff__engine_launch(struct ff__engine *engine, uint64_t now_ns, uint32_t tier, uint64_t identity,
                      bool begins) {
    uint32_t id = FF_NONE;
    if (!begins)
        id = ff__launch_ids_find(&engine->launches, identity);
    else if (ff__launch_ids_launch(&engine->launches, identity, &id))
        return -ENOMEM;
    if (id == FF_NONE)
        return 0;
    if (begins)
        engine->launch[tier] = id;
    else if (engine->launch[tier] == id) /* of several at a time, the one that began last is it */
        engine->launch[tier] = FF_NONE;
    engine->space.stats.launches += begins;
    struct ff_event event = {.kind = begins ? FF_EVENT_LAUNCH : FF_EVENT_LAUNCH_END,
                             .tier = tier,
                             .block = FF_NONE,
                             .launch = id,
                             .now_ns = now_ns};
    ff__engine_view(engine, now_ns);
    if (engine->prefetch->on_launch)
        engine->prefetch->on_launch(engine->prefetch_state, &engine->view, &event);
    if (engine->evict->on_launch)
        engine->evict->on_launch(engine->evict_state[tier], &engine->view, &event);
    ff__engine_tell(engine, &event);
    return 0;
}

void ff__engine_access(struct ff__engine *engine, uint64_t now_ns, uint32_t tier,
                       const struct ff_access *accesses, uint32_t count,
                       struct ff_advice_list *advice) {
    const struct ff_view *view = ff__engine_view(engine, now_ns);
    if (engine->prefetch->on_access)
        engine->prefetch->on_access(engine->prefetch_state, view, accesses, count, advice);
    if (engine->evict->on_access)
        engine->evict->on_access(engine->evict_state[tier], view, accesses, count);
}

uint32_t ff__engine_learn(struct ff__engine *engine, uint64_t now_ns, struct ff_event *scratch,
                          uint32_t limit) {
    uint32_t count = 0;
    while (count < limit && ff__queue_pop(&engine->events, &scratch[count]))
        count++;
    if (count > 0 && engine->prefetch->learn)
        engine->prefetch->learn(engine->prefetch_state, ff__engine_view(engine, now_ns), scratch,
                                count);
    return count;
}

void ff__engine_plan(struct ff__engine *engine, uint64_t now_ns, struct ff_advice_list *advice) {
    if (engine->prefetch->plan)
        engine->prefetch->plan(engine->prefetch_state, ff__engine_view(engine, now_ns), advice);
}

int ff__engine_check(const struct ff__engine *engine, struct ff_error *error) {
    return ff__space_check(&engine->space, error);
}
