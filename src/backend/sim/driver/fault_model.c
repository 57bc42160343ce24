#include "backend/sim/simulation.h"

static uint32_t buffer_entries(const struct ff__gpu *gpu) {
    return gpu->batch_faults;
}

static uint32_t one_page(const struct ff__gpu *gpu) {
    (void)gpu;
    return 1;
}

static uint32_t one_an_sm(const struct ff__gpu *gpu) {
    return gpu->sms;
}

static uint64_t delivery(const struct ff__gpu *gpu) {
    return gpu->delivery_ns;
}

static uint64_t walk(const struct ff__gpu *gpu) {
    return gpu->walk_ns;
}

static uint64_t walk_and_wait(const struct ff__gpu *gpu) {
    return gpu->walk_ns + gpu->fault_ns;
}

enum {
    MODEL_BATCH = FF__FAULT_BATCH,
    MODEL_FLAT = FF__FAULT_FLAT,
    MODEL_OVERLAPPED = FF__FAULT_OVERLAPPED,
    MODEL_UNTIMED
};

static const struct fault_model models[] = {
    /* NVIDIA's driver is one thread, its bottom half (uvm_gpu_replayable_faults.c): it takes a
     * batch from the buffer, serves it block by block, each copy to its end, and then has all
     * stalled warps try again. */
    [MODEL_BATCH] = {.batch_limit = buffer_entries,
                     .step_limit = buffer_entries,
                     .visible_ns = delivery,
                     .takes_turns = true,
                     .takes_time = true,
                     .launch = ff__launch_queue,
                     .prefetch = ff__prefetch_ahead,
                     .started = ff__transfer_expect_end,
                     .ended = ff__driver_ended},
    /* UVMSmart's faults cost the same each. A batch is one fault, which ends when its pages have
     * come; nothing but the link takes time. UVMSmart queues transfers before it has memory for
     * them, chooses victims at once and takes back a choice that is used before its turn comes:
     * choosing when the link is free comes to the same. Remote accesses go first on the link
     * (gpu-sim.cc, gmmu_t::cycle()). It cuts runs of pages after each faulting one, so that this
     * fault is over sooner, and has room for them when the copies of what leaves begin. It counts
     * each of several faults in the very same cycle, also where one would bring the others' pages;
     * SMs in lockstep, as here, would make a rule of that exception. */
    [MODEL_FLAT] = {.batch_limit = one_page,
                    .step_limit = one_an_sm,
                    .visible_ns = walk,
                    .cuts_runs = true,
                    .room_at_start = true,
                    .wakes_at_end = true,
                    .prefetches_too = true,
                    .adds_faults = true,
                    .takes_time = true,
                    .launch = ff__launch_queue,
                    .prefetch = ff__prefetch_ahead,
                    .started = ff__transfer_expect_end,
                    .ended = ff__driver_ended},
    /* The same, but a fault's time passes between the stall of its warp and the transfer. Faults
     * wait together, and what else comes meanwhile may have brought their pages when they are
     * looked at. */
    [MODEL_OVERLAPPED] = {.batch_limit = one_page,
                          .step_limit = one_an_sm,
                          .visible_ns = walk_and_wait,
                          .cuts_runs = true,
                          .room_at_start = true,
                          .wakes_at_end = true,
                          .prefetches_too = true,
                          .takes_time = true,
                          .launch = ff__launch_queue,
                          .prefetch = ff__prefetch_ahead,
                          .started = ff__transfer_expect_end,
                          .ended = ff__driver_ended},
    /* Without time (untimed.c) there are no batches, and the caller continues when a transfer has
     * ended. */
    [MODEL_UNTIMED] = {.batch_limit = one_page,
                       .step_limit = one_page,
                       .visible_ns = delivery,
                       .wakes_at_end = true,
                       .launch = ff__untimed_launch,
                       .prefetch = ff__prefetch_all,
                       .started = ff__transfer_end_now,
                       .ended = ff__untimed_ended},
};

const struct fault_model *ff__fault_model(const struct ff__gpu *gpu, bool untimed) {
    return &models[untimed ? MODEL_UNTIMED : (int)gpu->fault_cost];
}
