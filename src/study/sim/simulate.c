#include "study/sim/simulate.h"

#include "backend/sim/lms/lms.h"
#include "base/error.h"
#include "report/text.h"
#include "trace/model/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the trace of a run ---- */

struct watcher {
    struct ff_trace_writer *writer;
    int status;
};

static void watch(void *self, const struct ff_trace_event *event, const struct ff_access *seen) {
    struct watcher *watcher = self;
    (void)seen;
    if (!watcher->status)
        watcher->status = ff_trace_write(watcher->writer, event);
}

static int start_trace(const struct ff__simulation *simulation, struct watcher *watcher,
                       struct ff_error *error) {
    struct ff_trace_info info = {.source = "sim", .accesses = true, .memory = simulation->memory};
    snprintf(info.subject, sizeof info.subject, "%s", simulation->subject.name);
    int status = ff_trace_create(simulation->trace, &info, &watcher->writer);
    return status ? ff__fail(error, status, "%s: %s", simulation->trace, strerror(-status)) : 0;
}

static int end_trace(const struct ff__simulation *simulation, struct watcher *watcher, int ran,
                     struct ff_error *error) {
    if (ran) {
        ff_trace_abandon(watcher->writer);
        return ran;
    }
    int status = ff_trace_finish(watcher->writer);
    return status ? ff__fail(error, status, "%s: %s", simulation->trace, strerror(-status)) : 0;
}

/* ---- what policies have found ---- */

static void note_finding(void *self, const char *kernel, const char *array,
                         const struct ff_finding *finding) {
    struct ff__simulated *out = self;
    struct ff__finding_text *text;
    out->findings =
        ff__must(realloc(out->findings, (out->finding_count + 1) * sizeof *out->findings));
    text = &out->findings[out->finding_count++];
    snprintf(text->kernel, sizeof text->kernel, "%s", kernel);
    snprintf(text->range, sizeof text->range, "%s", array);
    snprintf(text->text, sizeof text->text, "%s", finding->text);
}

/* ---- the run ---- */

int ff__subject_open(const struct ff__subject *subject, struct ff__workload **out,
                     struct ff_error *error) {
    return subject->trace ? ff__trace_workload(subject->name, out, error)
                          : ff__workload_open(subject->name, subject->seed, out, error);
}

/* The subject, and behind it the programs on further devices; those of idle devices are left out.
 */
static int open_jobs(const struct ff__simulation *simulation, struct ff__workload *workload,
                     struct ff__sim_job *jobs, uint32_t *count, struct ff_error *error) {
    const struct ff__words *beside = simulation->beside;
    int status = 0;
    jobs[(*count)++] = (struct ff__sim_job){.workload = workload, .devices = simulation->devices};
    for (uint32_t i = 0; i < beside->count && !status; i++) {
        struct ff__sim_job *job = &jobs[*count];
        if (strcmp(beside->items[i], FF__IDLE_DEVICE) == 0)
            continue;
        *job = (struct ff__sim_job){
            .first_device = simulation->devices + i, .devices = 1, .repeats = true};
        status =
            ff__workload_open(beside->items[i], simulation->subject.seed, &job->workload, error);
        *count += !status;
    }
    return status;
}

static int run_beside(const struct ff__simulation *simulation, struct ff__sim_config *config,
                      struct ff__workload *workload, struct ff__simulated *out,
                      struct ff_error *error) {
    struct ff__sim_job *jobs = ff__must(calloc(1 + simulation->beside->count, sizeof *jobs));
    struct ff__sim_result all;
    uint32_t count = 0;
    config->devices += simulation->beside->count;
    config->lend = config->memory;
    int status = open_jobs(simulation, workload, jobs, &count, error);
    if (!status)
        status = ff__sim_run_jobs(config, jobs, count, &all, error);
    out->result = jobs[0].result;
    out->beside = ff__must(calloc(count, sizeof *out->beside));
    for (uint32_t i = 1; i < count; i++) {
        out->beside[out->beside_count++] = jobs[i].result;
        ff__workload_close(jobs[i].workload);
    }
    free(jobs);
    return status;
}

static int run_programs(const struct ff__simulation *simulation, struct ff__sim_config *config,
                        struct ff__workload *workload, struct ff__simulated *out,
                        struct ff_error *error) {
    return simulation->beside && simulation->beside->count > 0
               ? run_beside(simulation, config, workload, out, error)
               : ff__sim_run(config, workload, &out->result, error);
}

/* That it runs out of memory is a result, too. */
static int swap_tensors(const struct ff__simulation *simulation, struct ff__workload *workload,
                        struct ff__simulated *out, struct ff_error *error) {
    const struct ff__lms_config config = {
        .gpu = simulation->gpu,
        .memory = strcmp(simulation->system, FF__RESIDENT) == 0 ? 0 : simulation->memory,
        .empties = strcmp(simulation->system, FF__LMS_MOD) == 0,
    };
    int status = ff__lms_run(&config, workload, simulation->iterations, &out->result, error);
    return status == -ENOSPC ? -ENOTSUP : status;
}

static int run(const struct ff__simulation *simulation, struct ff__workload *workload,
               struct ff__simulated *out, struct ff_error *error) {
    struct watcher watcher = {0};
    struct ff__sim_config config = {
        .gpu = simulation->gpu,
        .machine = simulation->machine,
        .memory = simulation->memory,
        .devices = simulation->devices,
        .seed = simulation->subject.seed,
        .check = simulation->check,
        .instructions = simulation->instructions,
        .untimed = simulation->untimed,
        .extrapolates = simulation->extrapolates,
        .explain = simulation->explains ? note_finding : NULL,
        .explain_self = out,
    };
    if (simulation->iterations)
        return swap_tensors(simulation, workload, out, error);
    int status = ff__system_parse(simulation->system, &config.system, error);
    if (status)
        return status;
    if (!simulation->trace)
        return run_programs(simulation, &config, workload, out, error);
    config.observe = watch;
    config.observer = &watcher;
    status = start_trace(simulation, &watcher, error);
    if (status)
        return status;
    status = ff__sim_run(&config, workload, &out->result, error);
    return end_trace(simulation, &watcher, status, error);
}

void ff__simulate(const struct ff__simulation *simulation, struct ff__simulated *out) {
    struct ff__workload *workload;
    struct ff_error error = {""};
    *out = (struct ff__simulated){0};
    int status = ff__subject_open(&simulation->subject, &workload, &error);
    if (!status) {
        out->footprint = ff__workload_footprint(workload);
        status = run(simulation, workload, out, &error);
        ff__workload_close(workload);
    }
    out->good = status == 0;
    out->cannot = status == -ENOTSUP;
    if (status)
        snprintf(out->reason, sizeof out->reason, "%s",
                 error.message[0] ? error.message : strerror(-status));
}
