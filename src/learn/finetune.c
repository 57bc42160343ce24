#include "learn/finetune.h"

#include "learn/hlsh.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPREAD 1.6f /* of the sum of a new class's random weights; ours */

/* ---- vocabularies ---- */

/* The values of `now`, then those of `before` that are not among them, `limit` numbers in all.
 * Counts are those of `now`. */
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
    for (uint32_t i = 0; !status && i < size; i++)
        out->count[i] = i < now->size ? now->count[i] : 0;
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

static bool is_new(uint32_t number, uint32_t old) {
    return number != FF__ESCAPE && old == FF__ESCAPE;
}

/* The same numbers for a value each time it is new. */
static struct ff__random random_of(int64_t value) {
    return ff__random_seeded(ff__hash_word((uint64_t)value));
}

/* A table has a row for padding before those of the vocabulary. New values begin with random rows,
 * as in a new network: with the row of the escape they would all be the same token until training
 * has moved them by a step of four bits. */
static void keep_rows(float *to, const float *from, const struct ff__vocab *now,
                      const struct ff__vocab *before) {
    const size_t row = FF__PART * sizeof *to;
    memcpy(to, from, row);
    for (uint32_t number = 0; number < now->size; number++) {
        uint32_t old = number_before(now, before, number);
        float *begin = to + (size_t)(number + 1) * FF__PART;
        struct ff__random random = random_of(now->value[number]);
        if (is_new(number, old))
            ff__net_uniform(begin, FF__PART, 1, &random);
        else
            memcpy(begin, from + (size_t)(old + 1) * FF__PART, row);
    }
}

/* The weights, one for each number that is seen, and the bias of one class. */
struct class {
    uint32_t seen;
    float weights[FF__OUTPUTS], bias;
};

static struct class class_at(const struct ff__hlsh_weights *from, uint32_t classes,
                             uint32_t number) {
    struct class class = {.seen = (uint32_t)(from->count[FF__HLSH_CLASSES] / classes),
                          .bias = from->of[FF__HLSH_CLASSES_BIAS][number]};
    for (uint32_t i = 0; i < class.seen; i++)
        class.weights[i] = from->of[FF__HLSH_CLASSES][(size_t)i * classes + number];
    return class;
}

/* A new class begins near the class that was most frequent before, as much less likely as it is
 * less frequent than the most frequent one of now. It was the escape, but training has made that
 * the least likely of all. */
static struct class new_class(const struct ff__hlsh_weights *from, const struct ff__vocab *now,
                              const struct ff__vocab *before, uint32_t number) {
    struct class class =
        class_at(from, before->size, before->size > 1 ? FF__ESCAPE + 1 : FF__ESCAPE);
    struct ff__random random = random_of(now->value[number]);
    float spread[FF__OUTPUTS];
    ff__net_uniform(spread, class.seen, SPREAD / sqrtf((float)class.seen), &random);
    for (uint32_t i = 0; i < class.seen; i++)
        class.weights[i] += spread[i];
    class.bias += logf((float)now->count[number] / (float)now->count[FF__ESCAPE + 1]);
    return class;
}

static void keep_classes(struct ff__hlsh_weights *to, const struct ff__hlsh_weights *from,
                         const struct ff__vocab *now, const struct ff__vocab *before) {
    for (uint32_t number = 0; number < now->size; number++) {
        uint32_t old = number_before(now, before, number);
        const struct class class = is_new(number, old) ? new_class(from, now, before, number)
                                                       : class_at(from, before->size, old);
        for (uint32_t i = 0; i < class.seen; i++)
            to->of[FF__HLSH_CLASSES][(size_t)i * now->size + number] = class.weights[i];
        to->of[FF__HLSH_CLASSES_BIAS][number] = class.bias;
    }
}

static void keep_params(struct ff__net *net, const struct ff__features *now,
                        const struct ff__model *before) {
    struct ff__hlsh_weights to, from;
    ff__hlsh_map(&to, net->type, &net->shape, net->params);
    ff__hlsh_map(&from, before->net.type, &before->net.shape, before->net.params);
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
    const struct ff__net_type *type = model->net.type ? model->net.type : &ff__net_hlsh;
    int status = ff__net_init(net, type, &shape, FF__FINETUNE_BATCH, model->seed);
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
