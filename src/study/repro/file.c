/* A repro that is a file of data alone: it lists tables, what is run for each, and what the table
 * shows of the runs (docs/simulation.md, "A paper as a file"). Forest, ARIADNE, UVMSmart, and any
 * of a user's. */
#include "report/complain.h"
#include "report/json.h"
#include "study/find.h"
#include "study/repro/experiments.h"
#include "study/repro/rows.h"
#include "study/sim/simulations.h"

#include <farfault/mask.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- runs ---- */

struct modelled_gpu {
    const char *spec;
    struct ff__gpu gpu;
};

/* A program, and the bytes that it needs. */
struct file_program {
    const char *workload;
    uint64_t footprint;
};

struct file_repro {
    const struct ff__repro_plan *plan;
    struct modelled_gpu **devices; /* each by its own allocation, as runs point to them */
    struct file_program *programs;
    struct ff__simulations runs; /* several tables may show the same one */
    unsigned device_count, program_count;
};

#define GROW(array, count) ff__must(realloc(array, ((count) + 1) * sizeof *(array)))

static int add_device(struct file_repro *work, const char *spec, const struct ff__gpu **out) {
    for (unsigned i = 0; i < work->device_count; i++)
        if (strcmp(work->devices[i]->spec, spec) == 0) {
            *out = &work->devices[i]->gpu;
            return 0;
        }
    work->devices = GROW(work->devices, work->device_count);
    struct modelled_gpu *device = work->devices[work->device_count++] =
        ff__must(calloc(1, sizeof *device));
    device->spec = spec;
    *out = &device->gpu;
    return ff__find_gpu(spec, FF__EXIT_FAILURE, &device->gpu);
}

/* What is wrong with a table of the file, in one line. */
static int complain(const struct file_repro *work, const json_t *table, const char *what,
                    const char *name) {
    const char *id = ff__repro_text(table, "id");
    return ff__complain(FF__EXIT_FAILURE, "%s: table '%s': %s%s%s%s", work->plan->file, id, what,
                        name ? " '" : "", name ? name : "", name ? "'" : "");
}

static int check_system(const struct file_repro *work, const json_t *table, const char *spec) {
    struct ff__system system;
    struct ff_error error;
    return ff__system_parse(spec, &system, &error) ? complain(work, table, error.message, NULL) : 0;
}

static int footprint_of(struct file_repro *work, const json_t *table, const char *workload,
                        uint64_t *out) {
    const struct ff__subject subject = {workload, false, work->plan->study.seed};
    struct ff__workload *opened;
    struct ff_error error;
    for (unsigned i = 0; i < work->program_count; i++)
        if (strcmp(work->programs[i].workload, workload) == 0) {
            *out = work->programs[i].footprint;
            return 0;
        }
    if (ff__subject_open(&subject, &opened, &error))
        return complain(work, table, error.message, NULL);
    *out = ff__workload_footprint(opened);
    ff__workload_close(opened);
    work->programs = GROW(work->programs, work->program_count);
    work->programs[work->program_count++] = (struct file_program){workload, *out};
    return 0;
}

/* ---- tables of the published file ---- */

/* A member of the table, or the one that tables have where they say nothing. */
static const json_t *member(const struct file_repro *work, const json_t *table, const char *name) {
    const json_t *own = json_object_get(table, name);
    return own ? own : json_object_get(json_object_get(work->plan->published, "defaults"), name);
}

static const char *text_of(const struct file_repro *work, const json_t *table, const char *name) {
    const char *text = json_string_value(member(work, table, name));
    return text ? text : "";
}

static const json_t *subjects_of(const struct file_repro *work, const json_t *table) {
    return json_object_get(json_object_get(work->plan->published, "sets"),
                           text_of(work, table, "set"));
}

/* The systems of a list that the table names, of which the fastest counts; NULL: it names one
 * system. */
static const json_t *list_of(const struct file_repro *work, const char *name) {
    return json_object_get(json_object_get(work->plan->published, "lists"), name);
}

