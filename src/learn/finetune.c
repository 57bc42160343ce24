#include "learn/finetune.h"

#include "learn/hlsh.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- vocabularies ---- */

/* The values of `now`, then those of `before` that are not among them, `limit` numbers in all. */
static int unite(struct ff__vocab *out, const struct ff__vocab *now, const struct ff__vocab *before,
                 uint32_t limit) {
    uint32_t size = now->size < limit ? now->size : limit;
    int64_t *values = malloc(((size_t)limit + 1) * sizeof *values);
    if (!values)
        return -ENOMEM;
    if (size > 0)
        memcpy(values, now->value, size * sizeof *values);
    else
        values[size++] = 0; /* the escape's */
    for (uint32_t i = 1; i < before->size && size < limit; i++)
        if (ff__vocab_number(now, before->value[i]) == FF__ESCAPE)
            values[size++] = before->value[i];
    int status = ff__vocab_of(out, values, size);
    free(values);
    return status;
}

static int unite_all(struct ff__features *out, const struct ff__features *now,
                     const struct ff__features *before) {
    memset(out, 0, sizeof *out);
    int status = unite(&out->pc, &now->pc, &before->pc, FF__PCS_MAX);
    if (!status)
        status = unite(&out->delta, &now->delta, &before->delta, FF__DELTAS_MAX);
    if (!status)
        status = unite(&out->leaf_delta, &now->leaf_delta, &before->leaf_delta, FF__DELTAS_MAX);
    if (!status)
        status = unite(&out->root_delta, &now->root_delta, &before->root_delta, FF__DELTAS_MAX);
    if (!status)
        status = unite(&out->classes, &now->classes, &before->classes, FF__CLASSES_MAX);
    if (status)
        ff__features_fini(out);
    return status;
}

/* ---- parameters ---- */

/* What a number of `now` was in `before`: a value that is new was the escape. */
static uint32_t number_before(const struct ff__vocab *now, const struct ff__vocab *before,
                              uint32_t number) {
    return number == FF__ESCAPE ? FF__ESCAPE : ff__vocab_number(before, now->value[number]);
}

/* A table has a row for padding before those of the vocabulary. */
static void keep_rows(float *to, const float *from, const struct ff__vocab *now,
                      const struct ff__vocab *before) {
    const size_t row = FF__PART * sizeof *to;
    memcpy(to, from, row);
    for (uint32_t number = 0; number < now->size; number++) {
        uint32_t old = number_before(now, before, number);
        memcpy(to + (number + 1) * FF__PART, from + (old + 1) * FF__PART, row);
    }
}

static void keep_classes(struct ff__hlsh_weights *to, const struct ff__hlsh_weights *from,
                         const struct ff__vocab *now, const struct ff__vocab *before) {
    for (uint32_t number = 0; number < now->size; number++) {
        uint32_t old = number_before(now, before, number);
        for (uint32_t i = 0; i < FF__HIDDEN; i++)
            to->of[FF__HLSH_CLASSES][(size_t)i * now->size + number] =
                from->of[FF__HLSH_CLASSES][(size_t)i * before->size + old];
        to->of[FF__HLSH_CLASSES_BIAS][number] = from->of[FF__HLSH_CLASSES_BIAS][old];
    }
}

static void keep_params(struct ff__net *net, const struct ff__features *now,
                        const struct ff__model *before) {
    struct ff__hlsh_weights to, from;
    ff__hlsh_map(&to, &net->shape, net->params);
    ff__hlsh_map(&from, &before->net.shape, before->net.params);
    for (int i = 0; i < FF__HLSH_PARAMS; i++)
        if (to.count[i] == from.count[i] && i != FF__HLSH_DELTA && i != FF__HLSH_PC &&
            i != FF__HLSH_CLASSES && i != FF__HLSH_CLASSES_BIAS)
            memcpy(to.of[i], from.of[i], to.count[i] * sizeof(float));
    keep_rows(to.of[FF__HLSH_DELTA], from.of[FF__HLSH_DELTA], &now->delta, &before->features.delta);
    keep_rows(to.of[FF__HLSH_PC], from.of[FF__HLSH_PC], &now->pc, &before->features.pc);
    keep_classes(&to, &from, &now->classes, &before->features.classes);
}

/* ---- the whole ---- */

static int study(struct ff__net *net, const struct ff__dataset *dataset, uint32_t steps) {
    struct ff__training training;
    int status = ff__training_init(&training, net, steps, net->type->rate);
    if (status)
        return status;
    while (training.step < steps)
        ff__training_step(&training, dataset);
    ff__training_fini(&training);
    return 0;
}

/* A network for these features, with what the model knows of them, trained. */
static int teach(struct ff__net *net, const struct ff__features *features,
                 const struct ff__dataset *dataset, const struct ff__model *model, uint32_t steps) {
    struct ff__shape shape = ff__shape_of(features);
    int status = ff__net_init(net, &ff__net_hlsh, &shape, FF__FINETUNE_BATCH, model->seed);
    if (status)
        return status;
    if (model->net.type)
        keep_params(net, features, model);
    status = study(net, dataset, steps);
    if (status)
        ff__net_fini(net);
    return status;
}

/* The vocabularies of what is new, united with the model's, and the samples in them. */
static int look(const struct ff__model *model, const struct ff__corpus *corpus,
                struct ff__features *features, struct ff__dataset *dataset) {
    struct ff__features now = {0};
    int status =
        ff__dataset_build(dataset, &now, corpus, model->distance, FF__SPLIT_NONE, model->seed);
    if (!status) {
        ff__dataset_fini(dataset);
        status = unite_all(features, &now, &model->features);
    }
    ff__features_fini(&now);
    if (status)
        return status;
    status =
        ff__dataset_build(dataset, features, corpus, model->distance, FF__SPLIT_NONE, model->seed);
    if (status)
        ff__features_fini(features);
    return status;
}

int ff__finetune(struct ff__model *model, const struct ff__corpus *corpus, uint32_t steps) {
    struct ff__features features;
    struct ff__dataset dataset;
    struct ff__net net;
    int status = look(model, corpus, &features, &dataset);
    if (status)
        return status;
    status = dataset.train_count >= FF__FINETUNE_BATCH ? 0 : -ENODATA;
    if (!status)
        status = teach(&net, &features, &dataset, model, steps);
    ff__dataset_fini(&dataset);
    if (status) {
        ff__features_fini(&features);
        return status;
    }
    ff__net_fini(&model->net);
    ff__features_fini(&model->features);
    model->net = net;
    model->features = features;
    return 0;
}
