/* Jung, Kim and Lee, ASPLOS 2023: their runs on a modelled V100, in our words. A run is a few
 * iterations of training; the seconds of 100 are those of the few, and of as many more as the last
 * one. */
#include "cli/repro_deepum.h"

#include "backend/sim/lms/lms.h"
#include "cli/cli.h"
#include "cli/find.h"
#include "cli/repro_runs.h"
#include "report/json.h"
#include "workload/dnn/dnn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_MEMORY (UINT64_C(512) << 30) /* the paper's Table 1 */
#define DEEPUM      "deepum:" FF__DEEPUM_TABLES

/* With the paper's card and what a duplicate fault costs on its host, which is inferred from the
 * paper. */
#define HOST_GPU "v100-32g-pcie:duplicate_ns=2300"

/* A table of the paper's shape, all rows there from the start: 2048 rows of 2 ways, each a block
 * and 4 successors. That a block takes four bytes, as with us, is ours; the paper does not say. */
#define FULL_TABLE (2048u * 2 * (1 + 4) * 4)

enum deepum_variant {
    UM,
    DEEPUM_ALL,
    PREFETCHES,
    PREEVICTS,
    PLUS,
    UM_HOST, /* on HOST_GPU, as those that follow */
    DEEPUM_HOST,
    PREFETCHES_HOST,
    PREEVICTS_HOST,
    PLUS_HOST,
    IDEAL,
    LMS,
    LMS_MOD,
    KINDS
};

/* Systems that learn need a few iterations to reach the steady state. Under LMS every iteration
 * differs, because its allocator fragments memory, and some runs fail only after many iterations;
 * so all are run. */
static const struct {
    const char *system;
    unsigned iterations;
} kinds[KINDS] = {
    [UM] = {"nvidia", 3},
    [DEEPUM_ALL] = {DEEPUM, FF__DEEPUM_LEARNING},
    [PREFETCHES] = {DEEPUM ",evict=lrm,discard=declared", FF__DEEPUM_LEARNING},
    [PREEVICTS] = {DEEPUM ",discard=declared", FF__DEEPUM_LEARNING},
    [PLUS] = {"deepum-plus:" FF__DEEPUM_TABLES, FF__DEEPUM_LEARNING},
    [UM_HOST] = {"nvidia", 3},
    [DEEPUM_HOST] = {DEEPUM, FF__DEEPUM_LEARNING},
    [PREFETCHES_HOST] = {DEEPUM ",evict=lrm,discard=declared", FF__DEEPUM_LEARNING},
    [PREEVICTS_HOST] = {DEEPUM ",discard=declared", FF__DEEPUM_LEARNING},
    [PLUS_HOST] = {"deepum-plus:" FF__DEEPUM_TABLES, FF__DEEPUM_LEARNING},
    [IDEAL] = {NULL, 2},
    [LMS] = {NULL, FF__DEEPUM_ITERATIONS},
    [LMS_MOD] = {NULL, FF__DEEPUM_ITERATIONS},
};

/* What the two sweeps run; more of them would take half an hour. */
static const char *const swept[] = {"gpt2-l:batch=3", "bert-large:batch=16"};

struct deepum_run {
    char *workload, *system;
    enum deepum_variant kind;
    struct ff__simulated simulated;
};

struct deepum_repro {
    struct ff__gpu gpu, host_gpu;
    uint64_t seed;
    struct deepum_run *runs;
    unsigned count;
};

/* ---- runs ---- */

/* The number of the run: an equal one is not made twice. */
static unsigned add_run(struct deepum_repro *work, const char *workload, enum deepum_variant kind,
                        const char *system) {
    char *full = ff__text("%s,iterations=%u", workload, kinds[kind].iterations);
    for (unsigned i = 0; i < work->count; i++) {
        const struct deepum_run *run = &work->runs[i];
        if (run->kind != kind || strcmp(run->workload, full) != 0 ||
            strcmp(run->system, system) != 0)
            continue;
        free(full);
        return i;
    }
    work->runs = ff__must(realloc(work->runs, (work->count + 1) * sizeof *work->runs));
    work->runs[work->count] =
        (struct deepum_run){.workload = full, .system = ff__text("%s", system), .kind = kind};
    return work->count++;
}

