/* A comparison as tables. */
#include "study/live/compare.h"

#include "policy/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576.0

/* ---- one program ---- */

static void time_cells(struct ff__table *table, const struct ff__outcome *outcome,
                       const struct ff__result *result) {
    const struct ff__result *ideal = &outcome->lines[FF__LINE_IN_MEMORY];
    ff__table_cell(table, "%.3f", ff__result_median(result));
    if (result->count > 1)
        ff__table_cell(table, "%.3f-%.3f", ff__result_min(result), ff__result_max(result));
    else
        ff__table_cell(table, "%s", "");
    if (ff__result_usable(ideal))
        ff__table_cell(table, "%.2fx", ff__result_median(result) / ff__result_median(ideal));
    else
        ff__table_cell(table, "-");
}

static void pairs_cell(struct ff__table *table, struct ff__paired paired) {
    if (paired.pairs > 0)
        ff__table_cell(table, "%.3f (%.3f-%.3f)", paired.ratio, paired.low, paired.high);
    else
        ff__table_cell(table, "-");
}

/* Of a line's program; of lines that are no system's, nothing. */
static void paired_cell(struct ff__table *table, const struct ff__comparison *comparison,
                        unsigned program, unsigned line) {
    struct ff__paired paired = {0};
    if (!ff__compare_pairs(comparison))
        return;
    if (line >= FF__LINE_SYSTEMS)
        paired = ff__compare_paired(comparison, program,
                                    (line - FF__LINE_SYSTEMS) % comparison->systems.count,
                                    ff__line_amount(comparison, line));
    pairs_cell(table, paired);
}

/* Its heading. */
static void paired_heading(struct ff__table *table, const struct ff__comparison *comparison) {
    if (ff__compare_pairs(comparison))
        ff__table_cell(table, "x %s (95 %%)", comparison->systems.items[0]);
}

static void counter_cells(struct ff__table *table, const struct ff__run_measures *measures) {
    ff__table_cell(table, "%llu", (unsigned long long)measures->faults);
    ff__table_cell(table, "%.1f", (double)measures->bytes_in / MIB);
    ff__table_cell(table, "%.1f", (double)measures->bytes_out / MIB);
    if (isnan(measures->hit_rate))
        ff__table_cell(table, "-");
    else
        ff__table_cell(table, "%.1f %%", 100 * measures->hit_rate);
}

/* A bundled program has looked at its results; of any other command the exit status is all that is
 * known, and, if that was wanted, that it printed the same. */
static const char *verdict(const struct ff__comparison *comparison,
                           const struct ff__program *program) {
    return program->bundled ? "yes" : comparison->same_output ? "same output" : "exit 0";
}

static void add_line(struct ff__table *table, const struct ff__comparison *comparison,
                     unsigned program, unsigned line) {
    const struct ff__outcome *outcome = &comparison->outcomes[program];
    const struct ff__result *result = &outcome->lines[line];
    uint64_t memory = ff__line_memory(comparison, program, line);
    char size[FF__QUANTITY];
    ff__table_cell(table, "%s", ff__line_system(comparison, line));
    ff__table_cell(table, "%s", memory ? ff__size_text(size, memory) : "-");
    if (result->failed) {
        ff__table_cells(table, "failed", "", "", "", "", "", "", NULL);
        if (ff__compare_pairs(comparison))
            ff__table_cell(table, "%s", "");
        ff__table_cell(table, "no: %s", result->reason);
        return;
    }
    time_cells(table, outcome, result);
    paired_cell(table, comparison, program, line);
    if (line == FF__LINE_PLAIN)
        ff__table_cells(table, "-", "-", "-", "-", NULL);
    else
        counter_cells(table, &ff__result_typical(result)->measures);
    ff__table_cell(table, "%s", verdict(comparison, &comparison->programs.items[program]));
}

/* A call that fell back was not managed, so the numbers above it are not the whole truth. */
static void show_fallbacks(const struct ff__comparison *comparison, unsigned program) {
    const struct ff__outcome *outcome = &comparison->outcomes[program];
    for (unsigned line = 0; line < comparison->line_count; line++) {
        const struct ff__result *result = &outcome->lines[line];
        uint64_t count = result->failed ? 0 : ff__result_typical(result)->fallbacks;
        if (count == 0)
            continue;
        char *which =
            json_dumps(json_object_get(ff__result_typical(result)->all, "fallbacks"), JSON_COMPACT);
        printf("  note: under %s %llu calls were not managed: %s\n",
               ff__line_system(comparison, line), (unsigned long long)count, which ? which : "");
        free(which);
    }
}

