/* Forest (Lin et al., ISCA 2025): how much faster than the tree prefetcher its programs are, by how much memory is
 * oversubscribed. */
#include "cli/cli.h"
#include "cli/find.h"
#include "cli/pool.h"
#include "cli/repro.h"
#include "cli/simulate.h"
#include "report/json.h"

#include <farfault/mask.h>
#include <math.h>
#include <stdlib.h>

#define GPU "gtx1080ti" /* the paper's simulator is UVMSmart's successor */
#define SIZE                                                                                       \
    ":size=32M" /* ours: the paper's footprints are 19.5 to 144 MB, which one has which is not known */

/* The baseline first. */
static const struct {
    const char *name, *system;
} systems[] = {
    {"tbnp", "demand:prefetch=tree-half,evict=lru-2m"},
    {"forest", "forest"},
    {"specforest", "specforest"},
};

#define SYSTEM_COUNT ((unsigned)(sizeof systems / sizeof systems[0]))

struct run {
    char *workload;
    struct ff__simulation simulation;
    struct ff__simulated simulated;
};

struct work {
    struct ff__gpu gpu;
    struct ff__system systems[SYSTEM_COUNT];
    struct run *runs; /* by pressure, program and system */
    unsigned count;
};

static int footprint_of(const char *workload, uint64_t seed, uint64_t *out) {
    const struct ff__subject subject = {workload, false, seed};
    struct ff__workload *opened;
    struct ff_error error;
    if (ff__subject_open(&subject, &opened, &error))
        return ff__complain(FF__EXIT_FAILURE, "published/forest.json: %s", error.message);
    *out = ff__workload_footprint(opened);
    ff__workload_close(opened);
    return 0;
}

static int plan_program(struct work *work, const struct ff__repro_plan *plan, const json_t *program,
                        double percent) {
    char *workload = ff__text("%s" SIZE, ff__repro_text(program, "workload"));
    uint64_t footprint = 0;
    int status = footprint_of(workload, plan->seed, &footprint);
    uint64_t memory = (uint64_t)((double)footprint * 100 / percent);
    for (unsigned i = 0; i < SYSTEM_COUNT; i++) {
        struct run *run = &work->runs[work->count++];
        run->workload = ff__text("%s", workload);
        run->simulation = (struct ff__simulation){
            .subject = {run->workload, false, plan->seed},
            .gpu = &work->gpu,
            .system = &work->systems[i],
            .memory = memory - memory % FF_PAGE_SIZE,
            .devices = 1,
        };
    }
    free(workload);
    return status;
}

static int plan_runs(struct work *work, const struct ff__repro_plan *plan) {
    const json_t *programs = json_object_get(plan->published, "programs"),
                 *pressures = json_object_get(plan->published, "pressures");
    struct ff_error error;
    size_t i, j;
    json_t *pressure, *program;
    int status = 0;
    for (unsigned k = 0; k < SYSTEM_COUNT && !status; k++)
        if (ff__system_parse(systems[k].system, &work->systems[k], &error))
            status = ff__complain(FF__EXIT_FAILURE, "%s", error.message);
    work->runs =
        ff__must(calloc(json_array_size(programs) * json_array_size(pressures) * SYSTEM_COUNT + 1,
                        sizeof *work->runs));
    json_array_foreach(pressures, i, pressure) json_array_foreach(programs, j, program) if (!status)
        status = plan_program(work, plan, program, ff__repro_number(pressure, "percent"));
    return status;
}

static void run_job(void *self, unsigned index) {
    struct run *run = &((struct work *)self)->runs[index];
    ff__simulate(&run->simulation, &run->simulated);
}

static void finish_job(void *self, unsigned index) {
    const struct run *run = &((struct work *)self)->runs[index];
    if (!run->simulated.good)
        ff__complain(0, "%s failed: %s", run->workload, run->simulated.reason);
}

static char *name_job(const void *self, unsigned index) {
    const struct work *work = self;
    return ff__text("%s: %s", work->runs[index].workload, systems[index % SYSTEM_COUNT].name);
}

/* ---- tables ---- */

/* How much faster than the baseline; NaN if one of the two failed. */
static double faster(const struct run *runs, unsigned system) {
    const struct ff__simulated *base = &runs[0].simulated, *other = &runs[system].simulated;
    return base->good && other->good ? (double)base->result.time_ns / (double)other->result.time_ns
                                     : (double)NAN;
}

/* Of the programs no single value is published: the last row is the mean over them. */
static void make_table(json_t *tables, const json_t *programs, const json_t *pressure,
                       const struct run *runs, unsigned system) {
    const char *name = systems[system].name;
    char *id = ff__text("%s.%.0f", name, ff__repro_number(pressure, "percent"));
    char *what = ff__text("times faster than the tree prefetcher, footprint %.0f %% of memory",
                          ff__repro_number(pressure, "percent"));
    json_t *table = ff__repro_table(tables, id, what), *program;
    double logs = 0;
    size_t i;
    json_array_foreach(programs, i, program) {
        double ours = faster(&runs[i * SYSTEM_COUNT], system);
        logs += log(ours);
        ff__repro_row(table, ff__repro_text(program, "program"), (double)NAN, ours);
    }
    ff__repro_row(table, "all programs", ff__repro_number(pressure, name),
                  exp(logs / (double)json_array_size(programs)));
    free(id);
    free(what);
}

static void make_tables(const struct work *work, const json_t *published, json_t *tables) {
    const json_t *programs = json_object_get(published, "programs");
    const struct run *runs = work->runs;
    size_t i;
    json_t *pressure;
    json_array_foreach(json_object_get(published, "pressures"), i, pressure) {
        for (unsigned system = 1; system < SYSTEM_COUNT; system++)
            make_table(tables, programs, pressure, runs, system);
        runs += json_array_size(programs) * SYSTEM_COUNT;
    }
}

static int run(const struct ff__repro_plan *plan, json_t *tables) {
    struct work work = {0};
    int status = ff__find_gpu(GPU, FF__EXIT_FAILURE, &work.gpu);
    if (!status)
        status = plan_runs(&work, plan);
    const struct ff__pool pool = {work.count, plan->jobs, run_job, finish_job, name_job, &work};
    if (!status)
        status = ff__pool_run(&pool);
    if (!status)
        make_tables(&work, plan->published, tables);
    for (unsigned i = 0; i < work.count; i++)
        free(work.runs[i].workload);
    free(work.runs);
    return status;
}

const struct ff__repro ff__repro_forest = {
    .name = "forest",
    .summary = "Lin et al., ISCA 2025, from third-party notes",
    .run = run,
};
