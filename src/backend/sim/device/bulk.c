/* Kernels in bulk: a front goes through all operands at once.
 *
 * What all warps of the device touch at a time is a step: one load of a float of an operand by each
 * lane. (Ours. With four floats, as some kernels load, systems that live by faults are faster by a
 * tenth.) Where SMs share what they load, a step is so much less of the operand. A step whose pages
 * are all there takes its share of the kernel's time; otherwise SMs fault until they have all come.
 * Between two events nothing changes, so that what is in place is passed over block by block, not
 * page by page. */
#include "backend/sim/device/bulk_pages.h"

#include <errno.h>
#include <stdlib.h>

#define HORIZON 16u /* steps in which nothing is shared */
#define NOWHERE UINT64_MAX

/* ---- the front ---- */

/* The end of the iteration of the outer `level` loops that a position is in, if all between its
 * first and its last byte is in place; else the position. */
static uint64_t pass_level(struct sim *sim, struct device *device,
                           const struct ff__operand *operand, int level, uint64_t position) {
    uint64_t bytes = operand->run, span = operand->run;
    for (int i = level; i < FF__LOOPS; i++) {
        bytes *= operand->loop[i].count;
        span += (operand->loop[i].count - 1) * operand->loop[i].stride;
    }
    uint64_t number = position / bytes;
    const struct piece piece =
        ff__nest_piece(ff__nest_start(device->bulk.arrays, operand, level, number), span);
    return ff__pages_pass(sim, device, &piece, operand->write) ? (number + 1) * bytes : position;
}

/* How far the operand is in place from `position` on, where it matters before `limit`. Where runs
 * are short, looking at all that many of them lie in is the shorter way. */
static uint64_t clear_until(struct sim *sim, struct device *device,
                            const struct ff__operand *operand, struct cursor *cursor,
                            uint64_t position, uint64_t limit) {
    for (int level = 1; level < FF__LOOPS && operand->run < FF_LEAF_SIZE; level++)
        for (uint64_t further = 0; position < limit && operand->loop[level].count > 1;
             position = further)
            if ((further = pass_level(sim, device, operand, level, position)) == position)
                break;
    if (position >= limit)
        return position;
    if (cursor->position != position)
        *cursor = ff__nest_cursor(device->bulk.arrays, operand, position);
    while (cursor->position < limit) {
        uint64_t left = limit - cursor->position;
        struct piece piece =
            ff__nest_piece_at(cursor, operand, left < FF_BLOCK_SIZE ? left : FF_BLOCK_SIZE);
        if (!ff__pages_pass(sim, device, &piece, operand->write))
            break;
        ff__nest_move_behind(cursor, operand, &piece);
    }
    return cursor->position;
}

/* The step that a position is in. */
static uint64_t step_at(const struct bulk *bulk, const struct front *front, uint64_t position) {
    uint64_t step = (uint64_t)((double)position * (double)bulk->steps / front->size);
    while (step < bulk->steps && ff__bulk_position(bulk, front, step + 1) <= position)
        step++;
    return step;
}

/* The first step from here to `last` that needs a page which is not there; `last` if none does.
 * What has been found in place stays so until something leaves. */
static uint64_t first_stop(struct sim *sim, struct device *device, uint64_t last) {
    const struct bulk *bulk = &device->bulk;
    const struct ff__kernel *kernel = &device->current.kernel;
    for (uint32_t i = 0; i < kernel->operand_count && last > bulk->step; i++) {
        struct front *front = &bulk->fronts[i];
        uint64_t limit = ff__bulk_position(bulk, front, last);
        uint64_t from = ff__bulk_position(bulk, front, bulk->step);
        from = front->clear > from ? front->clear : from;
        front->clear = clear_until(sim, device, &kernel->operands[i], &front->cursor, from, limit);
        if (front->clear >= limit)
            continue;
        uint64_t step = step_at(bulk, front, front->clear);
        last = step > bulk->step ? step : bulk->step;
    }
    return last;
}

/* ---- what comes and leaves ---- */

static bool writes_to(const struct device *device, uint32_t block) {
    const struct ff__kernel *kernel = &device->current.kernel;
    const struct front *fronts = device->bulk.fronts;
    for (uint32_t i = 0; i < kernel->operand_count; i++)
        if (kernel->operands[i].write && block >= fronts[i].first && block <= fronts[i].last)
            return true;
    return false;
}

