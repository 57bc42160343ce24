/* Lower bounds in a comparison: what a program must move at least, and the time that this takes. */
#include "study/live/compare.h"

#include "study/outputs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MIB 1048576.0

uint64_t ff__limits_memory(const struct ff__comparison *comparison, unsigned program,
                           unsigned budget) {
    const struct ff__matrix *matrix = &comparison->matrix;
    return ff__matrix_place(matrix,
                            ff__matrix_cell(matrix, program, 0, ff__matrix_line(matrix, 0, budget)))
        .memory;
}

/* ---- times ---- */

/* Seconds that moving so much takes at least, or the in-memory time if that is longer; `why`: which
 * of them it is. NaN: there is no in-memory time. */
static double limit_seconds(const struct ff__outcome *outcome, const struct ff__bound *bound,
                            const char **why) {
    const struct ff__result *ideal = &outcome->lines[FF__LINE_IN_MEMORY];
    double rate = outcome->limits.rate;
    if (!ff__result_usable(ideal) || rate <= 0)
        return (double)NAN;
    double seconds = ff__result_median(ideal);
    *why = "in-memory time";
    if ((double)bound->fetched / rate > seconds) {
        seconds = (double)bound->fetched / rate;
        *why = "fetching";
    }
    if ((double)bound->written_back / rate > seconds) {
        seconds = (double)bound->written_back / rate;
        *why = "writing back";
    }
    return seconds;
}

struct ff__mean ff__limits_above(const struct ff__comparison *comparison,
                                 const struct ff__matrix_place *place) {
    struct ff__mean mean = {0};
    for (unsigned program = 0; program < comparison->programs.count; program++) {
        const struct ff__outcome *outcome = &comparison->outcomes[program];
        const struct ff__result *result = &outcome->lines[place->line];
        const char *why;
        if (!outcome->limits.items || !ff__result_usable(result))
            continue;
        double seconds = limit_seconds(outcome, &outcome->limits.items[place->budget].bound, &why);
        if (!isnan(seconds))
            ff__mean_add(&mean, ff__result_median(result) / seconds);
    }
    return mean;
}

enum better { BETTER_NOT, BETTER_BYTES, BETTER_TIME };

/* Whether the line is better than the lower bound: in bytes, of any of its runs, which proves the
 * bound wrong; or in its median time alone. */
static enum better limit_beaten(const struct ff__comparison *comparison, unsigned program,
                                unsigned line) {
    const unsigned budget = (line - FF__LINE_SYSTEMS) / comparison->matrix.systems.count;
    const struct ff__outcome *outcome = &comparison->outcomes[program];
    const struct ff__result *result = &outcome->lines[line];
    const char *why;
    if (!outcome->limits.items || !ff__result_usable(result))
        return BETTER_NOT;
    const struct ff__bound *bound = &outcome->limits.items[budget].bound;
    for (unsigned run = 0; run < result->count; run++)
        if (result->runs[run].measures.bytes_in < bound->fetched ||
            result->runs[run].measures.bytes_out < bound->written_back)
            return BETTER_BYTES;
    return ff__result_median(result) < limit_seconds(outcome, bound, &why) ? BETTER_TIME
                                                                           : BETTER_NOT;
}

/* ---- for people ---- */

static void add_line(struct ff__table *table, const struct ff__comparison *comparison,
                     unsigned program, const char *name, uint64_t memory,
                     const struct ff__bound *bound) {
    const struct ff__outcome *outcome = &comparison->outcomes[program];
    const struct ff__result *ideal = &outcome->lines[FF__LINE_IN_MEMORY];
    const char *why = "";
    char size[FF__QUANTITY];
    double seconds = limit_seconds(outcome, bound, &why);
    ff__table_cells(table, name, ff__size_text(size, memory), NULL);
    if (isnan(seconds)) {
        ff__table_cells(table, "-", "", "-", NULL);
    } else {
        ff__table_cell(table, "%.3f", seconds);
        ff__table_cell(table, "%s", "");
        ff__table_cell(table, "%.2fx", seconds / ff__result_median(ideal));
    }
    ff__table_cell(table, "-");
    if (ff__matrix_pairs(&comparison->matrix))
        ff__table_cell(table, "-");
    ff__table_cell(table, "%.1f", (double)bound->fetched / MIB);
    ff__table_cell(table, "%.1f", (double)bound->written_back / MIB);
    ff__table_cells(table, "-", why, NULL);
}

