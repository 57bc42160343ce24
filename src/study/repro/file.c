/* A repro that is a file of data alone: it lists tables, what is run for each, and what the table
 * shows of the runs (docs/simulation.md, "A paper as a file"). Forest, ARIADNE, and any of a
 * user's. */
#include "report/complain.h"
#include "report/json.h"
#include "study/find.h"
#include "study/repro/runs.h"

#include <farfault/mask.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- runs ---- */

struct modelled_gpu {
    const char *spec;
    struct ff__gpu gpu;
};

/* Several tables may show the same one. */
struct file_run {
    const char *workload, *gpu, *system;
    double percent; /* the footprint, of memory */
    uint64_t footprint;
    struct ff__simulation simulation;
    struct ff__simulated simulated;
};

struct file_repro {
    const struct ff__repro_plan *plan;
    struct modelled_gpu **devices; /* each by its own allocation, as runs point to them */
    struct file_run *runs;
    unsigned device_count, run_count;
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

static int footprint_of(const struct file_repro *work, const json_t *table, const char *workload,
                        uint64_t *out) {
    const struct ff__subject subject = {workload, false, work->plan->seed};
    struct ff__workload *opened;
    struct ff_error error;
    for (unsigned i = 0; i < work->run_count; i++)
        if (strcmp(work->runs[i].workload, workload) == 0) {
            *out = work->runs[i].footprint;
            return 0;
        }
    if (ff__subject_open(&subject, &opened, &error))
        return complain(work, table, error.message, NULL);
    *out = ff__workload_footprint(opened);
    ff__workload_close(opened);
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

static struct ratio faster(const struct file_run *base, const struct file_run *other) {
    return (struct ratio){(double)base->simulated.result.time_ns,
                          (double)other->simulated.result.time_ns};
}

static struct ratio slower(const struct file_run *base, const struct file_run *other) {
    return faster(other, base);
}

/* By cycles of kernels, as GPGPU-Sim prints them: without what faults cost beyond transfers. */
static struct ratio kernels(const struct file_run *base, const struct file_run *other) {
    return (struct ratio){(double)base->simulated.result.kernel_ns,
                          (double)other->simulated.result.kernel_ns};
}

static struct ratio thrashed(const struct file_run *base, const struct file_run *other) {
    return (struct ratio){(double)other->simulated.result.thrashed,
                          (double)base->simulated.result.thrashed};
}

static struct ratio untouched(const struct file_run *base, const struct file_run *other) {
    (void)base;
    return (struct ratio){100 * (double)other->simulated.result.prefetched_useless,
                          (double)other->simulated.result.pages_in};
}

static struct ratio remigrated(const struct file_run *base, const struct file_run *other) {
    (void)base;
    return (struct ratio){(double)other->simulated.result.thrashed * FF_PAGE_SIZE,
                          (double)other->footprint};
}

static double driver_ns(const struct file_run *run) {
    return (double)(run->simulated.result.fault_ns + run->simulated.result.sample_ns);
}

static struct ratio driver(const struct file_run *base, const struct file_run *other) {
    return (struct ratio){driver_ns(other), driver_ns(base)};
}

/* `sums`: the value of all programs together is that of the sums, and not a geometric mean. */
static const struct metric {
    const char *name;
    struct ratio (*of)(const struct file_run *base, const struct file_run *other);
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

static struct file_run *find_run(const struct file_repro *work, const json_t *table,
                                 const char *workload, const char *system, double percent) {
    const char *gpu = text_of(work, table, "gpu");
    for (unsigned i = 0; i < work->run_count; i++) {
        struct file_run *run = &work->runs[i];
        if (strcmp(run->workload, workload) == 0 && strcmp(run->system, system) == 0 &&
            strcmp(run->gpu, gpu) == 0 && run->percent >= percent && run->percent <= percent)
            return run;
    }
    return NULL;
}

static int add_run(struct file_repro *work, const json_t *table, const char *workload,
                   const char *system, double percent) {
    if (find_run(work, table, workload, system, percent))
        return 0;
    struct file_run run = {.workload = workload,
                           .gpu = text_of(work, table, "gpu"),
                           .system = system,
                           .percent = percent};
    int status = footprint_of(work, table, workload, &run.footprint);
    uint64_t memory = (uint64_t)((double)run.footprint * 100 / run.percent);
    run.simulation = (struct ff__simulation){.subject = {workload, false, work->plan->seed},
                                             .system = system,
                                             .devices = 1,
                                             .extrapolates = true};
    if (!status)
        status = add_device(work, run.gpu, &run.simulation.gpu);
    if (!status)
        status = check_system(work, table, system);
    if (status)
        return status;
    run.simulation.memory = memory - memory % ff__gpu_least_memory(run.simulation.gpu);
    if (run.simulation.memory == 0) /* which would be enough for all */
        return complain(work, table, "the device can not have so little memory for", workload);
    work->runs = GROW(work->runs, work->run_count);
    work->runs[work->run_count++] = run;
    return 0;
}

static int add_runs(struct file_repro *work, const json_t *table, const char *workload,
                    struct ratio_side side) {
    const json_t *list = list_of(work, side.system), *item;
    size_t i;
    int status = 0;
    if (!list)
        return add_run(work, table, workload, side.system, side.percent);
    json_array_foreach(list, i, item) if (!status) status =
        add_run(work, table, workload, ff__repro_text(item, "system"), side.percent);
    return status;
}

static bool has_text(const struct file_repro *work, const json_t *table, const char *name) {
    return *text_of(work, table, name) != '\0';
}

static bool is_share(double percent) {
    return percent >= 1 && percent <= 10000;
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
    return !status && work->run_count == 0 ? complain_no_part(work) : status;
}

/* ---- runs as jobs ---- */

static void run_job(void *self, unsigned index) {
    struct file_run *run = &((struct file_repro *)self)->runs[index];
    ff__simulate(&run->simulation, &run->simulated);
}

static char *name_job(const void *self, unsigned index) {
    const struct file_run *run = &((const struct file_repro *)self)->runs[index];
    return ff__text("%s, %g %% of %s: %s", run->workload, run->percent, run->gpu, run->system);
}

static struct ff__repro_found found_by_job(void *self, unsigned index) {
    return ff__repro_simulated(&((struct file_repro *)self)->runs[index].simulated);
}

/* ---- tables ---- */

/* The run of a system, or the fastest one of a list, whose label is then appended to the row's
 * name. */
static const struct file_run *pick_run(const struct file_repro *work, const json_t *table,
                                       const char *workload, struct ratio_side side,
                                       const char **label) {
    const json_t *list = list_of(work, side.system), *item;
    const struct file_run *best = NULL;
    size_t i;
    if (!list) {
        const struct file_run *run = find_run(work, table, workload, side.system, side.percent);
        return run->simulated.good ? run : NULL;
    }
    json_array_foreach(list, i, item) {
        const struct file_run *run =
            find_run(work, table, workload, ff__repro_text(item, "system"), side.percent);
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

/* A row for each program, with the value that is published of it, if any; the last row is of all
 * together. */
static void fill_table(const struct file_repro *work, const json_t *table, json_t *out) {
    const struct metric *metric = metric_of(work, table);
    const json_t *subjects = subjects_of(work, table), *subject;
    struct ratio all = {0, 0};
    struct ff__mean mean = {0};
    size_t i;
    json_array_foreach(subjects, i, subject) {
        const char *workload = ff__repro_text(subject, "workload"), *label = NULL;
        const struct file_run *base =
            pick_run(work, table, workload, baseline_of(work, table), &label);
        const struct file_run *other =
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

static void make_table(const struct file_repro *work, const json_t *table, json_t *tables) {
    const char *sure = ff__repro_text(table, "sure"), *note = ff__repro_text(table, "note");
    char *what = ff__text("%s%s%s%s%s%s", ff__repro_text(table, "what"), *note ? "; " : "", note,
                          *sure ? "; published value: " : "", sure, "");
    fill_table(work, table, ff__repro_table(tables, ff__repro_text(table, "id"), what));
    free(what);
}

static void make_tables(const struct file_repro *work, json_t *tables) {
    size_t i;
    const json_t *table;
    json_array_foreach(json_object_get(work->plan->published, "tables"), i,
                       table) if (is_asked_for(work, table)) make_table(work, table, tables);
}

static void forget(struct file_repro *work) {
    for (unsigned i = 0; i < work->device_count; i++)
        free(work->devices[i]);
    free(work->devices);
    free(work->runs);
}

int ff__repro_file(const struct ff__repro_plan *plan, json_t *tables) {
    struct file_repro work = {.plan = plan};
    int status = plan_runs(&work);
    const struct ff__repro_runs runs = {work.run_count, run_job, name_job, found_by_job, &work};
    if (!status)
        status = ff__repro_run_all(plan, &runs);
    if (!status)
        make_tables(&work, tables);
    forget(&work);
    return status;
}
