/* The runs of a comparison. */
#include "study/live/compare.h"

#include "report/complain.h"
#include "report/progress.h"
#include "study/live/copy_rate.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A quarter and 32 MiB more than needed: nothing is ever evicted. */
static uint64_t ample_memory(uint64_t footprint) {
    const struct ff__amount ample = {.bytes = footprint + footprint / 4 + (UINT64_C(32) << 20)};
    return ff__amount_of(&ample, 0);
}

uint64_t ff__line_memory(const struct ff__comparison *comparison, unsigned program, unsigned line) {
    uint64_t footprint = comparison->outcomes[program].footprint;
    if (line == FF__LINE_PLAIN)
        return 0;
    if (line == FF__LINE_IN_MEMORY)
        return ample_memory(footprint);
    return ff__amount_of(&comparison->amounts[ff__line_amount(comparison, line)], footprint);
}

/* A run of a line, from 1; 0: the one beforehand, of which what a command prints may be needed. */
static void try(struct ff__comparison *comparison, unsigned program, unsigned line, unsigned run,
                struct ff__trial *out) {
    const struct ff__program *what = &comparison->programs.items[program];
    const char *system = ff__line_system(comparison, line);
    const struct ff__trial_plan plan = {
        .program = what,
        .preload = comparison->preload,
        .devices = comparison->devices,
        .system = line == FF__LINE_PLAIN       ? NULL
                  : line == FF__LINE_IN_MEMORY ? FF__SYSTEM_IN_MEMORY
                                               : system,
        .memory = ff__line_memory(comparison, program, line),
        .limit_ns = comparison->limit_ns,
        .expected_output = comparison->outcomes[program].output,
        .keeps_output = run == 0 && comparison->same_output && !what->bundled,
    };
    comparison->progress.done++;
    if (!plan.keeps_output && ff__trial_find(comparison, program, line, run, out))
        return;
    ff__trial_run(&plan, out);
    ff__trial_keep(comparison, program, line, run, out);
    comparison->interrupted = out->end.interrupted;
}

/* The run before the measured ones. False, and every line failed, if that already goes wrong. */
static bool learn_footprint(struct ff__comparison *comparison, unsigned program) {
    struct ff__outcome *outcome = &comparison->outcomes[program];
    struct ff__trial trial;
    ff__progress_show(&comparison->progress, "%s: footprint",
                      comparison->programs.items[program].name);
    try(comparison, program, FF__LINE_PLAIN, 0, &trial);
    outcome->output = trial.output;
    outcome->footprint = trial.summary.footprint;
    ff__summary_free(&trial.summary);
    if (trial.good && outcome->footprint > 0)
        return true;
    outcome->untried = true;
    for (unsigned line = 0; line < comparison->line_count; line++)
        ff__result_fail(&outcome->lines[line],
                        trial.good ? "asks for no device memory" : trial.reason);
    return false;
}

/* The smallest that is compared: a recording leaves out what was touched again while it was
 * resident. */
