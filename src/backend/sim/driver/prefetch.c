/* Advice: prefetches and pre-evictions, when the driver has time for them. */
#include "backend/sim/simulation.h"

#define AHEAD 4u /* prefetches and pre-evictions at a time, at least; ours */

/* ---- advice ---- */

/* The policy is still deciding. */
static void put_off(struct sim *sim, const struct ff_advice *advice) {
    struct transfer *transfer = ff__transfer_new(sim);
    if (!transfer)
        return;
    transfer->advice = *advice;
    ff__sim_post(sim, advice->ready_ns * PS_PER_NS, EVENT_ADVICE, advice->tier - 1, transfer);
}

/* Puts a piece of advice down for the device that it is for; NULL: none of these, or not yet. */
static struct device *note_advice(struct sim *sim, const struct ff_advice *advice, uint64_t time) {
    if (advice->tier == FF_TIER_HOST || advice->tier >= sim->space->tier_count)
        return NULL;
    if (advice->ready_ns > ff__sim_ns(time) && sim->model->takes_time) {
        put_off(sim, advice);
        return NULL;
    }
    if (ff__engine_is_instant(advice)) { /* nothing has to be waited for */
        if (ff__engine_advise_now(sim->engine, advice) && advice->action == FF_END_REMOTE)
            ff__sim_left(sim, advice->tier, advice->block);
        return NULL;
    }
    struct device *device = &sim->devices[advice->tier - 1];
    if (!ff__queue_push(&device->advice, advice))
        ff__engine_drop(sim->engine, FF_DROP_QUEUE_FULL);
    return device;
}

/* One turn of the correlator and one of the prefetching thread. */
static void learn_and_plan(struct sim *sim, uint64_t time) {
    struct ff_advice items[64];
    if (!ff__engine_learns(sim->engine))
        return;
    ff__engine_learn_all(sim->engine);
    struct ff_advice_list advice = {.items = items, .capacity = 64};
    ff__engine_plan(sim->engine, ff__sim_ns(time), &advice);
    for (uint32_t i = 0; i < advice.count; i++)
        note_advice(sim, &items[i], time);
}

void ff__prefetch_learn(struct sim *sim, uint64_t time) {
    learn_and_plan(sim, time);
    for (uint32_t i = 0; i < sim->config->devices; i++)
        sim->model->prefetch(sim, &sim->devices[i], time);
}

void ff__prefetch_advise(struct sim *sim, const struct ff_advice *advice, uint64_t time) {
    struct device *device = note_advice(sim, advice, time);
    if (device)
        sim->model->prefetch(sim, device, time);
}

void ff__prefetch_due(struct sim *sim, struct transfer *transfer, uint64_t time) {
    struct ff_advice advice = transfer->advice;
    ff__transfer_free(sim, transfer);
    advice.ready_ns = 0;
    ff__prefetch_advise(sim, &advice, time);
}

/* ---- prefetches and pre-evictions ---- */

/* On a device that lends memory there is advice for blocks of other jobs, too. */
static bool is_being_freed(const struct sim *sim, uint32_t block) {
    const struct ff__space *space = sim->space;
    if (block >= space->block_limit || space->blocks[block].page_count == 0)
        return false;
    uint32_t home = space->ranges[space->blocks[block].range].home_tier;
    return sim->devices[home - 1].job->freeing;
}

static void forget_what_is_freed(struct sim *sim, struct device *device) {
    const struct ff_advice *advice;
    while ((advice = ff__queue_front(&device->advice)) && is_being_freed(sim, advice->block))
        ff__queue_drop(&device->advice);
}

/* How many prefetches and pre-evictions are under way at a time. Pre-eviction makes room for the
 * next ones while one comes in, as both directions of the link are in use: as many blocks as it
 * keeps free come, and as many leave, so that a kernel which has waited for one of them finds the
 * next ones under way, too. Otherwise each makes room for itself first. */
static uint32_t most_ahead(struct sim *sim, uint32_t tier) {
    uint64_t reserve = ff__engine_reserved(sim->engine, tier);
    if (sim->gpu->movers)
        return sim->gpu->movers;
    if (reserve == 0)
        return 1;
    uint32_t both_ways = (uint32_t)(2 * reserve / FF_BLOCK_PAGES);
    return both_ways > AHEAD ? both_ways : AHEAD;
}

/* Where room is made ahead, prefetching goes on without faults: it plans when no advice is left. */
static bool plan_if_idle(struct sim *sim, const struct device *device, uint64_t time) {
    if (!ff__queue_empty(&device->advice) || ff__engine_reserved(sim->engine, device->tier) == 0)
        return false;
    learn_and_plan(sim, time);
    return true;
}

/* What is to be done next. Most advice is about blocks that have come, or are on their way, on
 * earlier advice. */
static enum ff__ahead decide(struct sim *sim, struct device *device, struct ff__job *job,
                             uint64_t time) {
    enum ff__ahead what;
    bool planned = false;
    do {
        forget_what_is_freed(sim, device);
        planned = planned || plan_if_idle(sim, device, time);
        what = ff__engine_ahead(sim->engine, ff__sim_ns(time), device->tier, &device->advice, job);
    } while (what == FF__AHEAD_NEXT);
    return what;
}

/* Pre-evictions of a device are one thread's, as in HUVM's driver (its reserve thread). */
static uint64_t preevictor_done(const struct sim *sim, struct device *device,
                                const struct transfer *transfer, uint64_t time) {
    uint64_t begin = device->preevictor_free > time ? device->preevictor_free : time;
    return device->preevictor_free = begin + ff__driver_evict_cost(sim, transfer);
}

static bool start_next(struct sim *sim, struct device *device, uint64_t time) {
    struct transfer *transfer = ff__transfer_new(sim);
    if (!transfer)
        return false;
    enum ff__ahead what = decide(sim, device, &transfer->moves, time);
    bool follows = what == FF__AHEAD_FOLLOW;
    if (what == FF__AHEAD_NOTHING) {
        ff__transfer_free(sim, transfer);
        return false;
    }
    transfer->cause = follows ? TRANSFER_OF_PREFETCH : TRANSFER_OF_PREEVICTION;
    transfer->device = device->tier - 1;
    ff__transfer_start(sim, transfer,
                       follows ? time + ff__driver_cost(sim, transfer)
                               : preevictor_done(sim, device, transfer, time));
    return true;
}

/* Whether faults of a batch wait to be served: as in DeepUM's migration thread (section 3.1), they
 * go before prefetches. Prefetches wait neither for the copies of faults that are under way nor
 * while a batch is fetched and sorted, which is the fault handling thread's work there. */
static bool faults_wait(const struct device *device) {
    const struct batch *batch = &device->batch;
    return batch->under_way && batch->is_sorted && batch->next < batch->group_count;
}

void ff__prefetch_all(struct sim *sim, struct device *device, uint64_t time) {
    while (start_next(sim, device, time))
        ;
}

void ff__prefetch_ahead(struct sim *sim, struct device *device, uint64_t time) {
    if (device->job->freeing || (faults_wait(device) && !sim->model->prefetches_too))
        return;
    uint32_t most = most_ahead(sim, device->tier);
    while (device->prefetching < most && start_next(sim, device, time))
        device->prefetching++;
}
