/* What each part of deepum-plus and deepum-far does: the time without it, as a multiple of the time
 * with it. */
#include "study/repro/deepum.h"

#include "report/complain.h"
#include "report/text.h"
#include "study/find.h"
#include "study/repro/deepum_runs.h"

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

struct deepum_parts_repro {
    struct ff__gpu large_gpu, small_gpu;
    uint64_t seed;
    struct ff__simulations runs; /* [program][part] */
    const char **names;          /* [program] of the row */
    unsigned count, large;       /* programs; of these, the first that are on the large device */
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

static double seconds_of(const struct deepum_parts_repro *work, unsigned program, unsigned part) {
    const struct ff__simulated *run = ff__simulations_at(&work->runs, program * PARTS + part);
    if (program < work->large)
        return ff__deepum_seconds(run);
    return run->good ? (double)run->result.time_ns * 1e-9 : (double)NAN;
}

static void plan_program(struct deepum_parts_repro *work, const char *name,
                         struct ff__simulation *simulation) {
    work->names = ff__must(realloc(work->names, (work->count + 1) * sizeof *work->names));
    work->names[work->count++] = name;
    simulation->devices = 1;
    simulation->subject.seed = work->seed;
    for (unsigned i = 0; i < PARTS; i++) {
        simulation->system = parts[i].system;
        ff__simulations_append(&work->runs, simulation);
    }
}

static void plan_runs(struct deepum_parts_repro *work, const struct ff__repro_plan *plan) {
    size_t i;
    json_t *config;
    json_array_foreach(json_object_get(plan->published, "configs"), i, config) {
        char *workload =
            ff__text("%s,iterations=%u", ff__repro_text(config, "workload"), FF__DEEPUM_LEARNING);
        struct ff__simulation simulation = {.subject.name = workload,
                                            .gpu = &work->large_gpu,
                                            .memory = ff__deepum_memory(FF__DEEPUM_CARD)};
        plan_program(work, ff__repro_text(config, "config"), &simulation);
        free(workload);
    }
    work->large = work->count;
    for (i = 0; i < SMALL; i++) {
        struct ff__simulation simulation = {.subject.name = small[i],
                                            .gpu = &work->small_gpu,
                                            .memory = small_memory(small[i], work->seed)};
        plan_program(work, small[i], &simulation);
    }
}

static void make_table(const struct deepum_parts_repro *work, unsigned part, json_t *tables) {
    char *id = ff__text("ablation.%s", parts[part].id);
    char *what = ff__text("%s: seconds, as a multiple of %s's", parts[part].system,
                          parts[part].of_far && part != FAR ? "deepum-far" : "deepum-plus");
    json_t *table = ff__repro_table(tables, id, what);
    unsigned base = parts[part].of_far && part != FAR ? FAR : PLUS;
    for (unsigned i = 0; i < work->count; i++)
        ff__repro_row(table, work->names[i], (double)NAN,
                      seconds_of(work, i, part) / seconds_of(work, i, base));
    free(id);
    free(what);
}

int ff__repro_deepum_ablation(const struct ff__repro_plan *plan, json_t *tables) {
    struct deepum_parts_repro work = {.seed = plan->study.seed};
    int status = ff__find_gpu(ff__deepum_gpu(FF__DEEPUM_CARD), FF__EXIT_FAILURE, &work.large_gpu);
    if (!status)
        status = ff__find_gpu(SMALL_GPU, FF__EXIT_FAILURE, &work.small_gpu);
    if (!status) {
        plan_runs(&work, plan);
        status = ff__simulations_run(&plan->study, &work.runs);
    }
    for (unsigned part = FAR; part < PARTS && !status; part++)
        make_table(&work, part, tables);
    ff__simulations_free(&work.runs);
    free(work.names);
    return status;
}
