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
    const struct ff__amount *amount = &sweep->matrix.budgets[budget].amount;
    double footprint = (double)sweep->matrix.footprints[workload];
    uint64_t frame = ff__gpu_least_memory(gpu), count;
    if (amount->bytes > 0 && amount->bytes < frame)
        return amount->bytes;
    if (amount->share > 0)
        count = (uint64_t)(amount->share * footprint / (double)frame + 0.5);
    else
        count = (amount->bytes ? amount->bytes : gpu->memory) / frame;
    return (count ? count : 1) * frame;
}

static uint64_t memory_of(const void *self, const struct ff__matrix_place *place) {
    return place->of_system ? ff__sweep_memory(self, place->subject, place->device, place->budget)
                            : 0;
}

static double time_of(const void *self, unsigned cell) {
    const struct ff__simulated *simulated = ff__sweep_at(self, cell);
    return simulated->good && simulated->result.time_ns > 0 ? (double)simulated->result.time_ns
                                                            : (double)NAN;
}

static const char *verdict_of(const void *self, unsigned cell) {
    return ff__sweep_at(self, cell)->cannot ? "cannot run" : "failed";
}

void ff__sweep_init(struct ff__sweep *sweep) {
    static const char *const firsts[] = {"in-memory"};
    static const struct ff__executor executor = {.firsts = firsts,
                                                 .first_count = 1,
                                                 .memory = memory_of,
                                                 .time = time_of,
                                                 .measures = ff__sweep_measures,
                                                 .verdict = verdict_of,
                                                 .before_reason = "",
                                                 .add_run = ff__sweep_add_run};
    sweep->matrix.executor = &executor;
    sweep->matrix.self = sweep;
}

/* ---- ratios ---- */

double ff__sweep_repetition_ms(const struct ff__sim_result *result) {
    return result->repetitions > 0
               ? (double)result->repetitions_ps * 1e-9 / (double)result->repetitions
               : (double)NAN;
}

double ff__sweep_coverage(const struct ff__sweep *sweep, unsigned cell) {
    unsigned without;
    if (!ff__matrix_baseline(&sweep->matrix, cell, &without) || !ff__sweep_at(sweep, without)->good)
        return (double)NAN;
    return ff__sim_coverage(&ff__sweep_at(sweep, cell)->result,
                            &ff__sweep_at(sweep, without)->result);
}

bool ff__sweep_failed(const struct ff__sweep *sweep, unsigned cell) {
    const struct ff__simulated *simulated = ff__sweep_at(sweep, cell);
    return !simulated->good && !(simulated->cannot && sweep->by_default);
}

/* ---- running it ---- */

static void add_cell(struct ff__sweep *sweep, unsigned cell) {
    const struct ff__matrix_place place = ff__matrix_place(&sweep->matrix, cell);
    bool in_memory = !place.of_system;
    const struct ff__simulation simulation = {
        .subject = {sweep->matrix.subjects.items[place.subject], sweep->traces, sweep->study.seed},
        .gpu = &sweep->gpus[place.device],
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
    const struct ff__matrix_place place = ff__matrix_place(&sweep->matrix, cell);
    if (place.line + 1 == ff__matrix_lines(&sweep->matrix) &&
        ff__outputs_leave_tables(&sweep->outputs))
        ff__sweep_show(sweep, place.subject, place.device);
}

/* Tables and files. */
static int present(const struct ff__sweep *sweep) {
    if (ff__outputs_leave_tables(&sweep->outputs) && !sweep->untimed)
        ff__sweep_show_means(sweep);
    json_t *all = ff__sweep_results(sweep);
    int status = ff__outputs_write(&sweep->outputs, all);
    ff__study_put_results(sweep->study.store, sweep->traces ? "replay" : "sim", all);
    json_decref(all);
    return status;
}

int ff__sweep_run(struct ff__sweep *sweep) {
    unsigned count = ff__matrix_count(&sweep->matrix);
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
    ff__matrix_free(&sweep->matrix);
    free(sweep->infos);
    free(sweep->gpus);
    free(sweep->machine);
    ff__words_free(&sweep->beside);
    *sweep = (struct ff__sweep){0};
}