static bool is_asked_for(const struct file_repro *work, const json_t *table) {
    const char *parts = work->plan->parts;
    return !parts || ff__repro_has_word(parts, ff__repro_text(table, "part"));
}

/* ---- what tables show: a share ---- */

struct ratio {
    double part, whole;
};

static struct ratio faster(const struct ff__simulated *base, const struct ff__simulated *other) {
    return (struct ratio){(double)base->result.time_ns, (double)other->result.time_ns};
}

static struct ratio slower(const struct ff__simulated *base, const struct ff__simulated *other) {
    return faster(other, base);
}

/* By cycles of kernels, as GPGPU-Sim prints them: without what faults cost beyond transfers. */
static struct ratio kernels(const struct ff__simulated *base, const struct ff__simulated *other) {
    return (struct ratio){(double)base->result.kernel_ns, (double)other->result.kernel_ns};
}

static struct ratio thrashed(const struct ff__simulated *base, const struct ff__simulated *other) {
    return (struct ratio){(double)other->result.thrashed, (double)base->result.thrashed};
}

static struct ratio untouched(const struct ff__simulated *base, const struct ff__simulated *other) {
    (void)base;
    return (struct ratio){100 * (double)other->result.prefetched_useless,
                          (double)other->result.pages_in};
}

static struct ratio remigrated(const struct ff__simulated *base,
                               const struct ff__simulated *other) {
    (void)base;
    return (struct ratio){(double)other->result.thrashed * FF_PAGE_SIZE, (double)other->footprint};
}

static double driver_ns(const struct ff__simulated *run) {
    return (double)(run->result.fault_ns + run->result.sample_ns);
}

static struct ratio driver(const struct ff__simulated *base, const struct ff__simulated *other) {
    return (struct ratio){driver_ns(other), driver_ns(base)};
}

/* `sums`: the value of all programs together is that of the sums, and not a geometric mean. */
static const struct metric {
    const char *name;
    struct ratio (*of)(const struct ff__simulated *base, const struct ff__simulated *other);
    bool sums;
} metrics[] = {
    {"faster", faster, false},    {"slower", slower, false},      {"kernels", kernels, false},
    {"thrashed", thrashed, true}, {"untouched", untouched, true}, {"remigrated", remigrated, true},
    {"driver", driver, true},
};

/* NULL: there is none of that name. */
static const struct metric *metric_of(const struct file_repro *work, const json_t *table) {
    const char *name = text_of(work, table, "metric");
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
    return *name ? NULL : &metrics[0];
}

/* ---- planning ---- */

/* One of the two sides of a table's ratio. */
struct ratio_side {
    const char *system; /* or a list of them */
    double percent;     /* the footprint, of memory */
};

static struct ratio_side side_of(const struct file_repro *work, const json_t *table) {
    return (struct ratio_side){text_of(work, table, "system"),
                               json_number_value(member(work, table, "percent"))};
}

/* With as much memory, unless the table says otherwise. */
static struct ratio_side baseline_of(const struct file_repro *work, const json_t *table) {
    const json_t *own = member(work, table, "baseline_percent");
    return (struct ratio_side){text_of(work, table, "baseline"),
                               own ? json_number_value(own) : side_of(work, table).percent};
}

/* The number of a table's run of a system, which is planned if it is new. */
static int run_of(struct file_repro *work, const json_t *table, const char *workload,
                  const char *system, double percent, unsigned *number) {
    uint64_t footprint = 0;
    struct ff__simulation simulation = {.subject = {workload, false, work->plan->study.seed},
                                        .system = system,
                                        .devices = 1,
                                        .extrapolates = true};
    int status = footprint_of(work, table, workload, &footprint);
    if (!status)
        status = add_device(work, text_of(work, table, "gpu"), &simulation.gpu);
    if (!status)
        status = check_system(work, table, system);
    if (status)
        return status;
    uint64_t memory = (uint64_t)((double)footprint * 100 / percent);
    simulation.memory = memory - memory % ff__gpu_least_memory(simulation.gpu);
    if (simulation.memory == 0) /* which would be enough for all */
        return complain(work, table, "the device can not have so little memory for", workload);
    *number = ff__simulations_add(&work->runs, &simulation);
    return 0;
}

