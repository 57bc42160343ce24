/* Kernels in bulk: a front goes through all operands at once.
 *
 * What all warps of the device touch at a time is a step: one load of a float by each lane. (Ours. With
 * four floats, as some kernels load, systems that live by faults are faster by a tenth.) A step whose
 * pages are all there takes its share of the kernel's time; otherwise one page of it faults on each SM,
 * until they have all come. Between two events nothing changes, so that what is in place is passed over
 * block by block, not page by page. */
#include "backend/sim/internal.h"

#include <errno.h>
#include <stdlib.h>

#define LANES      32u
#define LANE_BYTES 4u
#define HORIZON    16u /* steps */

/* ---- positions: bytes of an operand, in the order of its nest ---- */

static uint64_t size_of(const struct ff__operand *operand) {
    return ff__operand_runs(operand) * operand->run;
}

/* What one turn of the outermost loop lies in. */
static uint64_t turn_span(const struct ff__operand *operand) {
    uint64_t span = operand->run;
    for (int i = 1; i < FF__LOOPS; i++)
        span += (operand->loop[i].count - 1) * operand->loop[i].stride;
    return span;
}

/* Consecutive bytes from a position on, as pages of the managed space. */
struct piece {
    uint64_t first, end; /* pages */
    uint64_t bytes;
};

