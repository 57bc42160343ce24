#include "learn/tuner.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAPER_DISTANCE 30u
#define TIMINGS        1001u
/* A stream's notes are about so many times as long as a window and the way to what it predicts;
 * ours. */
#define LENGTHS 4u

/* ---- what predicts ---- */

void ff__tuned_free(struct ff__tuned *tuned) {
    if (!tuned)
        return;
    ff__predictor_fini(&tuned->predictor);
    ff__features_fini(&tuned->features);
    free(tuned);
}

static int copy_vocab(struct ff__vocab *to, const struct ff__vocab *from) {
    return from->size ? ff__vocab_of(to, from->value, from->size) : 0;
}

static int copy_features(struct ff__features *to, const struct ff__features *from) {
    int status = copy_vocab(&to->pc, &from->pc);
    if (!status)
        status = copy_vocab(&to->delta, &from->delta);
    if (!status)
        status = copy_vocab(&to->leaf_delta, &from->leaf_delta);
    if (!status)
        status = copy_vocab(&to->root_delta, &from->root_delta);
    return status ? status : copy_vocab(&to->classes, &from->classes);
}

/* NULL: no memory. */
static struct ff__tuned *make_tuned(const struct ff__model *model) {
    size_t size = (sizeof(struct ff__tuned) + 63) / 64 * 64;
    struct ff__tuned *tuned = aligned_alloc(64, size);
    if (!tuned)
        return NULL;
    memset(tuned, 0, size);
    tuned->distance = model->distance;
    if (copy_features(&tuned->features, &model->features) ||
        ff__predictor_init(&tuned->predictor, &model->net)) {
        ff__tuned_free(tuned);
        return NULL;
    }
    return tuned;
}