static int add_runs(struct file_repro *work, const json_t *table, const char *workload,
                    struct ratio_side side) {
    const json_t *list = list_of(work, side.system), *item;
    size_t i;
    int status = 0;
    unsigned number;
    if (!list)
        return run_of(work, table, workload, side.system, side.percent, &number);
    json_array_foreach(list, i, item) if (!status) status =
        run_of(work, table, workload, ff__repro_text(item, "system"), side.percent, &number);
    return status;
}

static bool has_text(const struct file_repro *work, const json_t *table, const char *name) {
    return *text_of(work, table, name) != '\0';
}

static bool is_share(double percent) {
    return percent >= 1 && percent <= 10000;
}

static int plan_rows(struct file_repro *work, const json_t *table) {
    const struct ff__gpu *gpu;
    if (!has_text(work, table, "gpu"))
        return complain(work, table, "it needs a \"gpu\"", NULL);
    int status = add_device(work, text_of(work, table, "gpu"), &gpu);
    return status ? status : ff__rows_plan(work->plan, table, gpu, &work->runs);
}

/* What the table lacks that its runs need. */
static int check_table(const struct file_repro *work, const json_t *table) {
    if (!*ff__repro_text(table, "id"))
        return ff__complain(FF__EXIT_FAILURE, "%s: a table without an \"id\"", work->plan->file);
    if (!has_text(work, table, "system") || !has_text(work, table, "baseline"))
        return complain(work, table, "it needs a \"system\" and a \"baseline\"", NULL);
    if (!has_text(work, table, "gpu"))
        return complain(work, table, "it needs a \"gpu\"", NULL);
    if (json_array_size(subjects_of(work, table)) == 0)
        return complain(work, table, "there are no programs in the set",
                        text_of(work, table, "set"));
    if (!is_share(side_of(work, table).percent) || !is_share(baseline_of(work, table).percent))
        return complain(work, table, "\"percent\" must be 1 to 10000: the footprint, of memory",
                        NULL);
    return metric_of(work, table)
               ? 0
               : complain(work, table, "there is no metric", text_of(work, table, "metric"));
}

static int plan_table(struct file_repro *work, const json_t *table) {
    size_t i;
    const json_t *subject;
    if (ff__rows_has(table))
        return plan_rows(work, table);
    int status = check_table(work, table);
    json_array_foreach(subjects_of(work, table), i, subject) {
        const char *workload = ff__repro_text(subject, "workload");
        if (!status)
            status = add_runs(work, table, workload, baseline_of(work, table));
        if (!status)
            status = add_runs(work, table, workload, side_of(work, table));
    }
    return status;
}

static int complain_no_part(const struct file_repro *work) {
    size_t i;
    const json_t *table;
    char *all = ff__text("%s", "");
    json_array_foreach(json_object_get(work->plan->published, "tables"), i, table) {
        const char *part = ff__repro_text(table, "part");
        if (ff__repro_has_word(all, part))
            continue;
        char *longer = ff__text("%s%s%s", all, *all ? "," : "", part);
        free(all);
        all = longer;
    }
    int status = ff__complain(FF__EXIT_USAGE, "--parts: '%s' names no part; there are: %s",
                              work->plan->parts ? work->plan->parts : "", all);
    free(all);
    return status;
}

static int plan_runs(struct file_repro *work) {
    size_t i;
    const json_t *table;
    int status = 0;
    if (json_array_size(json_object_get(work->plan->published, "tables")) == 0)
        return ff__complain(FF__EXIT_FAILURE, "%s: there are no tables in it", work->plan->file);
    json_array_foreach(json_object_get(work->plan->published, "tables"), i,
                       table) if (!status && is_asked_for(work, table)) status =
        plan_table(work, table);
    return !status && work->runs.count == 0 ? complain_no_part(work) : status;
}

/* ---- tables ---- */

