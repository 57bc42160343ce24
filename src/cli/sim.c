/* farfault sim and replay: programs' models, and traces, on modelled devices. */
#include "cli/sim.h"

#include "cli/cli.h"
#include "study/find.h"
#include "study/specs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char sim_help[] =
    "Runs models of programs on modelled devices under several systems, in virtual time: the same "
    "engine and policies as on real memory, with the costs of a GPU.\n"
    "\n"
    "Examples:\n"
    "  farfault sim bfs,hotspot --memory 66%\n"
    "  farfault sim bfs:size=64M --systems nvidia,keep --oversubscribe 110%,150%\n"
    "  farfault sim atax --gpu gtx1080ti,v100-16g --memory 50% --json=out.json\n"
    "\n"
    "A program of your own: farfault record it, then farfault replay the trace.\v"
    "A WORKLOAD (see farfault list workloads) may have parameters: bfs:size=64M. Every combination "
    "of the listed workloads, systems, memory sizes and devices is run. The first line of each "
    "table, in-memory, is the fully resident run. Every option can also be set in the environment, "
    "--memory as FARFAULT_MEMORY and so on; the command line wins.\n"
    "\n"
    "The exit status is 1 if any run failed.\n"
    "\n"
    "More examples:\n"
    "  farfault sim atax --systems nvidia --memory 50% --trace atax.trace\n"
    "  farfault sim pagerank --machine p3.8xlarge --beside wcc,idle -s memharvester\n"
    "  farfault sim zipf --untimed --memory 10%,25% --systems nvidia,belady\n"
    "  farfault sim zipf --curve --csv=zipf.csv";

static const char replay_help[] =
    "Simulates a program of which farfault record has written a trace, on modelled devices under "
    "several systems, in virtual time.\n"
    "\n"
    "Examples:\n"
    "  farfault record --touches --memory 32M --output run.trace ./program\n"
    "  farfault replay run.trace --memory 66%\n"
    "  farfault replay run.trace --systems nvidia,oracle --memory 50%,75%\v"
    "Options are those of farfault sim. A trace of faults only, as farfault record writes it "
    "without --touches, shows less than one of all accesses: what never faulted is not in it.\n"
    "\n"
    "The exit status is 1 if any run failed.";

#define CURVE_MEMORY "1%,2%,5%,10%,20%,30%,40%,50%,60%,70%,80%,90%,100%"
#define MEMORY_MAX   (UINT64_C(1) << 44) /* bytes of a modelled device, as of a software device */

/* ---- systems ---- */

/* Baselines of a paper that are no systems of policies. */
static bool swaps_tensors(const char *name) {
    return strcmp(name, "lms") == 0 || strcmp(name, "lms-mod") == 0;
}

static int check_system(const char *name) {
    struct ff_error error;
    struct ff__system system;
    if (swaps_tensors(name))
        return ff__complain(FF__EXIT_USAGE,
                            "%s swaps the tensors of networks and no pages: farfault repro deepum "
                            "runs it beside the others",
                            name);
    return ff__system_parse(name, &system, &error)
               ? ff__complain(FF__EXIT_USAGE, "%s", error.message)
               : 0;
}

static int read_systems(const struct ff__options *options, struct ff__sweep *sweep) {
    const char *policy = options->text[FF__OPTION_POLICY];
    struct ff_error error;
    if (policy && ff__policy_load(policy, &error))
        return ff__complain(FF__EXIT_USAGE, "%s", error.message);
    sweep->by_default = !options->text[FF__OPTION_SYSTEMS];
    if (ff__specs_split(ff__options_text(options, FF__OPTION_SYSTEMS), &sweep->matrix.systems,
                        &error))
        return ff__options_complain(options, FF__OPTION_SYSTEMS, error.message);
    int status = 0;
    for (unsigned i = 0; i < sweep->matrix.systems.count && !status; i++)
        status = check_system(sweep->matrix.systems.items[i]);
    return status;
}

/* ---- devices ---- */

static int read_gpus(const struct ff__options *options, struct ff__sweep *sweep) {
    struct ff_error error;
    struct ff__words names;
    if (ff__specs_split(ff__options_text(options, FF__OPTION_GPU), &names, &error))
        return ff__options_complain(options, FF__OPTION_GPU, error.message);
    int status = 0;
    sweep->gpus = ff__must(calloc(names.count, sizeof *sweep->gpus));
    for (unsigned i = 0; i < names.count && !status; i++) {
        struct ff__gpu *gpu = &sweep->gpus[i];
        status = ff__find_gpu(names.items[i], FF__EXIT_USAGE, gpu);
        ff__words_add(&sweep->matrix.devices, ff__text("%s", gpu->name));
        if (sweep->curve)
            gpu->granule = FF_PAGE_SIZE;
    }
    ff__words_free(&names);
    return status;
}

