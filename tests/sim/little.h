/* A little workload for tests of the simulator: one array, kernels that touch its pages in order. */
#ifndef FF_TESTS_SIM_LITTLE_H
#define FF_TESTS_SIM_LITTLE_H

#include "base/cases.h"

#include "backend/sim/sim.h"

struct little {
    uint64_t pages;
    uint32_t launches, ctas, warps;
    bool writes, host_writes, host_reads;
};

/* Warp w of all touches pages w, w + warps, w + 2 warps, ... */
static bool little_step(const struct ff__workload *workload, const struct ff__kernel *kernel,
                        uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct little *little = workload->data;
    uint64_t page =
        (uint64_t)index * kernel->ctas * kernel->warps + (uint64_t)cta * kernel->warps + warp;
    if (page >= little->pages)
        return false;
    out->instructions = 10;
    out->pc = 8;
    out->sectors = 4;
    out->write = out->goes_on = little->writes;
    out->page_count = 1;
    out->page[0] = workload->arrays[0].first_page + page;
    return true;
}

static bool little_action(const struct ff__workload *workload, uint64_t index,
                          struct ff__action *out) {
    const struct little *little = workload->data;
    *out = (struct ff__action){.bytes = workload->arrays[0].bytes};
    if (index == 0)
        out->kind = FF__ACTION_ALLOCATE;
    else if (index == 1)
        out->kind = little->host_writes ? FF__ACTION_HOST_WRITE : FF__ACTION_SYNCHRONIZE;
    else if (index < 2 + little->launches) {
        out->kind = FF__ACTION_LAUNCH;
        out->kernel = (struct ff__kernel){.name = "little",
                                          .identity = 7,
                                          .ctas = little->ctas,
                                          .warps = little->warps,
                                          .step = little_step};
    } else if (index == 2 + little->launches)
        out->kind = little->host_reads ? FF__ACTION_HOST_READ : FF__ACTION_SYNCHRONIZE;
    else if (index == 3 + little->launches)
        out->kind = FF__ACTION_FREE;
    else
        return false;
    return true;
}

static const struct ff__workload_type little_type = {
    .name = "little", .summary = "pages in order", .action = little_action};

/* Runs it on a preset; `memory` 0: enough. */
static inline struct ff__sim_result little_run(const struct little *little, const char *gpu,
                                               const char *system, uint64_t memory) {
    static struct ff__gpu preset;
    struct ff__array array = {.name = "data", .bytes = little->pages * FF_PAGE_SIZE};
    struct ff__workload workload = {.type = &little_type,
                                    .name = "little",
                                    .arrays = &array,
                                    .array_count = 1,
                                    .data = (void *)(uintptr_t)little};
    struct ff_error error = {""};
    struct ff__sim_config config = {
        .gpu = &preset, .memory = memory, .devices = 1, .seed = 1, .check = true};
    struct ff__sim_result result = {0};
    if (ff__gpu_read(gpu, GPU_FOLDER, &preset, &error) ||
        ff__system_parse(system, &config.system, &error) ||
        ff__sim_run(&config, &workload, &result, &error))
        fail_msg("%s on %s: %s", system, gpu, error.message);
    return result;
}

#endif