/* What the step has asked for and is there now is used. */
static void use_asked(struct sim *sim, struct device *device, uint32_t block) {
    struct asked *asked = &device->bulk.asked[block];
    const struct ff_facts *facts = ff__facts(sim->space, block);
    if (!device->running || !device->bulk.faulted || asked->stop != device->bulk.stop)
        return;
    struct ff_mask come = ff_mask_and(&asked->pages, &facts->tier[device->tier].resident);
    come = ff_mask_minus(&come, &asked->used);
    if (ff_mask_empty(&come))
        return;
    asked->used = ff_mask_or(&asked->used, &come);
    ff__engine_used(sim->engine, block, &come, writes_to(device, block));
}

void ff__bulk_changed(struct sim *sim, struct device *device, uint32_t block) {
    struct bulk *bulk = &device->bulk;
    use_asked(sim, device, block);
    for (uint32_t i = 0; bulk->raised && i < device->current.kernel.operand_count; i++)
        bulk->raised = block < bulk->fronts[i].step_first || block > bulk->fronts[i].step_last;
}

void ff__bulk_left(struct sim *sim, struct device *device, uint32_t block) {
    const struct bulk *bulk = &device->bulk;
    if (!device->running || !ff__is_bulk(device))
        return;
    ff__bulk_changed(sim, device, block);
    for (uint32_t i = 0; i < device->current.kernel.operand_count; i++)
        if (block >= bulk->fronts[i].first && block <= bulk->fronts[i].last)
            bulk->fronts[i].clear = 0;
}

/* ---- the kernel ---- */

/* Whether a run can begin or end inside a page that it shares with none of its like. */
static bool straddles(const struct ff__operand *operand, uint64_t start) {
    uint64_t unit = operand->run < FF_PAGE_SIZE ? operand->run : FF_PAGE_SIZE;
    uint64_t off = FF_PAGE_SIZE % unit | operand->run % unit | start % unit;
    for (int i = 0; i < FF__LOOPS; i++)
        off |= operand->loop[i].count > 1 ? operand->loop[i].stride % unit : 0;
    return off != 0;
}

static uint64_t pages_in(uint64_t bytes) {
    return (bytes + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE;
}

/* Pages that an operand lies in, at most: runs that lie apart have pages of their own. */
static uint64_t pages_of(const struct bulk *bulk, const struct ff__operand *operand) {
    uint64_t start = ff__nest_start(bulk->arrays, operand, 1, 0);
    uint64_t all = pages_in(start % FF_PAGE_SIZE + ff__nest_span(operand));
    uint64_t apart =
        ff__operand_runs(operand) * (pages_in(operand->run) + straddles(operand, start));
    return apart < all ? apart : all;
}

static void count_pages(struct device *device, const struct ff__kernel *kernel) {
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        const struct ff__operand *operand = &kernel->operands[i];
        uint64_t pages = pages_of(&device->bulk, operand),
                 loaded = pages_in(ff__nest_size(operand));
        uint64_t accesses = loaded > pages ? loaded : pages;
        device->counters->accesses += accesses;
        device->counters->hits += accesses;
        device->counters->demanded += pages;
        device->counters->demanded_hits += pages;
    }
}

/* Nothing is known to be in place yet. */
static void start_fronts(struct sim *sim, struct bulk *bulk, const struct ff__kernel *kernel) {
    if (kernel->operand_count > bulk->front_capacity) {
        struct front *fronts = realloc(bulk->fronts, kernel->operand_count * sizeof *fronts);
        if (!fronts) {
            ff__sim_fail(sim, -ENOMEM, "a kernel's operands");
            return;
        }
        bulk->fronts = fronts;
        bulk->front_capacity = kernel->operand_count;
    }
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        const struct ff__operand *operand = &kernel->operands[i];
        uint64_t start = ff__nest_start(bulk->arrays, operand, 1, 0),
                 last = start + ff__nest_span(operand) - 1;
        bulk->fronts[i] = (struct front){.size = (double)ff__nest_size(operand),
                                         .cursor.position = NOWHERE,
                                         .used = ff__nest_cursor(bulk->arrays, operand, 0),
                                         .first = (uint32_t)(start / FF_BLOCK_SIZE),
                                         .last = (uint32_t)(last / FF_BLOCK_SIZE)};
    }
}

