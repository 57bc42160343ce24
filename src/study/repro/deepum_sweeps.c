/* Figures 11 and 12: the number of kernels ahead (N), and the shape of the tables, in all
 * configurations of Figure 9(b). The text names the best value of each alone. */
#include "study/repro/deepum.h"

#include "report/text.h"
#include "study/repro/deepum_energy.h"

#include <math.h>
#include <stdlib.h>

#define ENERGY "the same, of the energy"

struct sweep {
    const char *id, *what;
    const json_t *values; /* one system each */
    size_t base;          /* the value that all are compared with */
    char *(*system)(const json_t *value);
    char *(*name)(const json_t *value);
};

static char *degree_system(const json_t *degree) {
    return ff__text(FF__DEEPUM ",kernels=%d", (int)json_integer_value(degree));
}

static char *degree_name(const json_t *degree) {
    return ff__text("N = %d", (int)json_integer_value(degree));
}

static char *table_system(const json_t *row) {
    return ff__text(FF__DEEPUM ",rows=%d,associativity=%d,successors=%d",
                    (int)ff__repro_number(row, "rows"), (int)ff__repro_number(row, "ways"),
                    (int)ff__repro_number(row, "successors"));
}

static char *table_name(const json_t *row) {
    return ff__text("%s", ff__repro_text(row, "config"));
}

static void plan_sweep(struct ff__deepum_runs *work, const json_t *configs,
                       const struct sweep *sweep) {
    size_t i, j;
    json_t *config, *value;
    json_array_foreach(sweep->values, i, value) {
        char *system = sweep->system(value);
        json_array_foreach(configs, j, config)
            ff__deepum_runs_add(work, ff__repro_text(config, "workload"), system, FF__DEEPUM_CARD);
        free(system);
    }
}

/* A table of one value of the sweep. */
static json_t *value_table(json_t *tables, const char *id, const char *what, const char *name) {
    char *full = ff__text("%s.%s", id, name), *text = ff__text("%s: %s", what, name);
    json_t *table = ff__repro_table(tables, full, text);
    free(full);
    free(text);
    return table;
}

/* One value of the sweep in all configurations; adds to the two tables of means. */
static void add_value(struct ff__deepum_runs *work, const json_t *configs,
                      const struct sweep *sweep, const json_t *value, json_t *tables,
                      json_t *speeds, json_t *energies) {
    char *system = sweep->system(value), *name = sweep->name(value);
    char *base = sweep->system(json_array_get(sweep->values, sweep->base));
    char *energy_id = ff__text("%s.energy", sweep->id);
    json_t *table = value_table(tables, sweep->id, sweep->what, name), *config,
           *energy_table = value_table(tables, energy_id, ENERGY, name);
    struct ff__mean speed = {0}, energy = {0};
    size_t i;
    json_array_foreach(configs, i, config) {
        const char *workload = ff__repro_text(config, "workload");
        const struct ff__simulated *ours = ff__deepum_run(work, workload, system, FF__DEEPUM_CARD),
                                   *theirs = ff__deepum_run(work, workload, base, FF__DEEPUM_CARD),
                                   *resident = ff__deepum_run(work, workload, FF__DEEPUM_RESIDENT,
                                                              FF__DEEPUM_CARD);
        double faster = ff__deepum_seconds(theirs) / ff__deepum_seconds(ours);
        ff__repro_row(table, ff__repro_text(config, "config"), (double)NAN, faster);
        double less = ff__deepum_joules(ours, resident) / ff__deepum_joules(theirs, resident);
        ff__repro_row(energy_table, ff__repro_text(config, "config"), (double)NAN, less);
        ff__mean_add(&speed, faster);
        ff__mean_add(&energy, less);
    }
    ff__repro_row(speeds, name, (double)NAN, ff__mean_value(&speed));
    ff__repro_row(energies, name, (double)NAN, ff__mean_value(&energy));
    free(system);
    free(name);
    free(base);
    free(energy_id);
}

static void add_sweep(struct ff__deepum_runs *work, const json_t *configs,
                      const struct sweep *sweep, json_t *tables) {
    char *energy_id = ff__text("%s.energy", sweep->id);
    json_t *speeds = ff__repro_table(tables, sweep->id, sweep->what);
    json_t *energies = ff__repro_table(tables, energy_id, ENERGY), *value;
    size_t i;
    json_array_foreach(sweep->values, i, value)
        add_value(work, configs, sweep, value, tables, speeds, energies);
    free(energy_id);
}

int ff__repro_deepum_sweeps(const struct ff__repro_plan *plan, json_t *tables) {
    const json_t *configs = json_object_get(plan->published, "configs");
    const struct sweep sweeps[] = {
        {"11", "kernels ahead: times as fast as N = 8",
         json_object_get(json_object_get(plan->published, "degree"), "values"), 1, degree_system,
         degree_name},
        {"12", "tables: times as fast as Config0", json_object_get(plan->published, "tables"), 0,
         table_system, table_name},
    };
    struct ff__deepum_runs work;
    int status = ff__deepum_runs_open(&work, plan);
    size_t i;
    json_t *config;
    if (!status) {
        json_array_foreach(configs, i, config) ff__deepum_runs_add(
            &work, ff__repro_text(config, "workload"), FF__DEEPUM_RESIDENT, FF__DEEPUM_CARD);
        for (i = 0; i < 2; i++)
            plan_sweep(&work, configs, &sweeps[i]);
        status = ff__deepum_runs_make(&work, plan);
    }
    for (i = 0; i < 2 && !status; i++)
        add_sweep(&work, configs, &sweeps[i], tables);
    ff__deepum_runs_close(&work);
    return status;
}
