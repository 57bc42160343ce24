/* The runs of a comparison. */
#include "study/live/compare.h"

#include "report/complain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what the matrix asks ---- */

/* In memory, a quarter and 32 MiB more than needed: nothing is ever evicted. */
static uint64_t memory_of(const void *self, const struct ff__matrix_place *place) {
    const struct ff__comparison *comparison = self;
    uint64_t footprint = comparison->matrix.footprints[place->subject];
    const struct ff__amount ample = {.bytes = footprint + footprint / 4 + (UINT64_C(32) << 20)};
    if (place->line == FF__LINE_PLAIN)
        return 0;
    return place->of_system
               ? ff__amount_of(&comparison->matrix.budgets[place->budget].amount, footprint)
               : ff__amount_of(&ample, 0);
}

static double time_of(const void *self, unsigned cell) {
    const struct ff__result *result = ff__compare_result(self, cell);
    return ff__result_usable(result) ? ff__result_median(result) : (double)NAN;
}

static double turn_of(const void *self, unsigned cell, unsigned run) {
    return ff__compare_result(self, cell)->turns[run];
}

static const char *verdict_of(const void *self, unsigned cell) {
    (void)self, (void)cell;
    return "failed";
}

static void make_outcomes(struct ff__comparison *comparison) {
    static const char *const firsts[] = {"plain", "in-memory"};
    static const struct ff__executor executor = {.firsts = firsts,
                                                 .first_count = FF__LINE_SYSTEMS,
                                                 .memory = memory_of,
                                                 .time = time_of,
                                                 .turn = turn_of,
                                                 .measures = ff__compare_measures,
                                                 .verdict = verdict_of,
                                                 .before_reason = "no: ",
                                                 .add_run = ff__compare_add_run,
                                                 .add_mean = ff__compare_add_mean};
    const unsigned count = comparison->programs.count;
    comparison->matrix.executor = &executor;
    comparison->matrix.self = comparison;
    comparison->matrix.footprints = ff__must(calloc(count, sizeof *comparison->matrix.footprints));
    comparison->outcomes = ff__must(calloc(count, sizeof *comparison->outcomes));
    for (unsigned i = 0; i < count; i++) {
        struct ff__outcome *outcome = &comparison->outcomes[i];
        ff__words_add(&comparison->matrix.subjects,
                      ff__text("%s", comparison->programs.items[i].name));
        outcome->output = -1;
        outcome->lines =
            ff__must(calloc(ff__matrix_lines(&comparison->matrix), sizeof *outcome->lines));
    }
}

/* ---- running it ---- */

/* The run before the measured ones. False, and every line failed, if that already goes wrong. */
static bool learn_footprint(struct ff__comparison *comparison, unsigned program) {
    struct ff__outcome *outcome = &comparison->outcomes[program];
    struct ff__trial trial;
    ff__compare_try(comparison, program, &trial);
    uint64_t footprint = comparison->matrix.footprints[program] = trial.summary.footprint;
    outcome->output = trial.output;
    ff__summary_free(&trial.summary);
    outcome->untried = !trial.good || footprint == 0;
    for (unsigned line = 0; outcome->untried && line < ff__matrix_lines(&comparison->matrix);
         line++)
        ff__result_fail(&outcome->lines[line],
                        trial.good ? "asks for no device memory" : trial.reason);
    return !outcome->untried;
}

static void measure_program(struct ff__comparison *comparison, unsigned program) {
    if (!learn_footprint(comparison, program))
        return;
    if (comparison->bound)
        ff__limits_learn(comparison, program);
    ff__compare_measure(comparison, program);
    if (comparison->bound)
        ff__limits_time_link(&comparison->outcomes[program].limits, comparison->link);
}

static bool any_failed(const struct ff__comparison *comparison) {
    for (unsigned cell = 0; cell < ff__matrix_count(&comparison->matrix); cell++)
        if (ff__compare_result(comparison, cell)->failed)
            return true;
    return false;
}

int ff__compare_run(struct ff__comparison *comparison) {
    bool tables = ff__outputs_leave_tables(comparison->outputs);
    make_outcomes(comparison);
    for (unsigned i = 0; i < comparison->programs.count && !comparison->interrupted; i++) {
        measure_program(comparison, i);
        if (tables && !comparison->interrupted)
            ff__compare_show_program(comparison, i);
    }
    if (comparison->interrupted)
        return ff__complain(FF__EXIT_SIGNAL + comparison->interrupted, "stopped by signal %d (%s)",
                            comparison->interrupted, strsignal(comparison->interrupted));
    if (tables)
        ff__compare_show_means(comparison);
    json_t *all = ff__compare_results(comparison);
    int status = ff__outputs_write(comparison->outputs, all);
    ff__study_put_results(comparison->study.store, "compare", all);
    json_decref(all);
    return status ? status : any_failed(comparison) ? FF__EXIT_FAILURE : 0;
}

void ff__compare_free(struct ff__comparison *comparison) {
    for (unsigned i = 0; comparison->outcomes && i < comparison->programs.count; i++) {
        struct ff__outcome *outcome = &comparison->outcomes[i];
        for (unsigned line = 0; line < ff__matrix_lines(&comparison->matrix); line++)
            ff__result_free(&outcome->lines[line]);
        free(outcome->lines);
        ff__limits_free(&outcome->limits);
        if (outcome->output >= 0)
            close(outcome->output);
    }
    free(comparison->outcomes);
    ff__matrix_free(&comparison->matrix);
    ff__programs_free(&comparison->programs);
    ff__store_close(comparison->study.store);
}
