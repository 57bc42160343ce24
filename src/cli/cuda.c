/* farfault cuda: what is done with CUDA programs. */
#include "cli/cuda.h"

#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <stdio.h>
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
        return ff__cuda_show();
    if (asks_for_help(options))
        return show_help();
    for (size_t i = 0; i < PART_COUNT; i++)
        if (strcmp(parts[i].name, word) == 0)
            return parts[i].run(options->word_count - 1, options->words + 1);
    return strchr(word, '/') || access(word, F_OK) == 0 ? ff__cuda_show_program(word)
                                                        : unknown(word);
}

const struct ff__command ff__command_cuda = {
    FF__COMMAND_CUDA, "[PROGRAM | compile FILE.cu [OPTION...]]", help, run, ARGP_IN_ORDER};
