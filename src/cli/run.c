/* farfault run and record: a program under the preload, with everything checked before it starts.
 */
#include "cli/run.h"

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/probe.h"
#include "report/account.h"
#include "study/amount.h"
#include "study/find.h"
#include "study/live/child.h"
#include "study/live/environment.h"
#include "study/live/needs.h"
#include "study/live/trial.h"
#include "study/outputs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOTICE_NS UINT64_C(10000000000)

static const char help[] =
    "Runs an unchanged OpenCL or CUDA program on a device with little memory: what does not fit is "
    "kept in host memory and migrates when it is accessed.\n"
    "\n"
    "Examples:\n"
    "  farfault run ./program its arguments\n"
    "  farfault run --memory 50% ./program\n"
    "  farfault run --system nvidia --memory 256M --json=run.json ./program\n"
    "  farfault run --device gpu ./cuda-program\n"
    "\n"
    "Where to begin: docs/first-program.md.\v"
    "Options of farfault come before PROGRAM. Each can also be set in the environment, --memory as "
    "FARFAULT_MEMORY and so on; the command line wins.\n"
    "\n"
    "The exit status is the program's, 128 and the signal that killed it, 127 if there is no such "
    "program, 126 if it cannot be executed, 2 after bad usage, 1 if it could not be run.";

static const char record_help[] =
    "Runs an OpenCL or CUDA program as farfault run does, and writes a trace of its launches and "
    "far faults, which farfault replay simulates.\n"
    "\n"
    "Examples:\n"
    "  farfault record --touches --memory 32M --output run.trace ./program\n"
    "  farfault record --output run.trace --memory 50% ./program\n"
    "  farfault replay run.trace --gpu v100-16g --memory 66%\v"
    "Environment and exit status are those of farfault run. The faults of a run are those under "
    "its system: under another one other pages would have faulted. With --touches nothing is "
    "resident when a launch begins, and each page comes alone, so that all that a launch touches "
    "faults. What a launch touches again shows only if it has touched --memory of other pages "
    "meanwhile: the smaller that is, the more the trace has. It should be smaller than all memory "
    "that the trace is replayed with.\n"
    "Threads then serve their faults themselves (--handler sigbus); for a program that reads files "
    "straight into buffers, say --handler adaptive.";

struct plan {
    struct ff__options *options;
    struct ff_config config;
    struct ff__amount memory;
    struct ff__program program;
    char preload[PATH_MAX];
    struct ff__outputs outputs;
    char *record;        /* absolute, or NULL: no trace */
    const char *handler; /* not the default; or NULL */
    bool quiet;
    char reason[512]; /* why nothing was managed, where the program itself has said it; "": else */
    struct ff__book book; /* what its processes saw, counted and did */
};

/* ---- before ---- */

static int read_memory(struct plan *plan) {
    const char *text = plan->options->text[FF__OPTION_MEMORY];
    if (text && ff__amount_parse(text, &plan->memory))
        return ff__options_complain(plan->options, FF__OPTION_MEMORY, FF__AMOUNT_EXPECTED);
    if (!text)
        plan->memory.bytes = plan->config.memory;
    if (plan->memory.share <= 0) /* else this is not known yet: the default stands in */
        plan->config.memory = plan->memory.bytes;
    return 0;
}

/* Whether there are results for programs; then there is no summary for people. */
static bool has_outputs(const struct plan *plan) {
    return plan->outputs.json || plan->outputs.csv;
}

static struct ff__run_subject subject_of(const struct plan *plan,
                                         const struct ff__summary *summary) {
    return (struct ff__run_subject){
        .subject = plan->program.name,
        .system = plan->config.system,
        .device = json_string_value(json_object_get(summary->all, "description")),
        .share = plan->memory.share > 0 ? plan->options->text[FF__OPTION_MEMORY] : NULL,
        .memory = plan->config.memory,
        .footprint = summary->footprint,
    };
}

/* What the summary says, as a run like those of compare, with all that only it has. */
static json_t *run_of(const struct plan *plan, const struct ff__summary *summary, int status) {
    const struct ff__run_subject subject = subject_of(plan, summary);
    char *reason = ff__text("status %d", status);
    json_t *run = ff__run_new(&subject, &summary->measures, NULL, json_null());
    ff__json_set(run, "good", json_boolean(status == 0));
    ff__json_set(run, "reason", status ? ff__json_text(reason) : json_null());
    json_object_update_missing(run, summary->all);
    free(reason);
    return run;
}

