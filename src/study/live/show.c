/* A comparison as tables. */
#include "policy/registry.h"
#include "study/live/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one program ---- */

static void seconds_cell(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell) {
    ff__table_cell(table, "%.3f", ff__result_median(ff__compare_result(matrix->self, cell)));
}

static void spread_cell(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell) {
    const struct ff__result *result = ff__compare_result(matrix->self, cell);
    if (result->count > 1)
        ff__table_cell(table, "%.3f-%.3f", ff__result_min(result), ff__result_max(result));
    else
        ff__table_cell(table, "%s", "");
}

/* Of lines that are no system's, nothing. */
static void paired_cell(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell) {
    const struct ff__matrix_place place = ff__matrix_place(matrix, cell);
    ff__paired_cell(table, ff__matrix_paired(matrix, place.subject, place.subject + 1, &place));
}

/* A bundled program has looked at its results; of any other command the exit status is all that is
 * known, and, if that was wanted, that it printed the same. */
static const char *verdict(const struct ff__comparison *comparison,
                           const struct ff__program *program) {
    return program->bundled ? "yes" : comparison->same_output ? "same output" : "exit 0";
}

static void verdict_cell(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell) {
    const struct ff__comparison *comparison = matrix->self;
    unsigned program = ff__matrix_place(matrix, cell).subject;
    ff__table_cell(table, "%s", verdict(comparison, &comparison->programs.items[program]));
}

/* A call that fell back was not managed, so the numbers above it are not the whole truth. */
static void show_fallbacks(const struct ff__comparison *comparison, unsigned program) {
    const struct ff__outcome *outcome = &comparison->outcomes[program];
    for (unsigned line = 0; line < ff__matrix_lines(&comparison->matrix); line++) {
        const struct ff__result *result = &outcome->lines[line];
        uint64_t count = result->failed ? 0 : ff__result_typical(result)->fallbacks;
        if (count == 0)
            continue;
        char *which =
            json_dumps(json_object_get(ff__result_typical(result)->all, "fallbacks"), JSON_COMPACT);
        printf("  note: under %s %llu calls were not managed: %s\n",
               ff__matrix_place(&comparison->matrix,
                                ff__matrix_cell(&comparison->matrix, program, 0, line))
                   .system_name,
               (unsigned long long)count, which ? which : "");
        free(which);
    }
}

/* The pairs' heading; to be freed. */
static char *paired_heading(const struct ff__comparison *comparison) {
    return ff__text("x %s (95 %%)", comparison->matrix.systems.items[0]);
}

static void make_table(const struct ff__comparison *comparison, unsigned program, const char *pairs,
                       char *align, struct ff__table *table) {
    const struct ff__column *const moved = ff__columns_moved;
    struct ff__column columns[FF__TABLE_COLUMNS] = {
        {'r', "seconds", seconds_cell},
        {'r', comparison->matrix.runs > 1 ? "min-max" : "", spread_cell},
        ff__column_slowdown,
        {'r', pairs, paired_cell}};
    unsigned count = 3 + ff__matrix_pairs(&comparison->matrix);
    for (unsigned i = 0; i < FF__COLUMNS_MOVED; i++)
        columns[count++] = moved[i];
    columns[count++] = (struct ff__column){'l', "verified", verdict_cell};
    ff__matrix_table(&comparison->matrix, program, 0, columns, count, align, table);
}

void ff__compare_show_program(const struct ff__comparison *comparison, unsigned program) {
    const struct ff__outcome *outcome = &comparison->outcomes[program];
    const char *name = comparison->programs.items[program].name;
    char size[FF__QUANTITY], align[FF__TABLE_COLUMNS + 1];
    struct ff__table table;
    if (outcome->untried) {
        printf("%s: failed: %s\n\n", name, outcome->lines[FF__LINE_PLAIN].reason);
        return;
    }
    char *pairs = paired_heading(comparison);
    printf("%s, footprint %s\n", name, ff__size_text(size, comparison->matrix.footprints[program]));
    make_table(comparison, program, pairs, align, &table);
    ff__limits_add_lines(&table, comparison, program);
    ff__table_print(&table, stdout, 2);
    ff__table_fini(&table);
    free(pairs);
    ff__limits_show_notes(comparison, program);
    show_fallbacks(comparison, program);
    putchar('\n');
    fflush(stdout);
}

