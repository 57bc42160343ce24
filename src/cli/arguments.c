/* Arguments with glibc's argp, with every mistake in one line. */
#include "base/nearest.h"
#include "cli/cli.h"
#include "report/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void offer_options(const struct argp *argp, struct ff__nearest *nearest) {
    const struct argp_option *option = argp->options;
    for (; option && (option->name || option->key || option->doc); option++)
        if (option->name)
            ff__nearest_offer(nearest, option->name);
}

/* `message` is what getopt(3) wrote. It does not say what would be right, so that is added. */
static void explain(const struct argp *argp, const char *message) {
    static const char unknown[] = "unrecognized option '--";
    const char *found = strstr(message, unknown);
    char *word = ff__text("%s", found ? found + strlen(unknown) : "");
    word[strcspn(word, "='")] = '\0';
    struct ff__nearest nearest = {.word = word};
    if (found)
        offer_options(argp, &nearest);
    char text[FF__NEAREST_TEXT];
    ff__nearest_text(&nearest, "--", text);
    message += strlen(program_invocation_name) + strlen(": ");
    int length = (int)strcspn(message, "\n");
    if (text[0])
        ff__complain(0, "%.*s; %s", length, message, text);
    else
        ff__complain(0, "%.*s; see %s --help", length, message, program_invocation_name);
    free(word);
}

/* -h, which argp does not know. */
static error_t take_help(int key, char *argument, struct argp_state *state) {
    (void)argument;
    if (key != 'h')
        return ARGP_ERR_UNKNOWN;
    argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
    return 0;
}

static const struct argp_option help_options[] = {{NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0}, {0}};
static const struct argp help_argp = {.options = help_options, .parser = take_help};

static const struct argp_child help_child[] = {{&help_argp, 0, NULL, 0}, {0}};

/* Parses with what getopt writes to stderr kept in *message. */
static error_t parse_quietly(const struct argp *argp, int argc, char **argv, unsigned flags,
                             void *input, char **message) {
    static const char format[] =
        "ARGP_HELP_FMT"; /* of argp's help; a program that we run does not get it */
    size_t size = 0;
    FILE *real = stderr;
    FILE *kept = ff__must(open_memstream(message, &size));
    bool theirs = getenv(format) != NULL;
    setenv(format, "no-dup-args-note", 0);
    stderr = kept;
    error_t status = argp_parse(argp, argc, argv, flags, NULL, input);
    stderr = real;
    if (!theirs)
        unsetenv(format);
    fclose(kept);
    return status;
}

int ff__arguments_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
                        void *input) {
    struct argp all = *argp;
    all.children = help_child;
    program_invocation_name = argv[0];
    char *message = NULL;
    error_t status = parse_quietly(&all, argc, argv, flags, input, &message);
    if (status && message && *message)
        explain(argp, message);
    else if (status)
        ff__complain(status, "%s", strerror(status));
    free(message);
    return status ? FF__EXIT_USAGE : 0;
}