/* A program without an account had nothing managed; the line that says why has been written. */
static int write_outputs(const struct plan *plan, int status) {
    struct ff__summary summary = {0};
    if (!has_outputs(plan))
        return status;
    int missing = plan->book.pages ? ff__summary_read(&plan->book, &summary) : -ENODATA;
    if (missing == -EINVAL && !status)
        status = ff__complain(FF__EXIT_FAILURE, "no results: a name in those of %s is no UTF-8",
                              plan->program.name);
    const struct ff__run_subject subject = subject_of(plan, &summary);
    json_t *run = missing
                      ? ff__run_new(&subject, NULL,
                                    plan->reason[0] ? plan->reason : ff__complaint(), json_null())
                      : run_of(plan, &summary, status);
    json_t *all = ff__results_new(plan->record ? "record" : "run"), *runs = ff__must(json_array());
    json_array_append_new(runs, run);
    ff__json_set(all, "devices", ff__json_count(plan->config.devices));
    ff__json_set(all, "seed", ff__json_count(plan->config.seed));
    ff__json_set(all, "runs", runs);
    int written = ff__outputs_write(&plan->outputs, all);
    json_decref(all);
    ff__summary_free(&summary);
    return status ? status : written;
}

/* A recording of touches is made under demand: what another system brings unasked is not seen to be
 * touched. Threads serve their faults themselves, unless they are told not to: then none of them
 * gets ahead because a handler serves it first, and the order in which they touch pages is that of
 * a run without faults. */
static int read_touches(struct plan *plan) {
    const char *system = plan->options->text[FF__OPTION_SYSTEM];
    if (!plan->config.touches || !plan->record) /* without a recording the context complains */
        return 0;
    if (system && strcmp(system, "demand") != 0)
        return ff__options_complain(plan->options, FF__OPTION_SYSTEM,
                                    "touches are those of the program, whatever the system: leave "
                                    "it out, or --touches");
    plan->config.system = "demand";
    plan->handler = plan->options->text[FF__OPTION_HANDLER] ? NULL : "sigbus";
    plan->config.touches = false; /* the program's environment says it; here nothing is recorded */
    return 0;
}

/* The same of --accesses, which are seen under any system. */
static int read_accesses(struct plan *plan) {
    if (!plan->config.accesses || !plan->record)
        return 0;
    if (plan->config.touches)
        return ff__options_complain(plan->options, FF__OPTION_ACCESSES,
                                    "every access shows also what is touched first: leave it out, "
                                    "or --touches");
    plan->config.accesses = false;
    return 0;
}

static int read_output(struct plan *plan) {
    const char *output = plan->options->text[FF__OPTION_OUTPUT];
    if (!output || !output[0])
        return ff__complain(FF__EXIT_USAGE, "nowhere to write to; name a file: --output TRACE");
    plan->record = ff__path_absolute(output);
    return 0;
}

static int read_options(struct plan *plan) {
    struct ff__options *options = plan->options;
    plan->quiet = options->number[FF__OPTION_QUIET];
    int status = ff__options_apply(options, &plan->config);
    if (!status)
        status = read_memory(plan);
    if (options->text[FF__OPTION_SYSTEM])
        plan->config.system = options->text[FF__OPTION_SYSTEM];
    if (!status)
        status = read_accesses(plan);
    if (!status)
        status = read_touches(plan);
    if (!status && options->word_count == 0)
        status = ff__complain(FF__EXIT_USAGE,
                              "no program to run; name one: farfault run PROGRAM ARGUMENTS");
    if (!status) {
        plan->program.name = options->words[0];
        plan->program.argv = options->words;
    }
    return status;
}

/* A program that needs CUDA alone runs without PoCL; one that cannot run is told why. */
static int probe_interfaces(const struct plan *plan) {
    struct ff__needs needs;
    char text[FF__PROBE_TEXT];
    int status = 0;
    ff__needs_read(plan->program.argv[0], &needs);
    if (ff__needs_private_driver(&needs))
        ff__complain(
            0,
            "%s has NVIDIA's CUDA run time linked in, which runs on NVIDIA's driver alone; "
            "build it with nvcc -cudart shared",
            plan->program.name);
    if (!ff__needs_only_cuda(&needs))
        status = ff__probe_opencl(text);
    ff__needs_free(&needs);
    return status;
}