/* ---- means ---- */

static const char *what_it_is(const char *spec) {
    const struct ff__system_row *row;
    size_t length = strcspn(spec, ":");
    for (unsigned i = 0; (row = ff__system_at(i)); i++)
        if (strncmp(row->name, spec, length) == 0 && row->name[length] == '\0')
            return row->summary;
    return "";
}

/* Bytes in and out of the devices, of all programs together. */
static uint64_t moved_by(const struct ff__comparison *comparison,
                         const struct ff__matrix_place *place) {
    uint64_t bytes = 0;
    for (unsigned program = 0; program < comparison->programs.count; program++) {
        const struct ff__result *result = &comparison->outcomes[program].lines[place->line];
        if (!ff__result_usable(result))
            continue;
        const struct ff__run_measures *measures = &ff__result_typical(result)->measures;
        bytes += measures->bytes_in + measures->bytes_out;
    }
    return bytes;
}

struct live_means {
    const struct ff__comparison *comparison;
    struct ff__table table;
};

static void mean_line(void *self, const struct ff__matrix_place *place) {
    struct live_means *means = self;
    const struct ff__comparison *comparison = means->comparison;
    const struct ff__matrix *matrix = &comparison->matrix;
    struct ff__table *table = &means->table;
    struct ff__matrix_mean mean = ff__matrix_mean(matrix, 0, place->system, place->budget);
    struct ff__mean above = ff__limits_above(comparison, place);
    char moved[FF__QUANTITY];
    ff__table_cells(table, place->system_name, place->share, NULL);
    ff__ratio_cell(table, mean.faster);
    ff__table_value(table, 0, 100 / mean.slowdown, " %");
    if (ff__matrix_pairs(matrix))
        ff__paired_cell(table, ff__matrix_paired(matrix, 0, matrix->subjects.count, place));
    if (comparison->bound)
        ff__ratio_cell(table, ff__mean_value(&above));
    ff__table_cell(table, "%s", ff__size_text(moved, moved_by(comparison, place)));
    ff__table_cell(table, "%u of %u", mean.count, matrix->subjects.count);
    ff__table_cell(table, "%s", what_it_is(place->system_name));
}

void ff__compare_show_means(const struct ff__comparison *comparison) {
    static const char *const aligns[] = {"lrrrrrl", "lrrrrrrl", "lrrrrrrrl"};
    struct live_means means = {.comparison = comparison};
    char *pairs = paired_heading(comparison);
    bool has_pairs = ff__matrix_pairs(&comparison->matrix);
    ff__table_init(&means.table, aligns[comparison->bound + has_pairs]);
    ff__table_cells(&means.table, "system", "memory", "faster than " FF__SYSTEM_BASELINE,
                    "of fully resident speed", NULL);
    if (has_pairs)
        ff__table_cells(&means.table, pairs, NULL);
    if (comparison->bound)
        ff__table_cells(&means.table, "x bound", NULL);
    ff__table_cells(&means.table, "moved", "programs", "what it is", NULL);
    ff__matrix_each_mean(&comparison->matrix, mean_line, &means);
    printf("geometric means (%s, %s)\n", comparison->matrix.devices.items[0],
           comparison->matrix.runs > 1 ? "medians" : "one run each");
    ff__table_print(&means.table, stdout, 2);
    ff__table_fini(&means.table);
    free(pairs);
    puts("  Fully resident: the same programs with device memory for all of their data "
         "(in-memory).\n"
         "  Time: from the first command to the last completion; of a bundled program its uploads, "
         "kernels and downloads.");
    if (ff__matrix_pairs(&comparison->matrix))
        printf("  x %s: geometric mean of the ratios of times by pairs of the same turn, and its "
               "95 %% interval.\n",
               comparison->matrix.systems.items[0]);
}
