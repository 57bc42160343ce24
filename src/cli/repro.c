/* farfault repro: a paper's tables beside ours. */
#include "cli/repro.h"

#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/find.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/repro_plot.h"
#include "cli/repro_runs.h"
#include "report/json.h"
#include "report/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ff__repro forest = {"forest", "Lin et al., ISCA 2025, from third-party notes",
                                        ff__repro_file},
                              ariadne = {"ariadne", "ARIADNE, HPCA 2026, from third-party notes",
                                         ff__repro_file},
                              of_user = {"file", "a file of the user's", ff__repro_file};

static const struct ff__repro *const repros[] = {
    &ff__repro_uvmsmart, &ff__repro_deepum, &ff__repro_hlsh, &ff__repro_huvm, &forest, &ariadne,
    &ff__repro_batches};

#define REPRO_COUNT (sizeof repros / sizeof repros[0])

static const char help[] =
    "Runs the configurations of a paper's tables and shows the published numbers beside ours.\n"
    "\n"
    "Examples:\n"
    "  farfault repro uvmsmart\n"
    "  farfault repro forest --parts benchmarks,ablation\n"
    "  farfault repro uvmsmart --json=uvmsmart.json\n"
    "  farfault repro forest --parts benchmarks --plot=figures\n"
    "  farfault repro ./my-paper.json\v"
    "Papers: uvmsmart (Ganguly et al., ISCA 2019, from its simulator's logs), deepum (Jung et al., "
    "ASPLOS 2023; half an hour on two cores), hlsh (Long et al., arXiv 2203.12672; trains a "
    "predictor first: several minutes), huvm (Choi et al., USENIX ATC 2022; ten minutes on two "
    "cores), forest (Lin et al., ISCA 2025; five minutes), ariadne (HPCA 2026), batches (of "
    "faults, as a patched driver has logged them; uvm-eval, with Allen and Ge, SC 2021); or a "
    "FILE.json with tables of your own (docs/simulation.md).\n"
    "\n"
    "Each run is shown and kept as it ends, so that the same command goes on where it was "
    "interrupted. A run that was kept counts as long as farfault, its data on devices and the "
    "options are the same.\n"
    "\n"
    "The exit status is 0 if everything was run, whatever the deviations.";

/* ---- tables ---- */

json_t *ff__repro_table(json_t *tables, const char *id, const char *what) {
    json_t *table = ff__must(json_object());
    ff__json_set(table, "id", ff__json_text(id));
    ff__json_set(table, "what", ff__json_text(what));
    ff__json_set(table, "rows", json_array());
    json_array_append_new(tables, table);
    return table;
}

void ff__repro_row(json_t *table, const char *name, double paper, double ours) {
    json_t *row = ff__must(json_object());
    ff__json_set(row, "name", ff__json_text(name));
    ff__json_set(row, "paper", ff__json_number(paper));
    ff__json_set(row, "ours", ff__json_number(ours));
    json_array_append_new(json_object_get(table, "rows"), row);
}