static int read_machine(const struct ff__options *options, struct ff__sweep *sweep) {
    const char *name = options->text[FF__OPTION_MACHINE];
    struct ff_error error = {""};
    char folder[PATH_MAX];
    if (options->text[FF__OPTION_GPU])
        return ff__options_complain(options, FF__OPTION_MACHINE,
                                    "a machine has its own devices: leave out --gpu");
    int status = ff__find_data("", folder);
    if (status)
        return status;
    sweep->machine = ff__must(calloc(1, sizeof *sweep->machine));
    sweep->gpus = ff__must(calloc(1, sizeof *sweep->gpus));
    if (ff__machine_read(name, folder, sweep->machine, &error))
        return ff__options_complain(options, FF__OPTION_MACHINE, error.message);
    sweep->gpus[0] = sweep->machine->gpu;
    ff__words_add(&sweep->matrix.devices, ff__text("%s", sweep->gpus[0].name));
    return 0;
}

/* What runs beside the workloads. */
static int read_beside(const struct ff__options *options, struct ff__sweep *sweep) {
    const char *list = options->text[FF__OPTION_BESIDE];
    struct ff_error error = {""};
    int status = list ? ff__specs_split_all(list, &sweep->beside, &error) : 0;
    for (unsigned i = 0; i < sweep->beside.count && !status; i++) {
        struct ff__workload *workload;
        if (strcmp(sweep->beside.items[i], FF__IDLE_DEVICE) == 0)
            continue;
        status = ff__workload_open(sweep->beside.items[i], sweep->study.seed, &workload, &error);
        if (!status)
            ff__workload_close(workload);
    }
    if (status)
        return ff__options_complain(options, FF__OPTION_BESIDE, error.message);
    if (list && (sweep->untimed || options->text[FF__OPTION_TRACE]))
        return ff__options_complain(options, FF__OPTION_BESIDE,
                                    "programs beside each other need times, and a trace is of one "
                                    "program: leave out --untimed and --trace");
    if (sweep->devices + sweep->beside.count > FF__MACHINE_DEVICES)
        return ff__options_complain(options, FF__OPTION_BESIDE, "there can be 8 devices in all");
    return 0;
}

/* ---- memory ---- */

static int add_memory(const struct ff__options *options, const char *text,
                      struct ff__sweep *sweep) {
    struct ff__amount amount = {0};
    if (strcmp(text, "device") != 0 &&
        (ff__amount_parse(text, &amount) || (amount.share <= 0 && amount.bytes == 0)))
        return ff__options_complain(options, FF__OPTION_MEMORY,
                                    "each must be a size, such as 256M, a share of the footprint, "
                                    "such as 66%, or device");
    ff__matrix_add_budget(&sweep->matrix, ff__text("%s", text), &amount);
    return 0;
}

/* Less than a device allocates at once is none: that shows before anything is run. */
static int check_budgets(const struct ff__options *options, const struct ff__sweep *sweep) {
    for (unsigned i = 0; i < sweep->matrix.budget_count; i++)
        for (unsigned j = 0; j < sweep->matrix.devices.count; j++) {
            uint64_t bytes = sweep->matrix.budgets[i].amount.bytes,
                     least = ff__gpu_least_memory(&sweep->gpus[j]);
            if (bytes == 0 || (bytes >= least && bytes <= MEMORY_MAX))
                continue;
            char *expected = ff__text("%s: must be %llu to %llu bytes for %s",
                                      sweep->matrix.budgets[i].text, (unsigned long long)least,
                                      (unsigned long long)MEMORY_MAX, sweep->gpus[j].name);
            int status = ff__options_complain(options, FF__OPTION_MEMORY, expected);
            free(expected);
            return status;
        }
    return 0;
}

static int add_oversubscription(const struct ff__options *options, const char *text,
                                struct ff__sweep *sweep) {
    struct ff__amount amount;
    if (ff__amount_parse(text, &amount) || amount.share <= 0)
        return ff__options_complain(options, FF__OPTION_OVERSUBSCRIBE,
                                    "each must be a share of the memory, such as 110%");
    amount.share = 1 / amount.share;
    ff__matrix_add_budget(&sweep->matrix, ff__text("%s over", text), &amount);
    return 0;
}

