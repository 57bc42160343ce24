/* Options of a sub-command, from the command line or else from FARFAULT_* variables. */
#ifndef FF_CLI_OPTIONS_H
#define FF_CLI_OPTIONS_H

#include "cli/cli.h"
#include "report/text.h"
#include "runtime/options.h"
#include "study/cells.h"
#include "study/outputs.h"

struct ff__options {
    enum ff__command_id command;
    const char *text[FF__OPTIONS]; /* NULL: not given */
    /* What each is if it is not given: the default of this command; NULL: none. */
    const char *fallback[FF__OPTIONS];
    /* Of what is given or has a default, as ff__option_read() has it; else 0. */
    uint64_t number[FF__OPTIONS];
    bool from_environment[FF__OPTIONS]; /* where it was given */
    char **words;                       /* what is left of the command line */
    int word_count;
    struct ff__words owned; /* texts that did not exist before */
};

/* Reads the command line, fills the gaps from the environment, and checks every value that has a
 * check. Returns 0 or an exit status. */
int ff__options_parse(const struct ff__command *command, int argc, char **argv,
                      struct ff__options *out);

/* The last step of it: `number` from `text` and `fallback`. */
int ff__options_check(struct ff__options *options);

void ff__options_free(struct ff__options *options);

/* What is given, or else its default. */
static inline const char *ff__options_text(const struct ff__options *options,
                                           enum ff__option option) {
    return options->text[option] ? options->text[option] : options->fallback[option];
}

/* Whether the command line has it, not a variable. */
static inline bool ff__options_typed(const struct ff__options *options, enum ff__option option) {
    return options->text[option] && !options->from_environment[option];
}

/* Whether a command has this option. */
bool ff__command_has(enum ff__command_id command, enum ff__option option);

/* Complains about the value of an option, by the name under which it was given. NULL: about what it
 * must be. */
int ff__options_complain(const struct ff__options *options, enum ff__option option,
                         const char *expected);

/* Says a message of the library, about the option that it is about; returns `status`. */
int ff__options_translate(const struct ff__options *options, int status, const char *message);

/* What --json and --csv say. A path that cannot be written is found before hours of work.
 * Returns 0 or an exit status. */
int ff__options_outputs(const struct ff__options *options, struct ff__outputs *out);

/* How cells are run, from --seed, --jobs, --part, --study and --fresh; `paper`: what a file in the
 * user's cache is named for, NULL: without --study nothing is kept. Returns likewise; the store is
 * to be closed in any case. */
int ff__options_study(const struct ff__options *options, const char *paper, struct ff__study *out);

/* Sets up `config` as the device options say, and this process's environment, so that a child of it
 * does the same. The texts of `options` must outlive it. Memory and system are left to the caller.
 * Returns 0 or an exit status. */
int ff__options_apply(struct ff__options *options, struct ff_config *config);

/* The path as seen from the root, so that it means the same in a program that changes its
 * directory. The caller frees it. */
char *ff__path_absolute(const char *path);

#endif
