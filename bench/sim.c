/* The simulator: accesses per second, and memory held.
 *
 * Each run is in a child process, so that its memory is its own, and is timed in processor time of
 * its one thread: "per core" whatever else the machine does. Which pages are accessed is made
 * beforehand and not timed. The bound is the same accesses fully resident and without a policy that
 * watches them. */
#include "bench.h"

#include "backend/sim/curve/curve.h"
#include "backend/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NO_POLICY "nvidia-1"          /* one fault a block */
#define FORESEEN  (UINT64_C(1) << 24) /* accesses made beforehand; more repeat them */
#define GATHER    FF__STEP_PAGES      /* pages of one instruction */
#define JOBS      4u                  /* beside each other */

static void give_up(const char *what) {
    fprintf(stderr, "farfault-bench: %s\n", what);
    _exit(1); /* a child must not write again what the parent has buffered */
}

/* ---- accesses made beforehand ---- */

/* One warp accesses `pages`, again and again. Every `unit` pages in a row lie `apart` times as far
 * from the next ones as they would. */
struct ready {
    const uint32_t *pages;          /* [FORESEEN] */
    uint64_t accesses, unit, apart; /* unit: a power of two */
};

static bool ready_step(const struct ff__workload *workload, const struct ff__kernel *kernel,
                       uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct ready *ready = workload->data;
    (void)kernel, (void)cta, (void)warp;
    uint64_t at = (uint64_t)index * GATHER;
    if (at >= ready->accesses)
        return false;
    out->instructions = GATHER;
    out->pc = 8;
    out->sectors = GATHER;
    out->write = index % 4 == 0;
    out->page_count = GATHER;
    const uint32_t *pages = &ready->pages[at % FORESEEN];
    uint64_t units = ~(ready->unit - 1), further = ready->apart - 1;
    for (uint32_t i = 0; i < GATHER; i++)
        out->page[i] = pages[i] + (pages[i] & units) * further;
    return true;
}

static bool ready_action(const struct ff__workload *workload, uint64_t index,
                         struct ff__action *out) {
    (void)workload;
    *out = (struct ff__action){
        .kind = index == 0   ? FF__ACTION_ALLOCATE
                : index == 1 ? FF__ACTION_LAUNCH
                             : FF__ACTION_FREE,
        .kernel = {.name = "ready", .identity = 1, .ctas = 1, .warps = 1, .step = ready_step}};
    return index < 3;
}

static const struct ff__workload_type ready_type = {
    .name = "ready", .summary = "accesses made beforehand", .action = ready_action};

static struct ff__workload *open_workload(const char *spec) {
    struct ff__workload *workload;
    struct ff_error error = {""};
    if (ff__workload_open(spec, 1, &workload, &error))
        give_up(error.message);
    return workload;
}

/* The pages that a workload of one warp and one launch accesses. */
static const uint32_t *make_pages(const char *spec) {
    uint32_t *pages = calloc(FORESEEN, sizeof *pages);
    struct ff__workload *workload = open_workload(spec);
    struct ff__action action;
    uint64_t index = 0;
    do {
        if (!workload->type->action(workload, index++, &action))
            give_up("a workload without launches");
    } while (action.kind != FF__ACTION_LAUNCH);
    struct ff__step step;
    for (uint32_t i = 0; pages && i < FORESEEN; i++) {
        if (!action.kernel.step(workload, &action.kernel, 0, 0, i, &step))
            give_up("too short a workload");
        pages[i] = (uint32_t)step.page[0];
    }
    ff__workload_close(workload);
    if (!pages)
        give_up("no memory");
    return pages;
}

/* ---- a run ---- */

struct trial {
    struct ff__workload *workload;
    const char *gpu, *system;
    const char *bound; /* the system to compare with; NULL: fully resident, without a policy */
    double share;      /* of the footprint; 0: fully resident */
    bool untimed;
    bool curve;          /* no run, but a miss-ratio curve; hits are those with the share */
    const char *beside;  /* a workload that JOBS - 1 more jobs run, each on its own device; NULL */
    bool bound_is_alone; /* the bound is the workload without those jobs */
};