void ff__limits_add_lines(struct ff__table *table, const struct ff__comparison *comparison,
                          unsigned program) {
    const struct ff__limits *limits = &comparison->outcomes[program].limits;
    for (unsigned amount = 0; limits->items && amount < comparison->matrix.budget_count; amount++) {
        uint64_t memory = ff__limits_memory(comparison, program, amount);
        add_line(table, comparison, program, "lower bound", memory, &limits->items[amount].bound);
        if (limits->parallel)
            add_line(table, comparison, program, "reference", memory,
                     &limits->items[amount].reference);
    }
}

/* One line for all systems that are better in the same way. */
static void show_better(const struct ff__comparison *comparison, unsigned program,
                        enum better better, const char *what) {
    const char *separator = "  note: ";
    for (unsigned line = FF__LINE_SYSTEMS; line < ff__matrix_lines(&comparison->matrix); line++) {
        if (limit_beaten(comparison, program, line) != better)
            continue;
        const struct ff__matrix_place place = ff__matrix_place(
            &comparison->matrix, ff__matrix_cell(&comparison->matrix, program, 0, line));
        printf("%s%s at %s", separator, place.system_name, place.share);
        separator = ", ";
    }
    if (separator[0] == ',')
        printf(" %s\n", what);
}

void ff__limits_show_notes(const struct ff__comparison *comparison, unsigned program) {
    const struct ff__limits *limits = &comparison->outcomes[program].limits;
    if (comparison->bound && !limits->items)
        printf("  note: no lower bound: %s\n", limits->reason);
    if (!limits->items)
        return;
    printf("  lower bound: with %.1f GB/s each way%s\n", limits->rate / 1e9,
           limits->parallel ? "; threads may touch pages in any order. reference: in the order of "
                              "a recording"
                            : "");
    show_better(comparison, program, BETTER_BYTES,
                "moved less than the lower bound, which is wrong");
    show_better(comparison, program, BETTER_TIME,
                "took less time than the lower bound: times vary more than they differ, or it is "
                "wrong");
}

/* ---- for programs ---- */

static json_t *limit_of(const struct ff__comparison *comparison, unsigned program, unsigned amount,
                        const char *kind, const struct ff__bound *bound) {
    const struct ff__outcome *outcome = &comparison->outcomes[program];
    const struct ff__result *ideal = &outcome->lines[FF__LINE_IN_MEMORY];
    const char *why = NULL;
    double seconds = limit_seconds(outcome, bound, &why);
    json_t *limit = ff__must(json_object());
    ff__json_set(limit, "subject", ff__json_text(comparison->programs.items[program].name));
    ff__json_set(limit, "kind", ff__json_text(kind));
    ff__json_set(limit, "share", ff__json_text(comparison->matrix.budgets[amount].text));
    ff__json_set(limit, "memory", ff__json_count(ff__limits_memory(comparison, program, amount)));
    ff__json_set(limit, "seconds", ff__json_number(seconds));
    ff__json_set(limit, "slowdown",
                 ff__json_number(isnan(seconds) ? seconds : seconds / ff__result_median(ideal)));
    ff__json_set(limit, "why", ff__json_text(why));
    ff__json_set(limit, "bytes_in", ff__json_count(bound->fetched));
    ff__json_set(limit, "bytes_out", ff__json_count(bound->written_back));
    ff__json_set(limit, "link_rate", ff__json_number(outcome->limits.rate));
    return limit;
}

static json_t *beaters_of(const struct ff__comparison *comparison, unsigned program,
                          unsigned amount, enum better better) {
    json_t *systems = ff__must(json_array());
    for (unsigned system = 0; system < comparison->matrix.systems.count; system++)
        if (limit_beaten(comparison, program,
                         ff__matrix_line(&comparison->matrix, system, amount)) == better)
            json_array_append_new(systems, ff__json_text(comparison->matrix.systems.items[system]));
    return systems;
}

json_t *ff__limits_results(const struct ff__comparison *comparison) {
    json_t *all = ff__must(json_array());
    for (unsigned program = 0; program < comparison->programs.count; program++) {
        const struct ff__limits *limits = &comparison->outcomes[program].limits;
        for (unsigned amount = 0; limits->items && amount < comparison->matrix.budget_count;
             amount++) {
            json_t *limit =
                limit_of(comparison, program, amount, "lower bound", &limits->items[amount].bound);
            ff__json_set(limit, "moved_less",
                         beaters_of(comparison, program, amount, BETTER_BYTES));
            ff__json_set(limit, "took_less", beaters_of(comparison, program, amount, BETTER_TIME));
            json_array_append_new(all, limit);
            if (limits->parallel)
                json_array_append_new(all, limit_of(comparison, program, amount, "reference",
                                                    &limits->items[amount].reference));
        }
    }
    return all;
}
