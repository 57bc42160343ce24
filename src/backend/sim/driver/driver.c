/* The driver: batches of faults, from the fault buffer to the replay. How they are served is the
 * fault model's. */
#include "backend/sim/simulation.h"

#define BATCH_MAX 256u /* blocks of a batch that a policy is shown, as in the NVIDIA driver */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- idle links ---- */

bool ff__driver_links_idle(const struct sim *sim, const struct device *device, uint64_t time) {
    return device->job->transfers == 0 && !device->batch.under_way &&
           ff__sim_out_end(sim, device->tier) <= time &&
           (device->buffer.count == 0 || device->buffer.faults[0].time > time);
}

/* Something has ended: warps of the job may wait for that. */
static void expect_idle(struct sim *sim, const struct job *job, uint64_t time) {
    if (!sim->gpu->ends_when_idle || job->transfers > 0)
        return;
    for (uint32_t i = 0; i < job->device_count; i++) {
        uint32_t device = job->first_device + i;
        uint64_t out_end = ff__sim_out_end(sim, device + 1);
        ff__sim_post(sim, out_end > time ? out_end : time, EVENT_IDLE, device, NULL);
    }
}

/* ---- a batch begins ---- */

static void observe_fault(struct sim *sim, const struct device *device, const struct fault *fault) {
    const struct ff__space *space = sim->space;
    uint32_t block = ff__fault_block(fault), range = space->blocks[block].range;
    uint64_t before = (uint64_t)(block - space->ranges[range].first_block) * FF_BLOCK_PAGES;
    for (uint64_t left = fault->pages; left; left &= left - 1) {
        uint64_t page = fault->word % FF_MASK_WORDS * 64 + (uint64_t)__builtin_ctzll(left);
        struct ff_trace_event event = {.kind = FF_TRACE_FAULT,
                                       .device = device->tier - 1,
                                       .range = range,
                                       .page = before + page,
                                       .write = fault->write,
                                       .batch = device->batch.number,
                                       .instances = fault->sms};
        ff__sim_observe(sim, &event);
    }
}

/* The batch begins, with its faults; or has ended. */
static void observe_batch(struct sim *sim, const struct device *device, bool begins) {
    struct ff_trace_event event = {.kind = begins ? FF_TRACE_BATCH : FF_TRACE_BATCH_END,
                                   .device = device->tier - 1,
                                   .batch = device->batch.number};
    if (!sim->config->observe)
        return;
    ff__sim_observe(sim, &event);
    for (uint32_t i = 0; i < device->batch.count && begins; i++)
        observe_fault(sim, device, &device->batch.faults[i]);
}

/* Fetching the batch's entries, sorting them and merging those on one page. */
static uint64_t batch_cost(const struct sim *sim, const struct device *device) {
    uint64_t entries = 0, distinct = 0;
    for (const struct fault *fault = device->batch.faults;
         fault < device->batch.faults + device->batch.count; fault++) {
        uint64_t pages = (uint64_t)__builtin_popcountll(fault->pages);
        distinct += pages;
        entries += pages * fault->sms;
    }
    return (sim->gpu->batch_ns + sim->gpu->entry_ns * entries +
            sim->gpu->duplicate_ns * (entries - distinct)) *
           PS_PER_NS;
}

/* Its execution ID has had a fault. */
static void note_kernel(struct sim *sim, const struct device *device) {
    uint32_t id = ff__engine_latest_launch(sim->engine, device->tier), slot = ff_launch_slot(id);
    if (id == FF_NONE)
        return;
    if (slot >= sim->faulted_capacity) {
        uint32_t capacity = 2 * slot + 64;
        uint32_t *faulted = realloc(sim->faulted, capacity * sizeof *faulted);
        if (!faulted) {
            ff__sim_fail(sim, -ENOMEM, "faults");
            return;
        }
        memset(faulted + sim->faulted_capacity, 0,
               (capacity - sim->faulted_capacity) * sizeof *faulted);
        sim->faulted = faulted;
        sim->faulted_capacity = capacity;
    }
    device->counters->kernels_faulted += sim->faulted[slot] != id + 1;
    sim->faulted[slot] = id + 1;
}

