#include "learn/train/finetune_score.h"

#include "learn/train/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct finetuning {
    struct ff__model *model;
    const struct ff__corpus *corpus;
    struct ff__moment *order; /* [accesses] */
    uint8_t *scored;          /* [accesses] whether the sample there is one to score */
    uint32_t *positions;      /* [batch] */
    float *logits;
    struct ff__batch batch;
    struct ff__tally tally;
};

/* ---- a period's samples ---- */

/* A class of the model's vocabulary, which changes, as one of the tally. */
static uint32_t class_of(struct finetuning *run, uint32_t class) {
    const struct ff__vocab *classes = &run->model->features.classes;
    return class == FF__ESCAPE ? FF__ESCAPE : ff__tally_number(&run->tally, classes->value[class]);
}

static void score_batch(struct finetuning *run, const struct ff__dataset *dataset, uint32_t count) {
    struct ff__net *net = &run->model->net;
    uint32_t classes = net->shape.classes;
    ff__batch_fill(&run->batch, dataset, run->positions, count);
    net->type->forward(net, &run->batch, run->logits);
    for (uint32_t i = 0; i < count; i++) {
        const float *logits = run->logits + (size_t)i * classes;
        uint32_t best = 0;
        for (uint32_t c = 1; c < classes; c++)
            best = logits[c] > logits[best] ? c : best;
        ff__tally_count(&run->tally, class_of(run, run->batch.label[i]), class_of(run, best),
                        dataset->names_page[run->positions[i]]);
    }
}

static void score_period(struct finetuning *run, const struct ff__dataset *dataset, uint64_t first,
                         uint64_t end) {
    uint32_t count = 0;
    for (uint64_t i = first; i < end; i++) {
        if (!run->scored[run->order[i].at])
            continue;
        run->positions[count++] = (uint32_t)run->order[i].at;
        if (count == run->model->net.capacity) {
            score_batch(run, dataset, count);
            count = 0;
        }
    }
    if (count > 0)
        score_batch(run, dataset, count);
}

/* ---- learning ---- */

/* From the latest accesses before `end`. */
static int learn(struct finetuning *run, uint64_t end) {
    uint64_t first = end > FF__FINETUNE_ACCESSES ? end - FF__FINETUNE_ACCESSES : 0;
    struct ff__corpus latest;
    ff__corpus_init(&latest, run->corpus->by, FF__FINETUNE_ACCESSES + 1);
    int status = 0;
    for (uint64_t i = first; i < end && !status; i++)
        status = ff__corpus_add(&latest, &run->corpus->accesses[run->order[i].at]);
    if (!status)
        status = ff__corpus_close(&latest);
    if (!status)
        status = ff__finetune(run->model, &latest, FF__FINETUNE_STEPS);
    ff__corpus_fini(&latest);
    return status == -ENODATA ? 0 : status;
}

/* Samples in the model's numbers; the same ones are for testing each time. */
static int build(const struct finetuning *run, struct ff__dataset *dataset) {
    const struct ff__model *model = run->model;
    return ff__dataset_build(dataset, &run->model->features, run->corpus, model->distance,
                             model->split, model->seed);
}

static int period(struct finetuning *run, uint64_t first, uint64_t end) {
    struct ff__dataset dataset;
    int status = build(run, &dataset);
    if (status)
        return status;
    score_period(run, &dataset, first, end);
    ff__dataset_fini(&dataset);
    return learn(run, end);
}

/* ---- the whole ---- */

/* *first: the first access with a sample to score. */
static int choose(struct finetuning *run, uint32_t limit, uint64_t *first) {
    struct ff__dataset dataset;
    int status = build(run, &dataset);
    if (status)
        return status;
    for (uint32_t i = 0; i < dataset.test_count && i < limit; i++)
        run->scored[dataset.test[i]] = true;
    ff__dataset_fini(&dataset);
    *first = 0;
    while (*first < run->corpus->count && !run->scored[run->order[*first].at])
        ++*first;
    return 0;
}

static int allocate(struct finetuning *run, uint32_t limit) {
    uint32_t capacity = FF__FINETUNE_BATCH > run->model->net.capacity ? FF__FINETUNE_BATCH
                                                                      : run->model->net.capacity;
    run->order = ff__corpus_order(run->corpus);
    run->scored = calloc(run->corpus->count + 1, sizeof *run->scored);
    run->positions = malloc(capacity * sizeof *run->positions);
    run->logits = malloc((size_t)capacity * FF__CLASSES_MAX * sizeof *run->logits);
    int status = ff__tally_init(&run->tally, 2 * limit + 1);
    if (!status)
        status = ff__batch_init(&run->batch, capacity);
    return run->order && run->scored && run->positions && run->logits ? status : -ENOMEM;
}

static void release(struct finetuning *run) {
    free(run->order);
    free(run->scored);
    free(run->positions);
    free(run->logits);
    ff__batch_fini(&run->batch);
    ff__tally_fini(&run->tally);
}

int ff__finetune_score(struct ff__model *model, const struct ff__corpus *corpus, uint32_t limit,
                       struct ff__score *score) {
    struct finetuning run = {.model = model, .corpus = corpus};
    uint64_t first = 0;
    int status = allocate(&run, limit);
    if (!status)
        status = choose(&run, limit, &first);
    for (; first < corpus->count && !status; first += FF__FINETUNE_PERIOD) {
        uint64_t end = first + FF__FINETUNE_PERIOD;
        status = period(&run, first, end < corpus->count ? end : corpus->count);
    }
    if (!status) {
        ff__tally_conclude(&run.tally, score);
        score->top10 = (double)NAN;
    }
    release(&run);
    return status;
}
