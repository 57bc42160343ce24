/* farfault study: what files of runs hold, and in what two builds or machines differ. */
#include "cli/cli.h"
#include "cli/options.h"
#include "report/table.h"
#include "study/mean.h"
#include "study/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIB 1048576.0

static const char help[] =
    "Shows what is in files of runs, which sim, replay, compare and repro write with --study, and "
    "compares them.\n"
    "\n"
    "Examples:\n"
    "  farfault study list runs.study\n"
    "  farfault study show runs.study\n"
    "  farfault study diff before.study after.study\n"
    "  farfault study diff runs.study#1 runs.study#3\n"
    "  farfault study export runs.study --csv=runs.csv\n"
    "  farfault study merge all.study part1.study part2.study\v"
    "list shows who has added runs: builds of farfault on machines, the latest last, with numbers. "
    "show has the runs of the latest one, FILE#N those of number N. diff pairs the runs of the "
    "latest one of each file, or of the last two of one file, and shows those that found "
    "something else. export has all runs of all builds, with all that they have counted, for "
    "--json "
    "and --csv. merge adds the runs of files to the first one, which need not exist.\n"
    "\n"
    "The exit status is 1 if a file cannot be used; that runs differ does not change it.";

/* ---- who has added runs ---- */

static const char query_builds[] =
    "SELECT build.id AS build, version, program, json_extract(machine, '$.cpu') AS cpu,"
    " json_extract(machine, '$.kernel') AS kernel, count(*) AS runs,"
    " strftime('%Y-%m-%d %H:%M', min(made), 'unixepoch') AS first,"
    " strftime('%Y-%m-%d %H:%M', max(made), 'unixepoch') AS last"
    " FROM build JOIN run ON run.build = build.id GROUP BY build.id ORDER BY max(made), build.id";

/* A file, and the one of its builds that is meant. */
struct study_file {
    struct ff__store *store;
    json_t *builds;      /* all of them */
    const json_t *build; /* NULL: there is none */
};

static int complain(const struct ff_error *error) {
    return ff__complain(FF__EXIT_FAILURE, "%s", error->message);
}

static void close_file(struct study_file *file) {
    ff__store_close(file->store);
    json_decref(file->builds);
}

/* The number behind '#', which is cut off; 0: there is none, or that is a file's name. */
static json_int_t cut_number(char *path) {
    char *mark = strrchr(path, '#'), *end;
    long number = mark ? strtol(mark + 1, &end, 10) : 0;
    if (number <= 0 || *end)
        return 0;
    *mark = '\0';
    return number;
}

/* NULL: there is none of that number. */
static const json_t *build_of(const json_t *builds, json_int_t number) {
    size_t i;
    const json_t *build;
    json_array_foreach(builds, i, build) if (json_integer_value(json_object_get(build, "build")) ==
                                             number) return build;
    return NULL;
}

/* FILE or FILE#N; without N, the build that so many are behind. Closed in any case. */
static int open_file(const char *word, size_t behind, struct study_file *out) {
    struct ff_error error;
    char *path = ff__text("%s", word);
    json_int_t number = cut_number(path);
    *out = (struct study_file){NULL, NULL, NULL};
    int status = ff__store_open(path, false, &out->store, &error);
    if (!status)
        status = ff__store_query(out->store, query_builds, 0, &out->builds, &error);
    free(path);
    if (status)
        return complain(&error);
    size_t count = json_array_size(out->builds);
    out->build = number           ? build_of(out->builds, number)
                 : count > behind ? json_array_get(out->builds, count - 1 - behind)
                                  : NULL;
    if (number && !out->build)
        return ff__complain(FF__EXIT_FAILURE,
                            "%s: there is no such number; see farfault study list", word);
    return 0;
}

static void show_builds(const json_t *builds) {
    static const char *const members[] = {"version", "program", "cpu", "kernel", "first", "last"};
    struct ff__table table;
    size_t i;
    const json_t *build;
    ff__table_init(&table, "rrllllll");
    ff__table_cells(&table, "", "runs", "version", "program", "processor", "Linux", "first", "last",
                    NULL);
    json_array_foreach(builds, i, build) {
        ff__table_cell(&table, "#%.0f", ff__json_number_of(build, "build"));
        ff__table_cell(&table, "%.0f", ff__json_number_of(build, "runs"));
        for (size_t j = 0; j < sizeof members / sizeof members[0]; j++)
            ff__table_cell(&table, "%s", ff__json_text_of(build, members[j]));
    }
    ff__table_print(&table, stdout, 0);
    ff__table_fini(&table);
}