struct outcome {
    double seconds, bytes; /* processor time, memory held at most */
    struct ff__sim_result result;
};

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double held_bytes(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*u %lu", &pages) != 1)
        give_up("cannot read /proc/self/statm");
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* The trial's workload, and what runs beside it. */
static void open_jobs(const struct trial *trial, struct ff__sim_job jobs[JOBS], uint32_t *count) {
    *count = trial->beside ? JOBS : 1;
    for (uint32_t i = 0; i < *count; i++)
        jobs[i] = (struct ff__sim_job){.workload =
                                           i == 0 ? trial->workload : open_workload(trial->beside),
                                       .first_device = i,
                                       .devices = 1};
}

static void simulate(const struct trial *trial, struct ff__sim_config *config,
                     struct outcome *out) {
    struct ff_error error = {""};
    struct ff__sim_job jobs[JOBS];
    if (ff__system_parse(trial->system, &config->system, &error))
        give_up(error.message);
    open_jobs(trial, jobs, &config->devices);
    double start = processor_seconds();
    if (ff__sim_run_jobs(config, jobs, config->devices, &out->result, &error))
        give_up(error.message);
    out->seconds = processor_seconds() - start;
}

static void count_curve(const struct trial *trial, const struct ff__sim_config *config,
                        struct outcome *out) {
    struct ff_error error = {""};
    struct ff__curve curve;
    double start = processor_seconds();
    if (ff__curve_count(trial->workload, config->gpu, false, &curve, &error))
        give_up(error.message);
    out->seconds = processor_seconds() - start;
    out->result.accesses = curve.accesses;
    out->result.hits = curve.accesses - ff__curve_misses(&curve, config->memory / FF_PAGE_SIZE);
    ff__curve_free(&curve);
}

static void run_here(const struct trial *trial, struct outcome *out) {
    struct ff__gpu gpu;
    struct ff_error error = {""};
    struct ff__sim_config config = {.gpu = &gpu, .devices = 1, .seed = 1};
    struct rusage usage;
    config.untimed = trial->untimed;
    config.memory = (uint64_t)(trial->share * (double)ff__workload_footprint(trial->workload));
    if (ff__gpu_read(trial->gpu, GPU_FOLDER, &gpu, &error))
        give_up(error.message);
    double before = held_bytes();
    if (trial->curve)
        count_curve(trial, &config, out);
    else
        simulate(trial, &config, out);
    getrusage(RUSAGE_SELF, &usage);
    out->bytes = (double)usage.ru_maxrss * 1024 - before;
}

/* False: the simulation failed, and has said why. */
static bool run(const struct trial *trial, struct outcome *out) {
    static struct outcome *shared;
    if (!shared)
        shared =
            mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = shared == MAP_FAILED ? -1 : fork();
    int status = 0;
    if (child == 0) {
        run_here(trial, shared);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        give_up("cannot start a child");
    *out = *shared;
    return status == 0;
}

static bool run_bound(const struct trial *trial, struct outcome *out) {
    struct trial bound = *trial;
    if (trial->bound_is_alone) {
        bound.beside = NULL;
        return run(&bound, out);
    }
    bound.curve = false;
    bound.system = trial->bound ? trial->bound : NO_POLICY;
    bound.share = trial->bound ? trial->share : 0;
    return run(&bound, out);
}

/* Accesses; pages of operands where kernels are analytical. */
static double millions(const struct outcome *outcome) {
    const struct ff__sim_result *result = &outcome->result;
    return (double)(result->accesses ? result->accesses : result->demanded) / outcome->seconds *
           1e-6;
}

static double megabytes(const struct outcome *outcome) {
    return outcome->bytes / (double)(1 << 20);
}

/* M accesses/s and MiB held, and what share of the accesses hit. */
static void measure(const char *name, const struct trial *trial) {
    struct series speed = {.count = 0}, memory = {.count = 0};
    struct outcome ours = {0}, bound;
    for (int i = -1; i < bench_runs(); i++) {
        if (!run_bound(trial, &bound) || !run(trial, &ours)) {
            printf("%s failed\n", name);
            return;
        }
        if (i < 0)
            continue;
        series_add(&speed, millions(&ours), millions(&bound));
        series_add(&memory, megabytes(&ours), megabytes(&bound));
    }
    char of_memory[64];
    snprintf(of_memory, sizeof of_memory, "%s.memory", name);
    report(name, "M/s", &speed);
    report(of_memory, "MiB", &memory);
    printf("  %llu accesses, %.1f %% hit\n", (unsigned long long)ours.result.accesses,
           100 * (double)ours.result.hits / (double)ours.result.accesses);
    fflush(stdout);
}

/* ---- benchmarks ---- */

static void measure_ready(const char *name, const struct ready *ready, uint64_t pages,
                          struct trial *trial) {
    struct ff__array array = {.name = "data", .bytes = pages * ready->apart * FF_PAGE_SIZE};
    struct ff__workload workload = {.type = &ready_type,
                                    .name = "ready",
                                    .arrays = &array,
                                    .array_count = 1,
                                    .data = (void *)(uintptr_t)ready};
    trial->workload = &workload;
    measure(name, trial);
}

static void measure_model(const char *name, const char *spec, const char *gpu) {
    struct trial trial = {
        .workload = open_workload(spec), .gpu = gpu, .system = "nvidia", .share = 0.66};
    measure(name, &trial);
    ff__workload_close(trial.workload);
}

/* The access time tracker counts, and nothing is made of it: both systems take the same decisions.
 */
static void measure_tracker(const char *name, const char *spec) {
    struct trial trial = {.workload = open_workload(spec),
                          .gpu = "gtx1080ti",
                          .system = "demand:prefetch=forest,leaf=64K,tree=2M",
                          .bound = "demand:prefetch=tree-half",
                          .share = 0.66};
    measure(name, &trial);
    ff__workload_close(trial.workload);
}

/* Four jobs against one of them: what it costs that the simulator has several devices and jobs to
 * go between. */
static void measure_jobs(const char *name, const char *spec, const char *gpu) {
    struct trial trial = {.workload = open_workload(spec),
                          .gpu = gpu,
                          .system = "nvidia",
                          .share = 0.66,
                          .beside = spec,
                          .bound_is_alone = true};
    measure(name, &trial);
    ff__workload_close(trial.workload);
}

/* All sizes of memory in one pass. */
void bench_curve(void) {
    const uint32_t *pages = make_pages("zipf:pages=1048576,accesses=20000000,ctas=1,warps=1");
    struct trial trial = {.gpu = "gtx1080ti", .untimed = true, .curve = true, .share = 0.25};
    const struct ready ready = {pages, FORESEEN, 1, 1};
    measure_ready("sim.curve.zipf", &ready, 1 << 20, &trial);
    free((void *)(uintptr_t)pages);
}

void bench_timed(void) {
    measure_model("sim.timing", "hotspot:n=2048", "v100-16g");
    measure_model("sim.timing.gtx1080ti", "hotspot:n=2048", "gtx1080ti");
    measure_model("sim.timing.bfs", "bfs", "v100-16g");
    measure_model("sim.timing.atax", "atax", "v100-16g");
    measure_model("sim.timing.gtx1080ti.atax", "atax", "gtx1080ti");
    measure_tracker("sim.tracker", "hotspot:n=2048");
    measure_tracker("sim.tracker.atax", "atax");
    measure_tracker("sim.tracker.analytical", "bert-large:batch=4,iterations=2");
}

/* ---- series ---- */

/* Odd distances: blocks that lie a power of two apart would share a few sets of the processor's
 * caches. */
static void measure_footprints(const char *what, const uint32_t *pages, uint64_t unit,
                               uint64_t accesses, struct trial *trial) {
    static const uint64_t apart[] = {1, 31, 1023}; /* and so many GiB */
    char name[64];
    for (int i = 0; i < 3; i++) {
        const struct ready ready = {pages, accesses, unit, apart[i]};
        snprintf(name, sizeof name, "sim.scale.%s.%lluG", what, (unsigned long long)apart[i]);
        trial->share = 0.25 / (double)apart[i];
        measure_ready(name, &ready, 1 << 18, trial);
    }
}

void bench_scale(void) {
    const uint32_t *pages = make_pages("zipf:pages=262144,accesses=20000000,ctas=1,warps=1");
    struct trial trial = {.gpu = "gtx1080ti", .system = "demand:evict=lru-4k", .untimed = true};
    char name[64];
    /* the same pages, and as much memory, in ever more address space: in as many blocks, or not */
    measure_footprints("blocks", pages, FF_BLOCK_PAGES, 200000000, &trial);
    measure_footprints("pages", pages, 1, 20000000, &trial);
    /* with the memory of a footprint of 1 GiB again */
    trial.share = 0.25;
    for (uint64_t accesses = 1000000; accesses <= 1000000000; accesses *= 10) {
        const struct ready ready = {pages, accesses, 1, 1};
        snprintf(name, sizeof name, "sim.scale.accesses.%lluM",
                 (unsigned long long)(accesses / 1000000));
        measure_ready(name, &ready, 1 << 18, &trial);
    }
    free((void *)(uintptr_t)pages);
}

void bench_jobs(void) {
    measure_jobs("sim.jobs.hotspot", "hotspot:n=2048,steps=40", "v100-16g");
    measure_jobs("sim.jobs.bfs", "bfs", "v100-16g");
}
