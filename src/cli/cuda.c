/* farfault cuda: what is done with CUDA programs. */
#include "cli/cuda.h"

#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <string.h>

static const char help[] =
    "Compiles CUDA programs with clang; no SDK is needed.\n"
    "\n"
    "Examples:\n"
    "  farfault cuda compile saxpy.cu -o saxpy\n"
    "  farfault cuda compile --arch sm_80 -O2 main.cu kernels.cu -o program\n"
    "  farfault cuda compile -c kernels.cu -o kernels.o\n"
    "  farfault run --memory 256M ./saxpy\v"
    "compile takes files in CUDA C++ (.cu), and all else that clang takes: other sources, objects, "
    "libraries, and options, which go to every pass that they are meant for. Kernels become PTX "
    "for --arch sm_NUMBER (default: sm_70). The program is linked with libcudart.so.12; it also "
    "runs with NVIDIA's driver, with or without its runtime.";

static const struct {
    const char *name;
    int (*run)(int count, char **words);
} parts[] = {
    {"compile", ff__cuda_compile},
};

#define PART_COUNT (sizeof parts / sizeof parts[0])

static int unknown(const char *name) {
    struct ff__nearest nearest = {.word = name};
    struct ff_error error;
    for (size_t i = 0; i < PART_COUNT; i++)
        ff__nearest_offer(&nearest, parts[i].name);
    ff__nearest_fail(&nearest, "command", "farfault cuda --help", &error);
    return ff__complain(FF__EXIT_USAGE, "%s", error.message);
}

/* As --help in front of it does it, which ends the program. */
static int show_help(void) {
    static char name[] = "farfault cuda", wanted[] = "--help";
    char *words[] = {name, wanted, NULL};
    struct ff__options unused;
    return ff__options_parse(&ff__command_cuda, 2, words, &unused);
}

static bool is_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run(struct ff__options *options) {
    if (options->word_count == 0)
        return ff__complain(FF__EXIT_USAGE, "nothing to do; see farfault cuda --help");
    for (int i = 1; i < options->word_count; i++)
        if (is_help(options->words[i]))
            return show_help();
    for (size_t i = 0; i < PART_COUNT; i++)
        if (strcmp(parts[i].name, options->words[0]) == 0)
            return parts[i].run(options->word_count - 1, options->words + 1);
    return unknown(options->words[0]);
}

const struct ff__command ff__command_cuda = {FF__COMMAND_CUDA, "compile FILE.cu [OPTION...]", help,
                                             run, ARGP_IN_ORDER};