/* ---- runs ---- */

#define RUNS                                                                                       \
    "SELECT build, subject, system, device, memory, seed, options, data, seconds, result FROM "    \
    "run "                                                                                         \
    "WHERE typeof(result) = 'text' AND "
#define ORDER                                                                                      \
    " ORDER BY build, subject, device, memory = 0 DESC, memory DESC, seed, options, system"

/* With what each has found in place of `result`. */
static int read_runs(struct ff__store *store, const json_t *build, json_t **runs) {
    struct ff_error error;
    size_t i;
    json_t *run;
    int64_t number = build ? json_integer_value(json_object_get(build, "build")) : 0;
    if (ff__store_query(store, number ? RUNS "build = ?1" ORDER : RUNS "?1 = 0" ORDER, number, runs,
                        &error))
        return complain(&error);
    json_array_foreach(*runs, i, run) {
        json_t *found = json_loads(ff__json_text_of(run, "result"), JSON_DECODE_ANY, NULL);
        json_object_del(run, "result");
        if (json_is_object(found))
            json_object_update_missing(run, found);
        json_decref(found);
    }
    return 0;
}

static void run_cells(struct ff__table *table, const json_t *run) {
    char size[FF__QUANTITY];
    double memory = ff__json_number_of(run, "memory");
    ff__table_cells(table, ff__json_text_of(run, "subject"), ff__json_text_of(run, "system"),
                    ff__json_text_of(run, "device"),
                    memory > 0 ? ff__size_text(size, (uint64_t)memory) : "-",
                    ff__json_text_of(run, "options"), NULL);
}

static void show_runs(const json_t *runs) {
    struct ff__table table;
    size_t i;
    const json_t *run;
    ff__table_init(&table, "lllrlrrrr");
    ff__table_cells(&table, "subject", "system", "device", "memory", "", "seconds", "faults",
                    "MiB in", "MiB out", NULL);
    json_array_foreach(runs, i, run) {
        run_cells(&table, run);
        if (json_object_get(run, "failure"))
            ff__table_cell(&table, "failed");
        else
            ff__table_value(&table, 6, ff__json_number_of(run, "seconds"), "");
        ff__table_value(&table, 0, ff__json_number_of(run, "faults"), "");
        ff__table_value(&table, 1, ff__json_number_of(run, "bytes_in") / MIB, "");
        ff__table_value(&table, 1, ff__json_number_of(run, "bytes_out") / MIB, "");
    }
    ff__table_print(&table, stdout, 0);
    ff__table_fini(&table);
    json_array_foreach(runs, i, run) if (json_object_get(run, "failure"))
        printf("%s, %s: failed: %s\n", ff__json_text_of(run, "subject"),
               ff__json_text_of(run, "system"), ff__json_text_of(run, "failure"));
}

/* ---- differences ---- */

struct differences {
    json_t *pairs; /* objects: what is the same of both, `old`, `new`, `ratio`, `same` */
    unsigned same, only_old, only_new;
    struct ff__mean ratio; /* new over old */
};

/* What makes two runs a pair. */
static char *pair_of(const json_t *run) {
    return ff__text("%s\n%s\n%s\n%.0f\n%.0f\n%s", ff__json_text_of(run, "subject"),
                    ff__json_text_of(run, "system"), ff__json_text_of(run, "device"),
                    ff__json_number_of(run, "memory"), ff__json_number_of(run, "seed"),
                    ff__json_text_of(run, "options"));
}

/* By what makes a pair; the caller owns it. */
static json_t *index_of(const json_t *runs) {
    size_t i;
    json_t *run, *index = ff__must(json_object());
    json_array_foreach(runs, i, run) {
        char *pair = pair_of(run);
        json_object_set(index, pair, run);
        free(pair);
    }
    return index;
}

