#include "learn/dataset.h"

#include "base/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIFTHS 5u

struct dataset_builder {
    struct ff__dataset *dataset;
    struct ff__features *features;
    const struct ff__corpus *corpus;
    enum ff__split split;
};

/* Whether the access is kept for testing. */
static bool for_test(const struct dataset_builder *builder, uint32_t stream, uint64_t at) {
    uint64_t first = builder->corpus->first[stream], end = builder->corpus->first[stream + 1];
    if (builder->split == FF__SPLIT_NONE)
        return false;
    if (builder->split == FF__SPLIT_STREAMS)
        return ff__hash_word(stream + 1) % FIFTHS == FIFTHS - 1;
    return (at - first) * FIFTHS >= (end - first) * (FIFTHS - 1);
}

static int64_t class_value(const struct dataset_builder *builder, const struct ff__trail *trail,
                           uint64_t at) {
    const struct ff__access *ahead = &builder->corpus->accesses[at + builder->dataset->distance];
    return ff__trail_delta(trail, ahead->array, ahead->page);
}

/* Calls `visit` for every access, with the trail before it moves to `at`. */
static int walk(struct dataset_builder *builder,
                int (*visit)(struct dataset_builder *, const struct ff__trail *, uint32_t,
                             uint64_t)) {
    const struct ff__corpus *corpus = builder->corpus;
    int status = 0;
    for (uint32_t stream = 0; stream < corpus->streams; stream++) {
        struct ff__trail trail = {{0}};
        for (uint64_t at = corpus->first[stream]; at < corpus->first[stream + 1] && !status; at++) {
            status = visit(builder, &trail, stream, at);
            ff__trail_move(&trail, corpus->accesses[at].array, corpus->accesses[at].page);
        }
    }
    return status;
}

/* The trail with `at` in it: what a prediction starts from. */
static struct ff__trail moved(const struct dataset_builder *builder, const struct ff__trail *trail,
                              uint64_t at) {
    struct ff__trail after = *trail;
    ff__trail_move(&after, builder->corpus->accesses[at].array, builder->corpus->accesses[at].page);
    return after;
}

static bool has_class(const struct dataset_builder *builder, uint32_t stream, uint64_t at) {
    return at + builder->dataset->distance < builder->corpus->first[stream + 1];
}

static int count_access(struct dataset_builder *builder, const struct ff__trail *trail,
                        uint32_t stream, uint64_t at) {
    if (for_test(builder, stream, at))
        return 0;
    int status = ff__features_count(builder->features, trail, &builder->corpus->accesses[at]);
    if (status || !has_class(builder, stream, at) ||
        for_test(builder, stream, at + builder->dataset->distance))
        return status;
    struct ff__trail after = moved(builder, trail, at);
    return ff__vocab_count(&builder->features->classes, class_value(builder, &after, at));
}

static int make_token(struct dataset_builder *builder, const struct ff__trail *trail,
                      uint32_t stream, uint64_t at) {
    struct ff__dataset *dataset = builder->dataset;
    ff__features_of(builder->features, trail, &builder->corpus->accesses[at], dataset->ids[at]);
    dataset->age[at] = (uint32_t)(at - builder->corpus->first[stream]);
    dataset->label[at] = FF__NO_CLASS;
    if (!has_class(builder, stream, at))
        return 0;
    struct ff__trail after = moved(builder, trail, at);
    dataset->label[at] =
        (uint16_t)ff__vocab_number(&builder->features->classes, class_value(builder, &after, at));
    dataset->names_page[at] =
        ff__trail_has(&after, builder->corpus->accesses[at + dataset->distance].array);
    if (for_test(builder, stream, at + dataset->distance))
        dataset->test[dataset->test_count++] = (uint32_t)at;
    else
        dataset->train[dataset->train_count++] = (uint32_t)at;
    return 0;
}

static void shuffle(uint32_t *positions, uint32_t count, struct ff__random *random) {
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = ff__random_below(random, i), other = positions[j];
        positions[j] = positions[i - 1];
        positions[i - 1] = other;
    }
}

