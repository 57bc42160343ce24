/* A sweep as tables. */
#include "report/table.h"
#include "study/sim/sweep.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MIB 1048576.0

static void ratio_cell(struct ff__table *table, double value) {
    if (isfinite(value))
        ff__table_cell(table, "%.2fx", value);
    else
        ff__table_cell(table, "-");
}

static void share_cell(struct ff__table *table, double value) {
    if (isfinite(value))
        ff__table_cell(table, "%.1f %%", 100 * value);
    else
        ff__table_cell(table, "-");
}

/* Times, or what stands in their place. */
static void add_times(struct ff__table *table, const struct ff__sweep *sweep, unsigned cell) {
    const struct ff__sim_result *result = &ff__sweep_at(sweep, cell)->result;
    if (sweep->untimed) {
        ff__table_cell(table, "%llu", (unsigned long long)result->accesses);
        return;
    }
    ff__table_cell(table, "%.3f", (double)result->time_ns / 1e6);
    ratio_cell(table, ff__sweep_slowdown(sweep, cell));
}

/* Of each program beside the workload the time of one iteration or repetition. */
static void add_beside(struct ff__table *table, const struct ff__sweep *sweep,
                       const struct ff__simulated *simulated) {
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

static void add_line(struct ff__table *table, const struct ff__sweep *sweep, unsigned cell) {
    const struct ff__simulated *simulated = ff__sweep_at(sweep, cell);
    const struct ff__sim_result *result = &simulated->result;
    const struct ff__sweep_place place = ff__sweep_place(sweep, cell);
    char size[FF__QUANTITY];
    ff__table_cells(table, place.system_name,
                    place.memory ? ff__size_text(size, place.memory) : "-", NULL);
    if (!simulated->good) {
        ff__table_cells(table, simulated->cannot ? "cannot run" : "failed", "", "", "", "", "", "",
                        sweep->untimed ? NULL : "", NULL);
        ff__table_cell(table, "%s", simulated->reason);
        return;
    }
    add_times(table, sweep, cell);
    ff__table_cell(table, "%llu", (unsigned long long)result->faults);
    ff__table_cell(table, "%.1f", (double)result->bytes_in / MIB);
    ff__table_cell(table, "%.1f", (double)result->bytes_out / MIB);
    share_cell(table, ff__sim_hit_rate(result));
    share_cell(table, ff__sim_accuracy(result));
    ff__table_cell(table, "%llu", (unsigned long long)result->thrashed);
    add_beside(table, sweep, simulated);
}

static void show_findings(const struct ff__sweep *sweep, unsigned cell) {
    const struct ff__simulated *simulated = ff__sweep_at(sweep, cell);
    const struct ff__sweep_place place = ff__sweep_place(sweep, cell);
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
    char size[FF__QUANTITY];
    struct ff__table table;
    printf("%s, footprint %s, %s on %u x %s\n", sweep->workloads.items[workload],
           ff__size_text(size, sweep->footprints[workload]),
           sweep->untimed ? "untimed" : "modelled", sweep->devices, sweep->gpus[gpu].name);
    ff__sweep_show_limits(sweep, workload);
    ff__table_init(&table, sweep->untimed ? "lrrrrrrrrl" : "lrrrrrrrrrl");
    ff__table_cells(&table, "system", "memory", NULL);
    if (sweep->untimed)
        ff__table_cells(&table, "accesses", NULL);
    else
        ff__table_cells(&table, "modelled ms", "x in-memory", NULL);
    ff__table_cells(&table, "faults", "MiB in", "MiB out", "hit rate", "accuracy", "thrashed", "",
                    NULL);
    for (unsigned line = 0; line < sweep->line_count; line++)
        add_line(&table, sweep, ff__sweep_cell(sweep, workload, gpu, line));
    ff__table_print(&table, stdout, 2);
    ff__table_fini(&table);
    putchar('\n');
    for (unsigned line = 0; line < sweep->line_count; line++)
        show_findings(sweep, ff__sweep_cell(sweep, workload, gpu, line));
    fflush(stdout);
}

void ff__sweep_show_means(const struct ff__sweep *sweep) {
    struct ff__table table;
    ff__table_init(&table, "llrrrr");
    ff__table_cells(&table, "system", "device", "memory", "faster than " FF__SYSTEM_BASELINE,
                    "x in-memory", "workloads", NULL);
    for (unsigned gpu = 0; gpu < sweep->gpu_count; gpu++) {
        for (unsigned budget = 0; budget < sweep->budget_count; budget++) {
            for (unsigned system = 0; system < sweep->system_names.count; system++) {
                struct ff__sweep_mean mean = ff__sweep_mean(sweep, gpu, system, budget);
                ff__table_cells(&table, sweep->system_names.items[system], sweep->gpus[gpu].name,
                                sweep->budgets[budget].text, NULL);
                ratio_cell(&table, mean.faster);
                ratio_cell(&table, mean.slowdown);
                ff__table_cell(&table, "%u", mean.count);
            }
        }
    }
    puts("geometric means of modelled times");
    ff__table_print(&table, stdout, 2);
    ff__table_fini(&table);
}
