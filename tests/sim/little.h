/* A little workload for tests of the simulator: one array, kernels that touch its pages in order.
 */
#ifndef FF_TESTS_SIM_LITTLE_H
#define FF_TESTS_SIM_LITTLE_H

#include "base/cases.h"

#include "backend/sim/sim.h"

struct little {
    uint64_t pages;
    uint32_t launches, ctas, warps;
    uint32_t passes; /* over all of them, in each launch; 0: one */
    bool writes, host_writes, host_reads;
    uint32_t wide;     /* pages of one instruction, spread over the array; 0: one */
    uint32_t devices;  /* that launches go to in turn; 0: one */
    bool synchronizes; /* after each launch */
    uint64_t granule;  /* bytes in which the device allocates memory; 0: as the preset says */
};

/* Warp w of all touches pages w, w + warps, w + 2 warps, ... of each of `wide` parts. */
static bool little_step(const struct ff__workload *workload, const struct ff__kernel *kernel,
                        uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct little *little = workload->data;
    uint32_t wide = little->wide ? little->wide : 1;
    uint64_t part = little->pages / wide, passes = little->passes ? little->passes : 1;
    uint64_t page =
        (uint64_t)index * kernel->ctas * kernel->warps + (uint64_t)cta * kernel->warps + warp;
    if (page >= part * passes)
        return false;
    page %= part;
    out->instructions = 10;
    out->pc = 8;
    out->sectors = 4;
    out->write = out->goes_on = little->writes;
    out->page_count = (uint8_t)wide;
    for (uint32_t i = 0; i < wide; i++)
        out->page[i] = workload->arrays[0].first_page + page + i * part;
    return true;
}

static bool little_action(const struct ff__workload *workload, uint64_t index,
                          struct ff__action *out) {
    const struct little *little = workload->data;
    *out = (struct ff__action){.bytes = workload->arrays[0].bytes};
    if (little->synchronizes && index >= 2) { /* after each launch */
        uint64_t launches = (index - 2) / 2;
        if (launches < little->launches && index % 2 == 1) {
            out->kind = FF__ACTION_SYNCHRONIZE;
            return true;
        }
        index -= launches < little->launches ? launches : little->launches;
    }
    if (index == 0)
        out->kind = FF__ACTION_ALLOCATE;
    else if (index == 1)
        out->kind = little->host_writes ? FF__ACTION_HOST_WRITE : FF__ACTION_SYNCHRONIZE;
    else if (index < 2 + little->launches) {
        out->kind = FF__ACTION_LAUNCH;
        out->device = little->devices ? (uint32_t)(index - 2) % little->devices : 0;
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

/* The workload; it borrows both. */
static inline struct ff__workload little_workload(const struct little *little,
                                                  struct ff__array *array) {
    *array = (struct ff__array){.name = "data", .bytes = little->pages * FF_PAGE_SIZE};
    return (struct ff__workload){.type = &little_type,
                                 .name = "little",
                                 .arrays = array,
                                 .array_count = 1,
                                 .data = (void *)(uintptr_t)little};
}

/* Runs it with a configuration that lacks the system. */
static inline int little_try(const struct little *little, struct ff__sim_config *config,
                             const char *system, struct ff__sim_result *result,
                             struct ff_error *error) {
    struct ff__array array;
    struct ff__workload workload = little_workload(little, &array);
    int status = ff__system_parse(system, &config->system, error);
    return status ? status : ff__sim_run(config, &workload, result, error);
}

/* Runs it on a preset, perhaps with other values of its members (NAME:MEMBER=VALUE,..); `memory` 0:
 * enough. */
static inline struct ff__sim_result little_run(const struct little *little, const char *gpu,
                                               const char *system, uint64_t memory) {
    static struct ff__gpu preset;
    struct ff_error error = {""};
    struct ff__sim_config config = {.gpu = &preset,
                                    .memory = memory,
                                    .devices = little->devices ? little->devices : 1,
                                    .seed = 1,
                                    .check = true};
    struct ff__sim_result result = {0};
    int status = ff__gpu_read_spec(gpu, GPU_FOLDER, &preset, &error);
    if (!status && little->granule)
        preset.granule = little->granule;
    if (status || little_try(little, &config, system, &result, &error))
        fail_msg("%s on %s: %s", system, gpu, error.message);
    return result;
}

#endif