static int probe(struct plan *plan) {
    char text[FF__PROBE_TEXT];
    int status = ff__probe_system(&plan->config);
    if (!status)
        status = ff__options_outputs(plan->options, &plan->outputs);
    if (!status)
        status = ff__probe_device(plan->options, &plan->config, text);
    if (!status)
        status = ff__find_preload(plan->preload);
    if (!status)
        status = probe_interfaces(plan);
    return status;
}

/* ---- the footprint ---- */

/* Runs the program once, unmanaged and unheard, to learn how much memory it asks for. */
static int measure_footprint(const struct plan *plan, uint64_t *footprint) {
    const struct ff__trial_plan once = {
        .program = &plan->program,
        .preload = plan->preload,
        .devices = plan->config.devices,
        .expected_output = -1,
    };
    struct ff__trial trial;
    if (!plan->quiet)
        ff__complain(0, "running %s once without limits to learn its footprint",
                     plan->program.name);
    ff__trial_run(&once, &trial);
    *footprint = trial.summary.footprint;
    ff__summary_free(&trial.summary);
    if (trial.start_status)
        return ff__child_complain(plan->program.name, trial.start_status);
    if (trial.end.interrupted)
        return FF__EXIT_SIGNAL + trial.end.interrupted;
    if (*footprint == 0 && trial.good)
        return ff__complain(FF__EXIT_FAILURE,
                            "%s asks for no device memory of which --memory "
                            "could be a share; give a size, such as 256M",
                            plan->program.name);
    if (*footprint == 0)
        return ff__complain(FF__EXIT_FAILURE,
                            "cannot learn the footprint of %s: %s; give --memory "
                            "as a size, such as 256M",
                            plan->program.name, trial.reason);
    return 0;
}

static int settle_memory(struct plan *plan) {
    if (plan->memory.share <= 0)
        return 0;
    uint64_t footprint = 0;
    int status = measure_footprint(plan, &footprint);
    if (status)
        return status;
    plan->config.memory = ff__amount_of(&plan->memory, footprint);
    char whole[FF__QUANTITY], part[FF__QUANTITY], text[FF__PROBE_TEXT];
    if (!plan->quiet)
        ff__complain(0, "footprint %s, memory %s", ff__size_text(whole, footprint),
                     ff__size_text(part, plan->config.memory));
    return ff__probe_device(plan->options, &plan->config, text);
}

/* ---- the program ---- */

static void set_environment(const struct plan *plan, struct ff__environment *out) {
    ff__environment_copy(out);
    ff__environment_manage(out, plan->preload, plan->config.devices, &plan->book,
                           plan->quiet || has_outputs(plan) ? "none" : "text");
    ff__environment_set(out, "FARFAULT_SYSTEM", "%s", plan->config.system);
    ff__environment_set(out, "FARFAULT_MEMORY", "%llu", (unsigned long long)plan->config.memory);
    if (plan->handler)
        ff__environment_set(out, "FARFAULT_HANDLER", "%s", plan->handler);
    if (plan->record)
        ff__environment_set(out, "FARFAULT_RECORD", "%s", plan->record);
}

/* ---- what became of it ---- */

/* What ended without reporting, because it was killed or left by _exit(), is printed here. */
static void print_rest(const struct plan *plan) {
    const struct ff__findings none = {.asked = false};
    for (uint32_t i = 0; i < ff__book_count(&plan->book); i++) {
        const struct ff__account *account = &plan->book.pages->accounts[i];
        if (account->managed && !account->reported_ns && !account->cancelled)
            ff__account_print(account, &none, stderr);
    }
}

/* One line, if no process of the program had anything managed and none has said why itself. */
static void complain_idle(struct plan *plan) {
    const struct ff__book *book = &plan->book;
    char excuse[512] =
        "called no OpenCL or CUDA function that farfault could see. LD_DEBUG=libs PROGRAM 2>&1 | "
        "grep -E 'OpenCL|cuda' shows which it loads; docs/first-program.md has more";
    for (uint32_t i = 0; i < ff__book_count(book); i++) {
        const struct ff__account *account = &book->pages->accounts[i];
        if (account->reason[0])
            snprintf(plan->reason, sizeof plan->reason, "%s", account->reason);
        if (account->managed || account->reason[0])
            return;
        ff__account_excuse(account, excuse, sizeof excuse);
    }
    ff__complain(0, "nothing was managed: %s %s", plan->program.name, excuse);
}

