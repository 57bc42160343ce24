#include "backend/sim/simulation.h"

#include "base/lazy.h"

#include <errno.h>
#include <stdlib.h>

#define ADVICE_QUEUE 4096u
#define SECTOR_BYTES 32.0

void ff__devices_set_times(struct sim *sim) {
    const struct ff__gpu *gpu = sim->gpu;
    double ps_per_cycle = 1e12 / gpu->clock_hz;
    sim->ps_per_instruction = (uint64_t)(ps_per_cycle / gpu->instructions_per_cycle + 0.5);
    sim->ps_per_sector = SECTOR_BYTES * 1e12 / (gpu->memory_rate / gpu->sms);
    sim->walk = gpu->walk_ns * PS_PER_NS;
    uint64_t visible = sim->model->visible_ns(gpu);
    sim->visible = (visible ? visible : 1) * PS_PER_NS;
    uint64_t reach = gpu->tlb_entries * (gpu->tlb_page / FF_PAGE_SIZE);
    sim->tlb_sets = 1;
    while (sim->tlb_sets * 2 * TLB_WAYS <= reach && sim->tlb_sets < 4096)
        sim->tlb_sets *= 2;
    sim->warps_per_sm = gpu->warps_per_sm;
    sim->ctas_per_sm = gpu->ctas_per_sm;
}

int ff__device_init(struct sim *sim, struct device *device, uint32_t tier) {
    device->tier = tier;
    device->buffer.look_at = NEVER;
    size_t blocks = sim->space->block_limit;
    struct batch *batch = &device->batch;
    uint32_t limit = sim->model->batch_limit(sim->gpu);
    batch->faults = calloc(limit, sizeof *batch->faults);
    batch->groups = calloc(limit, sizeof *batch->groups);
    batch->ends = calloc(limit, sizeof *batch->ends);
    device->touched = ff__lazy_map(blocks * sizeof *device->touched);
    device->touched_by = ff__lazy_map(blocks * sizeof *device->touched_by);
    device->bulk.asked = ff__lazy_map(blocks * sizeof *device->bulk.asked);
    device->tracker = sim->samples ? calloc(1, sizeof *device->tracker) : NULL;
    if (sim->samples && (!device->tracker || ff__tracker_open(sim, device->tracker)))
        return -ENOMEM;
    bool good = batch->faults && batch->groups && batch->ends && device->touched &&
                device->touched_by && device->bulk.asked;
    int status = good ? ff__sms_init(sim, device) : -ENOMEM;
    return status ? status
                  : ff__queue_init(&device->advice, ADVICE_QUEUE, sizeof(struct ff_advice));
}

void ff__device_fini(struct sim *sim, struct device *device) {
    size_t blocks = sim->space->block_limit;
    ff__sms_fini(sim, device);
    ff__queue_fini(&device->advice);
    ff__lazy_unmap(device->touched, blocks * sizeof *device->touched);
    ff__lazy_unmap(device->touched_by, blocks * sizeof *device->touched_by);
    ff__lazy_unmap(device->bulk.asked, blocks * sizeof *device->bulk.asked);
    if (device->tracker)
        ff__tracker_close(device->tracker);
    free(device->tracker);
    free(device->bulk.fronts);
    free(device->batch.faults);
    free(device->batch.groups);
    free(device->batch.ends);
    free(device->buffer.room);
    free(device->queue.launches);
}