static int add_all(const struct ff__options *options, const char *list, struct ff__sweep *sweep,
                   int (*add)(const struct ff__options *, const char *, struct ff__sweep *)) {
    struct ff__words words = {0};
    int status = 0;
    if (list)
        words = ff__words_split(list);
    for (unsigned i = 0; i < words.count && !status; i++)
        status = add(options, words.items[i], sweep);
    ff__words_free(&words);
    return status;
}

static int read_budgets(const struct ff__options *options, struct ff__sweep *sweep) {
    const char *over = options->text[FF__OPTION_OVERSUBSCRIBE];
    const char *memory = options->text[FF__OPTION_MEMORY];
    if (!memory && !over)
        memory = sweep->curve ? CURVE_MEMORY : ff__options_text(options, FF__OPTION_MEMORY);
    int status = add_all(options, memory, sweep, add_memory);
    if (!status)
        status = add_all(options, over, sweep, add_oversubscription);
    return status ? status : check_budgets(options, sweep);
}

/* ---- workloads ---- */

static int read_names(const struct ff__options *options, struct ff__sweep *sweep) {
    struct ff_error error;
    char *all = ff__text("%s", "");
    for (int i = 0; i < options->word_count; i++)
        if (sweep->traces)
            ff__words_add(&sweep->matrix.subjects, ff__text("%s", options->words[i]));
        else
            all = ff__text_add(all, "%s%s", i ? "," : "", options->words[i]);
    int status = options->word_count > 0 && !sweep->traces
                     ? ff__specs_split(all, &sweep->matrix.subjects, &error)
                     : 0;
    free(all);
    if (status)
        return ff__complain(FF__EXIT_USAGE, "%s", error.message);
    if (sweep->matrix.subjects.count == 0)
        return ff__complain(FF__EXIT_USAGE,
                            sweep->traces ? "no trace to replay; name one: farfault replay FILE"
                                          : "no workload; see farfault list workloads");
    return 0;
}

/* ---- what traces tell ---- */

static bool has_only_faults(const struct ff_trace_info *info) {
    return !info->accesses && !info->touches;
}

/* What was resident did not fault: how another system would have fared with it, the trace cannot
 * tell. */
static int refuse_ranking(const struct ff__sweep *sweep, const char *path) {
    if (!sweep->anyway && sweep->curve)
        return ff__complain(FF__EXIT_USAGE,
                            "%s: has only the faults of a run under one system, which are no curve "
                            "of accesses: record it with --touches, or say --anyway",
                            path);
    if (sweep->anyway || sweep->matrix.systems.count < 2)
        return 0;
    return ff__complain(FF__EXIT_USAGE,
                        "%s: has only the faults of a run under one system, and cannot rank "
                        "systems: record it with --touches, name one of --systems, or say --anyway",
                        path);
}

static int read_infos(struct ff__sweep *sweep) {
    sweep->infos = ff__must(calloc(sweep->matrix.subjects.count, sizeof *sweep->infos));
    for (unsigned i = 0; i < sweep->matrix.subjects.count && sweep->traces; i++) {
        const char *path = sweep->matrix.subjects.items[i];
        struct ff_trace_reader *reader;
        struct ff_error error = {""};
        int status = ff_trace_open(path, &reader, &sweep->infos[i], &error);
        if (status)
            return ff__complain(FF__EXIT_FAILURE, "%s", error.message);
        ff_trace_close(reader);
        status = has_only_faults(&sweep->infos[i]) ? refuse_ranking(sweep, path) : 0;
        if (status)
            return status;
    }
    return 0;
}

/* Opened once beforehand: what is wrong with any of them shows before the first runs. */
static int read_footprints(struct ff__sweep *sweep) {
    sweep->matrix.footprints =
        ff__must(calloc(sweep->matrix.subjects.count, sizeof *sweep->matrix.footprints));
    for (unsigned i = 0; i < sweep->matrix.subjects.count; i++) {
        const struct ff__subject subject = {sweep->matrix.subjects.items[i], sweep->traces,
                                            sweep->study.seed};
        struct ff__workload *workload;
        struct ff_error error = {""};
        int status = ff__subject_open(&subject, &workload, &error);
        if (status == -ENOENT && !sweep->traces &&
            access(sweep->matrix.subjects.items[i], R_OK) == 0)
            return ff__complain(FF__EXIT_USAGE,
                                "%s is a file, not a workload; if it is a trace: farfault replay "
                                "%s",
                                sweep->matrix.subjects.items[i], sweep->matrix.subjects.items[i]);
        if (status)
            return ff__complain(sweep->traces || status == -ENOMEM ? FF__EXIT_FAILURE
                                                                   : FF__EXIT_USAGE,
                                "%s", error.message[0] ? error.message : strerror(-status));
        sweep->matrix.footprints[i] = ff__workload_footprint(workload);
        ff__workload_close(workload);
    }
    return 0;
}

