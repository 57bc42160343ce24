#include "study/sim/sweep.h"

#include "report/complain.h"

#include <farfault/mask.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a cell is ---- */

uint64_t ff__sweep_memory(const struct ff__sweep *sweep, unsigned workload, unsigned gpu_index,
                          unsigned budget) {
    const struct ff__gpu *gpu = &sweep->gpus[gpu_index];
    const struct ff__amount *amount = &sweep->budgets[budget].amount;
    double footprint = (double)sweep->footprints[workload];
    uint64_t frame = ff__gpu_least_memory(gpu), count;
    if (amount->bytes > 0 && amount->bytes < frame)
        return amount->bytes;
    if (amount->share > 0)
        count = (uint64_t)(amount->share * footprint / (double)frame + 0.5);
    else
        count = (amount->bytes ? amount->bytes : gpu->memory) / frame;
    return (count ? count : 1) * frame;
}

struct ff__sweep_place ff__sweep_place(const struct ff__sweep *sweep, unsigned cell) {
    struct ff__sweep_place place = {
        .workload = cell / sweep->line_count / sweep->gpu_count,
        .gpu = cell / sweep->line_count % sweep->gpu_count,
        .line = cell % sweep->line_count,
        .system_name = "in-memory",
    };
    if (place.line == FF__SWEEP_IN_MEMORY)
        return place;
    place.system = (place.line - FF__SWEEP_SYSTEMS) % sweep->system_names.count;
    place.budget = (place.line - FF__SWEEP_SYSTEMS) / sweep->system_names.count;
    place.system_name = sweep->system_names.items[place.system];
    place.memory = ff__sweep_memory(sweep, place.workload, place.gpu, place.budget);
    return place;
}

/* ---- ratios ---- */

static double time_of(const struct ff__sweep *sweep, unsigned cell) {
    const struct ff__simulated *simulated = ff__sweep_at(sweep, cell);
    return simulated->good && simulated->result.time_ns > 0 ? (double)simulated->result.time_ns
                                                            : (double)NAN;
}

/* The first line of the same workload and device. */
static unsigned in_memory_cell(const struct ff__sweep *sweep, unsigned cell) {
    return cell - cell % sweep->line_count + FF__SWEEP_IN_MEMORY;
}

double ff__sweep_slowdown(const struct ff__sweep *sweep, unsigned cell) {
    return time_of(sweep, cell) / time_of(sweep, in_memory_cell(sweep, cell));
}

double ff__sweep_repetition_ms(const struct ff__sim_result *result) {
    return result->repetitions > 0
               ? (double)result->repetitions_ps * 1e-9 / (double)result->repetitions
               : (double)NAN;
}

/* The baseline at the same memory; false without one. */
static bool baseline_cell(const struct ff__sweep *sweep, unsigned cell, unsigned *out) {
    const struct ff__sweep_place place = ff__sweep_place(sweep, cell);
    for (unsigned i = 0; place.line >= FF__SWEEP_SYSTEMS && i < sweep->system_names.count; i++) {
        if (strcmp(sweep->system_names.items[i], FF__SYSTEM_BASELINE) != 0)
            continue;
        *out = ff__sweep_cell(sweep, place.workload, place.gpu,
                              ff__sweep_line(sweep, i, place.budget));
        return true;
    }
    return false;
}

double ff__sweep_coverage(const struct ff__sweep *sweep, unsigned cell) {
    unsigned without;
    if (!baseline_cell(sweep, cell, &without) || !ff__sweep_at(sweep, without)->good)
        return (double)NAN;
    return ff__sim_coverage(&ff__sweep_at(sweep, cell)->result,
                            &ff__sweep_at(sweep, without)->result);
}

static void add(struct ff__mean *mean, double ratio) {
    if (isfinite(ratio) && ratio > 0)
        ff__mean_add(mean, ratio);
}

bool ff__sweep_failed(const struct ff__sweep *sweep, unsigned cell) {
    const struct ff__simulated *simulated = ff__sweep_at(sweep, cell);
    return !simulated->good && !(simulated->cannot && sweep->by_default);
}

