#include "cli/teach.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SAVE_EVERY 200u /* steps */
#define SHOW_EVERY 20u

static int save(const struct ff__course *course, const struct ff__model *model,
                struct ff_error *error) {
    return course->output ? ff__model_write(model, course->output, error) : 0;
}

/* Whether the model in the file is of the training that is asked for. */
static bool fits(const struct ff__model *model, const struct ff__course *course) {
    const struct ff__lesson *lesson = course->lesson;
    bool usable = model->training.net ? model->training.steps == course->steps : course->reuse;
    return usable && model->net.type == course->type && model->seed == lesson->seed &&
           model->distance == lesson->distance && model->by == lesson->by &&
           model->split == lesson->split &&
           strncmp(model->subject, course->subject, sizeof model->subject - 1) == 0;
}

/* Takes up what an earlier run has left; *found says whether there was something. */
static int take_up(const struct ff__course *course, struct ff__model *model, bool *found,
                   struct ff_error *error) {
    *found = false;
    if (!course->output || access(course->output, F_OK) != 0)
        return 0;
    int status = ff__model_read(model, course->output, course->type->batch, error);
    if (status)
        return status;
    *found = fits(model, course);
    if (!*found) {
        ff__model_fini(model);
        memset(model, 0, sizeof *model);
    }
    return 0;
}

static int begin(const struct ff__course *course, struct ff__model *model) {
    const struct ff__lesson *lesson = course->lesson;
    struct ff__shape shape = ff__shape_of(&model->features);
    model->distance = lesson->distance;
    model->by = lesson->by;
    model->split = lesson->split;
    model->seed = lesson->seed;
    snprintf(model->subject, sizeof model->subject, "%s", course->subject);
    int status = ff__net_init(&model->net, course->type, &shape, course->type->batch, model->seed);
    return status ? status
                  : ff__training_init(&model->training, &model->net, course->steps,
                                      course->type->rate);
}

static bool stopped(const struct ff__course *course) {
    return course->stop && *course->stop;
}

static int study(const struct ff__course *course, struct ff__model *model,
                 const struct ff__dataset *dataset, struct ff_error *error) {
    struct ff__training *training = &model->training;
    int status = 0;
    while (training->step < training->steps && !stopped(course) && !status) {
        ff__training_step(training, dataset);
        if (course->show && training->step % SHOW_EVERY == 0)
            course->show(course->self, model);
        if (training->step % SAVE_EVERY == 0)
            status = save(course, model, error);
    }
    bool ended = training->step == training->steps;
    if (ended)
        ff__training_fini(training);
    if (!status)
        status = save(course, model, error);
    if (!status && !ended)
        status = ff__fail(error, -EINTR, "interrupted%s",
                          course->output ? "; the same command goes on" : "");
    return status;
}

int ff__teach(const struct ff__course *course, const struct ff__corpus *corpus,
              struct ff__model *model, struct ff__dataset *dataset, struct ff_error *error) {
    const struct ff__lesson *lesson = course->lesson;
    bool found;
    int status = take_up(course, model, &found, error);
    if (status)
        return status;
    status = ff__dataset_build(dataset, &model->features, corpus, lesson->distance, lesson->split,
                               lesson->seed);
    if (!status && !found)
        status = begin(course, model);
    if (status)
        return ff__fail(error, status, "%s", strerror(-status));
    return found && !model->training.net ? 0 : study(course, model, dataset, error);
}