static uint64_t recording_memory(const struct ff__comparison *comparison, unsigned program) {
    uint64_t least = UINT64_MAX;
    for (unsigned amount = 0; amount < comparison->amount_texts.count; amount++) {
        uint64_t memory = ff__line_memory(comparison, program, ff__line_of(comparison, 0, amount));
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
        ff__limits_read(comparison, program, trace);
    else
        snprintf(limits->reason, sizeof limits->reason, "recording it: %.150s", trial.reason);
    ff__summary_free(&trial.summary);
}

/* A name of its own for a recording. 0 or a negative errno. */
static int place_trace(char trace[PATH_MAX]) {
    const char *folder = getenv("TMPDIR");
    int length = snprintf(trace, PATH_MAX, "%s/farfault-XXXXXX",
                          folder && folder[0] == '/' ? folder : "/tmp");
    int fd = length < PATH_MAX ? mkostemp(trace, O_CLOEXEC) : -1;
    if (length >= PATH_MAX)
        return -ENAMETOOLONG;
    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
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

/* The lower bounds, from a recording of the program's touches. */
static void learn_limits(struct ff__comparison *comparison, unsigned program) {
    struct ff__limits *limits = &comparison->outcomes[program].limits;
    char trace[PATH_MAX];
    ff__progress_show(&comparison->progress, "%s: lower bound",
                      comparison->programs.items[program].name);
    comparison->progress.done++;
    int status = place_trace(trace);
    if (status) {
        snprintf(limits->reason, sizeof limits->reason, "cannot make a temporary file: %s",
                 strerror(-status));
        return;
    }
    run_recorded(comparison, program, trace);
    remove_trace(trace);
    ff__limits_time_link(limits, comparison->link);
}

/* In turn, run by run, so that a machine that is slow for a while is slow for all systems alike. */
static void measure_program(struct ff__comparison *comparison, unsigned program) {
    if (!learn_footprint(comparison, program))
        return;
    if (comparison->bound)
        learn_limits(comparison, program);
    for (unsigned run = 0; run < comparison->runs; run++) {
        for (unsigned line = 0; line < comparison->line_count && !comparison->interrupted; line++) {
            struct ff__result *result = &comparison->outcomes[program].lines[line];
            struct ff__trial trial;
            if (result->failed)
                continue;
            ff__progress_show(&comparison->progress, "%s: %s, run %u of %u",
                              comparison->programs.items[program].name,
                              ff__line_system(comparison, line), run + 1, comparison->runs);
            try(comparison, program, line, run + 1, &trial);
            ff__result_add(result, &trial);
        }
    }
    if (comparison->bound)
        ff__limits_time_link(&comparison->outcomes[program].limits, comparison->link);
}

static void make_outcomes(struct ff__comparison *comparison) {
    comparison->line_count =
        FF__LINE_SYSTEMS + comparison->systems.count * comparison->amount_texts.count;
    comparison->outcomes =
        ff__must(calloc(comparison->programs.count, sizeof *comparison->outcomes));
    for (unsigned i = 0; i < comparison->programs.count; i++) {
        comparison->outcomes[i].output = -1;
        comparison->outcomes[i].lines =
            ff__must(calloc(comparison->line_count, sizeof *comparison->outcomes[i].lines));
    }
}

static bool any_failed(const struct ff__comparison *comparison) {
    for (unsigned i = 0; i < comparison->programs.count; i++)
        for (unsigned line = 0; line < comparison->line_count; line++)
            if (comparison->outcomes[i].lines[line].failed)
                return true;
    return false;
}

int ff__compare_run(struct ff__comparison *comparison) {
    bool tables = ff__outputs_leave_tables(comparison->outputs);
    make_outcomes(comparison);
    ff__progress_start(&comparison->progress,
                       comparison->programs.count *
                           (1 + comparison->bound + comparison->runs * comparison->line_count));
    for (unsigned i = 0; i < comparison->programs.count && !comparison->interrupted; i++) {
        measure_program(comparison, i);
        comparison->progress.done =
            (i + 1) * (comparison->progress.total / comparison->programs.count);
        ff__progress_hide(&comparison->progress);
        if (tables && !comparison->interrupted)
            ff__compare_show_program(comparison, i);
    }
    if (comparison->interrupted)
        return ff__complain(FF__EXIT_SIGNAL + comparison->interrupted, "stopped by signal %d (%s)",
                            comparison->interrupted, strsignal(comparison->interrupted));
    if (tables)
        ff__compare_show_means(comparison);
    json_t *all = ff__compare_results(comparison);
    int status = ff__outputs_write(comparison->outputs, all);
    ff__study_put_results(comparison->study.store, all);
    json_decref(all);
    return status ? status : any_failed(comparison) ? FF__EXIT_FAILURE : 0;
}

/* ---- all of it ---- */

void ff__compare_free(struct ff__comparison *comparison) {
    for (unsigned i = 0; comparison->outcomes && i < comparison->programs.count; i++) {
        for (unsigned line = 0; line < comparison->line_count; line++)
            ff__result_free(&comparison->outcomes[i].lines[line]);
        free(comparison->outcomes[i].lines);
        ff__limits_free(&comparison->outcomes[i].limits);
        if (comparison->outcomes[i].output >= 0)
            close(comparison->outcomes[i].output);
    }
    free(comparison->outcomes);
    free(comparison->amounts);
    ff__words_free(&comparison->amount_texts);
    ff__words_free(&comparison->systems);
    ff__programs_free(&comparison->programs);
    ff__store_close(comparison->study.store);
}
