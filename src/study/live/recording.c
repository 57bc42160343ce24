/* A recording of a program's touches, and the lower bounds from it. */
#include "base/new_file.h"
#include "report/progress.h"
#include "study/live/compare.h"
#include "study/live/copy_rate.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the bounds ---- */

void ff__limits_free(struct ff__limits *limits) {
    free(limits->items);
    limits->items = NULL;
}

void ff__limits_time_link(struct ff__limits *limits, const struct ff_link *link) {
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    double rate;
    if (ff__copy_rate(cpus > 1 ? (unsigned)cpus : 1, &rate))
        return;
    if (link->bytes_per_second > 0 && rate > link->bytes_per_second)
        rate = link->bytes_per_second;
    limits->rate = rate > limits->rate ? rate : limits->rate;
}

static int find_all(const struct ff__comparison *comparison, unsigned program,
                    const struct ff__touches *touches, struct ff__limit *limits) {
    int status = 0;
    for (unsigned amount = 0; amount < comparison->matrix.budget_count && !status; amount++) {
        uint64_t memory = ff__limits_memory(comparison, program, amount);
        status = ff__bound_find(touches, FF__ORDER_ANY, memory, &limits[amount].bound);
        if (!status)
            status = ff__bound_find(touches, FF__ORDER_RECORDED, memory, &limits[amount].reference);
        if (!touches->parallel)
            limits[amount].bound = limits[amount].reference;
    }
    return status;
}

static void read_limits(struct ff__comparison *comparison, unsigned program, const char *trace) {
    struct ff__limits *limits = &comparison->outcomes[program].limits;
    struct ff__touches touches;
    struct ff_error error;
    int status = ff__touches_read(trace, &touches, &error);
    if (status) {
        snprintf(limits->reason, sizeof limits->reason, "%.150s", error.message);
        ff__touches_free(&touches);
        return;
    }
    limits->parallel = touches.parallel;
    limits->items = ff__must(calloc(comparison->matrix.budget_count, sizeof *limits->items));
    status = find_all(comparison, program, &touches, limits->items);
    ff__touches_free(&touches);
    if (!status)
        return;
    snprintf(limits->reason, sizeof limits->reason, "%s", strerror(-status));
    ff__limits_free(limits);
}

/* ---- the recording ---- */

/* The smallest that is compared: a recording leaves out what was touched again while it was
 * resident. */
static uint64_t recording_memory(const struct ff__comparison *comparison, unsigned program) {
    uint64_t least = UINT64_MAX;
    for (unsigned amount = 0; amount < comparison->matrix.budget_count; amount++) {
        uint64_t memory = ff__limits_memory(comparison, program, amount);
        least = memory < least ? memory : least;
    }
    return least;
}

static void run_recorded(struct ff__comparison *comparison, unsigned program, const char *trace) {
    struct ff__limits *limits = &comparison->outcomes[program].limits;
    struct ff__trial trial;
    const struct ff__trial_plan plan = {
        .program = &comparison->programs.items[program],
        .preload = comparison->preload,
        .devices = 1,
        .system = FF__SYSTEM_BASELINE,
        .memory = recording_memory(comparison, program),
        .limit_ns = comparison->limit_ns,
        .touches = trace,
        .expected_output = -1,
    };
    ff__trial_run(&plan, &trial);
    comparison->interrupted = trial.end.interrupted;
    if (trial.good)
        read_limits(comparison, program, trace);
    else
        snprintf(limits->reason, sizeof limits->reason, "recording it: %.150s", trial.reason);
    ff__summary_free(&trial.summary);
}

/* What a program leaves that was killed before its trace had its name. */
static void remove_trace(const char *trace) {
    char pattern[PATH_MAX + 8];
    glob_t found = {.gl_pathc = 0};
    snprintf(pattern, sizeof pattern, "%s.*.part", trace);
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            unlink(found.gl_pathv[i]);
    globfree(&found);
    unlink(trace);
}

void ff__limits_learn(struct ff__comparison *comparison, unsigned program) {
    struct ff__limits *limits = &comparison->outcomes[program].limits;
    struct ff__progress progress;
    char trace[PATH_MAX];
    ff__progress_start(&progress, 1);
    ff__progress_show(&progress, "%s: lower bound", comparison->programs.items[program].name);
    int status = ff__file_temporary(trace);
    if (status) {
        snprintf(limits->reason, sizeof limits->reason, "cannot make a temporary file: %s",
                 strerror(-status));
        return;
    }
    run_recorded(comparison, program, trace);
    remove_trace(trace);
    ff__progress_hide(&progress);
    ff__limits_time_link(limits, comparison->link);
}
