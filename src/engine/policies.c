/* The policies of an engine: making them, and telling them what happens. */
#include "engine/internal.h"

#include "base/error.h"
#include "base/lazy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    engine->range_state[slot][at] =
        ff__lazy_map(policy->range_state_size * engine->space.block_limit);
    void *born = calloc(1, policy->state_size ? policy->state_size : 1);
    if (!born || !engine->block_state[slot][at] || !engine->range_state[slot][at] ||
        !engine->arena[slot][at]) {
        free(born);
        return ff__fail(error, -ENOMEM, "no memory for the state of policy '%s'", policy->name);
    }
    const struct ff_model model = {.future = config->future};
    ff__background_init(&engine->background[slot][at], config->virtual_time);
    struct ff_error why = {""};
    struct ff_policy_env env = {
        .tier_count = engine->space.tier_count,
        .tier = tier,
        .block_limit = engine->space.block_limit,
        .range_limit = engine->space.block_limit, /* a range has a block at least */
        .block_state = engine->block_state[slot][at],
        .range_state = engine->range_state[slot][at],
        .arena = engine->arena[slot][at],
        .arena_size = arena_size,
        .seed = config->seed,
        .params = engine->system.params[slot],
        .text = engine->system.text,
        .background = &engine->background[slot][at].verbs,
        .error = &why,
        .model = config->virtual_time || config->future ? &model : NULL,
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
    ff__background_fini(&engine->background[slot][tier]);
    if (*state && policy->fini)
        policy->fini(*state);
    free(*state);
    *state = NULL;
    ff__lazy_unmap(engine->block_state[slot][tier],
                   policy->block_state_size * engine->space.block_limit);
    ff__lazy_unmap(engine->range_state[slot][tier],
                   policy->range_state_size * engine->space.block_limit);
    ff__lazy_unmap(engine->arena[slot][tier],
                   policy->arena_size ? policy->arena_size(engine->system.params[slot]) : 0);
}

int ff__policies_make(struct ff__engine *engine, const struct ff__engine_config *config,
                      struct ff_error *error) {
    int status = make_policy(engine, config, FF__PREFETCH, FF_NONE, &engine->prefetch_state, error);
    engine->view.forecast =
        (struct ff_forecast){engine->prefetch->forecast, engine->prefetch_state};
    for (uint32_t tier = 1; tier < engine->space.tier_count && !status; tier++)
        status = make_policy(engine, config, FF__EVICT, tier, &engine->evict_state[tier], error);
    if (!status)
        status = make_policy(engine, config, FF__PLACE, FF_NONE, &engine->place_state, error);
    if (!status)
        status = make_policy(engine, config, FF__DISCARD, FF_NONE, &engine->discard_state, error);
    return status;
}

void ff__policies_unmake(struct ff__engine *engine) {
    unmake_policy(engine, FF__PREFETCH, 0, &engine->prefetch_state);
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        unmake_policy(engine, FF__EVICT, tier, &engine->evict_state[tier]);
    unmake_policy(engine, FF__PLACE, 0, &engine->place_state);
    unmake_policy(engine, FF__DISCARD, 0, &engine->discard_state);
}

/* ---- what they must see and control ---- */

/* "faults, launches" */
static void name_bits(uint32_t bits, const char *const names[], unsigned count, char text[160]) {
    text[0] = '\0';
    for (unsigned i = 0; i < count; i++)
        if (bits >> i & 1)
            snprintf(text + strlen(text), 160 - strlen(text), "%s%s", text[0] ? ", " : "",
                     names[i]);
}

static void name_visibility(uint32_t bits, char text[160]) {
    name_bits(bits, ff__visibility_names, FF__VISIBILITIES, text);
}

static void name_controls(uint32_t bits, char text[160]) {
    static const char *const names[] = {"what a fault brings", "who leaves", "remote use",
                                        "sampling"};
    name_bits(bits, names, sizeof names / sizeof names[0], text);
}

