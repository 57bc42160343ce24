#include "cli/options.h"

#include "base/parse.h"
#include "cli/cli.h"
#include "cli/outputs.h"
#include "cli/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How each option is called on the command line, in the environment, and by ff_config_set() (NULL:
 * not a setting of the library). */
static const struct {
    const char *name, *variable, *setting;
} names[FF__OPTIONS] = {
    [FF__OPTION_POLICY] = {"policy", "FARFAULT_POLICY", "policy"},
    [FF__OPTION_DEVICES] = {"devices", "FARFAULT_DEVICES", "devices"},
    [FF__OPTION_GRANULE] = {"granule", "FARFAULT_GRANULE", "granule"},
    [FF__OPTION_MECHANISM] = {"mechanism", "FARFAULT_MECHANISM", "mechanism"},
    [FF__OPTION_HANDLER] = {"handler", "FARFAULT_HANDLER", "handler"},
    [FF__OPTION_LINK] = {"link", "FARFAULT_LINK", "link"},
    [FF__OPTION_PEER_LINK] = {"peer-link", "FARFAULT_PEER_LINK", "peer_link"},
    [FF__OPTION_SHARE] = {"share", "FARFAULT_SHARE", "share"},
    [FF__OPTION_SHARE_DEVICE] = {"share-device", "FARFAULT_SHARE_DEVICE", "share_device"},
    [FF__OPTION_HOST] = {"host", "FARFAULT_HOST_FILE", "host_file"},
    [FF__OPTION_SPIN] = {"spin", "FARFAULT_SPIN", "spin"},
    [FF__OPTION_SEED] = {"seed", "FARFAULT_SEED", "seed"},
    [FF__OPTION_CHECK] = {"check", "FARFAULT_CHECK", "check"},
    [FF__OPTION_DEVICE_TYPE] = {"device-type", "FARFAULT_DEVICE_TYPE", NULL},
    [FF__OPTION_SYSTEM] = {"system", "FARFAULT_SYSTEM", "system"},
    [FF__OPTION_MEMORY] = {"memory", "FARFAULT_MEMORY", "memory"},
    [FF__OPTION_JSON] = {"json", "FARFAULT_JSON", NULL},
    [FF__OPTION_CSV] = {"csv", "FARFAULT_CSV", NULL},
    [FF__OPTION_SOCKET] = {"socket", "FARFAULT_SOCKET", NULL},
    [FF__OPTION_ONCE] = {"once", "FARFAULT_ONCE", NULL},
    [FF__OPTION_QUIET] = {"quiet", "FARFAULT_QUIET", NULL},
    [FF__OPTION_SYSTEMS] = {"systems", "FARFAULT_SYSTEMS", NULL},
    [FF__OPTION_SIZE] = {"size", "FARFAULT_SIZE", NULL},
    [FF__OPTION_SAME_OUTPUT] = {"same-output", "FARFAULT_SAME_OUTPUT", NULL},
    [FF__OPTION_BOUND] = {"bound", "FARFAULT_BOUND", NULL},
    [FF__OPTION_RUNS] = {"runs", "FARFAULT_RUNS", NULL},
    [FF__OPTION_PROGRAMS] = {"programs", "FARFAULT_PROGRAMS", NULL},
    [FF__OPTION_TIMEOUT] = {"timeout", "FARFAULT_TIMEOUT", NULL},
    [FF__OPTION_GPU] = {"gpu", "FARFAULT_GPU", NULL},
    [FF__OPTION_MODELLED] = {"modelled", "FARFAULT_MODELLED", NULL},
    [FF__OPTION_OVERSUBSCRIBE] = {"oversubscribe", "FARFAULT_OVERSUBSCRIBE", NULL},
    [FF__OPTION_TRACE] = {"trace", "FARFAULT_TRACE", NULL},
    [FF__OPTION_JOBS] = {"jobs", "FARFAULT_JOBS", NULL},
    [FF__OPTION_MACHINE] = {"machine", "FARFAULT_MACHINE", NULL},
    [FF__OPTION_BESIDE] = {"beside", "FARFAULT_BESIDE", NULL},
    [FF__OPTION_UNTIMED] = {"untimed", "FARFAULT_UNTIMED", NULL},
    [FF__OPTION_CURVE] = {"curve", "FARFAULT_CURVE", NULL},
    [FF__OPTION_SETTLE] = {"settle", "FARFAULT_SETTLE", NULL},
    [FF__OPTION_EXPLAIN] = {"explain", "FARFAULT_EXPLAIN", "explain"},
    [FF__OPTION_OUTPUT] = {"output", "FARFAULT_OUTPUT", NULL},
    [FF__OPTION_FORMAT] = {"format", "FARFAULT_FORMAT", NULL},
    [FF__OPTION_TOUCHES] = {"touches", "FARFAULT_TOUCHES", "touches"},
    [FF__OPTION_ANYWAY] = {"anyway", "FARFAULT_ANYWAY", NULL},
    [FF__OPTION_NETWORK] = {"network", "FARFAULT_NETWORK", NULL},
    [FF__OPTION_DISTANCE] = {"distance", "FARFAULT_DISTANCE", NULL},
    [FF__OPTION_CLUSTER] = {"cluster", "FARFAULT_CLUSTER", NULL},
    [FF__OPTION_SPLIT] = {"split", "FARFAULT_SPLIT", NULL},
    [FF__OPTION_DELTA] = {"delta", "FARFAULT_DELTA", NULL},
    [FF__OPTION_STEPS] = {"steps", "FARFAULT_STEPS", NULL},
    [FF__OPTION_TOGETHER] = {"together", "FARFAULT_TOGETHER", NULL},
    [FF__OPTION_TUNE] = {"tune", "FARFAULT_TUNE", NULL},
    [FF__OPTION_BENCH] = {"bench", "FARFAULT_BENCH", NULL},
    [FF__OPTION_MODELS] = {"models", "FARFAULT_MODELS", NULL},
    [FF__OPTION_PARTS] = {"parts", "FARFAULT_PARTS", NULL},
    [FF__OPTION_RESUME] = {"resume", "FARFAULT_RESUME", NULL},
    [FF__OPTION_FRESH] = {"fresh", "FARFAULT_FRESH", NULL},
};

