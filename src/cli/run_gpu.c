/* farfault run --device gpu: a CUDA program on the machine's own driver, which manages the memory
 * that the program allocates. Systems, budgets and summaries are the software device's. */
#include "cli/cli.h"
#include "cli/run.h"
#include "study/find.h"
#include "study/live/child.h"
#include "study/live/environment.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOFT_INSTEAD                                                                               \
    "without --device, the software device runs CUDA programs on the processor (docs/cuda.md)"

/* ---- the driver ---- */

typedef int init_fn(unsigned flags);
typedef int count_fn(int *devices);

/* Of the public driver API, whose success is 0. */
static bool finds_a_gpu(const char *path) {
    void *driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *functions[2] = {NULL, NULL};
    init_fn *init;
    count_fn *count;
    int devices = 0;
    if (driver) {
        functions[0] = dlsym(driver, "cuInit");
        functions[1] = dlsym(driver, "cuDeviceGetCount");
    }
    memcpy(&init, &functions[0], sizeof init);
    memcpy(&count, &functions[1], sizeof count);
    return init && count && init(0) == 0 && count(&devices) == 0 && devices > 0;
}

/* In a process of its own, so that whatever a driver starts or breaks ends with it. */
bool ff__gpu_is_usable(const char *path) {
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(!finds_a_gpu(path));
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static int find_driver(char out[PATH_MAX]) {
    if (!ff__find_gpu_driver(out))
        return ff__complain(
            FF__EXIT_FAILURE,
            "--device gpu: this machine has no CUDA driver (libcuda.so.1); " SOFT_INSTEAD);
    if (strpbrk(out, " :"))
        return ff__complain(FF__EXIT_FAILURE,
                            "--device gpu: the path %s has a space or a colon, which LD_PRELOAD "
                            "cannot have",
                            out);
    if (!ff__gpu_is_usable(out))
        return ff__complain(FF__EXIT_FAILURE,
                            "--device gpu: the CUDA driver %s finds no GPU that it can use "
                            "(nvidia-smi may say why); " SOFT_INSTEAD,
                            out);
    return 0;
}

/* ---- the program ---- */

static int read_words(const struct ff__options *options) {
    for (enum ff__option i = 0; i < FF__OPTIONS; i++)
        if (ff__options_typed(options, i) && i != FF__OPTION_DEVICE && i != FF__OPTION_QUIET)
            return ff__complain(FF__EXIT_USAGE,
                                "--%s is the software device's: leave it out, or --device gpu",
                                ff__option_rows[i].name);
    return options->word_count
               ? 0
               : ff__complain(FF__EXIT_USAGE, "no program to run; name one: farfault run PROGRAM "
                                              "ARGUMENTS");
}

/* The driver that was found is the one that is used, also by a run time of ours in whose folder is
 * our own: a library of that name is there already. */
static int run_with(const struct ff__options *options, const char *preload, const char *driver) {
    struct ff__environment environment;
    struct ff__child_end end;
    char *libraries = ff__text("%s:%s", preload, driver);
    ff__environment_copy(&environment);
    ff__environment_preload(&environment, libraries);
    ff__environment_set(&environment, "FARFAULT_DEVICE", "gpu");
    ff__environment_set(&environment, "FARFAULT_SUMMARY", "%s",
                        options->number[FF__OPTION_QUIET] ? "none" : "text");
    const struct ff__child child = {
        .argv = options->words, .environment = environment.items, .output = -1, .errors = -1};
    int status = ff__child_run(&child, &end);
    ff__environment_free(&environment);
    free(libraries);
    return status ? ff__child_complain(options->words[0], status) : ff__child_exit_status(&end);
}

int ff__run_on_gpu(struct ff__options *options) {
    char preload[PATH_MAX], driver[PATH_MAX];
    int status = read_words(options);
    if (!status)
        status = ff__find_cuda_preload(preload);
    if (!status)
        status = find_driver(driver);
    return status ? status : run_with(options, preload, driver);
}
