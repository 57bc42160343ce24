/* Launches: queued on their device, started in order, and ended. */
#include "backend/sim/simulation.h"

#define ADVICE_MAX   64u /* of one launch */
#define OPERANDS_MAX 64u

#include <errno.h>
#include <stdlib.h>

static int queue_launch(struct launch_queue *queue, const struct launch *launch) {
    if (queue->count == queue->capacity) {
        uint32_t capacity = queue->capacity ? 2 * queue->capacity : 16;
        struct launch *launches = malloc(capacity * sizeof *launches);
        if (!launches)
            return -ENOMEM;
        for (uint32_t i = 0; i < queue->count; i++)
            launches[i] = queue->launches[(queue->head + i) % queue->capacity];
        free(queue->launches);
        queue->launches = launches;
        queue->head = 0;
        queue->capacity = capacity;
    }
    queue->launches[(queue->head + queue->count++) % queue->capacity] = *launch;
    return 0;
}

static struct launch take_launch(struct launch_queue *queue) {
    struct launch launch = queue->launches[queue->head];
    queue->head = (queue->head + 1) % queue->capacity;
    queue->count--;
    return launch;
}

/* ---- notes ---- */

/* Whole pages only: what is left of others is in use. A program tells this to nobody but a system
 * that discards by it: DeepUM patches the allocator, the driver alone sees nothing. */