static void start_batch(struct sim *sim, struct device *device, uint64_t time) {
    ff__faults_take(device, time, sim->model->batch_limit(sim->gpu));
    if (device->batch.count == 0)
        return;
    device->batch.number++;
    observe_batch(sim, device, true);
    note_kernel(sim, device);
    device->batch.under_way = true;
    device->batch.is_sorted = false;
    device->batch.start = time;
    device->counters->batches++;
    ff__sim_post(sim, time + batch_cost(sim, device), EVENT_DRIVER, device->tier - 1, NULL);
}

uint64_t ff__driver_awake_at(const struct sim *sim, const struct device *device) {
    uint64_t raised = device->buffer.faults[0].time;
    bool sleeps = raised > device->batch.ended + sim->gpu->spin_ns * PS_PER_NS;
    return raised + (sleeps ? sim->gpu->wake_ns * PS_PER_NS : 0);
}

void ff__driver_look(struct sim *sim, struct device *device, uint64_t time) {
    if (device->buffer.look_at <= time)
        device->buffer.look_at = NEVER;
    if (!device->batch.under_way && device->buffer.count > 0 &&
        ff__driver_awake_at(sim, device) <= time)
        start_batch(sim, device, time);
}

/* ---- a batch ---- */

/* Before the replay the driver drops the entries that came too late for the batch (NVIDIA
 * open-gpu-kernel-modules 595.45.04, uvm_gpu_replayable_faults.c, BATCH_FLUSH). Of a kernel in bulk
 * these are not in the buffer, but counted as its step raises its faults; what is in the buffer was
 * raised while the batch was served, as pages came, and the next batch takes it. */
static uint64_t flush_cost(const struct sim *sim, const struct device *device, uint64_t time) {
    const struct fault_buffer *buffer = &device->buffer;
    uint64_t entries = ff__is_bulk(device) ? device->bulk.flushed : 0;
    if (sim->gpu->flush_ns == 0)
        return 0;
    for (uint32_t i = 0; !ff__is_bulk(device) && i < buffer->count; i++)
        if (buffer->faults[i].time <= time)
            entries +=
                (uint64_t)__builtin_popcountll(buffer->faults[i].pages) * buffer->faults[i].sms;
    return sim->gpu->flush_ns * entries * PS_PER_NS;
}

static void end_batch(struct sim *sim, struct device *device, uint64_t time) {
    uint64_t replay = time + flush_cost(sim, device, time) + sim->gpu->replay_ns * PS_PER_NS;
    device->bulk.flushed = 0;
    device->counters->fault_ns += ff__sim_ns(replay - device->batch.start);
    ff__sim_post(sim, replay, EVENT_REPLAY, device->tier - 1, NULL);
    ff__prefetch_learn(sim, time);
}

/* Pages that have to be copied to the host. A guest's that are there already need no copy, and an
 * eviction without any is none: their memory is reclaimed alone. */
static uint32_t pages_to_host(const struct sim *sim, const struct ff__move *out) {
    const struct ff_mask *dirty = &ff__page_facts(sim->space, out->block)->dirty;
    struct ff_mask live = ff_mask_minus(&out->pages, &out->dead);
    struct ff_mask clean = ff_mask_minus(&out->held, dirty);
    if (out->guest)
        live = ff_mask_minus(&live, &clean);
    return out->to.tier == FF_TIER_HOST ? ff_mask_count(&live) : 0;
}

static uint64_t host_page_ns(const struct sim *sim, uint32_t pages) {
    bool large = ff__engine_has_large_host_pages(sim->engine);
    uint64_t ns = sim->config->machine ? sim->config->machine->host_page_ns : 0;
    return ns * (large && pages > 0 ? 1 : pages);
}

uint64_t ff__driver_evict_cost(const struct sim *sim, const struct transfer *transfer) {
    uint64_t ns = 0;
    for (uint32_t i = 0; i < transfer->moves.out_count; i++) {
        const struct ff__move *out = &transfer->moves.out[i];
        uint32_t pages = pages_to_host(sim, out);
        bool is_taken_back = out->guest && out->to.tier == FF_TIER_HOST && pages == 0;
        ns += (is_taken_back ? 0 : sim->gpu->evict_ns) + host_page_ns(sim, pages);
    }
    return ns * PS_PER_NS;
}

uint64_t ff__driver_cost(const struct sim *sim, const struct transfer *transfer) {
    const struct ff__gpu *gpu = sim->gpu;
    const struct ff__job *moves = &transfer->moves;
    uint32_t pages = moves->has_in ? ff_mask_count(&moves->in.pages) : 0;
    return (gpu->block_ns + gpu->page_ns * pages) * PS_PER_NS +
           ff__driver_evict_cost(sim, transfer);
}

