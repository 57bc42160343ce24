/* farfault train: a predictor for what modelled programs access. */
#include "cli/cli.h"
#include "cli/lesson.h"
#include "cli/options.h"
#include "learn/blas/blas.h"
#include "report/progress.h"
#include "report/table.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define SAVE_EVERY 200u   /* steps */
#define TESTS      20000u /* samples a score is made of */
#define SHOW_EVERY 20u

#define OPTION(name, key, value, help)                                                             \
    { name, FF__OPTION_KEY(FF__OPTION_##key), value, 0, help, 0 }

static const struct argp_option train_options[] = {
    OPTION("network", NETWORK, "NAME", "hlsh, transformer, fc, cnn or lstm (default: hlsh)"),
    OPTION("distance", DISTANCE, "N", "predict the access so many ahead (default: 1)"),
    OPTION("cluster", CLUSTER, "KEY",
           "what makes a stream: sm+warp, sm, pc, kernel, cta or warp (default: sm+warp)"),
    OPTION("split", SPLIT, "streams|time",
           "test on every fifth stream, or on the last fifth of each (default: streams)"),
    OPTION("steps", STEPS, "N", "batches to train on (default: the network's own)"),
    OPTION("together", TOGETHER, NULL, "one predictor for all workloads, not one for each"),
    OPTION("output", OUTPUT, "FILE",
           "the model's file, for one predictor; if it is there and unfinished, training goes on"),
    OPTION("gpu", GPU, "NAME|FILE.json", "the modelled device (default: gtx1080ti)"),
    OPTION("seed", SEED, "N", "seed of everything that is random (default: 1)"),
    {0},
};

static const char train_help[] =
    "Trains a predictor of pages on what modelled programs access, and says how good it is on "
    "accesses that it was not trained on.\v"
    "top-1 is the share of predictions that name the right page; F1 is weighted by class; majority "
    "is what always saying the most frequent class would get.\n"
    "\n"
    "Training that was interrupted (Ctrl-C) goes on where it was with the same command.\n"
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

struct lesson_plan {
    struct ff__lesson lesson;
    const struct ff__net_type *type;
    uint32_t steps;
    const char *output;
    bool together;
};

static int read_plan(const struct ff__options *options, struct lesson_plan *plan) {
    const char *name = options->text[FF__OPTION_NETWORK];
    plan->type = ff__net_type_find(name ? name : "hlsh");
    if (!plan->type)
        return ff__options_complain(options, FF__OPTION_NETWORK,
                                    "must be hlsh, transformer, fc, cnn or lstm");
    plan->steps = plan->type->steps;
    plan->output = options->text[FF__OPTION_OUTPUT];
    int status = ff__options_number(options, FF__OPTION_STEPS, 1, 10000000, &plan->steps);
    if (!status)
        status = ff__options_flag(options, FF__OPTION_TOGETHER, &plan->together);
    if (!status && plan->output && !plan->together && plan->lesson.workloads.count > 1)
        status = ff__complain(FF__EXIT_USAGE, "one file holds one predictor: name one workload, or "
                                              "train on all of them with --together");
    return status;
}

/* ---- one predictor ---- */

static int no_memory(void) {
    return ff__complain(FF__EXIT_FAILURE, "%s", strerror(ENOMEM));
}

static int save(const struct ff__model *model, const char *path) {
    struct ff_error error;
    if (path && ff__model_write(model, path, &error))
        return ff__complain(FF__EXIT_FAILURE, "%s", error.message);
    return 0;
}

/* Whether the unfinished model is of the training that is asked for. */
static bool fits(const struct ff__model *model, const struct lesson_plan *plan,
                 const char *subject) {
    return model->training.net && model->net.type == plan->type &&
           model->training.steps == plan->steps && model->seed == plan->lesson.seed &&
           model->distance == plan->lesson.distance && model->by == plan->lesson.by &&
           model->split == plan->lesson.split && strcmp(model->subject, subject) == 0;
}

/* Takes up what an interrupted run has left; *found says whether there was something. */
static int take_up(struct ff__model *model, const struct lesson_plan *plan, const char *subject,
                   bool *found) {
    struct ff_error error;
    *found = false;
    if (!plan->output || access(plan->output, F_OK) != 0)
        return 0;
    if (ff__model_read(model, plan->output, plan->type->batch, &error))
        return ff__complain(FF__EXIT_FAILURE, "%s", error.message);
    if (fits(model, plan, subject)) {
        *found = true;
        return 0;
    }
    ff__model_fini(model);
    memset(model, 0, sizeof *model);
    return 0;
}

static int begin(struct ff__model *model, const struct lesson_plan *plan, const char *subject) {
    struct ff__shape shape = ff__shape_of(&model->features);
    model->distance = plan->lesson.distance;
    model->by = plan->lesson.by;
    model->split = plan->lesson.split;
    model->seed = plan->lesson.seed;
    snprintf(model->subject, sizeof model->subject, "%s", subject);
    if (ff__net_init(&model->net, plan->type, &shape, plan->type->batch, model->seed) ||
        ff__training_init(&model->training, &model->net, plan->steps, plan->type->rate))
        return no_memory();
    return 0;
}

static int study(struct ff__model *model, const struct ff__dataset *dataset,
                 const struct lesson_plan *plan) {
    struct ff__training *training = &model->training;
    struct ff__progress progress;
    int status = 0;
    ff__progress_start(&progress, training->steps);
    while (training->step < training->steps && !interrupted && !status) {
        ff__training_step(training, dataset);
        progress.done = training->step;
        if (training->step % SHOW_EVERY == 0)
            ff__progress_show(&progress, "%s, loss %.3f", model->subject, training->loss);
        if (training->step % SAVE_EVERY == 0)
            status = save(model, plan->output);
    }
    ff__progress_hide(&progress);
    if (training->step == training->steps)
        ff__training_fini(training);
    if (!status)
        status = save(model, plan->output);
    return status;
}

static void show(struct ff__table *table, const struct ff__model *model,
                 const struct ff__score *score) {
    ff__table_cell(table, "%s", model->subject);
    ff__table_cell(table, "%u", model->net.shape.classes);
    ff__table_cell(table, "%zu", model->net.param_count);
    ff__table_cell(table, "%.4f", score->top1);
    ff__table_cell(table, "%.4f", score->f1);
    ff__table_cell(table, "%.4f", score->top10);
    ff__table_cell(table, "%.4f", score->majority);
}

static int teach(struct ff__model *model, const struct ff__corpus *corpus,
                 const struct lesson_plan *plan, const char *subject, struct ff__table *table) {
    struct ff__dataset dataset;
    struct ff__score score;
    bool found;
    int status = take_up(model, plan, subject, &found);
    if (status)
        return status;
    if (ff__dataset_build(&dataset, &model->features, corpus, plan->lesson.distance,
                          plan->lesson.split, plan->lesson.seed))
        return no_memory();
    if (!found)
        status = begin(model, plan, subject);
    if (!status)
        status = study(model, &dataset, plan);
    if (!status && interrupted)
        status = ff__complain(FF__EXIT_SIGNAL + SIGINT, "interrupted%s",
                              plan->output ? "; the same command goes on" : "");
    if (!status && ff__net_score(&model->net, &dataset, TESTS, &score))
        status = no_memory();
    if (!status)
        show(table, model, &score);
    ff__dataset_fini(&dataset);
    return status;
}

static int train_on(const struct lesson_plan *plan, unsigned first, unsigned count,
                    const char *subject, struct ff__table *table) {
    struct ff__corpus corpus;
    struct ff__model model = {0};
    int status = ff__lesson_record(&plan->lesson, first, count, &corpus);
    if (status)
        return status;
    status = teach(&model, &corpus, plan, subject, table);
    ff__model_fini(&model);
    ff__corpus_fini(&corpus);
    return status;
}

/* ---- the command ---- */

static int train(const struct ff__options *options) {
    struct lesson_plan plan = {0};
    struct ff__table table;
    if (options->word_count != 1)
        return ff__complain(FF__EXIT_USAGE,
                            "name the workloads, such as: farfault train hotspot,nw");
    int status = ff__lesson_read(options, options->words[0], &plan.lesson);
    if (!status)
        status = read_plan(options, &plan);
    ff__table_init(&table, "lrrrrrr");
    ff__table_cells(&table, "", "classes", "parameters", "top-1", "F1", "top-10", "majority", NULL);
    unsigned all = plan.lesson.workloads.count;
    if (!status && plan.together)
        status = train_on(&plan, 0, all, options->words[0], &table);
    for (unsigned i = 0; i < all && !plan.together && !status; i++)
        status = train_on(&plan, i, 1, plan.lesson.workloads.items[i], &table);
    if (!status)
        ff__table_print(&table, stdout, 0);
    ff__table_fini(&table);
    ff__lesson_free(&plan.lesson);
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