const char *ff__repro_text(const json_t *object, const char *name) {
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

double ff__repro_number(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

bool ff__repro_has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static void summarize(json_t *table) {
    struct ff__mean paper = {0}, ours = {0};
    size_t i;
    json_t *row, *summary = ff__must(json_object());
    json_array_foreach(json_object_get(table, "rows"), i, row) {
        double theirs = ff__repro_number(row, "paper"), mine = ff__repro_number(row, "ours");
        if (!(theirs > 0) || !(mine > 0))
            continue;
        ff__mean_add(&paper, theirs);
        ff__mean_add(&ours, mine);
    }
    ff__json_set(summary, "paper", ff__json_number(ff__mean_value(&paper)));
    ff__json_set(summary, "ours", ff__json_number(ff__mean_value(&ours)));
    ff__json_set(table, "summary", summary);
}

/* ---- for people ---- */

static void value_cell(struct ff__table *table, double value) {
    if (isnan(value))
        ff__table_cell(table, "-");
    else
        ff__table_cell(table, "%.*f", value == floor(value) ? 0 : fabs(value) < 10 ? 3 : 1, value);
}

static void show_row(struct ff__table *table, const char *name, const json_t *row) {
    double paper = ff__repro_number(row, "paper"), ours = ff__repro_number(row, "ours");
    ff__table_cell(table, "%s", name);
    value_cell(table, paper);
    value_cell(table, ours);
    if (paper > 0 && !isnan(ours))
        ff__table_cell(table, "%+.1f %%", 100 * (ours / paper - 1));
    else
        ff__table_cell(table, "-");
}

static void show_table(const json_t *table) {
    size_t i;
    json_t *row;
    struct ff__table out;
    printf("%s: %s\n", json_string_value(json_object_get(table, "id")),
           json_string_value(json_object_get(table, "what")));
    ff__table_init(&out, "lrrr");
    ff__table_cells(&out, "", "paper", "ours", "deviation", NULL);
    json_array_foreach(json_object_get(table, "rows"), i, row)
        show_row(&out, json_string_value(json_object_get(row, "name")), row);
    show_row(&out, "geometric mean", json_object_get(table, "summary"));
    ff__table_print(&out, stdout, 2);
    ff__table_fini(&out);
    putchar('\n');
}

/* ---- the command ---- */

static bool is_file(const char *word) {
    size_t length = strlen(word);
    return strchr(word, '/') || (length > 5 && strcmp(word + length - 5, ".json") == 0);
}

static const struct ff__repro *find_repro(const char *name) {
    if (is_file(name))
        return &of_user;
    for (size_t i = 0; i < REPRO_COUNT; i++)
        if (strcmp(repros[i]->name, name) == 0)
            return repros[i];
    return NULL;
}

static int complain_unknown(const char *name) {
    char *all = ff__text("%s", "");
    for (size_t i = 0; i < REPRO_COUNT; i++) {
        char *longer = ff__text("%s%s%s", all, i ? ", " : "", repros[i]->name);
        free(all);
        all = longer;
    }
    if (name)
        ff__complain(0, "there is no paper '%s'; there are: %s, or a FILE.json", name, all);
    else
        ff__complain(0, "name one paper; there are: %s, or a FILE.json", all);
    free(all);
    return FF__EXIT_USAGE;
}

static int read_json(const char *path, json_t **out) {
    json_error_t error;
    *out = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (*out)
        return 0;
    return error.line < 0
               ? ff__complain(FF__EXIT_FAILURE, "%s: %s", path, error.text)
               : ff__complain(FF__EXIT_FAILURE, "%s: line %d: %s", path, error.line, error.text);
}

int ff__repro_published(const char *name, json_t **out) {
    char path[PATH_MAX];
    char *file = ff__text("published/%s.json", name);
    int status = ff__find_data(file, path);
    free(file);
    return status ? status : read_json(path, out);
}

/* All rows, each a run with its table's name. */
static json_t *runs_of(const json_t *tables) {
    json_t *runs = ff__must(json_array()), *table, *row;
    size_t i, j;
    json_array_foreach(tables, i, table) {
        json_array_foreach(json_object_get(table, "rows"), j, row) {
            json_t *run = ff__must(json_object());
            ff__json_set(run, "table", json_incref(json_object_get(table, "id")));
            json_object_update(run, row);
            json_array_append_new(runs, run);
        }
    }
    return runs;
}

static int present(const char *name, json_t *tables, const struct ff__outputs *outputs) {
    size_t i;
    json_t *table, *all = ff__results_new("repro");
    json_array_foreach(tables, i, table) {
        summarize(table);
        if (ff__outputs_leave_tables(outputs))
            show_table(table);
    }
    ff__json_set(all, "name", ff__json_text(name));
    ff__json_set(all, "tables", json_incref(tables));
    ff__json_set(all, "runs", runs_of(tables));
    int status = ff__outputs_write(outputs, all);
    json_decref(all);
    return status;
}

static int read_plan(const struct ff__options *options, const struct ff__repro *repro,
                     json_t **published, struct ff__repro_plan *plan) {
    plan->file = options->words[0];
    plan->seed = options->number[FF__OPTION_SEED];
    plan->jobs = ff__options_jobs(options);
    int status = repro == &of_user ? read_json(plan->file, published)
                                   : ff__repro_published(repro->name, published);
    if (!status)
        status = ff__repro_keep(plan, repro->name, options->text[FF__OPTION_RESUME],
                                options->number[FF__OPTION_FRESH]);
    plan->published = *published;
    plan->parts = options->text[FF__OPTION_PARTS];
    plan->models = options->text[FF__OPTION_MODELS];
    return status;
}

/* A file says what it is. */
static const char *name_of(const struct ff__repro *repro, const json_t *published) {
    const char *own = ff__repro_text(published, "name");
    return repro == &of_user && *own ? own : repro->name;
}

static int reproduce(struct ff__options *options) {
    const struct ff__repro *repro = options->word_count == 1 ? find_repro(options->words[0]) : NULL;
    struct ff__repro_plan plan = {0};
    struct ff__outputs outputs;
    json_t *published = NULL;
    if (!repro)
        return complain_unknown(options->word_count == 1 ? options->words[0] : NULL);
    const char *plots = options->text[FF__OPTION_PLOT];
    int status = ff__outputs_read(options, &outputs);
    if (!status && plots)
        status = ff__repro_plot_folder(plots);
    if (status)
        return status;
    plan.shows_runs = ff__outputs_leave_tables(&outputs);
    json_t *tables = ff__must(json_array());
    status = read_plan(options, repro, &published, &plan);
    if (!status)
        status = repro->run(&plan, tables);
    if (!status)
        status = present(name_of(repro, published), tables, &outputs);
    if (!status && plots)
        status = ff__repro_plot(published, tables, plots, plan.shows_runs);
    ff__kept_close(plan.kept);
    json_decref(tables);
    json_decref(published);
    return status;
}

const struct ff__command ff__command_repro = {
    FF__COMMAND_REPRO, "uvmsmart|deepum|hlsh|huvm|forest|ariadne|batches|FILE.json", help,
    reproduce, 0};
