#include "study/repro/deepum_runs.h"

#include "backend/sim/lms/lms.h"
#include "report/complain.h"
#include "study/find.h"

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

int ff__deepum_runs_open(struct ff__deepum_runs *work, const struct ff__repro_plan *plan) {
    *work = (struct ff__deepum_runs){.seed = plan->study.seed};
    for (unsigned i = 0; i < FF__DEEPUM_CARDS; i++) {
        int status = ff__find_gpu(cards[i].gpu, FF__EXIT_FAILURE, &work->gpus[i]);
        if (status)
            return status;
    }
    return 0;
}

void ff__deepum_runs_close(struct ff__deepum_runs *work) {
    ff__simulations_free(&work->runs);
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

static unsigned number_of(struct ff__deepum_runs *work, const char *workload, const char *system,
                          enum ff__deepum_card card) {
    unsigned iterations = iterations_of(system);
    char *name = ff__text("%s,iterations=%u", workload, iterations);
    const struct ff__simulation simulation = {
        .subject = {name, false, work->seed},
        .gpu = &work->gpus[card],
        .system = system,
        .memory = cards[card].memory,
        .devices = 1,
        .iterations = is_simulated(system) ? 0 : iterations,
    };
    unsigned number = ff__simulations_add(&work->runs, &simulation);
    free(name);
    return number;
}

void ff__deepum_runs_add(struct ff__deepum_runs *work, const char *workload, const char *system,
                         enum ff__deepum_card card) {
    number_of(work, workload, system, card);
}

const struct ff__simulated *ff__deepum_run(struct ff__deepum_runs *work, const char *workload,
                                           const char *system, enum ff__deepum_card card) {
    return ff__simulations_at(&work->runs, number_of(work, workload, system, card));
}

const char *ff__deepum_gpu(enum ff__deepum_card card) {
    return cards[card].gpu;
}

uint64_t ff__deepum_memory(enum ff__deepum_card card) {
    return cards[card].memory;
}

double ff__deepum_seconds(const struct ff__simulated *simulated) {
    const struct ff__sim_result *result = &simulated->result;
    if (!simulated->good)
        return (double)NAN;
    double more = (double)(FF__DEEPUM_ITERATIONS - result->iterations) *
                  (double)result->last_iteration.time_ns;
    return ((double)result->time_ns + more) * 1e-9;
}

int ff__deepum_runs_make(struct ff__deepum_runs *work, const struct ff__repro_plan *plan) {
    return ff__simulations_run(&plan->study, &work->runs);
}

bool ff__deepum_lms_runs(const struct ff__deepum_runs *work, const struct ff__workload *workload,
                         enum ff__deepum_card card) {
    const struct ff__lms_config config = {&work->gpus[card], cards[card].memory, false};
    struct ff__sim_result result;
    struct ff_error error;
    return ff__lms_run(&config, workload, FF__DEEPUM_ITERATIONS, &result, &error) == 0;
}
