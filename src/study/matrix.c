#include "study/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void ff__matrix_add_budget(struct ff__matrix *matrix, char *text, const struct ff__amount *amount) {
    matrix->budgets =
        ff__must(realloc(matrix->budgets, (matrix->budget_count + 1) * sizeof *matrix->budgets));
    matrix->budgets[matrix->budget_count++] = (struct ff__budget){text, *amount};
}

void ff__matrix_free(struct ff__matrix *matrix) {
    for (unsigned i = 0; i < matrix->budget_count; i++)
        free(matrix->budgets[i].text);
    free(matrix->budgets);
    free(matrix->footprints);
    ff__words_free(&matrix->subjects);
    ff__words_free(&matrix->devices);
    ff__words_free(&matrix->systems);
}

/* ---- places ---- */

struct ff__matrix_place ff__matrix_place(const struct ff__matrix *matrix, unsigned cell) {
    const struct ff__executor *executor = matrix->executor;
    unsigned lines = ff__matrix_lines(matrix);
    struct ff__matrix_place place = {
        .subject = cell / lines / matrix->devices.count,
        .device = cell / lines % matrix->devices.count,
        .line = cell % lines,
        .of_system = cell % lines >= executor->first_count,
    };
    if (place.of_system) {
        place.system = (place.line - executor->first_count) % matrix->systems.count;
        place.budget = (place.line - executor->first_count) / matrix->systems.count;
        place.share = matrix->budgets[place.budget].text;
    }
    place.system_name =
        place.of_system ? matrix->systems.items[place.system] : executor->firsts[place.line];
    place.memory = executor->memory(matrix->self, &place);
    return place;
}

unsigned ff__matrix_in_memory(const struct ff__matrix *matrix, unsigned cell) {
    return cell - cell % ff__matrix_lines(matrix) + matrix->executor->first_count - 1;
}

bool ff__matrix_baseline(const struct ff__matrix *matrix, unsigned cell, unsigned *out) {
    const struct ff__matrix_place place = ff__matrix_place(matrix, cell);
    for (unsigned i = 0; place.of_system && i < matrix->systems.count; i++) {
        if (strcmp(matrix->systems.items[i], FF__SYSTEM_BASELINE) != 0)
            continue;
        *out = cell - place.system + i;
        return true;
    }
    return false;
}

/* ---- ratios ---- */

static double time_of(const struct ff__matrix *matrix, unsigned cell) {
    return matrix->executor->time(matrix->self, cell);
}

double ff__matrix_slowdown(const struct ff__matrix *matrix, unsigned cell) {
    return time_of(matrix, cell) / time_of(matrix, ff__matrix_in_memory(matrix, cell));
}

static void add(struct ff__mean *mean, double ratio) {
    if (isfinite(ratio) && ratio > 0)
        ff__mean_add(mean, ratio);
}

struct ff__matrix_mean ff__matrix_mean(const struct ff__matrix *matrix, unsigned device,
                                       unsigned system, unsigned budget) {
    struct ff__mean faster = {0}, slower = {0};
    for (unsigned i = 0; i < matrix->subjects.count; i++) {
        unsigned cell = ff__matrix_cell(matrix, i, device, ff__matrix_line(matrix, system, budget)),
                 baseline;
        add(&slower, ff__matrix_slowdown(matrix, cell));
        if (ff__matrix_baseline(matrix, cell, &baseline))
            add(&faster, time_of(matrix, baseline) / time_of(matrix, cell));
    }
    return (struct ff__matrix_mean){
        .faster = ff__mean_value(&faster),
        .slowdown = ff__mean_value(&slower),
        .count = slower.count,
    };
}

