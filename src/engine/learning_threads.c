/* The correlator and the prefetching thread; see pipeline.h. */
#include "engine/pipeline_internal.h"

static void sleep_on(struct ff__pipeline *pipeline, pthread_cond_t *condition) {
    ff__pipeline_sleep_until(pipeline, condition,
                             pipeline->backend->now(pipeline->self) + 10 * FF__IDLE_NS);
}

void *ff__correlator_thread(void *argument) {
    struct ff__pipeline *pipeline = argument;
    struct ff__learning_step step;
    ff__pipeline_lock(pipeline);
    while (!pipeline->stop) {
        if (!ff__engine_take_events(pipeline->engine, &step)) {
            sleep_on(pipeline, &pipeline->news);
            continue;
        }
        pthread_cond_broadcast(&pipeline->room);
        ff__pipeline_unlock(pipeline);
        ff__engine_learn(pipeline->engine, &step);
        ff__pipeline_lock(pipeline);
        ff__engine_publish(pipeline->engine, &step);
        pipeline->unplanned += step.count;
        bool plans = pipeline->has_planner && ff__engine_uses_learning(pipeline->engine);
        ff__pipeline_unlock(pipeline);
        if (plans) /* without the lock: a wake-up takes longer than most steps */
            pthread_cond_signal(&pipeline->learned);
        ff__pipeline_lock(pipeline);
    }
    ff__pipeline_unlock(pipeline);
    return NULL;
}

/* More advice is queued than one step of the plan gives. */
static bool advice_waits(struct ff__pipeline *pipeline) {
    return ff__queue_room(&pipeline->prefetches) + FF__ADVICE_A_STEP < FF__PREFETCH_QUEUE;
}

/* Queues a plan's advice, up to the first piece that finds no room. Others get the lock between two
 * pieces: a policy that always has something to plan would starve them. */
static void take_advice(struct ff__pipeline *pipeline, const struct ff_advice_list *advice) {
    for (uint32_t i = 0; i < advice->count; i++)
        if (!ff__pipeline_advise(pipeline, &advice->items[i]))
            return;
}

void *ff__prefetching_thread(void *argument) {
    struct ff__pipeline *pipeline = argument;
    struct ff_advice items[FF__ADVICE_A_STEP];
    while (!__atomic_load_n(&pipeline->stop, __ATOMIC_RELAXED)) {
        struct ff_advice_list advice = {.items = items, .capacity = FF__ADVICE_A_STEP};
        ff__pipeline_lock(pipeline);
        if (pipeline->unplanned == 0 && !pipeline->stop)
            sleep_on(pipeline, &pipeline->learned);
        while (advice_waits(pipeline) && !pipeline->stop)
            ff__pipeline_wait_for_progress(
                pipeline, 0); /* what is queued is planned with what was known then */
        if (pipeline->unplanned > 0)
            ff__engine_plan(pipeline->engine, pipeline->backend->now(pipeline->self), &advice);
        if (advice.count < FF__ADVICE_A_STEP)
            pipeline->unplanned = 0; /* a full list may have more to say */
        ff__pipeline_unlock(pipeline);
        take_advice(pipeline, &advice);
    }
    return NULL;
}