static void run_lms(const struct deepum_repro *work, struct deepum_run *run) {
    /* fully resident, nothing is swapped */
    uint64_t memory = run->kind == IDEAL ? 0 : FF__DEEPUM_MEMORY;
    const struct ff__lms_config config = {&work->gpu, memory, run->kind == LMS_MOD};
    struct ff__simulated *out = &run->simulated;
    struct ff__workload *workload;
    struct ff_error error = {""};
    int status = ff__workload_open(run->workload, work->seed, &workload, &error);
    if (!status) {
        status = ff__lms_run(&config, workload, kinds[run->kind].iterations, &out->result, &error);
        ff__workload_close(workload);
    }
    out->good = status == 0;
    snprintf(out->reason, sizeof out->reason, "%s", error.message);
}

static bool is_on_host_gpu(enum deepum_variant kind) {
    return kind >= UM_HOST && kind <= PLUS_HOST;
}

static void run_job(void *self, unsigned index) {
    struct deepum_repro *work = self;
    struct deepum_run *run = &work->runs[index];
    const struct ff__simulation simulation = {
        .subject = {run->workload, false, work->seed},
        .gpu = is_on_host_gpu(run->kind) ? &work->host_gpu : &work->gpu,
        .system = run->system,
        .memory = FF__DEEPUM_MEMORY,
        .devices = 1,
    };
    if (!kinds[run->kind].system)
        run_lms(work, run);
    else
        ff__simulate(&simulation, &run->simulated);
}

static char *name_job(const void *self, unsigned index) {
    const struct deepum_run *run = &((const struct deepum_repro *)self)->runs[index];
    const char *model = run->kind == IDEAL          ? " fully resident"
                        : run->kind == LMS_MOD      ? "-mod"
                        : is_on_host_gpu(run->kind) ? " on " HOST_GPU
                                                    : NULL;
    return ff__text("%s: %s%s", run->workload, run->system, model ? model : "");
}

/* ---- what runs say ---- */

double ff__deepum_seconds(const struct ff__simulated *simulated) {
    const struct ff__sim_result *result = &simulated->result;
    if (!simulated->good)
        return (double)NAN;
    double more = (double)(FF__DEEPUM_ITERATIONS - result->iterations) *
                  (double)result->last_iteration.time_ns;
    return ((double)result->time_ns + more) * 1e-9;
}

static double seconds_of(const struct deepum_run *run) {
    return ff__deepum_seconds(&run->simulated);
}

/* Entries of the fault buffer, duplicates among them. */
static double faults_of(const struct deepum_run *run) {
    const struct ff__sim_iteration *last = &run->simulated.result.last_iteration;
    return run->simulated.good ? (double)(last->faults + last->duplicates) : (double)NAN;
}

static double megabytes_of(const struct deepum_run *run) {
    return run->simulated.good ? (double)run->simulated.result.table_bytes / 0x1p20 : (double)NAN;
}

/* What a full table for every execution ID that ever had a fault would take. */
static double full_megabytes_of(const struct deepum_run *run) {
    return run->simulated.good
               ? (double)(run->simulated.result.kernels_faulted * FULL_TABLE) / 0x1p20
               : (double)NAN;
}

/* That LMS runs out of memory is a result, too. */
static struct ff__repro_found found_by_job(void *self, unsigned index) {
    struct deepum_run *run = &((struct deepum_repro *)self)->runs[index];
    struct ff__repro_found found = ff__repro_simulated(&run->simulated);
    if (!kinds[run->kind].system)
        found.failure = NULL;
    found.figure = seconds_of(run);
    found.unit = "s of 100 iterations";
    return found;
}

static const struct deepum_run *find_run(const struct deepum_repro *work, const char *workload,
                                         enum deepum_variant kind, const char *system) {
    size_t length = strlen(workload);
    for (unsigned i = 0; i < work->count; i++) {
        const struct deepum_run *run = &work->runs[i];
        if (run->kind == kind && strncmp(run->workload, workload, length) == 0 &&
            run->workload[length] == ',' && strcmp(run->system, system) == 0)
            return run;
    }
    return NULL;
}

static const struct deepum_run *run_of(const struct deepum_repro *work, const json_t *config,
                                       enum deepum_variant kind) {
    return find_run(work, ff__repro_text(config, "workload"), kind,
                    kinds[kind].system ? kinds[kind].system : "lms");
}

/* ---- tables ---- */