static int by_value(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

struct predictor_timing {
    const struct ff__predictor *predictor;
    struct ff__stream stream;
    uint32_t number;
};

static void predict_once(void *self) {
    struct predictor_timing *timing = self;
    const uint16_t ids[3] = {
        (uint16_t)(timing->number % timing->predictor->pages),
        (uint16_t)(timing->number % timing->predictor->deltas),
        (uint16_t)(timing->number % timing->predictor->pcs),
    };
    ff__stream_push(timing->predictor, &timing->stream, ids);
    ff__stream_predict(timing->predictor, &timing->stream, NULL);
}

uint64_t ff__tuned_measure(const struct ff__tuned *tuned, const struct ff__stream *window,
                           const struct ff_background *background) {
    struct predictor_timing timing = {.predictor = &tuned->predictor, .stream = *window};
    uint64_t times[TIMINGS];
    for (; timing.number < TIMINGS; timing.number++)
        times[timing.number] = background->time(background->self, predict_once, &timing);
    qsort(times, TIMINGS, sizeof *times, by_value);
    return times[TIMINGS / 2];
}

/* ---- in the background ---- */

/* Room for all that will be noted, so that noting needs no memory. */
static int reserve(struct ff__corpus *corpus) {
    ff__corpus_init(corpus, FF__CLUSTER_SM_WARP, FF__TUNER_ACCESSES);
    corpus->accesses = malloc((FF__TUNER_ACCESSES + 1) * sizeof *corpus->accesses);
    corpus->capacity = corpus->accesses ? FF__TUNER_ACCESSES + 1 : 0;
    return corpus->accesses ? 0 : -ENOMEM;
}

static struct ff__tuned *tune(struct ff__tuner *tuner) {
    bool learned = ff__corpus_close(&tuner->training) == 0 &&
                   ff__finetune(&tuner->model, &tuner->training, tuner->steps) == 0;
    ff__corpus_fini(&tuner->training);
    reserve(&tuner->training);
    return learned ? make_tuned(&tuner->model) : NULL;
}

static void work(void *argument) {
    struct ff__tuner *tuner = argument;
    ff__tuned_free(tuner->used);
    tuner->used = NULL;
    tuner->made = tune(tuner);
}

/* ---- making ---- */

static int read_model(struct ff__tuner *tuner, const char *path, struct ff__tuned **first,
                      struct ff_error *error) {
    int status = ff__model_read(&tuner->model, path, ff__hlsh_types, FF__FINETUNE_BATCH, error);
    if (status == -ENXIO || (!status && !ff__predictor_takes(tuner->model.net.type)))
        return ff__fail(error, -EINVAL, "%s: only hlsh of four bits is fast enough to predict with",
                        path);
    if (status)
        return status;
    ff__training_fini(&tuner->model.training);
    if (tuner->model.by != FF__CLUSTER_SM_WARP)
        return ff__fail(error, -EINVAL, "%s: the model's streams are by %s; here they are by %s",
                        path, ff__cluster_name(tuner->model.by),
                        ff__cluster_name(FF__CLUSTER_SM_WARP));
    *first = make_tuned(&tuner->model);
    return *first ? 0 : ff__fail(error, -ENOMEM, "%s: no memory", path);
}

static int prepare(struct ff__tuner *tuner) {
    int status = reserve(&tuner->notes);
    tuner->notes.latest = LENGTHS * (FF__WINDOW + tuner->model.distance);
    return status ? status : reserve(&tuner->training);
}

int ff__tuner_init(struct ff__tuner *tuner, const struct ff__tuner_plan *plan,
                   struct ff__tuned **first, struct ff_error *error) {
    int status = 0;
    *first = NULL;
    memset(tuner, 0, sizeof *tuner);
    tuner->steps = plan->steps;
    tuner->background = plan->background;
    if (plan->path && plan->path[0])
        status = read_model(tuner, plan->path, first, error);
    else
        tuner->model = (struct ff__model){.distance = PAPER_DISTANCE, .seed = plan->seed};
    if (!status && plan->distance && *first && (*first)->distance != plan->distance)
        status = ff__fail(error, -EINVAL, "%s: predicts %u accesses ahead, not %u", plan->path,
                          (*first)->distance, plan->distance);
    if (plan->distance)
        tuner->model.distance = plan->distance;
    if (!status && plan->steps > 0 && (status = prepare(tuner)))
        ff__fail(error, status, "fine-tuning: %s", strerror(-status));
    if (status) {
        ff__tuned_free(*first);
        *first = NULL;
        ff__tuner_fini(tuner);
    }
    return status;
}

void ff__tuner_fini(struct ff__tuner *tuner) {
    ff__tuned_free(tuner->made);
    ff__tuned_free(tuner->used);
    ff__corpus_fini(&tuner->notes);
    ff__corpus_fini(&tuner->training);
    ff__model_fini(&tuner->model);
    memset(tuner, 0, sizeof *tuner);
}

/* ---- the owner's side ---- */

void ff__tuner_note(struct ff__tuner *tuner, const struct ff__access *access) {
    if (tuner->steps > 0 && tuner->notes.count < tuner->notes.capacity)
        ff__corpus_add(&tuner->notes, access);
}

bool ff__tuner_begin(struct ff__tuner *tuner) {
    const struct ff_background *background = tuner->background;
    if (tuner->steps == 0 || tuner->at_work || tuner->notes.count < FF__TUNER_LEAST)
        return false;
    if (tuner->training.capacity < tuner->notes.count)
        return false; /* it had no memory for another one */
    memcpy(tuner->training.accesses, tuner->notes.accesses,
           tuner->notes.count * sizeof *tuner->notes.accesses);
    tuner->training.count = tuner->notes.count;
    tuner->at_work = background->start(background->self, work, tuner);
    return tuner->at_work;
}

struct ff__tuned *ff__tuner_take(struct ff__tuner *tuner, struct ff__tuned *used) {
    if (!tuner->at_work || !tuner->background->done(tuner->background->self))
        return NULL;
    tuner->at_work = false;
    struct ff__tuned *made = tuner->made;
    tuner->made = NULL;
    tuner->used = made ? used : NULL;
    return made;
}