/* Adds the logarithm of the ratio in each turn; false: one of the two has not run well. */
static bool add_pairs(const struct ff__matrix *matrix, unsigned cell, unsigned first,
                      double *logs) {
    const struct ff__executor *executor = matrix->executor;
    if (isnan(time_of(matrix, cell)) || isnan(time_of(matrix, first)))
        return false;
    for (unsigned run = 0; run < matrix->runs; run++)
        if (!(executor->turn(matrix->self, cell, run) > 0 &&
              executor->turn(matrix->self, first, run) > 0))
            return false;
    for (unsigned run = 0; run < matrix->runs; run++)
        logs[run] +=
            log(executor->turn(matrix->self, cell, run) / executor->turn(matrix->self, first, run));
    return true;
}

struct ff__paired ff__matrix_paired(const struct ff__matrix *matrix, unsigned first, unsigned end,
                                    const struct ff__matrix_place *place) {
    double *logs = ff__must(calloc(matrix->runs + 1, sizeof *logs));
    unsigned line = ff__matrix_line(matrix, place->system, place->budget), count = 0;
    for (unsigned subject = first; subject < end && place->system > 0; subject++) {
        unsigned cell = ff__matrix_cell(matrix, subject, place->device, line);
        count += add_pairs(matrix, cell, cell - place->system, logs);
    }
    for (unsigned run = 0; run < matrix->runs && count > 0; run++)
        logs[run] /= count;
    struct ff__paired paired = ff__paired_of(logs, count > 0 ? matrix->runs : 0);
    free(logs);
    return paired;
}

/* ---- for programs ---- */

json_t *ff__matrix_paired_json(const struct ff__matrix *matrix, struct ff__paired paired) {
    if (paired.pairs == 0)
        return json_null();
    json_t *all = ff__must(json_object());
    ff__json_set(all, "to", ff__json_text(matrix->systems.items[0]));
    ff__json_set(all, "ratio", ff__json_number(paired.ratio));
    ff__json_set(all, "low", ff__json_number(paired.low));
    ff__json_set(all, "high", ff__json_number(paired.high));
    ff__json_set(all, "pairs", ff__json_count(paired.pairs));
    return all;
}

static json_t *run_of(const struct ff__matrix *matrix, unsigned cell) {
    const struct ff__matrix_place place = ff__matrix_place(matrix, cell);
    const struct ff__run_subject subject = {
        .subject = matrix->subjects.items[place.subject],
        .system = place.system_name,
        .device = matrix->devices.items[place.device],
        .share = place.share,
        .memory = place.memory,
        .footprint = matrix->footprints[place.subject],
    };
    struct ff__run_measures measures;
    const char *reason = matrix->executor->measures(matrix->self, cell, &measures);
    measures.slowdown = ff__matrix_slowdown(matrix, cell);
    json_t *run = ff__run_new(&subject, reason ? NULL : &measures, reason, json_null());
    matrix->executor->add_run(matrix->self, cell, run);
    return run;
}

struct json_means {
    const struct ff__matrix *matrix;
    json_t *list;
};

static void add_mean(void *self, const struct ff__matrix_place *place) {
    struct json_means *means = self;
    const struct ff__matrix *matrix = means->matrix;
    struct ff__matrix_mean mean =
        ff__matrix_mean(matrix, place->device, place->system, place->budget);
    const struct ff__run_subject subject = {.system = place->system_name,
                                            .device = matrix->devices.items[place->device],
                                            .share = place->share};
    json_t *object = ff__mean_new(&subject, mean.faster, mean.slowdown, mean.count);
    if (matrix->executor->add_mean)
        matrix->executor->add_mean(matrix->self, place, object);
    json_array_append_new(means->list, object);
}

void ff__matrix_add_results(const struct ff__matrix *matrix, json_t *all) {
    json_t *runs = ff__must(json_array());
    struct json_means means = {matrix, ff__must(json_array())};
    for (unsigned i = 0; i < ff__matrix_count(matrix); i++)
        json_array_append_new(runs, run_of(matrix, i));
    ff__matrix_each_mean(matrix, add_mean, &means);
    ff__json_set(all, "runs", runs);
    ff__json_set(all, "means", means.list);
}