/* One column of the configurations. */
static void column(const struct deepum_repro *work, const struct ff__repro_plan *plan,
                   json_t *tables, const char *id, const char *what, const char *member,
                   enum deepum_variant kind, double (*ours)(const struct deepum_run *run)) {
    json_t *table = ff__repro_table(tables, id, what), *config;
    size_t i;
    json_array_foreach(json_object_get(plan->published, "configs"), i, config)
        ff__repro_row(table, ff__repro_text(config, "config"), ff__repro_number(config, member),
                      ours(run_of(work, config, kind)));
}

/* One kind of run against another, which is UM; `member`: the published seconds, NULL if there are
 * none. */
static void speedup(const struct deepum_repro *work, const struct ff__repro_plan *plan,
                    json_t *tables, const char *id, const char *what, const char *member,
                    enum deepum_variant base, enum deepum_variant kind) {
    json_t *table = ff__repro_table(tables, id, what), *config;
    size_t i;
    json_array_foreach(json_object_get(plan->published, "configs"), i, config) {
        double published = member ? ff__repro_number(config, member) : (double)NAN;
        ff__repro_row(
            table, ff__repro_text(config, "config"), ff__repro_number(config, "um_s") / published,
            seconds_of(run_of(work, config, base)) / seconds_of(run_of(work, config, kind)));
    }
}

/* Geometric mean over all configurations. */
static double faster(const struct deepum_repro *work, const struct ff__repro_plan *plan,
                     enum deepum_variant base, enum deepum_variant kind) {
    struct ff__mean mean = {0};
    size_t i;
    json_t *config;
    json_array_foreach(json_object_get(plan->published, "configs"), i, config) ff__mean_add(
        &mean, seconds_of(run_of(work, config, base)) / seconds_of(run_of(work, config, kind)));
    return ff__mean_value(&mean);
}

/* Figure 10: the paper's three steps, against UM. */
static void ablation(const struct deepum_repro *work, const struct ff__repro_plan *plan,
                     json_t *tables, const char *id, const char *what, enum deepum_variant base,
                     const enum deepum_variant steps[3]) {
    json_t *table = ff__repro_table(tables, id, what), *step;
    size_t i;
    json_array_foreach(json_object_get(plan->published, "steps"), i, step) if (i < 3)
        ff__repro_row(table, ff__repro_text(step, "config"), ff__repro_number(step, "faster"),
                      faster(work, plan, base, steps[i]));
}

/* Geometric mean over the swept configurations of one system against another. */
static double against(const struct deepum_repro *work, const char *base, const char *system) {
    struct ff__mean mean = {0};
    for (size_t i = 0; i < sizeof swept / sizeof swept[0]; i++)
        ff__mean_add(&mean, seconds_of(find_run(work, swept[i], DEEPUM_ALL, base)) /
                                seconds_of(find_run(work, swept[i], DEEPUM_ALL, system)));
    return ff__mean_value(&mean);
}

static char *degree_system(const json_t *degree) {
    return ff__text(DEEPUM ",kernels=%d", (int)json_integer_value(degree));
}

/* Kernels of one table: their number of rows is in sets of so many ways. */
static char *table_system(const json_t *row) {
    return ff__text(DEEPUM ",rows=%d,associativity=%d,successors=%d",
                    (int)ff__repro_number(row, "rows"), (int)ff__repro_number(row, "ways"),
                    (int)ff__repro_number(row, "successors"));
}

static void degrees(const struct deepum_repro *work, const struct ff__repro_plan *plan,
                    json_t *tables) {
    const json_t *published = json_object_get(plan->published, "degree");
    json_t *table = ff__repro_table(tables, "11", "kernels ahead (N): times as fast as N = 8"), *n;
    char *base = ff__text(DEEPUM ",kernels=8");
    size_t i;
    json_array_foreach(json_object_get(published, "values"), i, n) {
        char *system = degree_system(n), *name = ff__text("N = %d", (int)json_integer_value(n));
        ff__repro_row(table, name, (double)NAN, against(work, base, system));
        free(system);
        free(name);
    }
    free(base);
}

static void table_shapes(const struct deepum_repro *work, const struct ff__repro_plan *plan,
                         json_t *tables) {
    const json_t *published = json_object_get(plan->published, "tables");
    json_t *table = ff__repro_table(tables, "12", "tables: times as fast as Config0"), *row;
    char *base = table_system(json_array_get(published, 0));
    size_t i;
    json_array_foreach(published, i, row) {
        char *system = table_system(row);
        ff__repro_row(table, ff__repro_text(row, "config"), (double)NAN,
                      against(work, base, system));
        free(system);
    }
    free(base);
}

