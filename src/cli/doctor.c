/* farfault doctor: what works on this machine, and what to do about the rest. */
#include "doctor/doctor.h"

#include "cli/cli.h"
#include "cli/probe.h"
#include "cli/run.h"
#include "cuda/compile/compile.h"
#include "study/find.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "Looks at what farfault depends on: the kernel and its userfaultfd, memory and limits, OpenCL "
    "and CUDA. Says what works here, and of the rest what to do about it. Changes nothing.\n"
    "\n"
    "Examples:\n"
    "  farfault doctor\n"
    "  farfault doctor --json | jq '.checks[] | select(.state != \"good\")'\v"
    "The exit status is 0 if the software device runs here, 1 if it does not, and 2 if a FARFAULT_ "
    "variable is the reason.";

static const char *const states[] = {"good", "limited", "missing"};

/* ---- checks of what the commands need ---- */

/* Says what `run` would say where this fails. `status` is an exit status. */
static void add_probe(struct ff__checks *checks, const char *name, int status,
                      const char *finding) {
    if (status)
        ff__checks_message(checks, name, FF__HEALTH_MISSING, ff__complaint());
    else
        ff__checks_add(checks, name, FF__HEALTH_GOOD, ff__text("%s", finding), NULL);
}

static void check_opencl(struct ff__checks *checks) {
    char text[FF__PROBE_TEXT], preload[PATH_MAX];
    int status = ff__probe_opencl(text);
    add_probe(checks, "OpenCL", status, text);
    status = ff__find_preload(preload);
    add_probe(checks, "preload", status, preload);
}

static void check_cuda(struct ff__checks *checks) {
    char path[PATH_MAX];
    const char *clang = ff__cuda_compiler();
    if (ff__find_cuda(path))
        ff__checks_add(checks, "CUDA", FF__HEALTH_GOOD, ff__text("our libraries in %s", path),
                       NULL);
    else
        ff__checks_message(checks, "CUDA", FF__HEALTH_MISSING,
                           "libcuda.so.1 of farfault is missing; build or install all of farfault");
    if (clang)
        ff__checks_add(checks, "clang", FF__HEALTH_GOOD, ff__text("%s", clang), NULL);
    else
        ff__checks_message(checks, "clang", FF__HEALTH_MISSING,
                           "farfault cuda compile needs one; apt install clang");
    bool found = ff__find_gpu_driver(path);
    if (found && ff__gpu_is_usable(path))
        ff__checks_add(checks, "GPU driver", FF__HEALTH_GOOD, ff__text("%s", path), NULL);
    else
        ff__checks_add(checks, "GPU driver", FF__HEALTH_MISSING,
                       found ? ff__text("%s finds no GPU", path) : ff__text("none"),
                       ff__text("only farfault run --device gpu needs one%s",
                                found ? "; nvidia-smi may say what is wrong" : ""));
}

/* ---- for people ---- */

/* Advice stands below what it is about. */
static void show(const struct ff__checks *checks) {
    for (unsigned i = 0; i < checks->count; i++) {
        const struct ff__check *check = &checks->items[i];
        printf("%-14s %-8s %s\n", check->name, states[check->health], check->finding);
        if (check->advice)
            printf("%24sto do: %s\n", "", check->advice);
    }
}

/* ---- for machines ---- */

static json_t *json_of(const struct ff__check *check) {
    json_t *object = json_object();
    ff__json_set(object, "name", ff__json_text(check->name));
    ff__json_set(object, "state", ff__json_text(states[check->health]));
    ff__json_set(object, "finding", ff__json_text(check->finding));
    ff__json_set(object, "advice", ff__json_text(check->advice));
    return object;
}

static int write_json(const struct ff__checks *checks, const struct ff__outputs *outputs,
                      int device) {
    json_t *all = ff__results_new("doctor"), *list = json_array();
    for (unsigned i = 0; i < checks->count; i++)
        json_array_append_new(list, json_of(&checks->items[i]));
    ff__json_set(all, "checks", list);
    if (device) {
        ff__json_set(all, "good", json_false());
        ff__json_set(all, "reason", ff__json_text(ff__complaint()));
    }
    int status = ff__outputs_write(outputs, all);
    json_decref(all);
    return status;
}

/* ---- the command ---- */

/* The device comes last, so that its complaint is the one that the exit status is about. */
static int examine(const struct ff__options *options, const struct ff_config *config,
                   struct ff__checks *checks) {
    static const char root[] = "";
    char text[FF__PROBE_TEXT];
    ff__complaints_hide(true);
    ff__doctor_kernel(checks);
    ff__doctor_userfaultfd(checks, root);
    ff__doctor_memory(checks, root, 2 * config->memory); /* on the device, and evicted */
    ff__doctor_limits(checks, root);
    check_opencl(checks);
    check_cuda(checks);
    ff__doctor_compiler(checks);
    int status = ff__probe_device(options, config, text);
    add_probe(checks, "device", status, text);
    ff__complaints_hide(false);
    return status;
}

static int report(const struct ff__checks *checks, const struct ff__outputs *outputs, int device) {
    int status = 0;
    if (ff__outputs_leave_tables(outputs))
        show(checks);
    if (outputs->json)
        status = write_json(checks, outputs, device);
    if (device)
        return ff__complain(device, "%s", ff__complaint());
    return status;
}

static int run(struct ff__options *options) {
    struct ff_config config;
    struct ff__outputs outputs;
    struct ff__checks checks = {0};
    if (options->word_count > 0)
        return ff__complain(FF__EXIT_USAGE, "'%s' is one word too many", options->words[0]);
    int status = ff__options_outputs(options, &outputs);
    if (!status)
        status = ff__options_apply(options, &config);
    if (!status)
        status = report(&checks, &outputs, examine(options, &config, &checks));
    ff__checks_free(&checks);
    return status;
}

const struct ff__command ff__command_doctor = {FF__COMMAND_DOCTOR, NULL, help, run, 0};
