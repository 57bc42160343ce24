/* farfault: finds the sub-command and hands over to it. */
#include "base/file_limit.h"
#include "base/nearest.h"
#include "cli/options.h"
#include "study/jobs/ranks.h"
#include "study/outputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *summary;
    const struct ff__command *command;
} commands[] = {
#define FF_COMMAND(ID, name, summary) {#name, summary, &ff__command_##name},
#include "cli/commands.def"
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
    "Commands:";

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

static int run_named(const char *name, const struct ff__command *command, int count, char **words) {
    struct ff__options options;
    words[0] = ff__text("farfault %s", name);
    int status = ff__options_parse(command, count, words, &options);
    if (!status)
        status = command->run(&options);
    if (ff__ranks_number() > 0 && ff__command_has(command->id, FF__OPTION_PART))
        status = 0; /* the first rank's counts: mpirun ends all ranks when one fails */
    else if (status)
        ff__outputs_fail(name);
    ff__options_free(&options);
    program_invocation_name = "farfault";
    free(words[0]);
    return status;
}

static int run_command(int count, char **words) {
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, words[0]) == 0)
            return run_named(commands[i].name, commands[i].command, count, words);
    return unknown_command(words[0]);
}

/* The options of farfault itself, or --help. */
static int parse(int argc, char **argv, struct rest *rest) {
    char *all = ff__text("%s", help);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        all = ff__text_add(all, "\n  %-8s %s", commands[i].name, commands[i].summary);
    const struct argp argp = {NULL, take, "COMMAND [ARGUMENT...]", all, NULL, NULL, NULL};
    int status = ff__arguments_parse(&argp, argc, argv, ARGP_IN_ORDER, rest);
    free(all);
    return status;
}

/* farfault help [COMMAND]: as --help does it, which ends the program. */
static int show_help(struct ff__options *options) {
    static char name[] = "farfault", wanted[] = "--help";
    char *words[] = {options->word_count == 1 ? options->words[0] : name, wanted, NULL};
    struct rest unused;
    program_invocation_name = name;
    if (options->word_count > 1)
        return ff__complain(FF__EXIT_USAGE, "help describes one command, such as: help run");
    return options->word_count == 1 ? run_command(2, words) : parse(2, words, &unused);
}

const struct ff__command ff__command_help = {
    FF__COMMAND_HELP, "[COMMAND]",
    "Describes a command, or lists all of them.\n\nExamples:\n  farfault help run", show_help, 0};

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
    int status = parse(argc, argv, &rest);
    if (status)
        return status;
    if (rest.count == 0)
        return ff__complain(
            FF__EXIT_USAGE,
            "no command; to begin: farfault run ./program; all of them: farfault help");
    if (strcmp(rest.words[0], "help") != 0) /* `help` runs with a wrong environment, too */
        status = check_environment();
    if (!status)
        status = run_command(rest.count, rest.words);
    bool failed = fflush(stdout) == EOF || ferror(stdout); /* now, or when a line was shown early */
    if (failed && status == 0)
        status = ff__complain(FF__EXIT_FAILURE, "cannot write to standard output");
    return status;
}
