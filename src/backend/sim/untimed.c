/* Runs without time: every access is answered before the next one. What hits, what misses and who
 * leaves is all that such a run tells, and it tells it in a fraction of the time. Accesses are
 * gathered ahead, because what warps do depends on nothing; they are answered in turn.
 *
 * As many warps as the device holds take turns. The clock that policies see counts a nanosecond an
 * access. */
#include "backend/sim/curve/turns.h"
#include "backend/sim/simulation.h"

#include <errno.h>

/* A kernel on its way. */
struct turn {
    struct sim *sim;
    struct device *device;
    uint32_t shown;          /* of the gathered accesses, to the policies */
    struct ff_access access; /* what those of a step have in common */
};

/* ---- misses ---- */

/* Once around the engine. False: the page is not to be served before `sim->now`, now later. */
static bool serve(struct sim *sim, const struct device *device, struct ff_fault_group *group) {
    struct transfer *transfer = ff__transfer_new(sim);
    if (!transfer)
        return true;
    transfer->cause = TRANSFER_OF_FAULT;
    transfer->device = device->tier - 1;
    int status = ff__engine_fault(sim->engine, ff__sim_ns(sim->now), group, &transfer->moves);
    bool waits = status == FF__JOB_WAIT;
    device->counters->batches += status == FF__JOB_RUN;
    if (waits && transfer->moves.retry_ns * PS_PER_NS > sim->now)
        sim->now = transfer->moves.retry_ns * PS_PER_NS;
    if (status == FF__JOB_RUN)
        ff__transfer_start(sim, transfer, sim->now);
    else
        ff__transfer_free(sim, transfer);
    if (status < 0)
        ff__sim_fail(sim, status, "a touch outside every array");
    else if (status != FF__JOB_RUN && status != FF__JOB_NONE && !waits)
        ff__sim_fail(sim, -ENOMEM, "a fault that finds no room");
    return !waits;
}

/* The page is to be here, or usable from where it is. */
static void miss(struct sim *sim, struct device *device, uint64_t page, bool write) {
    struct ff_fault_group group = {
        .block = (uint32_t)(page / FF_BLOCK_PAGES), .tier = device->tier, .launch = FF_NONE};
    ff_mask_set(&group.faulted, page % FF_BLOCK_PAGES);
    if (write)
        group.written = group.faulted;
    while (!serve(sim, device, &group))
        ;
    ff__prefetch_learn(sim, sim->now);
    sim->model->prefetch(sim, device, sim->now);
}

/* ---- accesses ---- */

/* Shows the policies the accesses up to `end` that they have not seen. */
static void show(struct turn *turn, uint32_t end) {
    struct sim *sim = turn->sim;
    struct device *device = turn->device;
    struct ff_advice items[16];
    struct ff_advice_list advice = {.items = items, .capacity = 16};
    uint32_t first = turn->shown;
    turn->shown = end;
    if (!sim->shows_accesses || first == end)
        return;
    struct ff_access_batch batch = {.items = &device->accesses[first],
                                    .count = end - first,
                                    .instructions = ff__sim_instructions(sim)};
    ff__engine_access(sim->engine, ff__sim_ns(sim->now), device->tier, &batch, &advice);
    for (uint32_t i = 0; i < advice.count; i++)
        ff__prefetch_advise(sim, &items[i], sim->now);
}

/* An absent page. Policies see everything up to the miss, and the miss, before they are asked. */
static void touch_absent(struct turn *turn, uint32_t index) {
    struct sim *sim = turn->sim;
    struct ff_access *access = &turn->device->accesses[index];
    uint64_t page = (uint64_t)access->block * FF_BLOCK_PAGES + access->page;
    bool write = access->flags & FF_ACCESS_WRITE;
    if (ff__sim_remote(sim, turn->device->tier, page)) {
        access->flags |= FF_ACCESS_REMOTE;
        turn->device->counters->remote++;
        return;
    }
    access->flags |= FF_ACCESS_MISS;
    show(turn, index + 1);
    miss(sim, turn->device, page, write);
    ff__sim_use(sim, page, write);
}