void ff__compare_show_program(const struct ff__comparison *comparison, unsigned program) {
    const struct ff__outcome *outcome = &comparison->outcomes[program];
    const char *name = comparison->programs.items[program].name;
    if (outcome->untried) {
        printf("%s: failed: %s\n\n", name, outcome->lines[FF__LINE_PLAIN].reason);
        return;
    }
    char size[FF__QUANTITY];
    printf("%s, footprint %s\n", name, ff__size_text(size, outcome->footprint));
    struct ff__table table;
    ff__table_init(&table, ff__compare_pairs(comparison) ? "lrrrrrrrrrl" : "lrrrrrrrrl");
    ff__table_cells(&table, "system", "memory", "seconds", comparison->runs > 1 ? "min-max" : "",
                    "x in-memory", NULL);
    paired_heading(&table, comparison);
    ff__table_cells(&table, "faults", "MiB in", "MiB out", "hit rate", "verified", NULL);
    for (unsigned line = 0; line < comparison->line_count; line++)
        add_line(&table, comparison, program, line);
    ff__limits_add_lines(&table, comparison, program);
    ff__table_print(&table, stdout, 2);
    ff__table_fini(&table);
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

static void mean_line(struct ff__table *table, const struct ff__comparison *comparison,
                      unsigned system, unsigned amount) {
    struct ff__mean gain = ff__compare_speedup(comparison, system, amount, amount + 1);
    struct ff__mean loss = ff__compare_slowdown(comparison, system, amount, amount + 1);
    const char *name = comparison->systems.items[system];
    char moved[FF__QUANTITY];
    ff__table_cells(table, name, comparison->amount_texts.items[amount], NULL);
    if (gain.count)
        ff__table_cell(table, "%.2fx", ff__mean_value(&gain));
    else
        ff__table_cell(table, "-");
    if (loss.count)
        ff__table_cell(table, "%.0f %%", 100 / ff__mean_value(&loss));
    else
        ff__table_cell(table, "-");
    if (ff__compare_pairs(comparison))
        pairs_cell(table, ff__compare_paired_mean(comparison, system, amount));
    if (comparison->bound) {
        struct ff__mean above = ff__compare_above_bound(comparison, system, amount);
        if (above.count)
            ff__table_cell(table, "%.2fx", ff__mean_value(&above));
        else
            ff__table_cell(table, "-");
    }
    ff__table_cell(table, "%s",
                   ff__size_text(moved, ff__compare_moved(comparison, system, amount)));
    ff__table_cell(table, "%u of %u", loss.count, comparison->programs.count);
    ff__table_cell(table, "%s", what_it_is(name));
}

void ff__compare_show_means(const struct ff__comparison *comparison) {
    struct ff__table table;
    static const char *const aligns[] = {"lrrrrrl", "lrrrrrrl", "lrrrrrrrl"};
    ff__table_init(&table, aligns[comparison->bound + ff__compare_pairs(comparison)]);
    ff__table_cells(&table, "system", "memory", "faster than " FF__SYSTEM_BASELINE,
                    "of fully resident speed", NULL);
    paired_heading(&table, comparison);
    if (comparison->bound)
        ff__table_cell(&table, "x bound");
    ff__table_cells(&table, "moved", "programs", "what it is", NULL);
    for (unsigned amount = 0; amount < comparison->amount_texts.count; amount++)
        for (unsigned system = 0; system < comparison->systems.count; system++)
            mean_line(&table, comparison, system, amount);
    printf("geometric means (%s, %s)\n", comparison->description,
           comparison->runs > 1 ? "medians" : "one run each");
    ff__table_print(&table, stdout, 2);
    ff__table_fini(&table);
    puts("  Fully resident: the same programs with device memory for all of their data "
         "(in-memory).\n"
         "  Time: from the first command to the last completion; of a bundled program its uploads, "
         "kernels and downloads.");
    if (ff__compare_pairs(comparison))
        printf("  x %s: geometric mean of the ratios of times by pairs of the same turn, and its "
               "95 %% interval.\n",
               comparison->systems.items[0]);
}
