/* farfault cuda: what there is for CUDA programs, what one of them needs and lacks, and compiling
 * them. */
#include "cuda/compile/compile.h"

#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "study/find.h"
#include "study/live/needs.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Shows what there is for CUDA programs, and what one of them needs and lacks; compiles them "
    "with clang: no SDK is needed.\n"
    "\n"
    "Examples:\n"
    "  farfault cuda\n"
    "  farfault cuda ./program\n"
    "  farfault cuda compile saxpy.cu -o saxpy\n"
    "  farfault cuda compile --arch sm_80 -O2 main.cu kernels.cu -o program\n"
    "  farfault cuda compile -c kernels.cu -o kernels.o\n"
    "  farfault cuda compile --ptx kernels.cu -o kernels.ptx\n"
    "  farfault run --memory 256M ./saxpy\v"
    "compile takes files in CUDA C++ (.cu), and all else that clang takes: other sources, objects, "
    "libraries, and options, which go to every pass that they are meant for; nvcc's options are "
    "understood, too, such as -arch=sm_80 and -Xcompiler. Kernels become PTX for --arch sm_NUMBER "
    "(default: sm_70). Files have the names and forms of CUDA 12, or of 13 with --cuda 13, and the "
    "program is linked with libcudart.so.12 or .13; it also runs with NVIDIA's driver, with or "
    "without its runtime.";

/* ---- what there is ---- */

/* The names of shared libraries in our folder, in order. */
static int is_library(const struct dirent *entry) {
    return strstr(entry->d_name, ".so.") != NULL;
}

static void show_ours(const char *folder) {
    struct dirent **names;
    int count = scandir(folder, &names, is_library, alphasort);
    for (int i = 0; i < count; i++) {
        printf("%-10s %s\n", i == 0 ? "libraries" : "", names[i]->d_name);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    printf("%-10s %s\n", "in", folder);
}

static void show_gpu_driver(void) {
    char path[PATH_MAX];
    printf("%-10s %s\n", "GPU driver", ff__find_gpu_driver(path) ? path : "none");
}

static void show_compilers(void) {
    const char *cc = getenv("FARFAULT_CC");
    const char *clang = ff__cuda_compiler();
    printf("%-10s %s\n", "clang", clang ? clang : "none: farfault cuda compile needs one");
    printf("%-10s %s\n", "C compiler", cc && *cc ? cc : "cc");
}

static int show_all(void) {
    char folder[PATH_MAX];
    if (!ff__find_cuda(folder))
        return ff__complain(FF__EXIT_FAILURE, "libcuda.so.1 is neither beside farfault nor where "
                                              "an installation has it");
    show_ours(folder);
    show_gpu_driver();
    show_compilers();
    return 0;
}

/* ---- a program ---- */

/* Whether the program would find it: ours, or one of the system's. */
static const char *where_is(const char *folder, const char *library) {
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, library);
    if (access(path, R_OK) == 0)
        return "farfault's";
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (handle)
        dlclose(handle);
    return handle ? "the system's" : "MISSING";
}

static void show_libraries(const struct ff__needs *needs, const char *folder) {
    for (unsigned i = 0; i < needs->count; i++)
        printf("%-24s %s\n", needs->libraries[i], where_is(folder, needs->libraries[i]));
}

static int show_program(const char *program) {
    struct ff__needs needs;
    char folder[PATH_MAX] = "";
    ff__find_cuda(folder);
    int status = 0;
    if (!ff__needs_read(program, &needs))
        status = ff__complain(FF__EXIT_FAILURE, "%s: no such file, or it cannot be read", program);
    else
        show_libraries(&needs, folder);
    if (status == 0 && ff__needs_private_driver(&needs))
        printf("NVIDIA's run time is linked in, which runs on NVIDIA's driver alone: build it with "
               "nvcc -cudart shared\n");
    else if (status == 0 && needs.has_device_code)
        printf("It has device code: farfault ptx %s\n", program);
    ff__needs_free(&needs);
    return status;
}

/* ---- the command ---- */

static const struct {
    const char *name;
    int (*run)(int count, char **words);
} parts[] = {
    {"compile", ff__cuda_compile},
};

#define PART_COUNT (sizeof parts / sizeof parts[0])

/* A word that is no part, and has neither a slash nor a file, is taken for a slip of the finger. */
static int unknown(const char *name) {
    struct ff__nearest nearest = {.word = name};
    struct ff_error error;
    for (size_t i = 0; i < PART_COUNT; i++)
        ff__nearest_offer(&nearest, parts[i].name);
    ff__nearest_fail(&nearest, "command", "farfault cuda --help", &error);
    return ff__complain(FF__EXIT_USAGE, "%s", error.message);
}

static int show_help(void) {
    for (const char *at = help; *at; at++)
        putchar(*at == '\v' ? '\n' : *at);
    putchar('\n');
    return 0;
}

/* Behind compile, whose options are clang's. */
static bool asks_for_help(const struct ff__options *options) {
    for (int i = 0; i < options->word_count; i++)
        if (strcmp(options->words[i], "--help") == 0)
            return true;
    return false;
}

static int run(struct ff__options *options) {
    const char *word = options->word_count ? options->words[0] : NULL;
    if (!word)
        return show_all();
    if (asks_for_help(options))
        return show_help();
    for (size_t i = 0; i < PART_COUNT; i++)
        if (strcmp(parts[i].name, word) == 0)
            return parts[i].run(options->word_count - 1, options->words + 1);
    return strchr(word, '/') || access(word, F_OK) == 0 ? show_program(word) : unknown(word);
}

const struct ff__command ff__command_cuda = {
    FF__COMMAND_CUDA, "[PROGRAM | compile FILE.cu [OPTION...]]", help, run, ARGP_IN_ORDER};
