/* farfault compare: the same programs under several systems. */
#include "cli/compare.h"

#include "cli/cli.h"
#include "cli/find.h"
#include "cli/needs.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/specs.h"
#include "cli/sweep.h"
#include "report/progress.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Runs OpenCL programs without farfault (plain), fully resident in device memory (in-memory), "
    "and with little memory under each system; then shows times, traffic, and whether the results "
    "were right.\n"
    "\n"
    "Examples:\n"
    "  farfault compare --size 256M --memory 66% atax bicg\n"
    "  farfault compare --systems nvidia,auto --memory 50%,90% './program 1000'\n"
    "  farfault compare --gpu v100-16g --memory 66%,50% bfs,hotspot\v"
    "A PROGRAM is the name of a bundled program (see farfault list programs) or a command for the "
    "shell, in quotes, with a space or a slash in it. Bundled programs check their results; of a "
    "command the exit status counts, and with --same-output what it prints. Each program is run "
    "once beforehand, to learn its footprint and to have its kernels compiled. Every option can "
    "also be set in the environment, --memory as FARFAULT_MEMORY and so on; the "
    "command line wins.\n"
    "\n"
    "With --bound, two lines more are below each program's systems. No run can take less time or "
    "move less than the lower bound, whatever the order in which its threads touch pages. The "
    "reference has the order that was recorded.\n"
    "\n"
    "The exit status is 1 if any run failed.";

struct comparing {
    struct ff__comparison comparison;
    struct ff__options *options;
    struct ff_config config;
    struct ff__progress progress;
    char preload[PATH_MAX];
    uint64_t size, limit_ns;
    struct ff__outputs outputs;
    int interrupted; /* the signal that asked us to stop */
};

/* ---- options ---- */

static int read_systems(struct comparing *work) {
    struct ff__words *systems = &work->comparison.systems;
    struct ff_error error;
    if (ff__specs_split(ff__options_text(work->options, FF__OPTION_SYSTEMS), systems, &error))
        return ff__options_complain(work->options, FF__OPTION_SYSTEMS, error.message);
    int status = 0;
    for (unsigned i = 0; i < systems->count && !status; i++) {
        work->config.system = systems->items[i];
        status = ff__probe_system(&work->config);
    }
    return status;
}

static int read_amounts(struct comparing *work) {
    struct ff__comparison *comparison = &work->comparison;
    comparison->amount_texts = ff__words_split(ff__options_text(work->options, FF__OPTION_MEMORY));
    unsigned count = comparison->amount_texts.count;
    comparison->amounts = ff__must(calloc(count, sizeof *comparison->amounts));
    for (unsigned i = 0; i < count; i++)
        if (ff__amount_parse(comparison->amount_texts.items[i], &comparison->amounts[i]))
            return ff__options_complain(work->options, FF__OPTION_MEMORY,
                                        count > 1 ? "each " FF__AMOUNT_EXPECTED
                                                  : FF__AMOUNT_EXPECTED);
    return 0;
}

static int read_programs(struct comparing *work) {
    struct ff__programs *programs = &work->comparison.programs;
    const struct ff__options *options = work->options;
    const char *list = options->text[FF__OPTION_PROGRAMS];
    if (!list && options->word_count == 0)
        list = "all";
    int status = list ? ff__programs_add_list(programs, list, work->size) : 0;
    for (int i = 0; i < options->word_count && !status; i++)
        status = ff__programs_add(programs, options->words[i], work->size);
    return status;
}

static int read_quantities(struct comparing *work) {
    const uint64_t *number = work->options->number;
    work->size = number[FF__OPTION_SIZE];
    work->limit_ns = number[FF__OPTION_TIMEOUT];
    work->comparison.runs = (unsigned)number[FF__OPTION_RUNS];
    work->comparison.same_output = number[FF__OPTION_SAME_OUTPUT];
    work->comparison.bound = number[FF__OPTION_BOUND];
    if (work->comparison.bound && work->config.devices > 1)
        return ff__options_complain(work->options, FF__OPTION_BOUND, "is for one device");
    return 0;
}

static int read_options(struct comparing *work) {
    int (*const steps[])(struct comparing *) = {read_quantities, read_systems, read_amounts,
                                                read_programs};
    int status = ff__options_apply(work->options, &work->config);
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0] && !status; i++)
        status = steps[i](work);
    return status;
}

