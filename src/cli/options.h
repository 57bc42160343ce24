/* Options as text, from the command line or else from FARFAULT_* variables, and those of them that
 * describe devices, which run and compare share. */
#ifndef FF_CLI_OPTIONS_H
#define FF_CLI_OPTIONS_H

#include "report/text.h"

#include <argp.h>
#include <farfault/farfault.h>

enum ff__option {
    /* devices */
    FF__OPTION_POLICY,
    FF__OPTION_DEVICES,
    FF__OPTION_GRANULE,
    FF__OPTION_MECHANISM,
    FF__OPTION_HANDLER,
    FF__OPTION_LINK,
    FF__OPTION_SHARE,
    FF__OPTION_SHARE_DEVICE,
    FF__OPTION_PEER_LINK,
    FF__OPTION_HOST,
    FF__OPTION_SPIN,
    FF__OPTION_SEED,
    FF__OPTION_CHECK,
    FF__OPTION_DEVICE_TYPE, /* for the preload alone */
    /* run and compare, each with its own meaning */
    FF__OPTION_SYSTEM,
    FF__OPTION_MEMORY,
    FF__OPTION_JSON,
    FF__OPTION_CSV,
    FF__OPTION_SOCKET,
    FF__OPTION_ONCE,
    FF__OPTION_QUIET,
    FF__OPTION_SYSTEMS,
    FF__OPTION_SIZE,
    FF__OPTION_RUNS,
    FF__OPTION_SAME_OUTPUT,
    FF__OPTION_BOUND,
    FF__OPTION_PROGRAMS,
    FF__OPTION_TIMEOUT,
    /* modelled devices and traces */
    FF__OPTION_GPU,
    FF__OPTION_MODELLED, /* compare on modelled devices */
    FF__OPTION_MACHINE,
    FF__OPTION_BESIDE,
    FF__OPTION_OVERSUBSCRIBE,
    FF__OPTION_TRACE,
    FF__OPTION_JOBS,
    FF__OPTION_UNTIMED,
    FF__OPTION_CURVE,
    FF__OPTION_SETTLE,
    FF__OPTION_EXPLAIN,
    FF__OPTION_OUTPUT,
    FF__OPTION_FORMAT,
    FF__OPTION_TOUCHES,
    FF__OPTION_ANYWAY,
    /* the predictor */
    FF__OPTION_NETWORK,
    FF__OPTION_DISTANCE,
    FF__OPTION_CLUSTER,
    FF__OPTION_SPLIT,
    FF__OPTION_DELTA,
    FF__OPTION_STEPS,
    FF__OPTION_TOGETHER,
    FF__OPTION_TUNE,
    FF__OPTION_BENCH,
    FF__OPTION_MODELS,
    FF__OPTION_PARTS,
    FF__OPTION_RESUME,
    FF__OPTION_FRESH,
    FF__OPTIONS
};

/* An option's key for argp: above all letters, so that it has no short form. */
#define FF__OPTION_KEY(option) (256 + (option))

/* Rows of a sub-command's struct argp_option; SHORT_OPTION has a letter, too. */
#define OPTION(name, key, value, help)                                                             \
    { name, FF__OPTION_KEY(FF__OPTION_##key), value, 0, help, 0 }
#define SHORT_OPTION(name, letter, value, help)                                                    \
    { name, letter, value, 0, help, 0 }

/* A line above a new group of rows. Rows before the first one are what most need. */
#define GROUP(title)                                                                               \
    { NULL, 0, NULL, 0, title, 0 }

/* What all that simulates has. */
#define SEED_OPTION OPTION("seed", SEED, "N", "seed of all random numbers (default: 1)")
#define JOBS_OPTION                                                                                \
    SHORT_OPTION(                                                                                  \
        "jobs", 'j', "N",                                                                          \
        "how many simulations run at the same time (default: one per processor); results "         \
        "do not depend on it")

/* Where results go besides tables. */
#define JSON_OPTION(help)                                                                          \
    { "json", FF__OPTION_KEY(FF__OPTION_JSON), "FILE", OPTION_ARG_OPTIONAL, help, 0 }
#define CSV_OPTION                                                                                 \
    {                                                                                              \
        "csv", FF__OPTION_KEY(FF__OPTION_CSV), "FILE", OPTION_ARG_OPTIONAL,                        \
            "as --json, but as a table with a line a run", 0                                       \
    }
#define OUTPUT_OPTIONS                                                                             \
    JSON_OPTION("write all results to this file; without one, to standard output, in place of "    \
                "the tables"),                                                                     \
        CSV_OPTION

struct ff__options {
    const char *text[FF__OPTIONS];      /* NULL: not given */
    bool from_environment[FF__OPTIONS]; /* where it was given */
    char **words;                       /* what is left of the command line */
    int word_count;
    struct ff__words owned; /* texts that did not exist before */
};

/* Groups of options in the help, for tables that are merged. */
enum { FF__GROUP_RESULTS = 1, FF__GROUP_MODELLED, FF__GROUP_DEVICE };

/* The options of devices, as a child for a sub-command's argp; and the parser for its own ones. */
extern const struct argp ff__device_argp;
error_t ff__options_take(int key, char *argument, struct argp_state *state);

/* Reads the command line and fills the gaps from the environment. Returns 0 or an exit status. */
int ff__options_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
                      struct ff__options *out);

void ff__options_free(struct ff__options *options);

/* Complains about the value of an option, by the name under which it was given. */
int ff__options_complain(const struct ff__options *options, enum ff__option option,
                         const char *expected);

/* Says a message of the library, about the option that it is about; returns `status`. */
int ff__options_translate(const struct ff__options *options, int status, const char *message);

/* Whether an option without a value, such as --quiet, was given. Returns 0 or an exit status. */
int ff__options_flag(const struct ff__options *options, enum ff__option option, bool *out);

/* A whole number from `min` to `max`; *out keeps its value if the option was not given. */
int ff__options_number(const struct ff__options *options, enum ff__option option, unsigned min,
                       unsigned max, unsigned *out);

/* The same for a seed: 0 to INT64_MAX, which is what JSON holds. */
int ff__options_seed(const struct ff__options *options, enum ff__option option, uint64_t *out);

/* --seed and --jobs of what simulates: 1, and one per processor, if they were not given. */
int ff__options_simulations(const struct ff__options *options, uint64_t *seed, unsigned *jobs);

/* The name of an option on the command line, without the dashes. */
const char *ff__option_name(enum ff__option option);

/* Sets up `config` as the device options say, and this process's environment, so that a child of it
 * does the same. The texts of `options` must outlive it. Memory and system are left to the caller.
 * Returns 0 or an exit status. */
int ff__options_apply(struct ff__options *options, struct ff_config *config);

/* The path as seen from the root, so that it means the same in a program that changes its
 * directory. The caller frees it. */
char *ff__path_absolute(const char *path);

#endif