static int allocate(struct ff__dataset *dataset, uint64_t count) {
    dataset->count = count;
    dataset->ids = malloc((count + 1) * sizeof *dataset->ids);
    dataset->label = malloc((count + 1) * sizeof *dataset->label);
    dataset->names_page = calloc(count + 1, sizeof *dataset->names_page);
    dataset->age = malloc((count + 1) * sizeof *dataset->age);
    dataset->train = malloc((count + 1) * sizeof *dataset->train);
    dataset->test = malloc((count + 1) * sizeof *dataset->test);
    bool all = dataset->ids && dataset->label && dataset->names_page && dataset->age &&
               dataset->train && dataset->test;
    return all ? 0 : -ENOMEM;
}

int ff__dataset_build(struct ff__dataset *dataset, struct ff__features *features,
                      const struct ff__corpus *corpus, uint32_t distance, enum ff__split split,
                      uint64_t seed) {
    struct ff__random random = ff__random_seeded(seed);
    struct dataset_builder builder = {dataset, features, corpus, split};
    *dataset = (struct ff__dataset){.distance = distance};
    if (split == FF__SPLIT_STREAMS && corpus->streams < FIFTHS)
        builder.split = FF__SPLIT_TIME;
    int status = allocate(dataset, corpus->count);
    if (!status && features->classes.size == 0) {
        status = walk(&builder, count_access);
        if (!status)
            status = ff__features_close(features);
    }
    if (!status)
        status = walk(&builder, make_token);
    if (status) {
        ff__dataset_fini(dataset);
        return status;
    }
    shuffle(dataset->train, dataset->train_count, &random);
    shuffle(dataset->test, dataset->test_count, &random);
    return 0;
}

void ff__dataset_fini(struct ff__dataset *dataset) {
    free(dataset->ids);
    free(dataset->label);
    free(dataset->names_page);
    free(dataset->age);
    free(dataset->train);
    free(dataset->test);
    memset(dataset, 0, sizeof *dataset);
}

int ff__batch_init(struct ff__batch *batch, uint32_t capacity) {
    batch->count = 0;
    batch->ids = malloc(capacity * sizeof *batch->ids);
    batch->label = malloc(capacity * sizeof *batch->label);
    batch->slot = malloc(capacity * sizeof *batch->slot);
    if (batch->ids && batch->label && batch->slot)
        return 0;
    ff__batch_fini(batch);
    return -ENOMEM;
}

void ff__batch_fini(struct ff__batch *batch) {
    free(batch->ids);
    free(batch->label);
    free(batch->slot);
    memset(batch, 0, sizeof *batch);
}

/* Always the same order of a sample. */
static void shuffle_window(uint16_t (*window)[FF__FEATURES], uint32_t tokens, uint32_t position) {
    struct ff__random random = ff__random_seeded(position);
    uint16_t other[FF__FEATURES];
    for (uint32_t i = tokens; i > 1; i--) {
        uint32_t j = ff__random_below(&random, i);
        memcpy(other, window[j], sizeof other);
        memcpy(window[j], window[i - 1], sizeof other);
        memcpy(window[i - 1], other, sizeof other);
    }
}

static void hide(uint16_t (*window)[FF__FEATURES], uint32_t hidden) {
    for (uint32_t t = 0; t < FF__WINDOW; t++)
        for (uint32_t f = 0; f < FF__FEATURES; f++)
            if (hidden >> f & 1)
                window[t][f] = 0;
}

void ff__batch_fill(struct ff__batch *batch, const struct ff__dataset *dataset,
                    const uint32_t *positions, uint32_t count) {
    batch->count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = positions[i], age = dataset->age[at];
        uint32_t tokens = age + 1 < FF__WINDOW ? age + 1 : FF__WINDOW;
        memset(batch->ids[i], 0, (FF__WINDOW - tokens) * sizeof batch->ids[i][0]);
        memcpy(batch->ids[i][FF__WINDOW - tokens], dataset->ids[at + 1 - tokens],
               tokens * sizeof batch->ids[i][0]);
        if (dataset->shuffled)
            shuffle_window(&batch->ids[i][FF__WINDOW - tokens], tokens, at);
        if (dataset->hidden)
            hide(batch->ids[i], dataset->hidden);
        batch->label[i] = dataset->label[at];
        batch->slot[i] = age % FF__WINDOW;
    }
}