/* A command of the user's begins with a program. */
static bool needs_opencl(const struct ff__programs *programs) {
    for (unsigned i = 0; i < programs->count; i++) {
        const struct ff__program *program = &programs->items[i];
        char *first = ff__text("%.*s", (int)strcspn(program->name, " "), program->name);
        bool only_cuda = !program->bundled && ff__program_needs_only_cuda(first);
        free(first);
        if (!only_cuda)
            return true;
    }
    return false;
}

/* Sizes are checked with the rest; what a share comes to is not known yet, so the default size
 * stands in for it. */
static int probe(struct comparing *work) {
    struct ff__comparison *comparison = &work->comparison;
    const uint64_t fallback = work->config.memory;
    int status = ff__outputs_read(work->options, &work->outputs);
    for (unsigned i = 0; i < comparison->amount_texts.count && !status; i++) {
        const struct ff__amount *amount = &comparison->amounts[i];
        work->config.memory = amount->share > 0 ? fallback : amount->bytes;
        status = ff__probe_device(work->options, &work->config, comparison->description);
    }
    if (!status)
        status = ff__find_preload(work->preload);
    if (!status && needs_opencl(&comparison->programs))
        status = ff__probe_opencl(comparison->opencl);
    return status;
}

/* ---- measuring ---- */

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

static void try(struct comparing *work, unsigned program, unsigned line, bool is_first,
                struct ff__trial *out) {
    const struct ff__comparison *comparison = &work->comparison;
    const char *system = ff__line_system(comparison, line);
    const struct ff__trial_plan plan = {
        .program = &comparison->programs.items[program],
        .preload = work->preload,
        .devices = work->config.devices,
        .system = line == FF__LINE_PLAIN       ? NULL
                  : line == FF__LINE_IN_MEMORY ? FF__SYSTEM_IN_MEMORY
                                               : system,
        .memory = ff__line_memory(comparison, program, line),
        .limit_ns = work->limit_ns,
        .expected_output = comparison->outcomes[program].output,
        .keeps_output =
            is_first && comparison->same_output && !comparison->programs.items[program].bundled,
    };
    ff__trial_run(&plan, out);
    work->interrupted = out->end.interrupted;
    work->progress.done++;
}