/* ---- files ---- */

static int check_files(const struct ff__options *options, struct ff__sweep *sweep) {
    sweep->trace = options->text[FF__OPTION_TRACE];
    if (sweep->trace && (sweep->matrix.subjects.count > 1 || sweep->matrix.devices.count > 1 ||
                         sweep->matrix.systems.count > 1 || sweep->matrix.budget_count > 1))
        return ff__options_complain(options, FF__OPTION_TRACE,
                                    "a trace is of one run: name one workload, one system, one "
                                    "size of memory and one device");
    if (sweep->trace && sweep->untimed)
        return ff__options_complain(options, FF__OPTION_TRACE,
                                    "a trace has times: leave out --untimed");
    return ff__options_outputs(options, &sweep->outputs);
}

/* ---- curves ---- */

/* A curve is of one device, and of no system. */
static int check_curve(const struct ff__options *options, const struct ff__sweep *sweep) {
    const struct {
        enum ff__option option;
        bool given;
    } others[] = {
        {FF__OPTION_SYSTEMS, options->text[FF__OPTION_SYSTEMS]},
        {FF__OPTION_POLICY, options->text[FF__OPTION_POLICY]},
        {FF__OPTION_TRACE, options->text[FF__OPTION_TRACE]},
        {FF__OPTION_BESIDE, options->text[FF__OPTION_BESIDE]},
        {FF__OPTION_MACHINE, options->text[FF__OPTION_MACHINE]},
        {FF__OPTION_DEVICES, sweep->devices > 1},
        {FF__OPTION_SETTLE, sweep->extrapolates},
        {FF__OPTION_EXPLAIN, sweep->explains},
        {FF__OPTION_CHECK, sweep->check},
    };
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].given)
            return ff__options_complain(options, others[i].option,
                                        "a curve counts misses on one device, and runs no system: "
                                        "leave this or --curve out");
    return 0;
}

/* ---- all of it ---- */

int ff__sweep_read(const struct ff__options *options, bool traces, struct ff__sweep *out) {
    const uint64_t *number = options->number;
    *out = (struct ff__sweep){
        .traces = traces,
        .devices = (unsigned)number[FF__OPTION_DEVICES],
        .untimed = number[FF__OPTION_UNTIMED],
        .curve = number[FF__OPTION_CURVE],
        .extrapolates = number[FF__OPTION_SETTLE],
        .explains = number[FF__OPTION_EXPLAIN],
        .anyway = number[FF__OPTION_ANYWAY],
        .check = number[FF__OPTION_CHECK],
    };
    ff__sweep_init(out);
    int status = out->curve ? check_curve(options, out) : 0;
    if (!status)
        status = read_systems(options, out);
    if (!status)
        status = ff__options_study(options, NULL, &out->study);
    if (!status)
        status = options->text[FF__OPTION_MACHINE] ? read_machine(options, out)
                                                   : read_gpus(options, out);
    if (!status)
        status = read_beside(options, out);
    if (!status)
        status = read_budgets(options, out);
    if (!status)
        status = read_names(options, out);
    if (!status)
        status = check_files(options, out);
    if (!status)
        status = read_infos(out);
    if (!status)
        status = read_footprints(out);
    return status;
}

/* ---- the commands ---- */

static int run(struct ff__options *options) {
    struct ff__sweep sweep;
    int status = ff__sweep_read(options, options->command == FF__COMMAND_REPLAY, &sweep);
    if (!status)
        status = sweep.curve ? ff__sweep_run_curves(&sweep) : ff__sweep_run(&sweep);
    ff__sweep_free(&sweep);
    return status;
}

const struct ff__command ff__command_sim = {FF__COMMAND_SIM, "WORKLOAD[,WORKLOAD...]", sim_help,
                                            run, 0};
const struct ff__command ff__command_replay = {FF__COMMAND_REPLAY, "TRACE...", replay_help, run, 0};
