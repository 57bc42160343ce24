#include "study/repro/rows.h"

#include "base/parse.h"
#include "report/complain.h"
#include "report/json.h"

#include <farfault/mask.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what columns show ---- */

/* Kernels and 45 us a fault, which the flat model of faults keeps apart. */
static double total_us(const struct ff__sim_result *result) {
    return (double)(result->kernel_ns + result->fault_ns) / 1e3;
}

static double faults(const struct ff__sim_result *result) {
    return (double)result->faults;
}

static double thrashed(const struct ff__sim_result *result) {
    return (double)result->thrashed;
}

static double pages_in(const struct ff__sim_result *result) {
    return (double)result->pages_in;
}

static const struct {
    const char *name;
    double (*of)(const struct ff__sim_result *result);
} metrics[] = {
    {"total_us", total_us}, {"faults", faults}, {"thrashed", thrashed}, {"pages_in", pages_in}};

static double (*metric_of(const json_t *column))(const struct ff__sim_result *) {
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        if (strcmp(metrics[i].name, ff__repro_text(column, "metric")) == 0)
            return metrics[i].of;
    return NULL;
}

/* ---- runs ---- */

bool ff__rows_has(const json_t *table) {
    return json_is_array(json_object_get(table, "rows"));
}

/* The number of a row's run, which is added if it is new; false: something of it is unknown. */
static bool run_of(const struct ff__repro_plan *plan, const json_t *table, const json_t *row,
                   const struct ff__gpu *gpu, struct ff__simulations *runs, unsigned *number) {
    struct ff__simulation simulation = {
        .subject = {ff__repro_text(json_object_get(plan->published, "programs"),
                                   ff__repro_text(row, "program")),
                    false, plan->study.seed},
        .gpu = gpu,
        .system = ff__repro_text(json_object_get(table, "systems"), ff__repro_text(row, "config")),
        .devices = 1};
    if (!*simulation.subject.name || !*simulation.system ||
        ff__parse_size(ff__repro_text(row, "memory"), &simulation.memory))
        return false;
    simulation.memory -= simulation.memory % FF_PAGE_SIZE;
    *number = ff__simulations_add(runs, &simulation);
    return true;
}

static int check_columns(const struct ff__repro_plan *plan) {
    size_t i;
    const json_t *columns = json_object_get(plan->published, "columns"), *column;
    if (json_array_size(columns) == 0)
        return ff__complain(FF__EXIT_FAILURE, "%s: rows need \"columns\"", plan->file);
    json_array_foreach(columns, i, column) {
        if (!metric_of(column))
            return ff__complain(FF__EXIT_FAILURE, "%s: columns: there is no metric '%s' of runs",
                                plan->file, ff__repro_text(column, "metric"));
    }
    return 0;
}

int ff__rows_plan(const struct ff__repro_plan *plan, const json_t *table, const struct ff__gpu *gpu,
                  struct ff__simulations *runs) {
    size_t i;
    const json_t *row;
    unsigned number;
    int status = check_columns(plan);
    json_array_foreach(json_object_get(table, "rows"), i, row) {
        if (!status && !run_of(plan, table, row, gpu, runs, &number))
            status = ff__complain(FF__EXIT_FAILURE, "%s: %s: unknown configuration '%s' of '%s'",
                                  plan->file, ff__repro_text(table, "id"),
                                  ff__repro_text(row, "config"), ff__repro_text(row, "program"));
    }
    return status;
}

/* ---- tables ---- */

static void fill_column(const struct ff__repro_plan *plan, const json_t *table,
                        const json_t *column, const struct ff__gpu *gpu,
                        struct ff__simulations *runs, json_t *tables) {
    char *id = ff__text("%s.%s", ff__repro_text(table, "id"), ff__repro_text(column, "id"));
    char *what = ff__text("%s: %s", ff__repro_text(table, "what"), ff__repro_text(column, "what"));
    json_t *out = ff__repro_table(tables, id, what);
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(table, "rows"), i, row) {
        unsigned number;
        run_of(plan, table, row, gpu, runs, &number);
        const struct ff__simulated *found = ff__simulations_at(runs, number);
        char *name =
            ff__text("%s %s", ff__repro_text(row, "config"), ff__repro_text(row, "program"));
        ff__repro_row(out, name, ff__repro_number(row, ff__repro_text(column, "member")),
                      found->good ? metric_of(column)(&found->result) : (double)NAN);
        free(name);
    }
    free(id);
    free(what);
}

void ff__rows_fill(const struct ff__repro_plan *plan, const json_t *table,
                   const struct ff__gpu *gpu, struct ff__simulations *runs, json_t *tables) {
    size_t i;
    const json_t *column;
    json_array_foreach(json_object_get(plan->published, "columns"), i, column)
        fill_column(plan, table, column, gpu, runs, tables);
}
