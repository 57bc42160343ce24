/* A sweep as tables. */
#include "report/table.h"
#include "study/sim/sweep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct ff__simulated *at(const struct ff__matrix *matrix, unsigned cell) {
    return ff__sweep_at(matrix->self, cell);
}

static void accesses_cell(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell) {
    ff__table_cell(table, "%llu", (unsigned long long)at(matrix, cell)->result.accesses);
}

static void time_cell(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell) {
    ff__table_cell(table, "%.3f", (double)at(matrix, cell)->result.time_ns / 1e6);
}

static void accuracy_cell(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell) {
    ff__share_cell(table, ff__sim_accuracy(&at(matrix, cell)->result));
}

static void thrashed_cell(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell) {
    ff__table_cell(table, "%llu", (unsigned long long)at(matrix, cell)->result.thrashed);
}

/* Of each program beside the workload the time of one iteration or repetition. */
static void beside_cell(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell) {
    const struct ff__sweep *sweep = matrix->self;
    const struct ff__simulated *simulated = at(matrix, cell);
    char text[256] = "";
    unsigned program = 0;
    for (unsigned i = 0; i < sweep->beside.count; i++) {
        size_t used = strlen(text);
        if (strcmp(sweep->beside.items[i], FF__IDLE_DEVICE) == 0)
            continue;
        const struct ff__sim_result *result = &simulated->beside[program++];
        snprintf(text + used, sizeof text - used, "%s%s %.3f ms",
                 used ? ", " : "beside: ", sweep->beside.items[i], ff__sweep_repetition_ms(result));
    }
    ff__table_cell(table, "%s", text);
}

/* Without times there is one column less. */
static void make_table(const struct ff__sweep *sweep, unsigned workload, unsigned gpu, char *align,
                       struct ff__table *table) {
    const struct ff__column *const moved = ff__columns_moved;
    const struct ff__column columns[] = {{'r', "accesses", accesses_cell},
                                         {'r', "modelled ms", time_cell},
                                         ff__column_slowdown,
                                         moved[0],
                                         moved[1],
                                         moved[2],
                                         moved[3],
                                         {'r', "accuracy", accuracy_cell},
                                         {'r', "thrashed", thrashed_cell},
                                         {'l', "", beside_cell}};
    enum { COUNT = sizeof columns / sizeof columns[0] };
    struct ff__column untimed[COUNT - 2] = {columns[0]};
    memcpy(untimed + 1, columns + 3, sizeof untimed - sizeof untimed[0]);
    ff__matrix_table(&sweep->matrix, workload, gpu, sweep->untimed ? untimed : columns + 1,
                     sweep->untimed ? COUNT - 2 : COUNT - 1, align, table);
}

static void show_findings(const struct ff__sweep *sweep, unsigned cell) {
    const struct ff__simulated *simulated = ff__sweep_at(sweep, cell);
    const struct ff__matrix_place place = ff__matrix_place(&sweep->matrix, cell);
    char size[FF__QUANTITY];
    if (simulated->finding_count == 0)
        return;
    printf("%s, %s:\n", place.system_name, place.memory ? ff__size_text(size, place.memory) : "-");
    for (unsigned i = 0; i < simulated->finding_count; i++) {
        const struct ff__finding_text *found = &simulated->findings[i];
        if (found->kernel[0])
            printf("  %s %s: %s\n", found->kernel, found->range, found->text);
        else
            printf("  %s\n", found->text);
    }
    printf("\n");
}

void ff__sweep_show_limits(const struct ff__sweep *sweep, unsigned workload) {
    const struct ff_trace_info *info = sweep->traces ? &sweep->infos[workload] : NULL;
    char size[FF__QUANTITY];
    if (!info || info->accesses)
        return;
    if (info->touches)
        printf("  recorded: what each launch touched first, and again after %s of other pages\n",
               ff__size_text(size, info->memory));
    else
        printf(
            "  recorded: the faults of one run; what was resident in it is not known to be used\n");
}

void ff__sweep_show(const struct ff__sweep *sweep, unsigned workload, unsigned gpu) {
    char size[FF__QUANTITY], align[FF__TABLE_COLUMNS + 1];
    struct ff__table table;
    printf("%s, footprint %s, %s on %u x %s\n", sweep->matrix.subjects.items[workload],
           ff__size_text(size, sweep->matrix.footprints[workload]),
           sweep->untimed ? "untimed" : "modelled", sweep->devices, sweep->gpus[gpu].name);
    ff__sweep_show_limits(sweep, workload);
    make_table(sweep, workload, gpu, align, &table);
    ff__table_print(&table, stdout, 2);
    ff__table_fini(&table);
    putchar('\n');
    for (unsigned line = 0; line < ff__matrix_lines(&sweep->matrix); line++)
        show_findings(sweep, ff__matrix_cell(&sweep->matrix, workload, gpu, line));
    fflush(stdout);
}

struct sim_means {
    const struct ff__matrix *matrix;
    struct ff__table table;
};

static void mean_line(void *self, const struct ff__matrix_place *place) {
    struct sim_means *means = self;
    struct ff__matrix_mean mean =
        ff__matrix_mean(means->matrix, place->device, place->system, place->budget);
    ff__table_cells(&means->table, place->system_name, means->matrix->devices.items[place->device],
                    place->share, NULL);
    ff__ratio_cell(&means->table, mean.faster);
    ff__ratio_cell(&means->table, mean.slowdown);
    ff__table_cell(&means->table, "%u", mean.count);
}

void ff__sweep_show_means(const struct ff__sweep *sweep) {
    struct sim_means means = {.matrix = &sweep->matrix};
    ff__table_init(&means.table, "llrrrr");
    ff__table_cells(&means.table, "system", "device", "memory", "faster than " FF__SYSTEM_BASELINE,
                    "x in-memory", "workloads", NULL);
    ff__matrix_each_mean(&sweep->matrix, mean_line, &means);
    puts("geometric means of modelled times");
    ff__table_print(&means.table, stdout, 2);
    ff__table_fini(&means.table);
}