/* The run of a system, or the fastest one of a list, whose label is then appended to the row's
 * name. */
static const struct ff__simulated *pick_run(struct file_repro *work, const json_t *table,
                                            const char *workload, struct ratio_side side,
                                            const char **label) {
    const json_t *list = list_of(work, side.system), *item;
    const struct ff__simulated *best = NULL;
    size_t i;
    unsigned number;
    if (!list) {
        run_of(work, table, workload, side.system, side.percent, &number);
        best = ff__simulations_at(&work->runs, number);
        return best->good ? best : NULL;
    }
    json_array_foreach(list, i, item) {
        run_of(work, table, workload, ff__repro_text(item, "system"), side.percent, &number);
        const struct ff__simulated *run = ff__simulations_at(&work->runs, number);
        if (!run->good || (best && best->result.time_ns <= run->result.time_ns))
            continue;
        best = run;
        *label = ff__repro_text(item, "label");
    }
    return best;
}

static double quotient(struct ratio share) {
    return share.whole > 0 ? share.part / share.whole : (double)NAN;
}

/* A row for each program, with the value that is published of it, if any; the last row is of all
 * together. */
static void fill_table(struct file_repro *work, const json_t *table, json_t *out) {
    const struct metric *metric = metric_of(work, table);
    const json_t *subjects = subjects_of(work, table), *subject;
    struct ratio all = {0, 0};
    struct ff__mean mean = {0};
    size_t i;
    json_array_foreach(subjects, i, subject) {
        const char *workload = ff__repro_text(subject, "workload"), *label = NULL;
        const struct ff__simulated *base =
            pick_run(work, table, workload, baseline_of(work, table), &label);
        const struct ff__simulated *other =
            pick_run(work, table, workload, side_of(work, table), &label);
        struct ratio share =
            base && other ? metric->of(base, other) : (struct ratio){(double)NAN, 1};
        const char *program = ff__repro_text(subject, "program");
        char *name = ff__text(label ? "%s (%s)" : "%s", program, label);
        ff__repro_row(out, name, ff__repro_number(json_object_get(table, "papers"), program),
                      quotient(share));
        free(name);
        ff__mean_add(&mean, quotient(share));
        all.part += share.part;
        all.whole += share.whole;
    }
    ff__repro_row(out, "all programs", ff__repro_number(table, "paper"),
                  metric->sums ? quotient(all) : ff__mean_value(&mean));
}

static void make_table(struct file_repro *work, const json_t *table, json_t *tables) {
    const struct ff__gpu *gpu;
    if (ff__rows_has(table)) {
        add_device(work, text_of(work, table, "gpu"), &gpu);
        ff__rows_fill(work->plan, table, gpu, &work->runs, tables);
        return;
    }
    const char *sure = ff__repro_text(table, "sure"), *note = ff__repro_text(table, "note");
    char *what = ff__text("%s%s%s%s%s%s", ff__repro_text(table, "what"), *note ? "; " : "", note,
                          *sure ? "; published value: " : "", sure, "");
    fill_table(work, table, ff__repro_table(tables, ff__repro_text(table, "id"), what));
    free(what);
}

static void make_tables(struct file_repro *work, json_t *tables) {
    size_t i;
    const json_t *table;
    json_array_foreach(json_object_get(work->plan->published, "tables"), i,
                       table) if (is_asked_for(work, table)) make_table(work, table, tables);
}

static void forget(struct file_repro *work) {
    for (unsigned i = 0; i < work->device_count; i++)
        free(work->devices[i]);
    free(work->devices);
    free(work->programs);
    ff__simulations_free(&work->runs);
}

int ff__repro_file(const struct ff__repro_plan *plan, json_t *tables) {
    struct file_repro work = {.plan = plan};
    if (json_object_get(plan->published, "experiments"))
        return ff__experiments_run(plan, tables);
    int status = plan_runs(&work);
    if (!status)
        status = ff__simulations_run(&plan->study, &work.runs);
    if (!status)
        make_tables(&work, tables);
    forget(&work);
    return status;
}