/* One line and status 1, whatever the program says of itself, if an invariant broke in one of its
 * processes. */
static int judge_invariants(const struct plan *plan, int status) {
    for (uint32_t i = 0; i < ff__book_count(&plan->book); i++) {
        const struct ff__account *account = &plan->book.pages->accounts[i];
        if (account->broken[0])
            return ff__complain(FF__EXIT_FAILURE, "an invariant broke in process %d: %s",
                                account->pid, account->broken);
    }
    return status;
}

static int judge_end(struct plan *plan, const struct ff__child_end *end) {
    const char *program = plan->program.name;
    int number = WIFSIGNALED(end->wait_status) ? WTERMSIG(end->wait_status) : 0;
    if (number)
        ff__complain(0, "%s was killed by signal %d (%s)", program, number, strsignal(number));
    if (!plan->quiet && !has_outputs(plan))
        print_rest(plan);
    if (!number)
        complain_idle(plan);
    return judge_invariants(plan, ff__child_exit_status(end));
}

/* Warns early that a program uses neither OpenCL nor CUDA: it may run for hours. */
static void notice_idleness(void *noticer) {
    const struct plan *plan = noticer;
    if (ff__book_count(&plan->book) == 0)
        ff__complain(0, "%s has called no OpenCL or CUDA function so far: nothing is managed yet",
                     plan->program.name);
}

static int run_program(struct plan *plan) {
    struct ff__environment environment;
    int status = ff__book_make(&plan->book, true);
    if (status)
        return ff__complain(FF__EXIT_FAILURE, "cannot make a file of %zu bytes in memory: %s%s",
                            sizeof *plan->book.pages, strerror(-status),
                            status == -EFBIG ? " (ulimit -f)" : "");
    set_environment(plan, &environment);
    struct ff__child child = {
        .argv = plan->program.argv,
        .environment = environment.items,
        .output = ff__outputs_leave_tables(&plan->outputs) ? -1 : STDERR_FILENO,
        .errors = -1,
        .notice_ns = NOTICE_NS,
        .notice = notice_idleness,
        .noticer = plan,
    };
    struct ff__child_end end;
    status = ff__child_run(&child, &end);
    ff__environment_free(&environment);
    return status ? ff__child_complain(plan->program.name, status) : judge_end(plan, &end);
}

/* Which file has the trace's name: none before there is one, another one after (base/new_file.h).
 */
static ino_t trace_at(const char *path) {
    struct stat about;
    return path && stat(path, &about) == 0 ? about.st_ino : 0;
}

/* A recording is there for its trace. */
static int run_and_judge_trace(struct plan *plan) {
    ino_t before = trace_at(plan->record);
    int status = run_program(plan);
    if (status || !plan->record || trace_at(plan->record) != before)
        return status;
    return ff__complain(FF__EXIT_FAILURE, "no trace was written to %s", plan->record);
}

static int run_all(struct plan *plan) {
    int status = read_options(plan);
    if (!status)
        status = probe(plan);
    if (!status)
        status = settle_memory(plan);
    if (!status)
        status = write_outputs(plan, run_and_judge_trace(plan));
    ff__book_close(&plan->book);
    return status;
}

static int start(struct ff__options *options) {
    struct plan plan = {.options = options};
    const char *device = options->text[FF__OPTION_DEVICE];
    if (device && strcmp(device, "gpu") == 0)
        return ff__run_on_gpu(options);
    int status = options->command == FF__COMMAND_RECORD ? read_output(&plan) : 0;
    if (!status)
        status = run_all(&plan);
    free(plan.record);
    return status;
}

const struct ff__command ff__command_run = {FF__COMMAND_RUN, "PROGRAM [ARGUMENT...]", help, start,
                                            ARGP_IN_ORDER};
const struct ff__command ff__command_record = {FF__COMMAND_RECORD, "PROGRAM [ARGUMENT...]",
                                               record_help, start, ARGP_IN_ORDER};