static uint32_t first_of_group(const struct batch *batch, uint32_t number) {
    return number > 0 ? batch->ends[number - 1] : 0;
}

/* The faults of a group of the batch that this transfer brings pages for. */
static void mark_served(struct device *device, uint32_t number, const struct transfer *transfer) {
    struct batch *batch = &device->batch;
    for (uint32_t i = first_of_group(batch, number); i < batch->ends[number]; i++) {
        struct fault *fault = &batch->faults[i];
        fault->served = fault->pages & transfer->moves.faulted.word[fault->word % FF_MASK_WORDS];
        device->counters->duplicates +=
            (uint64_t)__builtin_popcountll(fault->served) * (fault->sms - 1u);
    }
}

/* Asks the policy about the batch as a whole. */
static void show_batch(struct sim *sim, struct device *device, uint64_t time) {
    struct ff_advice items[BATCH_MAX];
    struct ff_advice_list advice = {.items = items, .capacity = BATCH_MAX};
    uint32_t groups = device->batch.group_count, shown = groups < BATCH_MAX ? groups : BATCH_MAX;
    ff__engine_batch(sim->engine, ff__sim_ns(time), device->batch.groups, shown, &advice);
    for (uint32_t i = 0; i < advice.count; i++)
        ff__prefetch_advise(sim, &items[i], time);
}

void ff__driver_go_on(struct sim *sim, struct device *device, uint64_t time) {
    device->batch.is_sorted = true;
    if (device->batch.next == 0 && ff__engine_sees_batches(sim->engine))
        show_batch(sim, device, time);
    while (device->batch.next < device->batch.group_count) {
        uint32_t number = device->batch.next++;
        struct ff_fault_group *group = &device->batch.groups[number];
        struct transfer *transfer = ff__serve(sim, group, time);
        ff__engine_pin(sim->engine, group->block, true);
        if (!transfer) {
            time += sim->gpu->block_ns * PS_PER_NS;
            continue;
        }
        mark_served(device, number, transfer);
        time += ff__driver_cost(sim, transfer);
        ff__transfer_start(sim, transfer, time);
        sim->model->prefetch(sim, device, time);
        return; /* the end of the transfer goes on with the next block */
    }
    end_batch(sim, device, time);
}

void ff__driver_ended(struct sim *sim, struct device *device, enum transfer_cause cause,
                      uint64_t time) {
    if (cause == TRANSFER_OF_BATCH)
        ff__driver_go_on(sim, device, time);
    if (cause == TRANSFER_OF_PREFETCH || cause == TRANSFER_OF_PREEVICTION)
        device->prefetching--;
    sim->model->prefetch(sim, device, time);
    expect_idle(sim, device->job, time);
}

/* After a replay every stalled warp tries again; here those do whose fault was in the batch, which
 * is the same without the others' useless turn. What was brought may have left for a later block of
 * the same batch: then they fault again. Faults that were put off are answered some other time. */
static void replay(struct sim *sim, struct device *device, uint64_t time) {
    const struct batch *batch = &device->batch;
    for (uint32_t number = 0; number < batch->group_count; number++) {
        uint32_t block = batch->groups[number].block;
        const struct ff_tier_pages *there = &ff__facts(sim->space, block)->tier[device->tier];
        struct ff_mask answered = ff_mask_or(&there->resident, &there->remote);
        for (uint32_t i = first_of_group(batch, number); i < batch->ends[number]; i++)
            answered.word[batch->faults[i].word % FF_MASK_WORDS] |= batch->faults[i].served;
        ff__engine_pin(sim->engine, block, false);
        ff__sms_wake(sim, device, block, &answered, time);
    }
    observe_batch(sim, device, false);
    device->batch.under_way = false;
    device->batch.count = 0;
    device->batch.ended = time;
}

void ff__driver_replay(struct sim *sim, struct device *device, uint64_t time) {
    uint64_t next = time + sim->gpu->delivery_ns * PS_PER_NS;
    replay(sim, device, time);
    if (device->buffer.count > 0 && device->buffer.faults[0].time <= next)
        start_batch(sim, device, next);
    sim->model->prefetch(sim, device, time);
    expect_idle(sim, device->job, time);
}
