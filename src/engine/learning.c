/* Events on their way to a policy that learns, and its hooks for them. */
#include "engine/internal.h"

#include "base/lazy.h"

#include <errno.h>

#define EVENTS_MAX 8192u

/* An item of the queue. */
struct told {
    struct ff_event event;
    uint32_t freed; /* how often its range had been freed */
};

static size_t freed_size(const struct ff__engine *engine) {
    return engine->space.block_limit * sizeof *engine->freed;
}

int ff__learning_init(struct ff__engine *engine) {
    if (!engine->prefetch->learning)
        return 0;
    engine->freed = ff__lazy_map(freed_size(engine));
    return engine->freed ? ff__queue_init(&engine->events, EVENTS_MAX, sizeof(struct told))
                         : -ENOMEM;
}

void ff__learning_fini(struct ff__engine *engine) {
    ff__queue_fini(&engine->events);
    if (engine->freed)
        ff__lazy_unmap(engine->freed, freed_size(engine));
}

bool ff__engine_learns(const struct ff__engine *engine) {
    return engine->events.items != NULL;
}

/* ---- telling ---- */

static uint32_t freed_of(const struct ff__engine *engine, const struct ff_event *event) {
    return event->range == FF_NONE ? 0 : engine->freed[event->range];
}

void ff__engine_tell(struct ff__engine *engine, const struct ff_event *event) {
    if (!ff__engine_learns(engine))
        return;
    struct told told = {*event, freed_of(engine, event)};
    if (!ff__queue_push(&engine->events, &told))
        engine->space.stats.events_dropped++;
}

bool ff__engine_can_tell(const struct ff__engine *engine) {
    return !ff__engine_learns(engine) || ff__queue_room(&engine->events) > 0;
}

void ff__learning_forget_range(struct ff__engine *engine, uint32_t range) {
    if (engine->freed)
        engine->freed[range]++;
}

/* ---- learning ---- */

static void void_freed(const struct ff__engine *engine, struct ff__learning_step *step) {
    for (uint32_t i = 0; i < step->count; i++)
        if (step->freed[i] != freed_of(engine, &step->events[i]))
            step->events[i].kind = FF_EVENT_VOID;
}

bool ff__engine_take_events(struct ff__engine *engine, struct ff__learning_step *step) {
    struct told told = {.event.kind = FF_EVENT_VOID};
    step->count = 0;
    while (step->count < FF_LEARN_EVENTS && told.event.kind != FF_EVENT_LAUNCH &&
           ff__queue_pop(&engine->events, &told)) {
        step->freed[step->count] = told.freed;
        step->events[step->count++] = told.event;
    }
    void_freed(engine, step);
    return step->count > 0;
}

void ff__engine_learn(const struct ff__engine *engine, const struct ff__learning_step *step) {
    const struct ff_learn_hooks *learning = engine->prefetch->learning;
    if (learning->learn)
        learning->learn(engine->prefetch_state, step->events, step->count);
}

void ff__engine_publish(struct ff__engine *engine, struct ff__learning_step *step) {
    const struct ff_learn_hooks *learning = engine->prefetch->learning;
    void_freed(engine, step);
    if (learning->publish)
        learning->publish(engine->prefetch_state, step->events, step->count);
}

void ff__engine_learn_all(struct ff__engine *engine) {
    struct ff__learning_step step;
    while (ff__engine_take_events(engine, &step)) {
        ff__engine_learn(engine, &step);
        ff__engine_publish(engine, &step);
    }
}

bool ff__engine_uses_learning(const struct ff__engine *engine) {
    const struct ff_learn_hooks *learning = engine->prefetch->learning;
    return !learning || !learning->is_used || learning->is_used(engine->prefetch_state);
}

/* ---- planning ---- */

void ff__engine_plan(struct ff__engine *engine, uint64_t now_ns, struct ff_advice_list *advice) {
    const struct ff_learn_hooks *learning = engine->prefetch->learning;
    if (learning && learning->plan)
        learning->plan(engine->prefetch_state, ff__engine_view(engine, now_ns), advice);
}
