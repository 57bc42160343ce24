/* farfault train: a predictor for what modelled programs access. */
#include "cli/train.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "learn/train/finetune_score.h"
#include "learn/train/nets.h"
#include "learn/train/online.h"
#include "report/progress.h"
#include "report/table.h"
#include "study/find.h"
#include "study/repro/scores.h"
#include "study/repro/training_job.h"
#include "study/specs.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>

static const char train_help[] =
    "Trains a page predictor on the accesses of simulated programs, and shows how good it is on "
    "accesses that it was not trained on.\n"
    "\n"
    "Examples:\n"
    "  farfault train hotspot --output hotspot.model\n"
    "  farfault train atax,bicg,hotspot,nw --together --output corpus.model\n"
    "  farfault train srad_v2 --network transformer --distance 30\n"
    "  farfault train ./run.trace\v"
    "top-1 is the share of predictions that name the right page; F1 is weighted by class; majority "
    "is the score of always predicting the most frequent class; unknown is the share of pages "
    "without a class, which no prediction can name; no page is the share that top-1 counts as "
    "right although the class names no page: it is the first access to its array in the stream, of "
    "which the class has only the place in its block.\n"
    "\n"
    "A workload with a slash, or that ends in .trace, is the path of a trace of accesses, from "
    "farfault record --accesses or farfault sim --trace.\n"
    "\n"
    "Interrupted training (Ctrl-C) continues with the same command.";

static volatile sig_atomic_t interrupted;

static void interrupt(int signal) {
    (void)signal;
    interrupted = 1;
}

struct training_plan {
    struct ff__training_data data;
    const struct ff__net_type *type;
    const struct ff__online_type *online; /* instead of a network */
    uint32_t steps, until;                /* percent */
    const char *output;
    bool together, tunes;
};

static int read_plan(const struct ff__options *options, struct training_plan *plan) {
    const char *name = ff__options_text(options, FF__OPTION_NETWORK);
    plan->output = options->text[FF__OPTION_OUTPUT];
    plan->together = options->number[FF__OPTION_TOGETHER];
    plan->tunes = options->number[FF__OPTION_TUNE];
    plan->steps = (uint32_t)options->number[FF__OPTION_STEPS];
    plan->until = (uint32_t)options->number[FF__OPTION_UNTIL];
    plan->type = ff__net_type_find(ff__all_nets, name);
    plan->online = plan->type ? NULL : ff__online_type_find(name);
    if (!plan->type && !plan->online)
        return ff__options_complain(options, FF__OPTION_NETWORK, NULL);
    if (plan->type && plan->steps == 0)
        plan->steps = plan->type->steps;
    if ((plan->data.by_access || plan->data.by_array) && plan->output)
        return ff__complain(FF__EXIT_USAGE, "--%s is for comparison: its models have no file",
                            plan->data.by_access ? "delta access" : "inputs accessed");
    if (plan->online && plan->output)
        return ff__complain(FF__EXIT_USAGE, "%s learns while a program runs, and has no file",
                            plan->online->name);
    if (plan->tunes && plan->type && !ff__is_hlsh(plan->type))
        return ff__complain(FF__EXIT_USAGE,
                            "--tune: only hlsh and its variants are fine-tuned, not %s",
                            plan->type->name);
    if (plan->output && !plan->together && plan->data.workloads.count > 1)
        return ff__complain(FF__EXIT_USAGE, "one file holds one predictor: name one workload, or "
                                            "train on all of them with --together");
    return 0;
}

/* ---- one predictor ---- */

static void show_progress(void *self, const struct ff__model *model) {
    struct ff__progress *progress = self;
    progress->done = model->training.step;
    ff__progress_show(progress, "%s, loss %.3f", model->subject, model->training.loss);
}

/* What has been trained. */
struct results {
    struct ff__table table;
    json_t *runs;
    struct ff__score sum;
};

/* What was trained; no parameters and batches: it has no network. */
struct trained {
    const char *subject, *network;
    uint32_t classes, batches;
    size_t params;
};

static void add(struct results *results, const struct trained *trained,
                const struct ff__score *score) {
    json_t *run = ff__score_json(trained->subject, score);
    bool has_network = trained->params > 0;
    ff__json_set(run, "network", ff__json_text(trained->network));
    ff__json_set(run, "classes", ff__json_count(trained->classes));
    ff__json_set(run, "parameters", has_network ? ff__json_count(trained->params) : json_null());
    ff__json_set(run, "batches", has_network ? ff__json_count(trained->batches) : json_null());
    json_array_append_new(results->runs, run);
    ff__table_cell(&results->table, "%s", trained->subject);
    ff__table_cell(&results->table, "%u", trained->classes);
    ff__table_cell(&results->table, has_network ? "%zu" : "-", trained->params);
    ff__table_cell(&results->table, has_network ? "%u" : "-", trained->batches);
    ff__score_cells(&results->table, score);
    ff__score_add(&results->sum, score, 1);
}

