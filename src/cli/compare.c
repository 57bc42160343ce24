/* farfault compare: the same programs under several systems. */
#include "study/live/compare.h"

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/probe.h"
#include "cli/sim.h"
#include "study/find.h"
#include "study/jobs/ranks.h"
#include "study/live/needs.h"
#include "study/specs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    char preload[PATH_MAX], description[FF__PROBE_TEXT], opencl[FF__PROBE_TEXT];
    char *settings;
    uint64_t size;
    struct ff__outputs outputs;
};

/* ---- options ---- */

static int read_systems(struct comparing *work) {
    struct ff__words *systems = &work->comparison.matrix.systems;
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

static int read_budgets(struct comparing *work) {
    struct ff__words texts = ff__words_split(ff__options_text(work->options, FF__OPTION_MEMORY));
    struct ff__amount amount;
    bool good = true;
    for (unsigned i = 0; i < texts.count && good; i++) {
        good = ff__amount_parse(texts.items[i], &amount) == 0;
        ff__matrix_add_budget(&work->comparison.matrix, ff__text("%s", texts.items[i]), &amount);
    }
    const char *expected = texts.count > 1 ? "each " FF__AMOUNT_EXPECTED : FF__AMOUNT_EXPECTED;
    ff__words_free(&texts);
    return good ? 0 : ff__options_complain(work->options, FF__OPTION_MEMORY, expected);
}

static int read_programs(struct comparing *work) {
    struct ff__programs *programs = &work->comparison.programs;
    const struct ff__options *options = work->options;
    const char *list = options->text[FF__OPTION_PROGRAMS];
    bool named = list || options->word_count > 0;
    if (named && ff__options_typed(options, FF__OPTION_SET))
        return ff__complain(FF__EXIT_USAGE, "--set is for when no programs are named");
    if (!named)
        return ff__programs_add_set(programs, ff__options_text(options, FF__OPTION_SET),
                                    work->size);
    int status = list ? ff__programs_add_list(programs, list, work->size) : 0;
    for (int i = 0; i < options->word_count && !status; i++)
        status = ff__programs_add(programs, options->words[i], work->size);
    return status;
}

static int read_quantities(struct comparing *work) {
    const uint64_t *number = work->options->number;
    work->size = number[FF__OPTION_SIZE];
    work->comparison.limit_ns = number[FF__OPTION_TIMEOUT];
    work->comparison.matrix.runs = (unsigned)number[FF__OPTION_RUNS];
    work->comparison.same_output = number[FF__OPTION_SAME_OUTPUT];
    work->comparison.bound = number[FF__OPTION_BOUND];
    work->comparison.devices = work->config.devices;
    if (work->comparison.bound && work->config.devices > 1)
        return ff__options_complain(work->options, FF__OPTION_BOUND, "is for one device");
    return 0;
}

static int read_options(struct comparing *work) {
    int (*const steps[])(struct comparing *) = {read_quantities, read_systems, read_budgets,
                                                read_programs};
    int status = ff__options_apply(work->options, &work->config);
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0] && !status; i++)
        status = steps[i](work);
    return status;
}

/* Whether an option says what is compared, and not how it runs. */
static bool only_chooses(enum ff__option option) {
    static const enum ff__option choose[] = {
        FF__OPTION_SYSTEMS,  FF__OPTION_MEMORY,  FF__OPTION_RUNS,  FF__OPTION_SIZE,
        FF__OPTION_PROGRAMS, FF__OPTION_SET,     FF__OPTION_BOUND, FF__OPTION_SAME_OUTPUT,
        FF__OPTION_SEED,     FF__OPTION_TIMEOUT, FF__OPTION_JSON,  FF__OPTION_CSV,
        FF__OPTION_STUDY,    FF__OPTION_FRESH,
    };
    for (size_t i = 0; i < sizeof choose / sizeof choose[0]; i++)
        if (choose[i] == option)
            return true;
    return false;
}

/* All options that decide what a run finds. */
static void note_settings(struct comparing *work) {
    work->settings = ff__text(" size=%llu", (unsigned long long)work->size);
    for (enum ff__option i = 0; i < FF__OPTIONS; i++) {
        if (!work->options->text[i] || only_chooses(i))
            continue;
        work->settings =
            ff__text_add(work->settings, " %s=%s", ff__option_rows[i].name, work->options->text[i]);
    }
    work->comparison.settings = work->settings;
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
    int status = ff__options_outputs(work->options, &work->outputs);
    for (unsigned i = 0; i < comparison->matrix.budget_count && !status; i++) {
        const struct ff__amount *amount = &comparison->matrix.budgets[i].amount;
        work->config.memory = amount->share > 0 ? fallback : amount->bytes;
        status = ff__probe_device(work->options, &work->config, work->description);
    }
    if (!status)
        status = ff__find_preload(work->preload);
    if (!status && needs_opencl(&comparison->programs))
        status = ff__probe_opencl(work->opencl);
    return status;
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
        status = refuse(work->options, FF__OPTION_PART, needed);
    if (!status && ff__ranks_count() > 1)
        status = ff__complain(FF__EXIT_USAGE,
                              "programs are compared on one machine, one after the other: start "
                              "farfault once, without mpirun");
    if (!status)
        status = read_options(work);
    if (!status)
        status = probe(work);
    if (!status)
        status = ff__options_study(work->options, NULL, &work->comparison.study);
    work->comparison.study.jobs = 1;
    work->comparison.study.parts = 0;
    ff__words_add(&work->comparison.matrix.devices, ff__text("%s", work->description));
    note_settings(work);
    return status ? status : ff__compare_run(&work->comparison);
}

static int compare(struct ff__options *options) {
    struct comparing work = {.options = options};
    work.comparison.preload = work.preload;
    work.comparison.opencl = work.opencl;
    work.comparison.link = &work.config.link;
    work.comparison.outputs = &work.outputs;
    if (is_modelled(options))
        return compare_modelled(options);
    int status = compare_live(&work);
    ff__compare_free(&work.comparison);
    free(work.settings);
    return status;
}

const struct ff__command ff__command_compare = {
    FF__COMMAND_COMPARE, "[PROGRAM[,PROGRAM...]...|WORKLOAD[,WORKLOAD...]]", help, compare, 0};
