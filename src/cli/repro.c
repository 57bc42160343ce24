/* farfault repro: a paper's tables beside ours. */
#include "study/repro/repro.h"

#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "report/json.h"
#include "report/table.h"
#include "study/find.h"
#include "study/outputs.h"
#include "study/repro/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ff__repro
    uvmsmart = {"uvmsmart", "Ganguly et al., ISCA 2019, from its simulator's logs", ff__repro_file},
    deepum = {"deepum", "Jung, Kim and Lee, ASPLOS 2023", ff__repro_file},
    hlsh = {"hlsh", "Long, Gong, Zhou and Zhang, arXiv 2203.12672", ff__repro_file},
    forest = {"forest", "Lin et al., ISCA 2025, from third-party notes", ff__repro_file},
    ariadne = {"ariadne", "ARIADNE, HPCA 2026, from third-party notes", ff__repro_file},
    of_user = {"file", "a file of the user's", ff__repro_file};

static const struct ff__repro *const repros[] = {
    &uvmsmart, &deepum, &hlsh, &ff__repro_huvm, &forest, &ariadne, &ff__repro_batches};

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
    for (size_t i = 0; i < REPRO_COUNT; i++)
        all = ff__text_add(all, "%s%s", i ? ", " : "", repros[i]->name);
    if (name)
        ff__complain(0, "there is no paper '%s'; there are: %s, or a FILE.json", name, all);
    else
        ff__complain(0, "name one paper; there are: %s, or a FILE.json", all);
    free(all);
    return FF__EXIT_USAGE;
}

static int read_plan(const struct ff__options *options, const struct ff__repro *repro,
                     bool shows_runs, json_t **published, struct ff__repro_plan *plan) {
    plan->file = options->words[0];
    plan->parts = options->text[FF__OPTION_PARTS];
    plan->models = options->text[FF__OPTION_MODELS];
    int status = repro == &of_user ? ff__repro_read(plan->file, published)
                                   : ff__repro_published(repro->name, published);
    plan->published = *published;
    if (!status)
        status = ff__options_study(options, repro->name, &plan->study);
    plan->study.shows_runs = shows_runs;
    return status;
}

/* A file says what it is. */
static const char *name_of(const struct ff__repro *repro, const json_t *published) {
    const char *own = ff__json_text_of(published, "name");
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
    int status = ff__options_outputs(options, &outputs);
    if (!status && plots)
        status = ff__repro_plot_folder(plots);
    if (status)
        return status;
    json_t *tables = ff__must(json_array());
    status = read_plan(options, repro, ff__outputs_leave_tables(&outputs), &published, &plan);
    if (!status)
        status = repro->run(&plan, tables);
    bool whole = !status && !plan.study.parts;
    if (whole)
        status = ff__repro_present(name_of(repro, published), published, tables, &outputs);
    if (whole && !status && plots)
        status = ff__repro_plot(published, tables, plots, plan.study.shows_runs);
    ff__store_close(plan.study.store);
    json_decref(tables);
    json_decref(published);
    return status;
}

const struct ff__command ff__command_repro = {
    FF__COMMAND_REPRO, "uvmsmart|deepum|hlsh|huvm|forest|ariadne|batches|FILE.json", help,
    reproduce, 0};