static int learn_online(const struct training_plan *plan, const struct ff__corpus *corpus,
                        const char *subject, struct results *results) {
    struct ff__features features = {0};
    struct ff__dataset dataset = {0};
    struct ff__score score;
    int status = ff__dataset_build(&dataset, &features, corpus, plan->data.distance,
                                   plan->data.split, plan->data.seed);
    if (!status)
        status = ff__online_score(plan->online, corpus, &dataset, plan->tunes, FF__TEST_SAMPLES_MAX,
                                  &score);
    const struct trained trained = {subject, plan->online->name, features.classes.size, 0, 0};
    if (!status)
        add(results, &trained, &score);
    ff__dataset_fini(&dataset);
    ff__features_fini(&features);
    return status ? ff__complain(FF__EXIT_FAILURE, "%s", strerror(-status)) : 0;
}

static int train_net(const struct training_plan *plan, const struct ff__corpus *corpus,
                     const char *subject, struct results *results) {
    struct ff__progress progress;
    struct ff__model model = {0};
    struct ff__dataset dataset = {0};
    struct ff__score score;
    struct ff_error error;
    uint32_t batches = 0;
    const struct ff__training_job job = {
        .data = &plan->data,
        .type = plan->type,
        .steps = plan->steps,
        .until = plan->until / 100.0,
        .subject = subject,
        .output = plan->output,
        .stop = &interrupted,
        .show = show_progress,
        .self = &progress,
    };
    ff__progress_start(&progress, plan->steps);
    int status = ff__training_job_run(&job, corpus, &model, &dataset, &batches, &error);
    ff__progress_hide(&progress);
    if (status)
        status = ff__complain(status == -EINTR ? FF__EXIT_SIGNAL + SIGINT : FF__EXIT_FAILURE, "%s",
                              error.message);
    else if (plan->tunes ? ff__finetune_score(&model, corpus, FF__TEST_SAMPLES_MAX, &score)
                         : ff__net_score(&model.net, &dataset, FF__TEST_SAMPLES_MAX, &score))
        status = ff__complain(FF__EXIT_FAILURE, "%s", strerror(ENOMEM));
    else
        add(results,
            &(struct trained){model.subject, model.net.type->name, model.net.shape.classes, batches,
                              model.net.param_count},
            &score);
    ff__dataset_fini(&dataset);
    ff__model_fini(&model);
    return status;
}

static int train_on(const struct training_plan *plan, unsigned first, unsigned count,
                    const char *subject, struct results *results) {
    struct ff__corpus corpus;
    int status = ff__training_data_record(&plan->data, first, count, &corpus);
    if (status)
        return status;
    status = plan->online ? learn_online(plan, &corpus, subject, results)
                          : train_net(plan, &corpus, subject, results);
    ff__corpus_fini(&corpus);
    return status;
}

/* ---- the command ---- */

static int train_all(const struct training_plan *plan, const char *subject,
                     struct results *results) {
    unsigned all = plan->data.workloads.count;
    int status = 0;
    if (plan->together)
        return train_on(plan, 0, all, subject, results);
    for (unsigned i = 0; i < all && !status; i++)
        status = train_on(plan, i, 1, plan->data.workloads.items[i], results);
    if (!status && all > 1) { /* means over the programs, which are what the paper states */
        struct ff__score mean = {0};
        ff__score_add(&mean, &results->sum, 1.0 / all);
        ff__table_cells(&results->table, "mean", "", "", "", NULL);
        ff__score_cells(&results->table, &mean);
    }
    return status;
}

int ff__training_data_read(const struct ff__options *options, const char *list,
                           struct ff__training_data *data) {
    struct ff_error error;
    *data = (struct ff__training_data){
        .seed = options->number[FF__OPTION_SEED],
        .distance = (uint32_t)options->number[FF__OPTION_DISTANCE],
        .by = (enum ff__cluster)options->number[FF__OPTION_CLUSTER],
        .by_access = options->number[FF__OPTION_DELTA],
        .by_array = options->number[FF__OPTION_INPUTS],
        .split = (enum ff__split)options->number[FF__OPTION_SPLIT],
    };
    if (ff__specs_split(list, &data->workloads, &error))
        return ff__complain(FF__EXIT_USAGE, "%s", error.message);
    return ff__find_gpu(ff__options_text(options, FF__OPTION_GPU), FF__EXIT_USAGE, &data->gpu);
}

static int train(struct ff__options *options) {
    struct training_plan plan = {0};
    struct results results = {.runs = ff__must(json_array())};
    struct ff__outputs outputs = {NULL, NULL};
    ff__training_begin();
    signal(SIGINT, interrupt);
    int status = options->word_count == 1
                     ? ff__training_data_read(options, options->words[0], &plan.data)
                     : ff__complain(FF__EXIT_USAGE,
                                    "name the workloads, such as: farfault train hotspot,nw");
    if (!status)
        status = read_plan(options, &plan);
    if (!status)
        status = ff__options_outputs(options, &outputs);
    ff__table_init(&results.table, "lrrrrrrrrr");
    ff__table_cells(&results.table, "", "classes", "parameters", "batches", "top-1", "F1", "top-10",
                    "majority", "unknown", "no page", NULL);
    if (!status)
        status = train_all(&plan, options->words[0], &results);
    if (!status && ff__outputs_leave_tables(&outputs))
        ff__table_print(&results.table, stdout, 0);
    if (!status)
        status = ff__scores_write(&outputs, "train", results.runs);
    ff__table_fini(&results.table);
    json_decref(results.runs);
    ff__training_data_free(&plan.data);
    return status;
}

const struct ff__command ff__command_train = {FF__COMMAND_TRAIN, "WORKLOAD[,WORKLOAD...]",
                                              train_help, train, 0};