struct ff__sweep_mean ff__sweep_mean(const struct ff__sweep *sweep, unsigned gpu, unsigned system,
                                     unsigned budget) {
    struct ff__mean faster = {0}, slower = {0};
    for (unsigned i = 0; i < sweep->workloads.count; i++) {
        unsigned cell = ff__sweep_cell(sweep, i, gpu, ff__sweep_line(sweep, system, budget)),
                 baseline;
        add(&slower, ff__sweep_slowdown(sweep, cell));
        if (baseline_cell(sweep, cell, &baseline))
            add(&faster, time_of(sweep, baseline) / time_of(sweep, cell));
    }
    return (struct ff__sweep_mean){
        .faster = ff__mean_value(&faster),
        .slowdown = ff__mean_value(&slower),
        .count = slower.count,
    };
}

/* ---- running it ---- */

static void add_cell(struct ff__sweep *sweep, unsigned cell) {
    const struct ff__sweep_place place = ff__sweep_place(sweep, cell);
    bool in_memory = place.line == FF__SWEEP_IN_MEMORY;
    const struct ff__simulation simulation = {
        .subject = {sweep->workloads.items[place.workload], sweep->traces, sweep->study.seed},
        .gpu = &sweep->gpus[place.gpu],
        .system = in_memory ? FF__SYSTEM_IN_MEMORY : place.system_name,
        .memory = place.memory,
        .devices = sweep->devices,
        .machine = sweep->machine,
        .beside = &sweep->beside,
        .check = sweep->check,
        .untimed = sweep->untimed,
        .extrapolates = sweep->extrapolates,
        .explains = sweep->explains,
        .trace = in_memory ? NULL : sweep->trace,
    };
    ff__simulations_append(&sweep->cells, &simulation);
}

static void finish_cell(void *self, unsigned cell) {
    struct ff__sweep *sweep = self;
    const struct ff__sweep_place place = ff__sweep_place(sweep, cell);
    if (place.line + 1 == sweep->line_count && ff__outputs_leave_tables(&sweep->outputs))
        ff__sweep_show(sweep, place.workload, place.gpu);
}

/* Tables and files. */
static int present(const struct ff__sweep *sweep) {
    if (ff__outputs_leave_tables(&sweep->outputs) && !sweep->untimed)
        ff__sweep_show_means(sweep);
    json_t *all = ff__sweep_results(sweep);
    int status = ff__outputs_write(&sweep->outputs, all);
    ff__study_put_results(sweep->study.store, all);
    json_decref(all);
    return status;
}

int ff__sweep_run(struct ff__sweep *sweep) {
    unsigned count = sweep->workloads.count * sweep->gpu_count * sweep->line_count;
    bool failed = false;
    for (unsigned i = 0; i < count; i++)
        add_cell(sweep, i);
    struct ff__cells cells = ff__simulations_cells(&sweep->cells);
    cells.done = finish_cell;
    int status = ff__cells_run(&sweep->study, &cells);
    if (!status && !sweep->study.parts)
        status = present(sweep);
    for (unsigned i = 0; i < count; i++)
        failed = failed || (ff__study_has(&sweep->study, i) && ff__sweep_failed(sweep, i));
    return !status && failed ? FF__EXIT_FAILURE : status;
}

void ff__sweep_free(struct ff__sweep *sweep) {
    ff__simulations_free(&sweep->cells);
    ff__store_close(sweep->study.store);
    for (unsigned i = 0; i < sweep->budget_count; i++)
        free(sweep->budgets[i].text);
    free(sweep->budgets);
    free(sweep->infos);
    free(sweep->footprints);
    free(sweep->gpus);
    free(sweep->machine);
    ff__words_free(&sweep->beside);
    ff__words_free(&sweep->workloads);
    ff__words_free(&sweep->system_names);
    *sweep = (struct ff__sweep){0};
}