/* The run before the measured ones. False, and every line failed, if that already goes wrong. */
static bool learn_footprint(struct comparing *work, unsigned program) {
    struct ff__comparison *comparison = &work->comparison;
    struct ff__outcome *outcome = &comparison->outcomes[program];
    struct ff__trial trial;
    ff__progress_show(&work->progress, "%s: footprint", comparison->programs.items[program].name);
    try(work, program, FF__LINE_PLAIN, true, &trial);
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

static void run_recorded(struct comparing *work, unsigned program, const char *trace) {
    struct ff__comparison *comparison = &work->comparison;
    struct ff__limits *limits = &comparison->outcomes[program].limits;
    struct ff__trial trial;
    const struct ff__trial_plan plan = {
        .program = &comparison->programs.items[program],
        .preload = work->preload,
        .devices = 1,
        .system = FF__SYSTEM_BASELINE,
        .memory = recording_memory(comparison, program),
        .limit_ns = work->limit_ns,
        .touches = trace,
        .expected_output = -1,
    };
    ff__trial_run(&plan, &trial);
    work->interrupted = trial.end.interrupted;
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
static void learn_limits(struct comparing *work, unsigned program) {
    struct ff__comparison *comparison = &work->comparison;
    struct ff__limits *limits = &comparison->outcomes[program].limits;
    char trace[PATH_MAX];
    ff__progress_show(&work->progress, "%s: lower bound", comparison->programs.items[program].name);
    work->progress.done++;
    int status = place_trace(trace);
    if (status) {
        snprintf(limits->reason, sizeof limits->reason, "cannot make a temporary file: %s",
                 strerror(-status));
        return;
    }
    run_recorded(work, program, trace);
    remove_trace(trace);
    ff__limits_time_link(limits, &work->config.link);
}

/* In turn, run by run, so that a machine that is slow for a while is slow for all systems alike. */
static void measure_program(struct comparing *work, unsigned program) {
    struct ff__comparison *comparison = &work->comparison;
    if (!learn_footprint(work, program))
        return;
    if (comparison->bound)
        learn_limits(work, program);
    for (unsigned run = 0; run < comparison->runs; run++) {
        for (unsigned line = 0; line < comparison->line_count && !work->interrupted; line++) {
            struct ff__result *result = &comparison->outcomes[program].lines[line];
            struct ff__trial trial;
            if (result->failed)
                continue;
            ff__progress_show(&work->progress, "%s: %s, run %u of %u",
                              comparison->programs.items[program].name,
                              ff__line_system(comparison, line), run + 1, comparison->runs);
            try(work, program, line, false, &trial);
            ff__result_add(result, &trial);
        }
    }
    if (comparison->bound)
        ff__limits_time_link(&comparison->outcomes[program].limits, &work->config.link);
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

static int measure(struct comparing *work) {
    struct ff__comparison *comparison = &work->comparison;
    bool tables = ff__outputs_leave_tables(&work->outputs);
    make_outcomes(comparison);
    ff__progress_start(&work->progress,
                       comparison->programs.count *
                           (1 + comparison->bound + comparison->runs * comparison->line_count));
    for (unsigned i = 0; i < comparison->programs.count && !work->interrupted; i++) {
        measure_program(work, i);
        work->progress.done = (i + 1) * (work->progress.total / comparison->programs.count);
        ff__progress_hide(&work->progress);
        if (tables && !work->interrupted)
            ff__compare_show_program(comparison, i);
    }
    if (work->interrupted)
        return ff__complain(FF__EXIT_SIGNAL + work->interrupted, "stopped by signal %d (%s)",
                            work->interrupted, strsignal(work->interrupted));
    if (tables)
        ff__compare_show_means(comparison);
    json_t *all = ff__compare_results(comparison);
    int status = ff__outputs_write(&work->outputs, all);
    json_decref(all);
    return status ? status : any_failed(comparison) ? FF__EXIT_FAILURE : 0;
}

/* ---- modelled ---- */

static int refuse(const struct ff__options *options, enum ff__option option, const char *needed) {
    return ff__options_typed(options, option) ? ff__complain(FF__EXIT_USAGE, "--%s is for %s",
                                                             ff__option_rows[option].name, needed)
                                              : 0;
}

static int compare_modelled(struct ff__options *options) {
    struct ff__sweep sweep = {0};
    char *systems = ff__text("%s,oracle", options->fallback[FF__OPTION_SYSTEMS]);
    int status = 0;
    for (enum ff__option i = 0; i < FF__OPTIONS && !status; i++)
        if (i != FF__OPTION_MODELLED && !ff__command_has(FF__COMMAND_SIM, i))
            status = refuse(options, i, "programs, not for modelled runs");
    options->fallback[FF__OPTION_SYSTEMS] = systems;
    if (!status)
        status = ff__sweep_read(options, false, &sweep);
    if (!status)
        status = ff__sweep_run(&sweep);
    ff__sweep_free(&sweep);
    free(systems);
    return status;
}

/* Only the command line decides which it is: a variable that names a device is for farfault sim. */
static bool is_modelled(const struct ff__options *options) {
    return ff__options_typed(options, FF__OPTION_GPU) ||
           (ff__options_typed(options, FF__OPTION_MODELLED) &&
            options->number[FF__OPTION_MODELLED]);
}

/* ---- the command ---- */

static int compare_live(struct comparing *work) {
    static const char needed[] = "modelled runs: give --gpu, too";
    int status = refuse(work->options, FF__OPTION_OVERSUBSCRIBE, needed);
    if (!status)
        status = refuse(work->options, FF__OPTION_JOBS, needed);
    if (!status)
        status = read_options(work);
    if (!status)
        status = probe(work);
    return status ? status : measure(work);
}

static void release(struct comparing *work) {
    struct ff__comparison *comparison = &work->comparison;
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
}

static int compare(struct ff__options *options) {
    struct comparing work = {.options = options};
    if (is_modelled(options))
        return compare_modelled(options);
    int status = compare_live(&work);
    release(&work);
    return status;
}

const struct ff__command ff__command_compare = {
    FF__COMMAND_COMPARE, "[PROGRAM[,PROGRAM...]...|WORKLOAD[,WORKLOAD...]]", help, compare, 0};