/* Who made it, and of which device, makes no difference in what was found. */
static bool is_same(const json_t *one, const json_t *other) {
    json_t *copies[] = {json_copy((json_t *)one), json_copy((json_t *)other)};
    for (int i = 0; i < 2; i++) {
        json_object_del(copies[i], "build");
        json_object_del(copies[i], "data");
    }
    bool same = json_equal(copies[0], copies[1]);
    json_decref(copies[0]);
    json_decref(copies[1]);
    return same;
}

static void add_pair(struct differences *all, json_t *older, json_t *newer) {
    static const char *const members[] = {"subject", "system", "device",
                                          "memory",  "seed",   "options"};
    json_t *pair = ff__must(json_object());
    double ratio = ff__json_number_of(newer, "seconds") / ff__json_number_of(older, "seconds");
    bool same = is_same(older, newer);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        json_object_set(pair, members[i], json_object_get(newer, members[i]));
    ff__json_set(pair, "ratio", ff__json_number(ratio));
    ff__json_set(pair, "same", json_boolean(same));
    json_object_set(pair, "old", older);
    json_object_set(pair, "new", newer);
    json_array_append_new(all->pairs, pair);
    all->same += same;
    if (isfinite(ratio) && ratio > 0)
        ff__mean_add(&all->ratio, ratio);
}

static void compare_runs(const json_t *older, const json_t *newer, struct differences *out) {
    size_t i;
    json_t *run, *index = index_of(older);
    *out = (struct differences){.pairs = ff__must(json_array())};
    json_array_foreach(newer, i, run) {
        char *pair = pair_of(run);
        json_t *found = json_object_get(index, pair);
        if (found)
            add_pair(out, found, run);
        else
            out->only_new++;
        free(pair);
    }
    out->only_old = (unsigned)(json_array_size(older) - json_array_size(out->pairs));
    json_decref(index);
}

static void show_build(const char *which, const struct study_file *file) {
    printf("%s: #%.0f, farfault %s (%s), %s, Linux %s, %s\n", which,
           ff__json_number_of(file->build, "build"), ff__json_text_of(file->build, "version"),
           ff__json_text_of(file->build, "program"), ff__json_text_of(file->build, "cpu"),
           ff__json_text_of(file->build, "kernel"), ff__json_text_of(file->build, "last"));
}

static void show_differences(const struct differences *all) {
    struct ff__table table;
    size_t i, count = json_array_size(all->pairs);
    const json_t *pair;
    ff__table_init(&table, "lllrlrrrrr");
    ff__table_cells(&table, "subject", "system", "device", "memory", "", "old s", "new s", "x old",
                    "old faults", "new faults", NULL);
    json_array_foreach(all->pairs, i, pair) {
        const json_t *older = json_object_get(pair, "old"), *newer = json_object_get(pair, "new");
        if (json_is_true(json_object_get(pair, "same")))
            continue;
        run_cells(&table, pair);
        ff__table_value(&table, 6, ff__json_number_of(older, "seconds"), "");
        ff__table_value(&table, 6, ff__json_number_of(newer, "seconds"), "");
        ff__table_value(&table, 3, ff__json_number_of(pair, "ratio"), "");
        ff__table_value(&table, 0, ff__json_number_of(older, "faults"), "");
        ff__table_value(&table, 0, ff__json_number_of(newer, "faults"), "");
    }
    if (all->same < count)
        ff__table_print(&table, stdout, 0);
    ff__table_fini(&table);
    printf("%zu pairs, %u the same in all that was found; %u runs only old, %u only new", count,
           all->same, all->only_old, all->only_new);
    if (all->ratio.count > 0)
        printf("; geometric mean of times %.4f x old", ff__mean_value(&all->ratio));
    putchar('\n');
}

/* ---- the sub-commands ---- */

struct study_command {
    const struct ff__options *options;
    struct ff__outputs outputs;
};

/* Results, unless standard output is for people. */
static int write_results(const struct study_command *work, const char *name, json_t *value,
                         json_t *runs) {
    json_t *all = ff__results_new("study");
    if (value)
        json_object_set(all, name, value);
    ff__json_set(all, "runs", runs ? json_incref(runs) : json_array());
    int status = ff__outputs_write(&work->outputs, all);
    json_decref(all);
    return status;
}