/* ---- reading them ---- */

static const struct argp_option device_options[] = {
    SHORT_OPTION("devices", 'd', "N", "number of devices, 1 to 8 (default: 1)"),
    {NULL, 0, NULL, 0, "The device:", FF__GROUP_DEVICE},
    OPTION("device-type", DEVICE_TYPE, "gpu|cpu", "what programs see it as (default: gpu)"),
    OPTION("host", HOST, "FILE",
           "keep pages that are on no device in this new file, not in memory"),
    OPTION("link", LINK, "RATE,LATENCY",
           "pace the link to the host, such as host=12.3GB/s,16.7us (default: as fast as this "
           "machine copies)"),
    OPTION("peer-link", PEER_LINK, "RATE,LATENCY",
           "pace the links between devices, such as 40.1GB/s,5.1us"),
    OPTION("granule", GRANULE, "4K|64K|2M", "unit of device memory (default: 2M)"),
    OPTION("mechanism", MECHANISM, "auto|move|copy",
           "how pages are moved (default: the best that Linux supports here)"),
    OPTION("handler", HANDLER, "HOW", "adaptive, sleep or sigbus: how faults are served"),
    OPTION("spin", SPIN, "TIME", "how long an adaptive handler spins (default: 50us)"),
    GROUP("Devices shared with other programs:"),
    OPTION("share", SHARE, "SOCKET", "the socket of the broker (farfaultd)"),
    OPTION("share-device", SHARE_DEVICE, "NAME", "which of its devices (default: a free one)"),
    GROUP("Policies and checks:"),
    OPTION("policy", POLICY, "FILE.so", "load more policies from a shared object"),
    OPTION("seed", SEED, "N", "seed of policies that use random numbers (default: 1)"),
    OPTION("check", CHECK, NULL, "verify every invariant after every event; slow"),
    {0},
};