static struct piece piece_at(const struct sim *sim, const struct ff__operand *operand,
                             uint64_t position, uint64_t limit) {
    const struct ff__loop *loop = operand->loop;
    uint64_t run = position / operand->run, inside = position % operand->run;
    uint64_t left = operand->run - inside;
    uint64_t start = operand->offset + inside + run % loop[2].count * loop[2].stride +
                     run / loop[2].count % loop[1].count * loop[1].stride +
                     run / loop[2].count / loop[1].count * loop[0].stride;
    uint64_t bytes = left < limit - position ? left : limit - position;
    uint64_t page = sim->workload->arrays[operand->array].first_page;
    return (struct piece){page + start / FF_PAGE_SIZE,
                          page + (start + bytes + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE, bytes};
}

/* ---- pages ---- */

/* The pages of one block that a piece has, from *page on, which moves on. */
static struct ff_mask next_pages(uint64_t *page, uint64_t end, uint32_t *block) {
    *block = (uint32_t)(*page / FF_BLOCK_PAGES);
    uint64_t first = (uint64_t)*block * FF_BLOCK_PAGES;
    uint64_t last = end - first < FF_BLOCK_PAGES ? end - first : FF_BLOCK_PAGES;
    struct ff_mask pages = ff_mask_of_run((uint32_t)(*page - first), (uint32_t)last);
    *page = first + last;
    return pages;
}

static struct ff_mask missing_of(const struct sim *sim, const struct device *device, uint32_t block,
                                 const struct ff_mask *pages) {
    struct ff_mask missing = ff_mask_minus(pages, &sim->engine.space.resident[device->tier][block]);
    return ff_mask_minus(&missing, &sim->engine.space.remote[device->tier][block]);
}

static void use(struct sim *sim, uint32_t block, const struct ff_mask *pages, bool write) {
    struct ff__space *space = &sim->engine.space;
    struct ff_mask used = ff_mask_and(&space->unused[block], pages);
    if (!ff_mask_empty(&used)) {
        space->stats.prefetch_used += ff_mask_count(&used);
        space->unused[block] = ff_mask_minus(&space->unused[block], pages);
    }
    if (write)
        sim->dirty[block] = ff_mask_or(&sim->dirty[block], pages);
}

/* Passes over pages that are all there. False: some are not; those before are used. */
static bool pass(struct sim *sim, struct device *device, const struct piece *piece, bool write) {
    uint32_t block;
    for (uint64_t page = piece->first; page < piece->end;) {
        struct ff_mask pages = next_pages(&page, piece->end, &block);
        struct ff_mask missing = missing_of(sim, device, block, &pages);
        if (!ff_mask_empty(&missing))
            return false;
        use(sim, block, &pages, write);
    }
    return true;
}

static void collect(struct sim *sim, struct bulk *bulk, uint64_t page, bool write) {
    if (bulk->missing_count == bulk->missing_capacity) {
        uint32_t capacity = bulk->missing_capacity ? 2 * bulk->missing_capacity : 1024;
        struct fault *missing = realloc(bulk->missing, capacity * sizeof *missing);
        if (!missing) {
            ff__sim_fail(sim, -ENOMEM, "faults");
            return;
        }
        bulk->missing = missing;
        bulk->missing_capacity = capacity;
    }
    bulk->missing[bulk->missing_count++] = (struct fault){.page = page, .write = write};
}

/* The pages of a piece that are not there. */
static void collect_piece(struct sim *sim, struct device *device, const struct piece *piece,
                          bool write) {
    uint32_t block;
    for (uint64_t page = piece->first; page < piece->end;) {
        struct ff_mask pages = next_pages(&page, piece->end, &block);
        struct ff_mask missing = missing_of(sim, device, block, &pages);
        FF_MASK_FOR_EACH_PAGE(&missing, index)
        collect(sim, &device->bulk, (uint64_t)block * FF_BLOCK_PAGES + index, write);
    }
}

/* ---- the front ---- */

/* Where an operand's step begins. */
static uint64_t position_of(const struct bulk *bulk, const struct ff__operand *operand,
                            uint64_t step) {
    return (uint64_t)((double)size_of(operand) * (double)step / (double)bulk->steps);
}

/* Whether runs are so short that looking at all that a turn lies in is the shorter way. */
static bool has_turns(const struct ff__operand *operand) {
    return operand->run < FF_LEAF_SIZE && operand->loop[1].count * operand->loop[2].count > 1;
}

/* The end of the turn that a position is in, if all that it lies in is in place; else the position. */
static uint64_t pass_turn(struct sim *sim, struct device *device, const struct ff__operand *operand,
                          uint64_t position) {
    uint64_t turn = size_of(operand) / operand->loop[0].count, number = position / turn;
    uint64_t first = sim->workload->arrays[operand->array].first_page;
    uint64_t start = operand->offset + number * operand->loop[0].stride;
    uint64_t end = start + turn_span(operand);
    const struct piece piece = {first + start / FF_PAGE_SIZE,
                                first + (end + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE, turn};
    return pass(sim, device, &piece, operand->write) ? (number + 1) * turn : position;
}

/* How far the operand is in place from `position` on, where it matters before `limit`. */
static uint64_t clear_until(struct sim *sim, struct device *device,
                            const struct ff__operand *operand, uint64_t position, uint64_t limit) {
    if (has_turns(operand))
        for (uint64_t further; position < limit; position = further)
            if ((further = pass_turn(sim, device, operand, position)) == position)
                break;
    while (position < limit) {
        uint64_t near = position + FF_BLOCK_SIZE < limit ? position + FF_BLOCK_SIZE : limit;
        struct piece piece = piece_at(sim, operand, position, near);
        if (!pass(sim, device, &piece, operand->write))
            return position;
        position += piece.bytes;
    }
    return limit;
}

/* The first step from here to `last` that needs a page which is not there; `last` if none does. */
static uint64_t first_stop(struct sim *sim, struct device *device, uint64_t last) {
    const struct bulk *bulk = &device->bulk;
    const struct ff__kernel *kernel = &device->current.kernel;
    for (uint32_t i = 0; i < kernel->operand_count && last > bulk->step; i++) {
        const struct ff__operand *operand = &kernel->operands[i];
        uint64_t limit = position_of(bulk, operand, last);
        uint64_t at =
            clear_until(sim, device, operand, position_of(bulk, operand, bulk->step), limit);
        if (at >= limit)
            continue;
        uint64_t step = (uint64_t)((double)at * (double)bulk->steps / (double)size_of(operand));
        last = step > bulk->step ? step : bulk->step;
    }
    return last;
}

/* The pages that the step is short of. */
static void collect_step(struct sim *sim, struct device *device) {
    struct bulk *bulk = &device->bulk;
    const struct ff__kernel *kernel = &device->current.kernel;
    bulk->missing_count = 0;
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        const struct ff__operand *operand = &kernel->operands[i];
        uint64_t end = position_of(bulk, operand, bulk->step + 1);
        for (uint64_t at = position_of(bulk, operand, bulk->step); at < end;) {
            struct piece piece = piece_at(sim, operand, at, end);
            collect_piece(sim, device, &piece, operand->write);
            at += piece.bytes;
        }
    }
}

/* An SM's TLB takes no further translation until its fault is answered (DeepUM, section 2.2, after
 * Sakharnykh): a fault an SM at a time, each somewhere else in the step. Returns how many pages the step
 * is short of. */
static uint64_t raise_faults(struct sim *sim, struct device *device) {
    struct bulk *bulk = &device->bulk;
    collect_step(sim, device);
    uint64_t missing = bulk->missing_count, count = missing;
    if (count > sim->gpu->sms)
        count = sim->gpu->sms;
    for (uint64_t i = 0; i < count; i++) {
        struct fault fault = bulk->missing[i * missing / count];
        fault.time = bulk->time + sim->visible;
        ff__sim_raise_fault(sim, device, &fault);
    }
    return missing;
}

/* ---- the kernel ---- */

static void count_pages(struct sim *sim, const struct ff__kernel *kernel) {
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        uint64_t pages = (size_of(&kernel->operands[i]) + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE;
        sim->result->accesses += pages;
        sim->result->demanded += pages;
        sim->result->demanded_hits += pages;
        sim->result->hits += pages;
    }
}

void ff__bulk_start(struct sim *sim, struct device *device, uint64_t time) {
    const struct ff__kernel *kernel = &device->current.kernel;
    const struct ff__gpu *gpu = sim->gpu;
    uint64_t window = (uint64_t)gpu->sms * gpu->warps_per_sm * LANES * LANE_BYTES, bytes = 1;
    double seconds = kernel->flops / gpu->flops;
    if (kernel->traffic / gpu->memory_rate > seconds)
        seconds = kernel->traffic / gpu->memory_rate;
    for (uint32_t i = 0; i < kernel->operand_count; i++)
        bytes += size_of(&kernel->operands[i]);
    struct bulk *bulk = &device->bulk;
    if (sim->recording)
        ff__sim_fail(sim, -ENOTSUP, "kernels in bulk cannot be recorded");
    bulk->step = 0;
    bulk->steps = (bytes + window - 1) / window;
    bulk->time = time;
    bulk->waits = bulk->faulted = false;
    bulk->ps_per_step = seconds * 1e12 / (double)bulk->steps;
    count_pages(sim, kernel);
}

/* The step that the front can reach before `until`, or a little beyond: no further ahead than it pays
 * to look, because what is found there is looked at again after a stop. */
static uint64_t reach(const struct bulk *bulk, uint64_t until) {
    uint64_t left = bulk->steps - bulk->step, far = left < HORIZON ? left : HORIZON;
    if (until == NEVER)
        return bulk->step + far;
    double steps = (double)(until - bulk->time) / (bulk->ps_per_step + 1e-9) + 1;
    return bulk->step + (steps < (double)far ? (uint64_t)steps : far);
}

/* At a step that looked short of pages: faults, or on with it if rounding had stopped it too early. */
static void stop(struct sim *sim, struct device *device) {
    struct bulk *bulk = &device->bulk;
    uint64_t missing = raise_faults(sim, device);
    if (missing == 0) {
        bulk->time += (uint64_t)bulk->ps_per_step;
        bulk->step++;
        bulk->faulted = false;
        return;
    }
    if (!bulk->faulted) {
        sim->result->demanded_hits -= missing;
        sim->result->hits -= missing;
    }
    bulk->faulted = bulk->waits = true;
}

uint64_t ff__bulk_run(struct sim *sim, struct device *device, uint64_t until) {
    struct bulk *bulk = &device->bulk;
    while (!bulk->waits && bulk->step < bulk->steps && bulk->time < until) {
        uint64_t last = reach(bulk, until), at = first_stop(sim, device, last);
        bulk->time += (uint64_t)((double)(at - bulk->step) * bulk->ps_per_step);
        bulk->faulted = bulk->faulted && at == bulk->step;
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
    if (bulk->time < time)
        bulk->time = time;
}