/* Passes over accesses to pages that are there; returns where it ended. */
static uint32_t touch_present(const struct turn *turn, uint32_t index) {
    const struct ff__space *space = turn->sim->space;
    const struct ff_access *accesses = turn->device->accesses;
    uint32_t count = turn->device->access_count, tier = turn->device->tier;
    for (; index < count; index++) {
        uint32_t block = accesses[index].block;
        if (!ff_mask_test(&ff__facts(space, block)->tier[tier].resident, accesses[index].page))
            break;
        if (accesses[index].flags & FF_ACCESS_WRITE)
            ff__sim_use(turn->sim, (uint64_t)block * FF_BLOCK_PAGES + accesses[index].page, true);
    }
    return index;
}

/* Where pages have been prefetched: these have been used now. */
static void use_present(const struct turn *turn, uint32_t index, uint32_t end) {
    const struct ff_access *accesses = turn->device->accesses;
    for (; index < end; index++)
        ff__sim_use(turn->sim,
                    (uint64_t)accesses[index].block * FF_BLOCK_PAGES + accesses[index].page, false);
}

static void record(struct sim *sim, const struct ff_access *accesses, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        ff__sim_record(sim, (uint64_t)accesses[i].block * FF_BLOCK_PAGES + accesses[i].page);
}

/* Answers all accesses that have been gathered. */
static void touch_all(struct turn *turn) {
    struct sim *sim = turn->sim;
    struct device *device = turn->device;
    uint32_t count = device->access_count;
    if (sim->recording)
        record(sim, device->accesses, count);
    turn->shown = 0;
    for (uint32_t i = 0, absent; i < count && !sim->failure; i = absent + 1) {
        absent = touch_present(turn, i);
        if (sim->space->stats.prefetched > 0)
            use_present(turn, i, absent);
        device->counters->hits += absent - i;
        sim->now += (absent - i + (absent < count)) * PS_PER_NS;
        if (absent < count)
            touch_absent(turn, absent);
    }
    show(turn, count);
    device->counters->accesses += count;
    device->access_count = 0;
}

static bool gather(void *self, uint32_t slot, const struct ff__step *step) {
    struct turn *turn = self;
    struct device *device = turn->device;
    struct ff_access *out = &device->accesses[device->access_count];
    struct ff_access *access = &turn->access;
    *access = (struct ff_access){.tier = (uint8_t)device->tier,
                                 .flags = step->write ? FF_ACCESS_WRITE : 0,
                                 .pc = step->pc,
                                 .sm = (uint16_t)(slot / turn->sim->warps_per_sm),
                                 .warp = (uint16_t)(slot % turn->sim->warps_per_sm)};
    turn->device->counters->instructions += step->instructions;
    for (uint32_t i = 0; i < step->page_count; i++) {
        uint32_t block = (uint32_t)(step->page[i] / FF_BLOCK_PAGES);
        const struct ff__space *space = turn->sim->space;
        __builtin_prefetch(&ff__facts(space, block)->tier[device->tier].resident, 1);
        if (step->write)
            __builtin_prefetch(&ff__page_facts(space, block)->dirty, 1);
        out[i] = *access;
        out[i].block = block;
        out[i].page = (uint16_t)(step->page[i] % FF_BLOCK_PAGES);
    }
    device->access_count += step->page_count;
    if (device->access_count > FF__ACCESSES_MAX - FF__STEP_PAGES)
        touch_all(turn);
    return !turn->sim->failure;
}

static void run_kernel(struct sim *sim, struct device *device, const struct ff__kernel *kernel) {
    uint64_t slots = sim->gpu->sms * (uint64_t)sim->warps_per_sm;
    struct turn turn = {.sim = sim, .device = device};
    ff__launch_tell(sim, device, kernel, sim->now, true);
    ff__prefetch_learn(sim, sim->now);
    if (ff__turns_take(device->job->workload, kernel, slots, gather, &turn))
        ff__sim_fail(sim, -ENOMEM, "a launch");
    touch_all(&turn);
    ff__launch_tell(sim, device, kernel, sim->now, false);
}

void ff__untimed_launch(struct sim *sim, struct device *device, const struct launch *launch,
                        uint64_t time) {
    (void)time; /* the clock counts accesses */
    ff__device_serve(sim, device, launch->job);
    if (launch->kernel.step)
        run_kernel(sim, device, &launch->kernel);
    else
        ff__sim_fail(sim, -ENOTSUP, "analytical kernels cannot run untimed");
    ff__sim_charge(sim, device->counters);
}

void ff__untimed_ended(struct sim *sim, struct device *device, enum transfer_cause cause,
                       uint64_t time) {
    (void)sim, (void)device, (void)cause, (void)time;
}
