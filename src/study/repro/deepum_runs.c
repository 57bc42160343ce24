#include "study/repro/deepum_runs.h"

#include "backend/sim/lms/lms.h"
#include "report/complain.h"
#include "study/find.h"
#include "study/repro/runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of what the driver reports, the contexts of CUDA, cuDNN and PyTorch leave so much; that they take
 * 1 GiB is ours. The constants of the host are those with which UM's seconds differ least from the
 * paper's, by the squares of their logarithms, on the even half of the rows without DLRM (sorted by
 * name, counted from 0): docs/results/faults.md. */
static const struct {
    const char *gpu;
    uint64_t memory;
} cards[FF__DEEPUM_CARDS] = {
    [FF__DEEPUM_CARD] = {"v100-32g-pcie", (UINT64_C(32510) - 1024) << 20},
    [FF__DEEPUM_DUPLICATES] = {"v100-32g-pcie:duplicate_ns=2300", (UINT64_C(32510) - 1024) << 20},
    [FF__DEEPUM_FLUSHES] = {"v100-32g-pcie:flush_ns=2100", (UINT64_C(32510) - 1024) << 20},
    [FF__DEEPUM_SMALL] = {"v100-32g-pcie", (UINT64_C(16160) - 1024) << 20},
};

struct ff__deepum_run {
    char *workload, *system;
    enum ff__deepum_card card;
    struct ff__simulated simulated;
};

int ff__deepum_runs_open(struct ff__deepum_runs *work, const struct ff__repro_plan *plan) {
    *work = (struct ff__deepum_runs){.seed = plan->seed};
    for (unsigned i = 0; i < FF__DEEPUM_CARDS; i++) {
        int status = ff__find_gpu(cards[i].gpu, FF__EXIT_FAILURE, &work->gpus[i]);
        if (status)
            return status;
    }
    return 0;
}

void ff__deepum_runs_close(struct ff__deepum_runs *work) {
    for (unsigned i = 0; i < work->count; i++) {
        free(work->runs[i].workload);
        free(work->runs[i].system);
    }
    free(work->runs);
}

static bool is_lms(const char *system) {
    return strncmp(system, FF__DEEPUM_LMS, strlen(FF__DEEPUM_LMS)) == 0;
}

static bool is_simulated(const char *system) {
    return !is_lms(system) && strcmp(system, FF__DEEPUM_RESIDENT) != 0;
}

/* Systems that learn need a few iterations to reach the steady state. Under LMS every iteration
 * differs, because its allocator fragments memory, and some runs fail only after many iterations;
 * so all are run. */
static unsigned iterations_of(const char *system) {
    if (is_lms(system))
        return FF__DEEPUM_ITERATIONS;
    if (!is_simulated(system))
        return 2;
    return strcmp(system, FF__DEEPUM_UM) == 0 ? 3 : FF__DEEPUM_LEARNING;
}

/* NULL: it is not planned. */
static struct ff__deepum_run *find_run(const struct ff__deepum_runs *work, const char *workload,
                                       const char *system, enum ff__deepum_card card) {
    for (unsigned i = 0; i < work->count; i++) {
        struct ff__deepum_run *run = &work->runs[i];
        if (run->card == card && strcmp(run->workload, workload) == 0 &&
            strcmp(run->system, system) == 0)
            return run;
    }
    return NULL;
}

void ff__deepum_runs_add(struct ff__deepum_runs *work, const char *workload, const char *system,
                         enum ff__deepum_card card) {
    if (find_run(work, workload, system, card))
        return;
    work->runs = ff__must(realloc(work->runs, (work->count + 1) * sizeof *work->runs));
    work->runs[work->count++] = (struct ff__deepum_run){
        .workload = ff__text("%s", workload), .system = ff__text("%s", system), .card = card};
}

const struct ff__simulated *ff__deepum_run(const struct ff__deepum_runs *work, const char *workload,
                                           const char *system, enum ff__deepum_card card) {
    return &find_run(work, workload, system, card)->simulated;
}

const char *ff__deepum_gpu(enum ff__deepum_card card) {
    return cards[card].gpu;
}

uint64_t ff__deepum_memory(enum ff__deepum_card card) {
    return cards[card].memory;
}

static char *workload_of(const struct ff__deepum_run *run) {
    return ff__text("%s,iterations=%u", run->workload, iterations_of(run->system));
}

static void run_lms(const struct ff__deepum_runs *work, struct ff__deepum_run *run,
                    const char *name) {
    const struct ff__lms_config config = {
        .gpu = &work->gpus[run->card],
        .memory = is_lms(run->system) ? cards[run->card].memory : 0,
        .empties = strcmp(run->system, FF__DEEPUM_LMS_MOD) == 0,
    };
    struct ff__simulated *out = &run->simulated;
    struct ff__workload *workload;
    struct ff_error error = {""};
    int status = ff__workload_open(name, work->seed, &workload, &error);
    if (!status) {
        status = ff__lms_run(&config, workload, iterations_of(run->system), &out->result, &error);
        ff__workload_close(workload);
    }
    out->good = status == 0;
    snprintf(out->reason, sizeof out->reason, "%s", error.message);
}

static void run_job(void *self, unsigned index) {
    struct ff__deepum_runs *work = self;
    struct ff__deepum_run *run = &work->runs[index];
    char *workload = workload_of(run);
    const struct ff__simulation simulation = {
        .subject = {workload, false, work->seed},
        .gpu = &work->gpus[run->card],
        .system = run->system,
        .memory = cards[run->card].memory,
        .devices = 1,
    };
    if (is_simulated(run->system))
        ff__simulate(&simulation, &run->simulated);
    else
        run_lms(work, run, workload);
    free(workload);
}

static char *name_job(const void *self, unsigned index) {
    const struct ff__deepum_run *run = &((const struct ff__deepum_runs *)self)->runs[index];
    char *workload = workload_of(run);
    char *name = ff__text("%s: %s on %s of %llu MiB", workload, run->system, cards[run->card].gpu,
                          (unsigned long long)cards[run->card].memory >> 20);
    free(workload);
    return name;
}

double ff__deepum_seconds(const struct ff__simulated *simulated) {
    const struct ff__sim_result *result = &simulated->result;
    if (!simulated->good)
        return (double)NAN;
    double more = (double)(FF__DEEPUM_ITERATIONS - result->iterations) *
                  (double)result->last_iteration.time_ns;
    return ((double)result->time_ns + more) * 1e-9;
}

/* That LMS runs out of memory is a result, too. */
static struct ff__repro_found found_by_job(void *self, unsigned index) {
    struct ff__deepum_run *run = &((struct ff__deepum_runs *)self)->runs[index];
    struct ff__repro_found found = ff__repro_simulated(&run->simulated);
    if (!is_simulated(run->system))
        found.failure = NULL;
    found.figure = ff__deepum_seconds(&run->simulated);
    found.unit = "s of 100 iterations";
    return found;
}

int ff__deepum_runs_make(struct ff__deepum_runs *work, const struct ff__repro_plan *plan) {
    const struct ff__repro_runs runs = {work->count, run_job, name_job, found_by_job, work};
    return ff__repro_run_all(plan, &runs);
}

bool ff__deepum_lms_runs(const struct ff__deepum_runs *work, const struct ff__workload *workload,
                         enum ff__deepum_card card) {
    const struct ff__lms_config config = {&work->gpus[card], cards[card].memory, false};
    struct ff__sim_result result;
    struct ff_error error;
    return ff__lms_run(&config, workload, FF__DEEPUM_ITERATIONS, &result, &error) == 0;
}