int ff__policies_check(const struct ff__engine_config *config, struct ff_error *error) {
    for (int slot = 0; slot < FF__SLOTS; slot++) {
        const struct ff_policy *policy = config->system.policy[slot];
        const char *kind = ff__slot_name((enum ff__slot)slot);
        char missing[160], granted[160];
        name_visibility(policy->sees & ~config->backend->shows, missing);
        name_visibility(config->backend->shows, granted);
        if (missing[0])
            return ff__fail(error, -ENOTSUP,
                            "%s policy '%s' must see %s; this kind of device shows only %s", kind,
                            policy->name, missing, granted);
        name_controls(policy->controls & ~config->backend->controls, missing);
        name_controls(config->backend->controls, granted);
        if (missing[0])
            return ff__fail(error, -ENOTSUP,
                            "%s policy '%s' must control %s; this kind of device lets it control "
                            "%s",
                            kind, policy->name, missing, granted[0] ? granted : "nothing");
    }
    return 0;
}

/* ---- telling them ---- */

static void arrive(const struct ff_policy *policy, void *state, const struct ff_view *view,
                   const struct ff_arrival *arrival) {
    if (policy->on_arrival)
        policy->on_arrival(state, view, arrival);
}

void ff__tell_arrival(struct ff__engine *engine, const struct ff_arrival *arrival) {
    const struct ff_view *view = &engine->view;
    if (ff__is_guest(engine, arrival->block, arrival->tier))
        return;
    arrive(&engine->evict->base, engine->evict_state[arrival->tier], view, arrival);
    arrive(&engine->prefetch->base, engine->prefetch_state, view, arrival);
    arrive(&engine->place->base, engine->place_state, view, arrival);
    arrive(&engine->discard->base, engine->discard_state, view, arrival);
}

static void leave(const struct ff_policy *policy, void *state, const struct ff_view *view,
                  const struct ff_leave *what) {
    if (policy->on_leave)
        policy->on_leave(state, view, what);
}

void ff__tell_leave(struct ff__engine *engine, const struct ff_leave *what) {
    const struct ff_view *view = &engine->view;
    if (ff__is_guest(engine, what->block, what->tier))
        return;
    leave(&engine->evict->base, engine->evict_state[what->tier], view, what);
    leave(&engine->prefetch->base, engine->prefetch_state, view, what);
    leave(&engine->place->base, engine->place_state, view, what);
    leave(&engine->discard->base, engine->discard_state, view, what);
}

static void launch(const struct ff_policy *policy, void *state, const struct ff_view *view,
                   const struct ff_launch_event *event, struct ff_advice_list *advice) {
    if (policy->on_launch)
        policy->on_launch(state, view, event, advice);
}

void ff__tell_launch(struct ff__engine *engine, const struct ff_launch_event *event,
                     struct ff_advice_list *advice) {
    const struct ff_view *view = &engine->view;
    launch(&engine->prefetch->base, engine->prefetch_state, view, event, advice);
    launch(&engine->evict->base, engine->evict_state[event->tier], view, event, advice);
    launch(&engine->place->base, engine->place_state, view, event, advice);
    launch(&engine->discard->base, engine->discard_state, view, event, advice);
}

/* Calls for every instance. */
typedef void (*each_fn)(const struct ff_policy *policy, void *state, const struct ff_view *view,
                        uint32_t id);

static void for_each(struct ff__engine *engine, each_fn call, uint32_t id) {
    const struct ff_view *view = &engine->view;
    call(&engine->prefetch->base, engine->prefetch_state, view, id);
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++)
        call(&engine->evict->base, engine->evict_state[tier], view, id);
    call(&engine->place->base, engine->place_state, view, id);
    call(&engine->discard->base, engine->discard_state, view, id);
}

static void add_range(const struct ff_policy *policy, void *state, const struct ff_view *view,
                      uint32_t range) {
    if (policy->range_added)
        policy->range_added(state, view, range);
}

static void free_range(const struct ff_policy *policy, void *state, const struct ff_view *view,
                       uint32_t range) {
    (void)view;
    if (policy->range_freed)
        policy->range_freed(state, range);
}

static void free_block(const struct ff_policy *policy, void *state, const struct ff_view *view,
                       uint32_t block) {
    (void)view;
    if (policy->block_freed)
        policy->block_freed(state, block);
}

void ff__tell_range_added(struct ff__engine *engine, uint32_t range) {
    for_each(engine, add_range, range);
}

void ff__tell_range_freed(struct ff__engine *engine, uint32_t range) {
    for_each(engine, free_range, range);
}

void ff__tell_block_freed(struct ff__engine *engine, uint32_t block) {
    for_each(engine, free_block, block);
}
