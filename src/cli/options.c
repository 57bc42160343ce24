#include "cli/options.h"

#include "base/new_file.h"
#include "study/find.h"
#include "study/jobs/pool.h"
#include "study/jobs/ranks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- which commands have which ---- */

enum {
    NONE = 0,
#define FF_COMMAND(ID, name, summary) ID = 1u << FF__COMMAND_##ID,
#include "cli/commands.def"
    LIVE = RUN | RECORD | COMPARE | PROBE,
    SIMULATED = SIM | REPLAY,
};

/* Groups in the help, in this order. */
enum group { FIRST, RESULTS, DEVICE, SHARED, MODELLED, CHECKS };

/* An option as some commands have it; without one, a heading. */
struct option_row {
    enum ff__option option;
    unsigned commands;
    enum group group;
    const char *value, *fallback, *help;
};

static const struct option_row rows[] = {
#define FF_OPTION(KEY, name, letter, check, commands, group, value, fallback, help)                \
    {FF__OPTION_##KEY, commands, group, value, fallback, help},
#define FF_SETTING(member, ...) FF_OPTION(__VA_ARGS__)
#define FF_ALSO(KEY, commands, group, value, fallback, help)                                       \
    {FF__OPTION_##KEY, commands, group, value, fallback, help},
#define FF_VARIABLE(KEY, help)
#define FF_HEADING(commands, group, text) {FF__OPTIONS, commands, group, NULL, NULL, text},
#include "runtime/options.def"
};

#define ROW_COUNT (sizeof rows / sizeof rows[0])

static bool is_of(const struct option_row *row, enum ff__command_id command) {
    return row->commands >> command & 1;
}

bool ff__command_has(enum ff__command_id command, enum ff__option option) {
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (rows[i].option == option && is_of(&rows[i], command))
            return true;
    return false;
}

/* In the help of a command: FIRST, if the group has no heading there. */
static int group_of(const struct option_row *row, enum ff__command_id command) {
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (rows[i].option == FF__OPTIONS && rows[i].group == row->group &&
            is_of(&rows[i], command))
            return (int)row->group;
    return FIRST;
}

/* ---- the help ---- */

static const char *keep(struct ff__options *options, char *text) {
    ff__words_add(&options->owned, text);
    return text;
}

/* With what the value must be in place of %s, and with the default. Lines can be broken at the
 * commas of that. */
static const char *help_of(const struct option_row *row, struct ff__options *options) {
    char expected[FF__OPTION_EXPECTED];
    const char *gap = strstr(row->help, "%s"), *next = row->fallback;
    char *text = gap ? ff__text("%.*s%s%s", (int)(gap - row->help), row->help,
                                ff__option_expected(row->option, expected), gap + 2)
                     : ff__text("%s", row->help);
    for (const char *before = " (default: "; next && *next; before = ", ") {
        int length = (int)strcspn(next, ",");
        text = ff__text_add(text, "%s%.*s", before, length, next);
        next += length + (next[length] == ',');
    }
    keep(options, text);
    return row->fallback ? keep(options, ff__text("%s)", text)) : text;
}

/* An option's key for argp: its letter, or above all letters, so that it has no short form. */
static int key_of(enum ff__option option) {
    return ff__option_rows[option].letter ? ff__option_rows[option].letter : 256 + (int)option;
}

static bool goes_somewhere(enum ff__option option) {
    return option == FF__OPTION_JSON || option == FF__OPTION_CSV;
}

static struct argp_option argp_row(const struct option_row *row, struct ff__options *options) {
    int group = group_of(row, options->command);
    if (row->option == FF__OPTIONS)
        return (struct argp_option){.doc = row->help, .group = group};
    return (struct argp_option){
        .name = ff__option_rows[row->option].name,
        .key = key_of(row->option),
        .arg = row->value ? row->value : ff__option_rows[row->option].words,
        .flags = goes_somewhere(row->option) ? OPTION_ARG_OPTIONAL : 0,
        .doc = help_of(row, options),
        .group = group,
    };
}

/* All of a command. Those of group 0 come first, or argp takes them for more of the group before
 * them. */
static void list_rows(struct ff__options *options, struct argp_option out[ROW_COUNT + 1]) {
    for (int grouped = 0; grouped < 2; grouped++)
        for (size_t i = 0; i < ROW_COUNT; i++)
            if (is_of(&rows[i], options->command) &&
                (group_of(&rows[i], options->command) != FIRST) == grouped)
                *out++ = argp_row(&rows[i], options);
    *out = (struct argp_option){0};
}

/* ---- reading them ---- */

/* FF__OPTIONS: the key is none of ours. */
static enum ff__option option_of(const struct ff__options *options, int key) {
    enum ff__option option = 0;
    while (option < FF__OPTIONS &&
           !(key_of(option) == key && ff__command_has(options->command, option)))
        option++;
    return option;
}

static void give(struct ff__options *options, enum ff__option option, const char *text) {
    options->text[option] = text;
    if (option == FF__OPTION_JSON)
        ff__outputs_expect(text);
}

static error_t take(int key, char *argument, struct argp_state *state) {
    struct ff__options *options = state->input;
    enum ff__option option = option_of(options, key);
    if (option < FF__OPTIONS) {
        /* without a value, results go to standard output, and all else is a flag */
        give(options, option, argument ? argument : goes_somewhere(option) ? "-" : "on");
        return 0;
    }
    switch (key) {
    case ARGP_KEY_INIT:
        state->err_stream = NULL; /* no second line after a mistake */
        return 0;
    case ARGP_KEY_ARGS:
        options->words = state->argv + state->next;
        options->word_count = state->argc - state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int parse_words(const struct ff__command *command, int argc, char **argv,
                       struct ff__options *options) {
    struct argp_option shown[ROW_COUNT + 1];
    const struct argp argp = {shown, take, command->arguments, command->help, NULL, NULL, NULL};
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (is_of(&rows[i], command->id) && rows[i].option < FF__OPTIONS)
            options->fallback[rows[i].option] = rows[i].fallback;
    list_rows(options, shown);
    return ff__arguments_parse(&argp, argc, argv, command->flags, options);
}

/* A variable that is meant for another command means nothing here. */
static void read_environment(struct ff__options *options) {
    for (enum ff__option i = 0; i < FF__OPTIONS; i++) {
        const char *value = ff__option_variable(i);
        if (options->text[i] || !value || !ff__command_has(options->command, i))
            continue;
        options->from_environment[i] = true;
        give(options, i, keep(options, ff__text("%s", value))); /* what getenv() gave may change */
    }
}

/* Memory is left to the commands: most know shares, too. */
int ff__options_check(struct ff__options *options) {
    for (enum ff__option i = 0; i < FF__OPTIONS; i++) {
        const char *text = ff__options_text(options, i);
        union ff__option_value value;
        if (!text || i == FF__OPTION_MEMORY)
            continue;
        if (ff__option_read(i, text, &value))
            return ff__options_complain(options, i, NULL);
        if (ff__option_rows[i].kind >= FF__KIND_FLAG && ff__option_rows[i].kind <= FF__KIND_SIZES)
            options->number[i] = value.number;
    }
    return 0;
}

/* Of the ranks of mpirun, the first alone says what is wrong, and shows and writes results. */
static void be_quiet(void) {
    ff__complaints_hide(true);
    if (!freopen("/dev/null", "w", stdout))
        fclose(stdout);
}

int ff__options_parse(const struct ff__command *command, int argc, char **argv,
                      struct ff__options *out) {
    *out = (struct ff__options){.command = command->id};
    bool follows = ff__ranks_number() > 0 && ff__command_has(command->id, FF__OPTION_PART);
    if (follows)
        be_quiet();
    int status = parse_words(command, argc, argv, out);
    if (status)
        return status;
    read_environment(out);
    if (follows)
        out->text[FF__OPTION_JSON] = out->text[FF__OPTION_CSV] = out->text[FF__OPTION_PLOT] = NULL;
    return ff__options_check(out);
}

void ff__options_free(struct ff__options *options) {
    ff__words_free(&options->owned);
}

/* ---- using them ---- */

int ff__options_complain(const struct ff__options *options, enum ff__option option,
                         const char *expected) {
    const struct ff__option_row *row = &ff__option_rows[option];
    bool variable = options->from_environment[option];
    char what[FF__OPTION_EXPECTED];
    return ff__complain(FF__EXIT_USAGE, variable ? "%s%s=%s: %s%s" : "%s%s %s: %s%s",
                        variable ? FF__VARIABLE_PREFIX : "--", variable ? row->variable : row->name,
                        ff__options_text(options, option), expected ? "" : "must be ",
                        expected ? expected : ff__option_expected(option, what));
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
    for (enum ff__option i = 0; i < FF__OPTIONS && rest; i++) {
        const char *variable = ff__option_rows[i].variable;
        size_t length = strlen(variable);
        if (options->text[i] && strncasecmp(message, variable, length) == 0 &&
            message[length] == '=') {
            ff__options_complain(options, i, rest + 2);
            return status;
        }
    }
    return ff__complain(status, "%s", message);
}

/* Of settings that have been checked. */
static int apply(struct ff__options *options, enum ff__option option, struct ff_config *config) {
    const struct ff__option_row *row = &ff__option_rows[option];
    struct ff_error error;
    if (row->kind == FF__KIND_PATH)
        options->text[option] = keep(options, ff__path_absolute(options->text[option]));
    if (row->size && ff_config_set(config, row->variable, options->text[option], &error))
        return ff__complain(FF__EXIT_USAGE, "%s", error.message);
    char *name = ff__text(FF__VARIABLE_PREFIX "%s", row->variable);
    int status = setenv(name, options->text[option], 1)
                     ? ff__complain(FF__EXIT_FAILURE, "cannot set %s: %s", name, strerror(errno))
                     : 0;
    free(name);
    return status;
}

/* What the preloads read by themselves is no setting of the library's. */
static bool is_for_programs(enum ff__option option) {
    return ff__option_rows[option].size || option == FF__OPTION_DEVICE_TYPE ||
           option == FF__OPTION_RACES || option == FF__OPTION_EXTENTS;
}

int ff__options_apply(struct ff__options *options, struct ff_config *config) {
    int status = 0;
    ff_config_init(config);
    for (enum ff__option i = 0; i < FF__OPTIONS && !status; i++)
        if (is_for_programs(i) && options->text[i] && i != FF__OPTION_MEMORY &&
            i != FF__OPTION_SYSTEM)
            status = apply(options, i, config);
    if (status)
        return status;

    /* Settings that have no option come from the environment alone. The two that the sub-command
     * sets may say there what the library does not understand, such as 66%. */
    struct ff_error error;
    unsetenv(FF__VARIABLE_PREFIX "MEMORY");
    unsetenv(FF__VARIABLE_PREFIX "SYSTEM");
    return ff_config_from_environment(config, &error)
               ? ff__complain(FF__EXIT_USAGE, "%s", error.message)
               : 0;
}

/* ---- results ---- */

static bool is_stdout(const char *path) {
    return path && strcmp(path, "-") == 0;
}

static int check_output(const struct ff__options *options, enum ff__option option) {
    const char *path = options->text[option];
    if (!path || is_stdout(path))
        return 0;
    int status = ff__file_check(path);
    return status ? ff__options_complain(options, option, strerror(-status)) : 0;
}

int ff__options_outputs(const struct ff__options *options, struct ff__outputs *out) {
    *out = (struct ff__outputs){options->text[FF__OPTION_JSON], options->text[FF__OPTION_CSV]};
    if (is_stdout(out->json) && is_stdout(out->csv))
        return ff__complain(FF__EXIT_USAGE,
                            "--json and --csv cannot both go to standard output: give one a file, "
                            "such as --csv=FILE");
    int status = check_output(options, FF__OPTION_JSON);
    return status ? status : check_output(options, FF__OPTION_CSV);
}

/* ---- runs that are kept ---- */

/* How many simulations run at the same time. */
static unsigned jobs_of(const struct ff__options *options) {
    uint64_t jobs = options->number[FF__OPTION_JOBS];
    return jobs ? (unsigned)jobs : ff__ranks_count() > 1 ? 1 : ff__pool_threads();
}

/* "K/N", K from 1 to N. */
static int read_part(const struct ff__options *options, struct ff__study *out) {
    const char *text = options->text[FF__OPTION_PART];
    unsigned part, parts;
    int length = 0;
    if (!text)
        return 0;
    if (sscanf(text, "%5u/%5u%n", &part, &parts, &length) != 2 || text[length] || part < 1 ||
        part > parts)
        return ff__options_complain(options, FF__OPTION_PART,
                                    "must be K/N, such as 2/8: the second of eight parts");
    if (!options->text[FF__OPTION_STUDY])
        return ff__options_complain(options, FF__OPTION_PART,
                                    "a part of the runs makes no table: name a file to keep them "
                                    "in, --study FILE");
    if (options->text[FF__OPTION_JSON] || options->text[FF__OPTION_CSV])
        return ff__options_complain(options, FF__OPTION_PART,
                                    "a part of the runs makes no results: leave out --json and "
                                    "--csv");
    out->part = part - 1;
    out->parts = parts;
    out->shows_runs = true;
    return 0;
}

/* Rank 0 alone keeps runs. */
static int join_ranks(void) {
    char helper[PATH_MAX];
    int status = ff__find_mpi(helper);
    return status ? status : ff__ranks_join(helper);
}

/* A part of the runs makes no results. The command that makes them of all parts is kept in their
 * place, for farfault report. */
static void keep_command(const struct ff__options *options, const struct ff__study *study) {
    static const char *const names[] = {
#define FF_COMMAND(ID, name, summary) #name,
#include "cli/commands.def"
    };
    json_t *all = ff__must(json_object()), *words = ff__must(json_array());
    const char *command = names[options->command];
    json_array_append_new(words, ff__json_text(command));
    for (int i = 0; i < options->word_count; i++)
        json_array_append_new(words, ff__json_text(options->words[i]));
    for (enum ff__option i = 0; i < FF__OPTIONS; i++) {
        if (!options->text[i] || i == FF__OPTION_PART || i == FF__OPTION_STUDY ||
            i == FF__OPTION_FRESH || i == FF__OPTION_JOBS)
            continue;
        char *word = ff__text("--%s=%s", ff__option_rows[i].name, options->text[i]);
        json_array_append_new(words, ff__json_text(word));
        free(word);
    }
    ff__json_set(all, "arguments", words);
    ff__json_set(all, "parts", ff__json_count(study->parts));
    char *part = ff__text("%s %s", command, options->text[FF__OPTION_PART]);
    ff__study_put_results(study->store, part, all);
    free(part);
    json_decref(all);
}

static int keep_runs(const struct ff__options *options, const char *paper, struct ff__study *out) {
    int status =
        ff__study_keep(out, paper, options->text[FF__OPTION_STUDY],
                       options->number[FF__OPTION_FRESH], options->text[FF__OPTION_POLICY]);
    if (!status && out->parts && !paper)
        keep_command(options, out);
    return status;
}

int ff__options_study(const struct ff__options *options, const char *paper, struct ff__study *out) {
    bool keeps = options->text[FF__OPTION_STUDY] || paper;
    *out = (struct ff__study){.seed = options->number[FF__OPTION_SEED], .jobs = jobs_of(options)};
    int status = read_part(options, out);
    if (!status && ff__ranks_count() > 1)
        status = join_ranks();
    return status || !keeps || ff__ranks_number() > 0 ? status : keep_runs(options, paper, out);
}