static void take_note(struct sim *sim, const struct launch *note) {
    const struct ff_discard_policy *discard = (const void *)sim->config->system.policy[FF__DISCARD];
    uint64_t base = note->job->workload->arrays[note->array].first_page;
    uint64_t page = base + (note->offset + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE;
    uint64_t end = base + (note->offset + note->bytes) / FF_PAGE_SIZE;
    if (!discard->dead)
        return;
    while (page < end) {
        uint32_t block = (uint32_t)(page / FF_BLOCK_PAGES), first = page % FF_BLOCK_PAGES;
        uint64_t left = end - page;
        uint32_t last = left < FF_BLOCK_PAGES - first ? first + (uint32_t)left : FF_BLOCK_PAGES;
        struct ff_mask pages = ff_mask_of_run(first, last);
        ff__engine_set_inactive(sim->engine, block, &pages, note->inactive);
        page += last - first;
    }
}

static void take_notes(struct sim *sim, struct device *device) {
    while (device->queue.count > 0 && device->queue.launches[device->queue.head].is_note) {
        struct launch note = take_launch(&device->queue);
        take_note(sim, &note);
    }
}

/* ---- kernels ---- */

/* What the kernel has in bulk: every operand, and an array may come several times. */
static uint32_t operands_in_bulk(const struct job *job, const struct ff__kernel *kernel,
                                 struct ff_operand out[OPERANDS_MAX]) {
    uint32_t count = 0;
    for (; count < kernel->operand_count && count < OPERANDS_MAX; count++) {
        const struct ff__operand *operand = &kernel->operands[count];
        out[count] = (struct ff_operand){
            .range = job->ranges[operand->array],
            .reads = !operand->write,
            .writes = operand->write,
            .stride = ff__operand_runs(operand) == 1 ? FF_STRIDE_MODEL : FF_STRIDE_UNKNOWN};
    }
    return count;
}

static uint32_t operands_known(const struct job *job, const struct ff__kernel_known *known,
                               struct ff_operand out[OPERANDS_MAX]) {
    uint32_t count = 0;
    for (uint64_t left = known->uses; left; left &= left - 1) {
        uint32_t array = (uint32_t)__builtin_ctzll(left);
        out[count++] = (struct ff_operand){
            .range = job->ranges[array],
            .reads = true,
            .writes = true,
            .stride = known->strided >> array & 1 ? FF_STRIDE_MODEL : FF_STRIDE_UNKNOWN,
            .group = known->alike >> array & 1};
    }
    return count;
}

/* More operands than there is room for are as good as none that are known. */
static uint32_t find_operands(const struct job *job, const struct ff__kernel *kernel,
                              struct ff_operand out[OPERANDS_MAX]) {
    if (kernel->step)
        return operands_known(job, &kernel->known, out);
    return kernel->operand_count <= OPERANDS_MAX ? operands_in_bulk(job, kernel, out) : 0;
}

void ff__launch_tell(struct sim *sim, struct device *device, const struct ff__kernel *kernel,
                     uint64_t time, bool begins) {
    struct ff_advice items[ADVICE_MAX];
    struct ff_advice_list advice = {.items = items, .capacity = ADVICE_MAX};
    struct ff_operand operands[OPERANDS_MAX];
    uint32_t count = begins ? find_operands(device->job, kernel, operands) : 0;
    const struct ff__launch launch = {.tier = device->tier,
                                      .begins = begins,
                                      .identity = kernel->identity,
                                      .operands = count > 0 ? operands : NULL,
                                      .operand_count = count,
                                      .copies = kernel->copies};
    if (!ff__engine_can_tell(sim->engine))
        ff__engine_learn_all(sim->engine);
    int status = ff__engine_launch(sim->engine, ff__sim_ns(time), &launch, &advice);
    if (status)
        ff__sim_fail(sim, status, "a launch");
    for (uint32_t i = 0; i < advice.count; i++)
        ff__prefetch_advise(sim, &items[i], time);
}

void ff__launch_start(struct sim *sim, struct device *device, uint64_t time) {
    device->current = take_launch(&device->queue);
    device->running = true;
    if (device->tracker)
        ff__tracker_launch(device->tracker);
    ff__device_serve(sim, device, device->current.job);
    device->started = device->last_end = time;
    device->stalled = NEVER;
    device->next_cta = 0;
    device->ctas_left = device->current.kernel.ctas;
    const struct ff__kernel *kernel = &device->current.kernel;
    struct ff_trace_event event = {.kind = FF_TRACE_LAUNCH,
                                   .device = device->tier - 1,
                                   .identity = kernel->identity,
                                   .name = kernel->name,
                                   .ctas = kernel->ctas,
                                   .warps = kernel->warps};
    ff__sim_observe(sim, &event);
    ff__launch_tell(sim, device, kernel, time, true);
    ff__explain_kernel(sim, device);
    if (ff__is_bulk(device))
        ff__bulk_start(sim, device, time);
    else
        ff__sms_start(sim, device, time);
    ff__prefetch_learn(sim, time);
}

static void expect_kernel(struct sim *sim, struct device *device, uint64_t time) {
    ff__sim_post(sim, time + sim->gpu->launch_ns * PS_PER_NS, EVENT_KERNEL, device->tier - 1, NULL);
}

void ff__launch_end(struct sim *sim, struct device *device) {
    uint64_t end = device->last_end > sim->now ? device->last_end : sim->now;
    device->running = false;
    ff__sms_show(sim, device);
    device->job->launches_done++;
    device->counters->kernel_ns += ff__sim_ns(end - device->started);
    struct ff_trace_event event = {.kind = FF_TRACE_LAUNCH_END,
                                   .device = device->tier - 1,
                                   .identity = device->current.kernel.identity};
    ff__sim_observe(sim, &event);
    ff__launch_tell(sim, device, &device->current.kernel, end, false);
    take_notes(sim, device);
    if (device->queue.count > 0)
        expect_kernel(sim, device, end);
    if (device->job->host_waits)
        ff__sim_post(sim, end, EVENT_HOST, device->job->number, NULL);
}

/* ---- what the host launches ---- */

void ff__launch_kernel(struct sim *sim, struct job *job, const struct ff__action *action,
                       uint64_t time) {
    struct device *device = ff__job_device(sim, job, action->device);
    struct launch launch = {.job = job, .kernel = action->kernel, .number = ++sim->launch_count};
    job->launches++;
    if (action->kernel.warps > sim->warps_per_sm || action->kernel.warps == 0 ||
        action->kernel.ctas == 0) {
        ff__sim_fail(sim, -EINVAL, "a kernel's CTAs do not fit on an SM");
        return;
    }
    sim->model->launch(sim, device, &launch, time);
}

void ff__launch_queue(struct sim *sim, struct device *device, const struct launch *launch,
                      uint64_t time) {
    bool idle = !device->running && device->queue.count == 0;
    int status = queue_launch(&device->queue, launch);
    if (status)
        ff__sim_fail(sim, status, "a launch");
    else if (idle)
        expect_kernel(sim, device, time > device->last_end ? time : device->last_end);
}

/* In turn with the launches of its device. */
void ff__launch_note(struct sim *sim, struct job *job, const struct ff__action *action) {
    struct device *device = ff__job_device(sim, job, action->device);
    struct launch launch = {.job = job,
                            .is_note = true,
                            .inactive = action->kind == FF__ACTION_INACTIVE,
                            .array = action->array,
                            .offset = action->offset,
                            .bytes = action->bytes};
    bool idle = !device->running && device->queue.count == 0;
    int status = idle ? 0 : queue_launch(&device->queue, &launch);
    if (status)
        ff__sim_fail(sim, status, "a note");
    else if (idle)
        take_note(sim, &launch);
}