const struct argp ff__device_argp = {.options = device_options, .parser = ff__options_take};

/* The row of a command's option with this key, or else with this name; NULL: it has none. */
static const struct argp_option *find_row(const struct argp *argp, int key, const char *name) {
    const struct argp_option *row = argp->options, *found;
    for (; row && (row->name || row->key || row->doc); row++)
        if (row->name && (name ? strcmp(row->name, name) == 0 : row->key == key))
            return row;
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        if ((found = find_row(child->argp, key, name)))
            return found;
    return NULL;
}

/* FF__OPTIONS: the key is none of ours. */
static int option_of(const struct argp *argp, int key) {
    const struct argp_option *row =
        key > 0 && key < FF__OPTION_KEY(FF__OPTIONS) ? find_row(argp, key, NULL) : NULL;
    int option = 0;
    while (option < FF__OPTIONS && (!row || strcmp(names[option].name, row->name) != 0))
        option++;
    return option;
}

/* What an option without a value says: where results go, it is standard output. */
static const char *without_value(int option) {
    return option == FF__OPTION_JSON || option == FF__OPTION_CSV ? "-" : "on";
}

error_t ff__options_take(int key, char *argument, struct argp_state *state) {
    struct ff__options *options = state->input;
    int option = option_of(state->root_argp, key);
    if (option < FF__OPTIONS) {
        options->text[option] = argument ? argument : without_value(option);
        if (option == FF__OPTION_JSON)
            ff__outputs_expect(options->text[option]);
        return 0;
    }
    switch (key) {
    case ARGP_KEY_INIT:
        state->err_stream = NULL; /* no second line after a mistake */
        if (state->child_inputs)
            state->child_inputs[0] = options;
        return 0;
    case ARGP_KEY_ARGS:
        options->words = state->argv + state->next;
        options->word_count = state->argc - state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *keep(struct ff__options *options, char *text) {
    ff__words_add(&options->owned, text);
    return text;
}

int ff__options_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
                      struct ff__options *out) {
    *out = (struct ff__options){0};
    int status = ff__arguments_parse(argp, argc, argv, flags, out);
    for (int i = 0; i < FF__OPTIONS && !status; i++) {
        const char *value = getenv(names[i].variable);
        /* a variable that is meant for another command means nothing here */
        if (out->text[i] || !value || !find_row(argp, 0, names[i].name))
            continue;
        out->text[i] = keep(out, ff__text("%s", value)); /* what getenv() gave may change */
        out->from_environment[i] = true;
        if (i == FF__OPTION_JSON)
            ff__outputs_expect(out->text[i]);
    }
    if (status)
        ff__options_free(out);
    return status;
}

void ff__options_free(struct ff__options *options) {
    ff__words_free(&options->owned);
}

/* ---- using them ---- */

int ff__options_complain(const struct ff__options *options, enum ff__option option,
                         const char *expected) {
    const char *text = options->text[option];
    if (options->from_environment[option])
        return ff__complain(FF__EXIT_USAGE, "%s=%s: %s", names[option].variable, text, expected);
    return ff__complain(FF__EXIT_USAGE, "--%s %s: %s", names[option].name, text, expected);
}

int ff__options_flag(const struct ff__options *options, enum ff__option option, bool *out) {
    int64_t value = 0;
    if (options->text[option] && ff__parse_bool(options->text[option], &value))
        return ff__options_complain(options, option, "must be on or off");
    *out = value != 0;
    return 0;
}

int ff__options_number(const struct ff__options *options, enum ff__option option, unsigned min,
                       unsigned max, unsigned *out) {
    int64_t value = *out;
    if (options->text[option] &&
        (ff__parse_int(options->text[option], &value) || value < min || value > max)) {
        char *expected = ff__text("must be a whole number, %u to %u", min, max);
        int status = ff__options_complain(options, option, expected);
        free(expected);
        return status;
    }
    *out = (unsigned)value;
    return 0;
}

int ff__options_seed(const struct ff__options *options, enum ff__option option, uint64_t *out) {
    int64_t value = 0;
    if (!options->text[option])
        return 0;
    if (ff__parse_int(options->text[option], &value) || value < 0)
        return ff__options_complain(options, option,
                                    "must be a whole number, 0 to 9223372036854775807");
    *out = (uint64_t)value;
    return 0;
}

int ff__options_simulations(const struct ff__options *options, uint64_t *seed, unsigned *jobs) {
    *seed = 1;
    *jobs = ff__pool_threads();
    int status = ff__options_seed(options, FF__OPTION_SEED, seed);
    return status ? status : ff__options_number(options, FF__OPTION_JOBS, 1, 1024, jobs);
}

const char *ff__option_name(enum ff__option option) {
    return names[option].name;
}

char *ff__path_absolute(const char *path) {
    char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    char *absolute = here ? ff__text("%s/%s", here, path) : ff__text("%s", path);
    free(here);
    return absolute;
}

/* A message that begins with "setting=value: " is said with the option's own name instead. */
int ff__options_translate(const struct ff__options *options, int status, const char *message) {
    const char *rest = strstr(message, ": ");
    for (int i = 0; i < FF__OPTIONS && rest; i++) {
        size_t length = names[i].setting ? strlen(names[i].setting) : 0;
        if (length && options->text[i] && strncmp(message, names[i].setting, length) == 0 &&
            message[length] == '=') {
            ff__options_complain(options, (enum ff__option)i, rest + 2);
            return status;
        }
    }
    return ff__complain(status, "%s", message);
}

static int apply(struct ff__options *options, enum ff__option option, struct ff_config *config) {
    struct ff_error error;
    const char *text = options->text[option];
    bool path =
        option == FF__OPTION_POLICY || option == FF__OPTION_HOST || option == FF__OPTION_SHARE;
    if (path && text[0])
        text = options->text[option] = keep(options, ff__path_absolute(text));
    if (ff_config_set(config, names[option].setting, text, &error))
        return ff__options_translate(options, FF__EXIT_USAGE, error.message);
    if (setenv(names[option].variable, text, 1))
        return ff__complain(FF__EXIT_FAILURE, "cannot set %s: %s", names[option].variable,
                            strerror(errno));
    return 0;
}

static int apply_device_type(const struct ff__options *options) {
    const char *type = options->text[FF__OPTION_DEVICE_TYPE];
    if (!type)
        return 0;
    if (strcmp(type, "gpu") != 0 && strcmp(type, "cpu") != 0)
        return ff__options_complain(options, FF__OPTION_DEVICE_TYPE, "must be gpu or cpu");
    if (setenv(names[FF__OPTION_DEVICE_TYPE].variable, type, 1))
        return ff__complain(FF__EXIT_FAILURE, "cannot set %s: %s",
                            names[FF__OPTION_DEVICE_TYPE].variable, strerror(errno));
    return 0;
}

int ff__options_apply(struct ff__options *options, struct ff_config *config) {
    int status = apply_device_type(options);
    ff_config_init(config);
    for (int i = 0; i < FF__OPTIONS && !status; i++)
        if (names[i].setting && options->text[i] && i != FF__OPTION_MEMORY &&
            i != FF__OPTION_SYSTEM)
            status = apply(options, (enum ff__option)i, config);
    if (status)
        return status;

    /* Settings that have no option come from the environment alone. The two that the sub-command
     * sets may say there what the library does not understand, such as 66%. */
    struct ff_error error;
    unsetenv(names[FF__OPTION_MEMORY].variable);
    unsetenv(names[FF__OPTION_SYSTEM].variable);
    if (ff_config_from_environment(config, &error))
        return ff__complain(FF__EXIT_USAGE, "in the environment: %s", error.message);
    return 0;
}