static int list(const struct study_command *work, struct study_file *file) {
    if (ff__outputs_leave_tables(&work->outputs))
        show_builds(file->builds);
    return write_results(work, "builds", file->builds, NULL);
}

static int show(const struct study_command *work, struct study_file *file) {
    json_t *runs;
    int status = read_runs(file->store, file->build, &runs);
    if (status)
        return status;
    if (ff__outputs_leave_tables(&work->outputs))
        show_runs(runs);
    status = write_results(work, "builds", file->builds, runs);
    json_decref(runs);
    return status;
}

static int export(const struct study_command *work, struct study_file *file) {
    json_t *runs;
    if (!work->outputs.json && !work->outputs.csv)
        return ff__complain(FF__EXIT_USAGE, "export needs --json or --csv");
    int status = read_runs(file->store, NULL, &runs);
    if (!status)
        status = write_results(work, "builds", file->builds, runs);
    json_decref(runs);
    return status;
}

static int diff_files(const struct study_command *work, const struct study_file *older,
                      const struct study_file *newer) {
    json_t *runs[2] = {NULL, NULL};
    struct differences all;
    if (!older->build || !newer->build)
        return ff__complain(FF__EXIT_FAILURE, "there are not two builds to compare");
    int status = read_runs(older->store, older->build, &runs[0]);
    if (!status)
        status = read_runs(newer->store, newer->build, &runs[1]);
    if (!status) {
        compare_runs(runs[0], runs[1], &all);
        if (ff__outputs_leave_tables(&work->outputs)) {
            show_build("old", older);
            show_build("new", newer);
            show_differences(&all);
        }
        status = write_results(work, "builds", newer->builds, all.pairs);
        json_decref(all.pairs);
    }
    json_decref(runs[0]);
    json_decref(runs[1]);
    return status;
}

static int diff(const struct study_command *work, struct study_file *first) {
    char *const *words = work->options->words;
    int count = work->options->word_count;
    struct study_file second;
    int status = open_file(words[count - 1], 0, &second);
    if (!status)
        status = diff_files(work, first, &second);
    close_file(&second);
    return status;
}

static int merge(const struct ff__options *options) {
    struct ff__store *store;
    struct ff_error error;
    int status = ff__store_open(options->words[1], true, &store, &error);
    for (int i = 2; i < options->word_count && !status; i++)
        status = ff__store_merge(store, options->words[i], &error);
    ff__store_close(store);
    return status ? complain(&error) : 0;
}

static const struct {
    const char *name;
    int (*run)(const struct study_command *work, struct study_file *file);
    int files; /* at most */
} verbs[] = {{"list", list, 1}, {"show", show, 1}, {"diff", diff, 2}, {"export", export, 1}};

static int run_verb(const struct study_command *work, size_t verb) {
    const struct ff__options *options = work->options;
    struct study_file file;
    if (options->word_count < 2 || options->word_count > 1 + verbs[verb].files)
        return ff__complain(FF__EXIT_USAGE, "%s needs a file: farfault study %s FILE",
                            verbs[verb].name, verbs[verb].name);
    /* of one file, the last but one */
    bool alone = verbs[verb].files == 2 && options->word_count == 2;
    int status = open_file(options->words[1], alone, &file);
    if (!status)
        status = verbs[verb].run(work, &file);
    close_file(&file);
    return status;
}

static int run(struct ff__options *options) {
    struct study_command work = {.options = options};
    const char *verb = options->word_count > 0 ? options->words[0] : "";
    int status = ff__options_outputs(options, &work.outputs);
    if (status)
        return status;
    if (strcmp(verb, "merge") == 0 && options->word_count > 2)
        return merge(options);
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        if (strcmp(verbs[i].name, verb) == 0)
            return run_verb(&work, i);
    return ff__complain(FF__EXIT_USAGE, "say what: list, show, diff or export FILE, or merge FILE "
                                        "FILE...");
}

const struct ff__command ff__command_study = {FF__COMMAND_STUDY,
                                              "list|show|diff|export|merge FILE...", help, run, 0};