void ff__bulk_start(struct sim *sim, struct device *device, uint64_t time) {
    const struct ff__kernel *kernel = &device->current.kernel;
    const struct ff__gpu *gpu = sim->gpu;
    uint64_t window = (uint64_t)gpu->sms * gpu->warps_per_sm * FF__ACCESS_BYTES;
    uint64_t bytes = 1, shared = 1;
    double seconds = kernel->flops / gpu->flops;
    if (kernel->traffic / gpu->memory_rate > seconds)
        seconds = kernel->traffic / gpu->memory_rate;
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        uint64_t readers = ff__operand_readers(&kernel->operands[i]);
        uint64_t loaded = ff__nest_size(&kernel->operands[i]) * readers;
        bytes = loaded > bytes ? loaded : bytes;
        shared = readers > shared ? readers : shared;
    }
    struct bulk *bulk = &device->bulk;
    if (sim->recording)
        ff__sim_fail(sim, -ENOTSUP, "analytical kernels have no accesses to record");
    bulk->arrays = device->job->workload->arrays;
    start_fronts(sim, bulk, kernel);
    bulk->step = 0;
    bulk->steps = (bytes + window - 1) / window;
    bulk->horizon = HORIZON * shared;
    bulk->time = time;
    bulk->waits = bulk->faulted = bulk->raised = false;
    bulk->ps_per_step = seconds * 1e12 / (double)bulk->steps;
    count_pages(device, kernel);
}

/* The step that the front can reach before `until`, or a little beyond: no further ahead than it
 * pays to look, because what is found there is looked at again after a stop. */
static uint64_t reach(const struct bulk *bulk, uint64_t until) {
    uint64_t left = bulk->steps - bulk->step, far = left < bulk->horizon ? left : bulk->horizon;
    if (until == NEVER)
        return bulk->step + far;
    double steps = (double)(until - bulk->time) / (bulk->ps_per_step + 1e-9) + 1;
    return bulk->step + (steps < (double)far ? (uint64_t)steps : far);
}

/* At a step that looked short of pages: faults, or on with it if pages are remote, or if rounding
 * had stopped it too early. */
static void stop(struct sim *sim, struct device *device) {
    struct bulk *bulk = &device->bulk;
    if (bulk->faulted && bulk->raised) { /* something came that the step has no use for */
        bulk->waits = true;
        return;
    }
    bulk->stop += !bulk->faulted;
    uint64_t missing = ff__bulk_raise(sim, device);
    if (missing == 0) {
        if (device->tracker)
            ff__bulk_track(sim, device, bulk->step + 1);
        uint64_t end = ff__engine_uses_remote(sim->engine) ? ff__bulk_use_remotely(sim, device) : 0;
        bulk->time += (uint64_t)bulk->ps_per_step;
        bulk->time = end > bulk->time ? end : bulk->time;
        bulk->step++;
        bulk->faulted = bulk->raised = false;
        return;
    }
    bulk->faulted = bulk->waits = true;
}

uint64_t ff__bulk_run(struct sim *sim, struct device *device, uint64_t until) {
    struct bulk *bulk = &device->bulk;
    while (!bulk->waits && bulk->step < bulk->steps && bulk->time < until) {
        uint64_t last = reach(bulk, until), at = first_stop(sim, device, last);
        if (device->tracker) { /* after an interrupt the driver may want to do something */
            uint64_t interrupt = ff__bulk_track(sim, device, at);
            last = interrupt < at ? interrupt : last;
            at = interrupt;
            until = ff__events_next(&sim->events);
        }
        bulk->time += (uint64_t)((double)(at - bulk->step) * bulk->ps_per_step);
        bulk->faulted = bulk->faulted && at == bulk->step;
        bulk->raised = bulk->raised && at == bulk->step;
        bulk->step = at;
        if (at < last && bulk->time < until)
            stop(sim, device);
    }
    if (bulk->waits)
        return NEVER;
    if (bulk->step < bulk->steps || bulk->time > until)
        return bulk->time;
    device->ctas_left = 0;
    device->last_end = bulk->time;
    return NEVER;
}

void ff__bulk_wake(struct device *device, uint64_t time) {
    struct bulk *bulk = &device->bulk;
    bulk->waits = false;
    if (bulk->time >= time)
        return;
    device->counters->stall_ns += ff__sim_ns(time - bulk->time);
    bulk->time = time;
}