/* ---- the largest batch ---- */

/* Bytes of the host behind a batch, and whether LMS would run it. */
static bool fits(const struct deepum_repro *work, const char *family, uint64_t batch, bool lms) {
    char *name = ff__text("%s:batch=%llu,iterations=%u", family, (unsigned long long)batch,
                          FF__DEEPUM_ITERATIONS);
    struct ff__workload *workload;
    struct ff_error error;
    struct ff__sim_result result;
    const struct ff__lms_config config = {&work->gpu, FF__DEEPUM_MEMORY, false};
    bool good = ff__workload_open(name, work->seed, &workload, &error) == 0;
    free(name);
    if (!good)
        return false;
    good = ff__dnn_placement(workload)->pool.reserved_peak <= HOST_MEMORY &&
           (!lms || ff__lms_run(&config, workload, FF__DEEPUM_ITERATIONS, &result, &error) == 0);
    ff__workload_close(workload);
    return good;
}

static uint64_t largest(const struct deepum_repro *work, const char *family, uint64_t unit,
                        bool lms) {
    uint64_t low = 0, high = (UINT64_C(1) << 20) / unit;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (fits(work, family, middle * unit, lms))
            low = middle;
        else
            high = middle - 1;
    }
    return low * unit;
}

static void largest_batches(const struct deepum_repro *work, const struct ff__repro_plan *plan,
                            json_t *tables) {
    json_t *row, *lms = ff__repro_table(tables, "3.lms", "the largest batch of LMS");
    json_t *deepum = ff__repro_table(tables, "3.deepum", "the largest batch of DeepUM");
    size_t i;
    json_array_foreach(json_object_get(plan->published, "largest"), i, row) {
        uint64_t unit = (uint64_t)ff__repro_number(row, "unit") > 1 ? 16384 : 1;
        const char *family = ff__repro_text(row, "family"), *name = ff__repro_text(row, "config");
        ff__repro_row(lms, name, ff__repro_number(row, "lms"),
                      (double)largest(work, family, unit, true));
        ff__repro_row(deepum, name, ff__repro_number(row, "deepum"),
                      (double)largest(work, family, unit, false));
    }
}

/* ---- all ---- */

static void plan_sweep(struct deepum_repro *work, const json_t *list,
                       char *(*system)(const json_t *)) {
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item) {
        char *name = system(item);
        for (size_t j = 0; j < sizeof swept / sizeof swept[0]; j++)
            add_run(work, swept[j], DEEPUM_ALL, name);
        free(name);
    }
}

static void plan_runs(struct deepum_repro *work, const struct ff__repro_plan *plan) {
    size_t i;
    json_t *config;
    json_array_foreach(json_object_get(plan->published, "configs"), i,
                       config) for (enum deepum_variant kind = 0; kind < KINDS; kind++)
        add_run(work, ff__repro_text(config, "workload"), kind,
                kinds[kind].system ? kinds[kind].system : "lms");
    plan_sweep(work, json_object_get(json_object_get(plan->published, "degree"), "values"),
               degree_system);
    plan_sweep(work, json_object_get(plan->published, "tables"), table_system);
}

/* Both columns: the device that logs of hardware support, above, and the one with a cost that is
 * inferred. */
static void on_host_gpu(const struct deepum_repro *work, const struct ff__repro_plan *plan,
                        json_t *tables) {
    column(work, plan, tables, "9b.um.inferred", "UM, seconds, on " HOST_GPU, "um_s", UM_HOST,
           seconds_of);
    column(work, plan, tables, "9b.deepum.inferred", "DeepUM, seconds, on " HOST_GPU, "deepum_s",
           DEEPUM_HOST, seconds_of);
    speedup(work, plan, tables, "9a.deepum.inferred", "DeepUM, times as fast as UM, on " HOST_GPU,
            "deepum_s", UM_HOST, DEEPUM_HOST);
    speedup(work, plan, tables, "9a.plus.inferred",
            "deepum-plus (ours), times as fast as UM, on " HOST_GPU, "deepum_s", UM_HOST,
            PLUS_HOST);
    static const enum deepum_variant steps[] = {PREFETCHES_HOST, PREEVICTS_HOST, DEEPUM_HOST};
    ablation(work, plan, tables, "10.inferred",
             "what each part does: times as fast as UM, mean of all configurations, on " HOST_GPU,
             UM_HOST, steps);
}

