/* What each part of deepum-plus and deepum-far does: the time without it, as a multiple of the time
 * with it. */
#include "study/repro/deepum.h"

#include "report/complain.h"
#include "report/text.h"
#include "study/find.h"
#include "study/repro/deepum_runs.h"
#include "study/repro/runs.h"

#include <farfault/mask.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_GPU   "v100-16g"
#define SMALL_SHARE 66u /* percent of the footprint, in whole blocks */

/* The first is the whole system, and so is the first of deepum-far. */
static const struct system_part {
    const char *id, *system;
    bool of_far;
} parts[] = {
    {"plus", "deepum-plus:" FF__DEEPUM_TABLES, false},
    {"far", "deepum-far:" FF__DEEPUM_TABLES, true},
    {"strict", "deepum:" FF__DEEPUM_TABLES, false},
    {"order", "deepum:" FF__DEEPUM_TABLES ",evict=predicted-plus,parts=1", false},
    {"evict", "deepum-plus:" FF__DEEPUM_TABLES ",evict=predicted", false},
    {"whole", "deepum-plus:" FF__DEEPUM_TABLES ",whole=0", false},
    {"sparse", "deepum-plus:" FF__DEEPUM_TABLES ",sparse=0", false},
    {"fallback", "deepum-plus:" FF__DEEPUM_TABLES ",fallback=0", false},
    {"chain", "deepum-plus:" FF__DEEPUM_TABLES ",chain=0", false},
    {"reach", "deepum-plus:" FF__DEEPUM_TABLES ",reach=100", false},
    {"slack", "deepum-plus:" FF__DEEPUM_TABLES ",slack=0", false},
    {"ahead", "deepum-plus:" FF__DEEPUM_TABLES ",preevict=0", false},
    {"parts", "deepum-plus:" FF__DEEPUM_TABLES ",parts=0", false},
    {"beyond", "deepum-far:" FF__DEEPUM_TABLES ",beyond=0", true},
};

enum { PLUS, FAR, PARTS = sizeof parts / sizeof parts[0] };

static const char *const small[] = {
    "cyclic:size=128M,ctas=8,warps=1",
    "hotspot:size=128M",
    "srad_v2:size=96M",
    "stencil:size=96M",
    "fdtd2d:size=36M",
    "pagerank:size=48M,iterations=5",
    "zipf:size=32M",
    "phase:size=32M",
    "ra:size=32M",
    "dlrm:batch=2048,iterations=3",
    "gpt2-l:batch=1,length=16,iterations=3",
    "bert-base:batch=1,length=32,iterations=4",
    "resnet50:batch=1,length=32,iterations=4",
};

#define SMALL (sizeof small / sizeof small[0])

struct deepum_parts_run {
    const char *name; /* of the row */
    char *workload;
    const struct system_part *part;
    bool is_small;
    struct ff__simulated simulated;
};

struct deepum_parts_repro {
    struct ff__gpu large_gpu, small_gpu;
    uint64_t seed;
    struct deepum_parts_run *runs; /* [program][part] */
    unsigned count;
};

/* 0: the workload does not exist, which the run then says. */
static uint64_t small_memory(const char *workload, uint64_t seed) {
    struct ff__workload *opened;
    struct ff_error error;
    if (ff__workload_open(workload, seed, &opened, &error))
        return 0;
    uint64_t blocks = ff__workload_footprint(opened) * SMALL_SHARE / 100 / FF_BLOCK_SIZE;
    ff__workload_close(opened);
    return (blocks ? blocks : 1) * FF_BLOCK_SIZE;
}

static void run_job(void *self, unsigned index) {
    const struct deepum_parts_repro *work = self;
    struct deepum_parts_run *run = &((struct deepum_parts_repro *)self)->runs[index];
    const struct ff__simulation simulation = {
        .subject = {run->workload, false, work->seed},
        .gpu = run->is_small ? &work->small_gpu : &work->large_gpu,
        .system = run->part->system,
        .memory = run->is_small ? small_memory(run->workload, work->seed)
                                : ff__deepum_memory(FF__DEEPUM_CARD),
        .devices = 1,
    };
    ff__simulate(&simulation, &run->simulated);
}

static char *name_job(const void *self, unsigned index) {
    const struct deepum_parts_run *run = &((const struct deepum_parts_repro *)self)->runs[index];
    return ff__text("%s%s: %s", run->workload, run->is_small ? " (" SMALL_GPU ")" : "",
                    run->part->system);
}

static double seconds_of(const struct deepum_parts_run *run) {
    if (!run->is_small)
        return ff__deepum_seconds(&run->simulated);
    return run->simulated.good ? (double)run->simulated.result.time_ns * 1e-9 : (double)NAN;
}

static struct ff__repro_found found_by_job(void *self, unsigned index) {
    struct deepum_parts_run *run = &((struct deepum_parts_repro *)self)->runs[index];
    struct ff__repro_found found = ff__repro_simulated(&run->simulated);
    found.figure = seconds_of(run);
    return found;
}

static void plan_program(struct deepum_parts_repro *work, const char *name, const char *workload,
                         bool is_small) {
    work->runs = ff__must(realloc(work->runs, (work->count + PARTS) * sizeof *work->runs));
    for (unsigned i = 0; i < PARTS; i++)
        work->runs[work->count++] = (struct deepum_parts_run){
            .name = name,
            .workload = is_small ? ff__text("%s", workload)
                                 : ff__text("%s,iterations=%u", workload, FF__DEEPUM_LEARNING),
            .part = &parts[i],
            .is_small = is_small};
}

static void plan_runs(struct deepum_parts_repro *work, const struct ff__repro_plan *plan) {
    size_t i;
    json_t *config;
    json_array_foreach(json_object_get(plan->published, "configs"), i, config) plan_program(
        work, ff__repro_text(config, "config"), ff__repro_text(config, "workload"), false);
    for (i = 0; i < SMALL; i++)
        plan_program(work, small[i], small[i], true);
}

static void make_table(const struct deepum_parts_repro *work, unsigned part, json_t *tables) {
    char *id = ff__text("ablation.%s", parts[part].id);
    char *what = ff__text("%s: seconds, as a multiple of %s's", parts[part].system,
                          parts[part].of_far && part != FAR ? "deepum-far" : "deepum-plus");
    json_t *table = ff__repro_table(tables, id, what);
    unsigned base = parts[part].of_far && part != FAR ? FAR : PLUS;
    for (unsigned i = 0; i < work->count; i += PARTS)
        ff__repro_row(table, work->runs[i].name, (double)NAN,
                      seconds_of(&work->runs[i + part]) / seconds_of(&work->runs[i + base]));
    free(id);
    free(what);
}

int ff__repro_deepum_ablation(const struct ff__repro_plan *plan, json_t *tables) {
    struct deepum_parts_repro work = {.seed = plan->seed};
    int status = ff__find_gpu(ff__deepum_gpu(FF__DEEPUM_CARD), FF__EXIT_FAILURE, &work.large_gpu);
    if (!status)
        status = ff__find_gpu(SMALL_GPU, FF__EXIT_FAILURE, &work.small_gpu);
    if (!status) {
        plan_runs(&work, plan);
        const struct ff__repro_runs runs = {work.count, run_job, name_job, found_by_job, &work};
        status = ff__repro_run_all(plan, &runs);
    }
    for (unsigned part = FAR; part < PARTS && !status; part++)
        make_table(&work, part, tables);
    for (unsigned i = 0; i < work.count; i++)
        free(work.runs[i].workload);
    free(work.runs);
    return status;
}
