/* Forest (Lin et al., ISCA 2025). Its published file lists the tables: what is run for each, and
 * what it shows of the runs. */
#include "cli/cli.h"
#include "cli/find.h"
#include "cli/repro_runs.h"
#include "report/json.h"

#include <farfault/mask.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "published/forest.json"

/* ---- runs ---- */

struct modelled_gpu {
    const char *spec;
    struct ff__gpu gpu;
};

/* Several tables may show the same one. */
struct forest_run {
    const char *workload, *gpu, *system;
    double percent; /* the footprint, of memory */
    uint64_t footprint;
    struct ff__simulation simulation;
    struct ff__simulated simulated;
};

struct forest_repro {
    const struct ff__repro_plan *plan;
    struct modelled_gpu **devices; /* each by its own allocation, as runs point to them */
    struct forest_run *runs;
    unsigned device_count, run_count;
};

#define GROW(array, count) ff__must(realloc(array, ((count) + 1) * sizeof *(array)))

static int add_device(struct forest_repro *work, const char *spec, const struct ff__gpu **out) {
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

static int check_system(const char *spec) {
    struct ff__system system;
    struct ff_error error;
    return ff__system_parse(spec, &system, &error)
               ? ff__complain(FF__EXIT_FAILURE, FILE_NAME ": %s", error.message)
               : 0;
}

static int footprint_of(const struct forest_repro *work, const char *workload, uint64_t *out) {
    const struct ff__subject subject = {workload, false, work->plan->seed};
    struct ff__workload *opened;
    struct ff_error error;
    for (unsigned i = 0; i < work->run_count; i++)
        if (strcmp(work->runs[i].workload, workload) == 0) {
            *out = work->runs[i].footprint;
            return 0;
        }
    if (ff__subject_open(&subject, &opened, &error))
        return ff__complain(FF__EXIT_FAILURE, FILE_NAME ": %s", error.message);
    *out = ff__workload_footprint(opened);
    ff__workload_close(opened);
    return 0;
}

/* ---- tables of the published file ---- */

/* A member of the table, or the one that tables have where they say nothing. */
static const json_t *member(const struct forest_repro *work, const json_t *table,
                            const char *name) {
    const json_t *own = json_object_get(table, name);
    return own ? own : json_object_get(json_object_get(work->plan->published, "defaults"), name);
}

static const char *text_of(const struct forest_repro *work, const json_t *table, const char *name) {
    const char *text = json_string_value(member(work, table, name));
    return text ? text : "";
}

static const json_t *subjects_of(const struct forest_repro *work, const json_t *table) {
    return json_object_get(json_object_get(work->plan->published, "sets"),
                           text_of(work, table, "set"));
}

/* The systems of a list that the table names, of which the fastest counts; NULL: it names one
 * system. */
static const json_t *list_of(const struct forest_repro *work, const char *name) {
    return json_object_get(json_object_get(work->plan->published, "lists"), name);
}

static bool is_asked_for(const struct forest_repro *work, const json_t *table) {
    const char *parts = work->plan->parts;
    return !parts || ff__repro_has_word(parts, ff__repro_text(table, "part"));
}

/* ---- planning ---- */

static struct forest_run *find_run(const struct forest_repro *work, const json_t *table,
                                   const char *workload, const char *system) {
    const char *gpu = text_of(work, table, "gpu");
    double percent = json_number_value(member(work, table, "percent"));
    for (unsigned i = 0; i < work->run_count; i++) {
        struct forest_run *run = &work->runs[i];
        if (strcmp(run->workload, workload) == 0 && strcmp(run->system, system) == 0 &&
            strcmp(run->gpu, gpu) == 0 && run->percent >= percent && run->percent <= percent)
            return run;
    }
    return NULL;
}

static int add_run(struct forest_repro *work, const json_t *table, const char *workload,
                   const char *system) {
    if (find_run(work, table, workload, system))
        return 0;
    struct forest_run run = {.workload = workload,
                             .gpu = text_of(work, table, "gpu"),
                             .system = system,
                             .percent = json_number_value(member(work, table, "percent"))};
    int status = footprint_of(work, workload, &run.footprint);
    uint64_t memory = (uint64_t)((double)run.footprint * 100 / run.percent);
    run.simulation = (struct ff__simulation){.subject = {workload, false, work->plan->seed},
                                             .system = system,
                                             .devices = 1,
                                             .extrapolates = true};
    if (!status)
        status = add_device(work, run.gpu, &run.simulation.gpu);
    if (!status)
        status = check_system(system);
    if (status)
        return status;
    run.simulation.memory = memory - memory % ff__gpu_least_memory(run.simulation.gpu);
    work->runs = GROW(work->runs, work->run_count);
    work->runs[work->run_count++] = run;
    return 0;
}

/* `name`: of a system, or of a list of them. */
static int add_runs(struct forest_repro *work, const json_t *table, const char *workload,
                    const char *name) {
    const json_t *list = list_of(work, name), *item;
    size_t i;
    int status = 0;
    if (!list)
        return add_run(work, table, workload, name);
    json_array_foreach(list, i, item) if (!status) status =
        add_run(work, table, workload, ff__repro_text(item, "system"));
    return status;
}

static int plan_table(struct forest_repro *work, const json_t *table) {
    size_t i;
    const json_t *subject;
    int status = 0;
    json_array_foreach(subjects_of(work, table), i, subject) {
        const char *workload = ff__repro_text(subject, "workload");
        if (!status)
            status = add_runs(work, table, workload, text_of(work, table, "baseline"));
        if (!status)
            status = add_runs(work, table, workload, text_of(work, table, "system"));
    }
    return status;
}

static int complain_no_part(const struct forest_repro *work) {
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

static int plan_runs(struct forest_repro *work) {
    size_t i;
    const json_t *table;
    int status = 0;
    json_array_foreach(json_object_get(work->plan->published, "tables"), i,
                       table) if (!status && is_asked_for(work, table)) status =
        plan_table(work, table);
    return !status && work->run_count == 0 ? complain_no_part(work) : status;
}

/* ---- runs as jobs ---- */

static void run_job(void *self, unsigned index) {
    struct forest_run *run = &((struct forest_repro *)self)->runs[index];
    ff__simulate(&run->simulation, &run->simulated);
}

static char *name_job(const void *self, unsigned index) {
    const struct forest_run *run = &((const struct forest_repro *)self)->runs[index];
    return ff__text("%s, %g %% of %s: %s", run->workload, run->percent, run->gpu, run->system);
}

static struct ff__repro_found found_by_job(void *self, unsigned index) {
    return ff__repro_simulated(&((struct forest_repro *)self)->runs[index].simulated);
}

/* ---- what tables show: a share ---- */

struct ratio {
    double part, whole;
};

static struct ratio faster(const struct forest_run *base, const struct forest_run *other) {
    return (struct ratio){(double)base->simulated.result.time_ns,
                          (double)other->simulated.result.time_ns};
}

/* By cycles of kernels, as GPGPU-Sim prints them: without what faults cost beyond transfers. */
static struct ratio kernels(const struct forest_run *base, const struct forest_run *other) {
    return (struct ratio){(double)base->simulated.result.kernel_ns,
                          (double)other->simulated.result.kernel_ns};
}

static struct ratio thrashed(const struct forest_run *base, const struct forest_run *other) {
    return (struct ratio){(double)other->simulated.result.thrashed,
                          (double)base->simulated.result.thrashed};
}

static struct ratio untouched(const struct forest_run *base, const struct forest_run *other) {
    (void)base;
    return (struct ratio){100 * (double)other->simulated.result.prefetched_useless,
                          (double)other->simulated.result.pages_in};
}

static struct ratio remigrated(const struct forest_run *base, const struct forest_run *other) {
    (void)base;
    return (struct ratio){(double)other->simulated.result.thrashed * FF_PAGE_SIZE,
                          (double)other->footprint};
}

static double driver_ns(const struct forest_run *run) {
    return (double)(run->simulated.result.fault_ns + run->simulated.result.sample_ns);
}

static struct ratio driver(const struct forest_run *base, const struct forest_run *other) {
    return (struct ratio){driver_ns(other), driver_ns(base)};
}

/* `sums`: the value of all programs together is that of the sums, and not a geometric mean. */
static const struct metric {
    const char *name;
    struct ratio (*of)(const struct forest_run *base, const struct forest_run *other);
    bool sums;
} metrics[] = {
    {"faster", faster, false},      {"kernels", kernels, false},      {"thrashed", thrashed, true},
    {"untouched", untouched, true}, {"remigrated", remigrated, true}, {"driver", driver, true},
};

static const struct metric *metric_of(const struct forest_repro *work, const json_t *table) {
    const char *name = text_of(work, table, "metric");
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
    return &metrics[0];
}

/* ---- tables ---- */

/* The run of a system, or the fastest one of a list, whose label is then appended to the row's
 * name. */
static const struct forest_run *pick_run(const struct forest_repro *work, const json_t *table,
                                         const char *workload, const char *name,
                                         const char **label) {
    const json_t *list = list_of(work, name), *item;
    const struct forest_run *best = NULL;
    size_t i;
    if (!list) {
        const struct forest_run *run = find_run(work, table, workload, name);
        return run->simulated.good ? run : NULL;
    }
    json_array_foreach(list, i, item) {
        const struct forest_run *run =
            find_run(work, table, workload, ff__repro_text(item, "system"));
        if (!run->simulated.good ||
            (best && best->simulated.result.time_ns <= run->simulated.result.time_ns))
            continue;
        best = run;
        *label = ff__repro_text(item, "label");
    }
    return best;
}

static double quotient(struct ratio share) {
    return share.whole > 0 ? share.part / share.whole : (double)NAN;
}

/* A row for each program. Of these no value is published: the last row is of all together. */
static void fill_table(const struct forest_repro *work, const json_t *table, json_t *out) {
    const struct metric *metric = metric_of(work, table);
    const json_t *subjects = subjects_of(work, table), *subject;
    struct ratio all = {0, 0};
    struct ff__mean mean = {0};
    size_t i;
    json_array_foreach(subjects, i, subject) {
        const char *workload = ff__repro_text(subject, "workload"), *label = NULL;
        const struct forest_run *base =
            pick_run(work, table, workload, text_of(work, table, "baseline"), &label);
        const struct forest_run *other =
            pick_run(work, table, workload, text_of(work, table, "system"), &label);
        struct ratio share =
            base && other ? metric->of(base, other) : (struct ratio){(double)NAN, 1};
        char *name = ff__text(label ? "%s (%s)" : "%s", ff__repro_text(subject, "program"), label);
        ff__repro_row(out, name, (double)NAN, quotient(share));
        free(name);
        ff__mean_add(&mean, quotient(share));
        all.part += share.part;
        all.whole += share.whole;
    }
    ff__repro_row(out, "all programs", ff__repro_number(table, "paper"),
                  metric->sums ? quotient(all) : ff__mean_value(&mean));
}

static void make_table(const struct forest_repro *work, const json_t *table, json_t *tables) {
    const char *sure = ff__repro_text(table, "sure"), *note = ff__repro_text(table, "note");
    char *what = ff__text("%s%s%s%s%s%s", ff__repro_text(table, "what"), *note ? "; " : "", note,
                          *sure ? "; published value: " : "", sure, "");
    fill_table(work, table, ff__repro_table(tables, ff__repro_text(table, "id"), what));
    free(what);
}

static void make_tables(const struct forest_repro *work, json_t *tables) {
    size_t i;
    const json_t *table;
    json_array_foreach(json_object_get(work->plan->published, "tables"), i,
                       table) if (is_asked_for(work, table)) make_table(work, table, tables);
}

static void forget(struct forest_repro *work) {
    for (unsigned i = 0; i < work->device_count; i++)
        free(work->devices[i]);
    free(work->devices);
    free(work->runs);
}

static int run(const struct ff__repro_plan *plan, json_t *tables) {
    struct forest_repro work = {.plan = plan};
    int status = plan_runs(&work);
    const struct ff__repro_runs runs = {work.run_count, run_job, name_job, found_by_job, &work};
    if (!status)
        status = ff__repro_run_all(plan, &runs);
    if (!status)
        make_tables(&work, tables);
    forget(&work);
    return status;
}

const struct ff__repro ff__repro_forest = {
    .name = "forest",
    .summary = "Lin et al., ISCA 2025, from third-party notes",
    .run = run,
};
