/* farfault: finds the sub-command and hands over to it. */
#include "base/file_limit.h"
#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/outputs.h"
#include "report/text.h"

#include <farfault/farfault.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
} commands[] = {
    {"compare", ff__compare}, {"export", ff__export},   {"import", ff__import},
    {"list", ff__list},       {"predict", ff__predict}, {"probe", ff__probe},
    {"record", ff__record},   {"replay", ff__replay},   {"repro", ff__repro},
    {"run", ff__run},         {"sim", ff__sim},         {"top", ff__top},
    {"train", ff__train},
};

#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static const char help[] =
    "Runs GPU programs whose data is larger than device memory, and compares systems that manage "
    "it.\n"
    "\n"
    "Examples:\n"
    "  farfault run --memory 256M ./program its arguments\n"
    "  farfault compare --memory 66% atax bicg\n"
    "  farfault sim bfs --memory 66% --gpu v100-16g\n"
    "\n"
    "Commands:\n"
    "  run      run an OpenCL program with a budget of device memory\n"
    "  compare  run programs under several systems; compare times and traffic\n"
    "  sim      run models of programs on modelled devices; compare systems\n"
    "  list     list the systems, policies, programs, workloads and devices\n"
    "  help     describe a command: farfault help run, or farfault run -h\n"
    "  record   run an OpenCL program, and also write a trace\n"
    "  replay   simulate what a trace recorded on modelled devices\n"
    "  import   convert a recording of another tool to a trace\n"
    "  export   convert a trace to a file for another tool\n"
    "  top      show devices that programs share, and what they lend each other\n"
    "  probe    measure this machine's software device, to simulate it\n"
    "  repro    show a paper's published tables beside ours\n"
    "  train    train a page predictor on the accesses of simulated programs\n"
    "  predict  measure how good and how fast a trained predictor is";

/* What is left after the options: the command and its arguments. */
struct rest {
    int count;
    char **words;
};

static error_t take(int key, char *argument, struct argp_state *state) {
    (void)argument;
    struct rest *rest = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->err_stream = NULL; /* no second line after a mistake */
        return 0;
    case ARGP_KEY_ARGS:
        *rest = (struct rest){state->argc - state->next, state->argv + state->next};
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int unknown_command(const char *name) {
    struct ff__nearest nearest = {.word = name};
    struct ff_error error;
    ff__nearest_offer(&nearest, "help");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        ff__nearest_offer(&nearest, commands[i].name);
    ff__nearest_fail(&nearest, "command", "farfault help", &error);
    return ff__complain(FF__EXIT_USAGE, "%s", error.message);
}

/* A misspelt variable would change nothing and never be noticed. */
static int check_environment(void) {
    struct ff_error error;
    return ff_environment_check(&error) ? ff__complain(FF__EXIT_USAGE, "%s", error.message) : 0;
}

static int run_command(int count, char **words) {
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, words[0]) != 0)
            continue;
        char *name = ff__text("farfault %s", commands[i].name);
        words[0] = name;
        int status = commands[i].main(count, words);
        if (status)
            ff__outputs_fail(commands[i].name);
        program_invocation_name = "farfault";
        free(name);
        return status;
    }
    return unknown_command(words[0]);
}

static const struct argp main_argp = {NULL, take, "COMMAND [ARGUMENT...]", help, NULL, NULL, NULL};

/* farfault help [COMMAND]: as --help does it, which ends the program. */
static int show_help(const struct rest *rest) {
    static char name[] = "farfault", wanted[] = "--help";
    char *words[] = {rest->count == 2 ? rest->words[1] : name, wanted, NULL};
    struct rest unused;
    if (rest->count > 2)
        return ff__complain(FF__EXIT_USAGE, "help describes one command, such as: help run");
    if (rest->count == 2)
        return run_command(2, words);
    return ff__arguments_parse(&main_argp, 2, words, ARGP_IN_ORDER, &unused);
}

int main(int argc, char **argv) {
    struct rest rest = {0};
    static char name[] = "farfault";
    char *nothing[] = {name, NULL};
    if (argc < 1) {
        argc = 1;
        argv = nothing;
    }
    argv[0] = name;
    argp_program_version = FF__VERSION_LINE;
    ff__file_limit_is_error();
    int status = ff__arguments_parse(&main_argp, argc, argv, ARGP_IN_ORDER, &rest);
    if (status)
        return status;
    if (rest.count == 0)
        return ff__complain(
            FF__EXIT_USAGE,
            "no command; to begin: farfault run ./program; all of them: farfault help");
    if (strcmp(rest.words[0], "help") == 0)
        return show_help(&rest);
    status = check_environment();
    if (!status)
        status = run_command(rest.count, rest.words);
    bool failed = fflush(stdout) == EOF || ferror(stdout); /* now, or when a line was shown early */
    if (failed && status == 0)
        status = ff__complain(FF__EXIT_FAILURE, "cannot write to standard output");
    return status;
}
