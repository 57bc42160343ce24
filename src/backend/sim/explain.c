/* What policies have found, by the names of kernels and arrays. */
#include "backend/sim/simulation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct sim *sim, uint32_t slot) {
    uint32_t count = 2 * slot + 64;
    const char **names = realloc(sim->kernel_names, count * sizeof *names);
    if (!names)
        return false;
    memset(names + sim->kernel_name_count, 0, (count - sim->kernel_name_count) * sizeof *names);
    sim->kernel_names = names;
    sim->kernel_name_count = count;
    return true;
}

void ff__explain_kernel(struct sim *sim, const struct device *device) {
    uint32_t id = ff__engine_latest_launch(sim->engine, device->tier), slot = ff_launch_slot(id);
    if (!sim->config->explain || id == FF_NONE)
        return;
    if (slot >= sim->kernel_name_count && !make_room(sim, slot))
        ff__sim_fail(sim, -ENOMEM, "names of kernels");
    else
        sim->kernel_names[slot] = device->current.kernel.name;
}

static const char *kernel_name(const struct sim *sim, uint32_t launch) {
    uint32_t slot = ff_launch_slot(launch);
    bool known = launch != FF_NONE && slot < sim->kernel_name_count && sim->kernel_names[slot];
    return known ? sim->kernel_names[slot] : "";
}

/* The array that has the range, or had it. */
static const char *array_name(const struct sim *sim, uint32_t range) {
    for (uint32_t i = 0; i < sim->job_count; i++)
        for (uint32_t array = 0; array < sim->jobs[i].workload->array_count; array++)
            if (sim->jobs[i].ranges[array] == range)
                return sim->jobs[i].workload->arrays[array].name;
    return "";
}

void ff__explain_findings(const struct sim *sim) {
    struct ff_finding finding;
    for (uint32_t i = 0; sim->config->explain && ff__engine_finding(sim->engine, i, &finding); i++)
        sim->config->explain(sim->config->explain_self, kernel_name(sim, finding.launch),
                             array_name(sim, finding.range), &finding);
}
