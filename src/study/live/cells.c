/* Runs of a comparison as cells of a study. */
#include "report/complain.h"
#include "report/json.h"
#include "study/live/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Runs of one program, from a number on: a cell is a line in one of them. */
struct live_runs {
    struct ff__comparison *comparison;
    unsigned program, first_run;
    struct live_run {
        bool skipped;
        struct ff__trial trial;
    } * runs; /* [cell] */
};

static unsigned line_of(const struct live_runs *turns, unsigned cell) {
    return cell % ff__matrix_lines(&turns->comparison->matrix);
}

/* From 1; 0: the one beforehand. */
static unsigned run_of(const struct live_runs *turns, unsigned cell) {
    return turns->first_run + cell / ff__matrix_lines(&turns->comparison->matrix);
}

static struct ff__matrix_place place_of(const struct live_runs *turns, unsigned cell) {
    const struct ff__matrix *matrix = &turns->comparison->matrix;
    return ff__matrix_place(matrix,
                            ff__matrix_cell(matrix, turns->program, 0, line_of(turns, cell)));
}

/* What the first run of a command prints is needed, and not kept. */
static bool keeps_output(const struct live_runs *turns, unsigned cell) {
    const struct ff__comparison *comparison = turns->comparison;
    return run_of(turns, cell) == 0 && comparison->same_output &&
           !comparison->programs.items[turns->program].bundled;
}

/* The program's file counts where it is known; what a command for the shell starts is not. Not to
 * be kept is what a signal has ended, or has kept from being made. */
static bool key_of(const void *self, unsigned cell, struct ff__store_key *out) {
    const struct live_runs *turns = self;
    const struct ff__comparison *comparison = turns->comparison;
    const struct ff__program *what = &comparison->programs.items[turns->program];
    const struct ff__matrix_place place = place_of(turns, cell);
    uint32_t data = 0;
    ff__study_add_files(comparison->preload, &data);
    if (what->bundled)
        ff__study_add_files(what->argv[0], &data);
    *out = (struct ff__store_key){
        .subject = what->name,
        .system = place.system_name,
        .device = comparison->matrix.devices.items[0],
        .memory = place.memory,
        .seed = comparison->study.seed,
        .options = ff__text("run=%u%s", run_of(turns, cell), comparison->settings),
        .data = data,
        .measured = true};
    return !keeps_output(turns, cell) && !turns->runs[cell].skipped &&
           !turns->runs[cell].trial.end.interrupted;
}

static json_t *result_of(const void *self, unsigned cell) {
    return json_incref(((const struct live_runs *)self)->runs[cell].trial.summary.all);
}

static bool restore(void *self, unsigned cell, const json_t *all) {
    struct ff__trial *trial = &((const struct live_runs *)self)->runs[cell].trial;
    *trial = (struct ff__trial){.good = true, .output = -1};
    bool good = ff__summary_of(json_incref((json_t *)all), &trial->summary) == 0;
    if (!good)
        ff__summary_free(&trial->summary);
    return good;
}

static struct ff__found found_by(const void *self, unsigned cell) {
    const struct ff__trial *trial = &((const struct live_runs *)self)->runs[cell].trial;
    return (struct ff__found){.failure = trial->good ? NULL : trial->reason,
                              .seconds =
                                  trial->good ? trial->summary.measures.seconds : (double)NAN,
                              .figure = (double)NAN};
}

/* A line that has failed is over, and after a signal all are. */
static void run_cell(void *self, unsigned cell) {
    const struct live_runs *turns = self;
    struct ff__comparison *comparison = turns->comparison;
    const struct ff__outcome *outcome = &comparison->outcomes[turns->program];
    struct live_run *run = &turns->runs[cell];
    const struct ff__matrix_place place = place_of(turns, cell);
    const struct ff__trial_plan plan = {
        .program = &comparison->programs.items[turns->program],
        .preload = comparison->preload,
        .devices = comparison->devices,
        .system = place.of_system                    ? place.system_name
                  : place.line == FF__LINE_IN_MEMORY ? FF__SYSTEM_IN_MEMORY
                                                     : NULL,
        .memory = place.memory,
        .limit_ns = comparison->limit_ns,
        .expected_output = outcome->output,
        .keeps_output = keeps_output(turns, cell),
    };
    run->skipped = comparison->interrupted || outcome->lines[place.line].failed;
    if (run->skipped)
        return;
    ff__trial_run(&plan, &run->trial);
    comparison->interrupted = run->trial.end.interrupted;
}

/* In order, so that a run that fails ends its line. */
static void add_run(void *self, unsigned cell) {
    const struct live_runs *turns = self;
    if (!turns->runs[cell].skipped)
        ff__result_add(&turns->comparison->outcomes[turns->program].lines[line_of(turns, cell)],
                       &turns->runs[cell].trial);
}

static void leave(void *self, unsigned cell) {
    (void)self, (void)cell;
}

static void run_turns(struct live_runs *turns, unsigned count,
                      void (*done)(void *self, unsigned cell)) {
    const struct ff__cells cells = {.count = count,
                                    .run = run_cell,
                                    .key = key_of,
                                    .found = found_by,
                                    .result = result_of,
                                    .restore = restore,
                                    .done = done,
                                    .self = turns};
    ff__cells_run(&turns->comparison->study, &cells);
}

void ff__compare_try(struct ff__comparison *comparison, unsigned program, struct ff__trial *out) {
    struct live_run run = {.trial = {.output = -1}};
    struct live_runs turns = {.comparison = comparison, .program = program, .runs = &run};
    run_turns(&turns, 1, leave);
    *out = run.trial;
}

void ff__compare_measure(struct ff__comparison *comparison, unsigned program) {
    unsigned count = comparison->matrix.runs * ff__matrix_lines(&comparison->matrix);
    struct live_runs turns = {comparison, program, 1, NULL};
    turns.runs = ff__must(calloc(count, sizeof *turns.runs));
    run_turns(&turns, count, add_run);
    free(turns.runs);
}
