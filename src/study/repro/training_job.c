#include "study/repro/training_job.h"

#include "base/error.h"
#include "learn/train/nets.h"
#include "learn/train/score.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SAVE_EVERY 200u /* steps */
#define SHOW_EVERY 20u

/* Until it is good enough: how often that is looked at, and on how many tests; ours. */
#define SCORE_EVERY 50u
#define SCORE_TESTS 2000u

static int save(const struct ff__training_job *job, const struct ff__model *model,
                struct ff_error *error) {
    return job->output ? ff__model_write(model, job->output, error) : 0;
}

/* Whether the model in the file was trained as this job asks for. */
static bool fits(const struct ff__model *model, const struct ff__training_job *job) {
    const struct ff__training_data *data = job->data;
    bool usable = model->training.net ? model->training.steps == job->steps : job->reuse;
    return usable && model->net.type == job->type && model->seed == data->seed &&
           model->distance == data->distance && model->by == data->by &&
           model->split == data->split &&
           strncmp(model->subject, job->subject, sizeof model->subject - 1) == 0;
}

/* Reads the file of an earlier run; *found: there is a model that fits. */
static int read_earlier(const struct ff__training_job *job, struct ff__model *model, bool *found,
                        struct ff_error *error) {
    *found = false;
    if (!job->output || access(job->output, F_OK) != 0)
        return 0;
    int status = ff__model_read(model, job->output, ff__all_nets, job->type->batch, error);
    if (status)
        return status;
    *found = fits(model, job);
    if (!*found) {
        ff__model_fini(model);
        memset(model, 0, sizeof *model);
    }
    return 0;
}

static int begin(const struct ff__training_job *job, struct ff__model *model) {
    const struct ff__training_data *data = job->data;
    struct ff__shape shape = ff__shape_of(&model->features);
    model->distance = data->distance;
    model->by = data->by;
    model->split = data->split;
    model->seed = data->seed;
    snprintf(model->subject, sizeof model->subject, "%s", job->subject);
    int status = ff__net_init(&model->net, job->type, &shape, job->type->batch, model->seed);
    return status ? status
                  : ff__training_init(&model->training, &model->net, job->steps, job->type->rate);
}

static bool stopped(const struct ff__training_job *job) {
    return job->stop && *job->stop;
}

/* Whether it is good enough; 1: it is. */
static int is_good(const struct ff__training_job *job, struct ff__model *model,
                   const struct ff__dataset *dataset) {
    struct ff__score score;
    if (job->until <= 0 || model->training.step % SCORE_EVERY != 0)
        return 0;
    int status = ff__net_score(&model->net, dataset, SCORE_TESTS, &score);
    return status ? status : score.top1 >= job->until;
}

static int train(const struct ff__training_job *job, struct ff__model *model,
                 const struct ff__dataset *dataset, uint32_t *batches, struct ff_error *error) {
    struct ff__training *training = &model->training;
    int status = 0, good = 0;
    while (training->step < training->steps && !stopped(job) && !status && !good) {
        ff__training_step(training, dataset);
        good = is_good(job, model, dataset);
        if (good < 0)
            return ff__fail(error, good, "%s", strerror(-good));
        if (job->show && training->step % SHOW_EVERY == 0)
            job->show(job->self, model);
        if (training->step % SAVE_EVERY == 0)
            status = save(job, model, error);
    }
    bool ended = good || training->step == training->steps;
    *batches = training->step;
    if (ended)
        ff__training_fini(training);
    if (!status)
        status = save(job, model, error);
    if (!status && !ended)
        status = ff__fail(error, -EINTR, "interrupted%s",
                          job->output ? "; the same command goes on" : "");
    return status;
}

int ff__training_job_run(const struct ff__training_job *job, const struct ff__corpus *corpus,
                         struct ff__model *model, struct ff__dataset *dataset, uint32_t *batches,
                         struct ff_error *error) {
    const struct ff__training_data *data = job->data;
    bool found;
    int status = read_earlier(job, model, &found, error);
    if (status)
        return status;
    status = ff__dataset_build(dataset, &model->features, corpus, data->distance, data->split,
                               data->seed);
    dataset->hidden = data->hidden;
    dataset->shuffled = data->shuffled;
    if (!status && !found)
        status = begin(job, model);
    if (status)
        return ff__fail(error, status, "%s", strerror(-status));
    *batches = job->steps;
    return found && !model->training.net ? 0 : train(job, model, dataset, batches, error);
}