static void make_tables(const struct deepum_repro *work, const struct ff__repro_plan *plan,
                        json_t *tables) {
    largest_batches(work, plan, tables);
    column(work, plan, tables, "4", "correlation tables, MiB", "table_mb", DEEPUM_ALL,
           megabytes_of);
    column(work, plan, tables, "4.full",
           "full tables of the paper's shape for all kernels that had faults, MiB", "table_mb",
           DEEPUM_ALL, full_megabytes_of);
    column(work, plan, tables, "5.um", "faults of an iteration, UM", "um_faults", UM, faults_of);
    column(work, plan, tables, "5.deepum", "faults of an iteration, DeepUM", "deepum_faults",
           DEEPUM_ALL, faults_of);
    column(work, plan, tables, "5.plus", "faults of an iteration, deepum-plus (ours)",
           "deepum_faults", PLUS, faults_of);
    column(work, plan, tables, "9b.um", "UM, seconds of 100 iterations", "um_s", UM, seconds_of);
    column(work, plan, tables, "9b.lms", "LMS, seconds of 100 iterations", "lms_s", LMS,
           seconds_of);
    column(work, plan, tables, "9b.lms-mod", "LMS-mod, seconds of 100 iterations", "lms_mod_s",
           LMS_MOD, seconds_of);
    column(work, plan, tables, "9b.deepum", "DeepUM, seconds of 100 iterations", "deepum_s",
           DEEPUM_ALL, seconds_of);
    column(work, plan, tables, "9b.plus", "deepum-plus (ours), seconds of 100 iterations",
           "deepum_s", PLUS, seconds_of);
    column(work, plan, tables, "9b.ideal", "fully resident, seconds of 100 iterations", "ideal_s",
           IDEAL, seconds_of);
    speedup(work, plan, tables, "9a.deepum", "DeepUM, times as fast as UM", "deepum_s", UM,
            DEEPUM_ALL);
    speedup(work, plan, tables, "9a.plus", "deepum-plus (ours), times as fast as UM", "deepum_s",
            UM, PLUS);
    speedup(work, plan, tables, "9a.ideal", "fully resident, times as fast as UM", NULL, UM, IDEAL);
    on_host_gpu(work, plan, tables);
    static const enum deepum_variant steps[] = {PREFETCHES, PREEVICTS, DEEPUM_ALL};
    ablation(work, plan, tables, "10",
             "what each part does: times as fast as UM, mean of all configurations", UM, steps);
    degrees(work, plan, tables);
    table_shapes(work, plan, tables);
}

static void free_work(struct deepum_repro *work) {
    for (unsigned i = 0; i < work->count; i++) {
        free(work->runs[i].workload);
        free(work->runs[i].system);
    }
    free(work->runs);
}

static int run_paper(const struct ff__repro_plan *plan, json_t *tables) {
    struct deepum_repro work = {.seed = plan->seed};
    int status = ff__find_gpu(FF__DEEPUM_GPU, FF__EXIT_FAILURE, &work.gpu);
    if (!status)
        status = ff__find_gpu(HOST_GPU, FF__EXIT_FAILURE, &work.host_gpu);
    if (!status) {
        plan_runs(&work, plan);
        const struct ff__repro_runs runs = {work.count, run_job, name_job, found_by_job, &work};
        status = ff__repro_run_all(plan, &runs);
    }
    if (!status)
        make_tables(&work, plan, tables);
    free_work(&work);
    return status;
}

static int run(const struct ff__repro_plan *plan, json_t *tables) {
    const char *parts = plan->parts ? plan->parts : "paper";
    bool paper = ff__repro_has_word(parts, "paper"),
         ablation = ff__repro_has_word(parts, "ablation");
    if (!paper && !ablation)
        return ff__complain(FF__EXIT_USAGE,
                            "--parts: '%s' names no part; there are: paper,ablation", parts);
    int status = paper ? run_paper(plan, tables) : 0;
    return !status && ablation ? ff__repro_deepum_parts(plan, tables) : status;
}

const struct ff__repro ff__repro_deepum = {
    .name = "deepum",
    .summary = "Jung, Kim and Lee, ASPLOS 2023",
    .run = run,
};
