/* farfault train: a predictor for what modelled programs access. */
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/scores.h"
#include "cli/training_job.h"
#include "learn/blas/blas.h"
#include "report/progress.h"
#include "report/table.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static const struct argp_option train_options[] = {
    OPTION("network", NETWORK, "NAME",
           "hlsh, hlsh-float, transformer, fc, cnn or lstm (default: hlsh)"),
    OPTION("distance", DISTANCE, "N", "how many accesses ahead to predict (default: 1)"),
    OPTION("cluster", CLUSTER, "KEY",
           "accesses that form a stream: those with the same sm+warp, sm, pc, kernel, cta or warp "
           "(default: sm+warp)"),
    OPTION("split", SPLIT, "streams|time",
           "test on every fifth stream, or on the last fifth of each (default: streams)"),
    OPTION("steps", STEPS, "N", "batches to train on (default: the network's own)"),
    OPTION("together", TOGETHER, NULL, "one predictor for all workloads, not one for each"),
    SHORT_OPTION("output", 'o', "FILE",
                 "the model's file, for one predictor; training of an unfinished model continues"),
    SHORT_OPTION("gpu", 'g', "NAME|FILE.json", "the modelled device (default: gtx1080ti)"),
    OPTION("seed", SEED, "N", "seed of all random numbers (default: 1)"),
    OUTPUT_OPTIONS,
    {0},
};

static const char train_help[] =
    "Trains a page predictor on the accesses of simulated programs, and shows how good it is on "
    "accesses that it was not trained on.\v"
    "top-1 is the share of predictions that name the right page; F1 is weighted by class; majority "
    "is the score of always predicting the most frequent class.\n"
    "\n"
    "Interrupted training (Ctrl-C) continues with the same command.\n"
    "\n"
    "Examples:\n"
    "  farfault train hotspot --output hotspot.model\n"
    "  farfault train atax,backprop,bicg,hotspot,nw --together --output corpus.model\n"
    "  farfault train srad_v2 --network transformer --distance 30";

static volatile sig_atomic_t interrupted;

static void interrupt(int signal) {
    (void)signal;
    interrupted = 1;
}

struct training_plan {
    struct ff__training_data data;
    const struct ff__net_type *type;
    uint32_t steps;
    const char *output;
    bool together;
};

static int read_plan(const struct ff__options *options, struct training_plan *plan) {
    const char *name = options->text[FF__OPTION_NETWORK];
    plan->type = ff__net_type_find(name ? name : "hlsh");
    if (!plan->type)
        return ff__options_complain(options, FF__OPTION_NETWORK,
                                    "must be hlsh, hlsh-float, transformer, fc, cnn or lstm");
    plan->steps = plan->type->steps;
    plan->output = options->text[FF__OPTION_OUTPUT];
    int status = ff__options_number(options, FF__OPTION_STEPS, 1, 10000000, &plan->steps);
    if (!status)
        status = ff__options_flag(options, FF__OPTION_TOGETHER, &plan->together);
    if (!status && plan->output && !plan->together && plan->data.workloads.count > 1)
        status = ff__complain(FF__EXIT_USAGE, "one file holds one predictor: name one workload, or "
                                              "train on all of them with --together");
    return status;
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

static void show_score(struct ff__table *table, const struct ff__score *score) {
    ff__table_cell(table, "%.4f", score->top1);
    ff__table_cell(table, "%.4f", score->f1);
    ff__table_cell(table, "%.4f", score->top10);
    ff__table_cell(table, "%.4f", score->majority);
}

static void add(struct results *results, const struct ff__model *model,
                const struct ff__score *score) {
    json_t *run = ff__score_json(model->subject, score);
    ff__json_set(run, "network", ff__json_text(model->net.type->name));
    ff__json_set(run, "classes", ff__json_count(model->net.shape.classes));
    ff__json_set(run, "parameters", ff__json_count(model->net.param_count));
    json_array_append_new(results->runs, run);
    ff__table_cell(&results->table, "%s", model->subject);
    ff__table_cell(&results->table, "%u", model->net.shape.classes);
    ff__table_cell(&results->table, "%zu", model->net.param_count);
    show_score(&results->table, score);
    results->sum.top1 += score->top1;
    results->sum.f1 += score->f1;
    results->sum.top10 += score->top10;
    results->sum.majority += score->majority;
}

/* Means over the programs, which are what the paper states. */
static void show_mean(struct results *results, unsigned count) {
    const struct ff__score mean = {
        .top1 = results->sum.top1 / count,
        .f1 = results->sum.f1 / count,
        .top10 = results->sum.top10 / count,
        .majority = results->sum.majority / count,
    };
    ff__table_cells(&results->table, "mean", "", "", NULL);
    show_score(&results->table, &mean);
}

static int train_on_corpus(const struct training_plan *plan, const struct ff__corpus *corpus,
                           const char *subject, struct results *results) {
    struct ff__progress progress;
    struct ff__model model = {0};
    struct ff__dataset dataset = {0};
    struct ff__score score;
    struct ff_error error;
    const struct ff__training_job job = {
        .data = &plan->data,
        .type = plan->type,
        .steps = plan->steps,
        .subject = subject,
        .output = plan->output,
        .stop = &interrupted,
        .show = show_progress,
        .self = &progress,
    };
    ff__progress_start(&progress, plan->steps);
    int status = ff__training_job_run(&job, corpus, &model, &dataset, &error);
    ff__progress_hide(&progress);
    if (status)
        status = ff__complain(status == -EINTR ? FF__EXIT_SIGNAL + SIGINT : FF__EXIT_FAILURE, "%s",
                              error.message);
    else if (ff__net_score(&model.net, &dataset, FF__TEST_SAMPLES_MAX, &score))
        status = ff__complain(FF__EXIT_FAILURE, "%s", strerror(ENOMEM));
    else
        add(results, &model, &score);
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
    status = train_on_corpus(plan, &corpus, subject, results);
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
    if (!status && all > 1)
        show_mean(results, all);
    return status;
}

static int train(const struct ff__options *options) {
    struct training_plan plan = {0};
    struct results results = {.runs = ff__must(json_array())};
    struct ff__outputs outputs = {NULL, NULL};
    int status = options->word_count == 1
                     ? ff__training_data_read(options, options->words[0], &plan.data)
                     : ff__complain(FF__EXIT_USAGE,
                                    "name the workloads, such as: farfault train hotspot,nw");
    if (!status)
        status = read_plan(options, &plan);
    if (!status)
        status = ff__outputs_read(options, &outputs);
    ff__table_init(&results.table, "lrrrrrr");
    ff__table_cells(&results.table, "", "classes", "parameters", "top-1", "F1", "top-10",
                    "majority", NULL);
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

int ff__train(int argc, char **argv) {
    const struct argp argp = {
        train_options, ff__options_take, "WORKLOAD[,WORKLOAD...]", train_help, NULL, NULL, NULL};
    struct ff__options options;
    int status = ff__options_parse(&argp, argc, argv, 0, &options);
    if (status)
        return status;
    ff__blas_use();
    signal(SIGINT, interrupt);
    status = train(&options);
    ff__options_free(&options);
    return status;
}
