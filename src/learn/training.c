#include "learn/training.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Kingma and Ba 2015, their own constants. */
#define DECAY_MEAN   0.9f
#define DECAY_SQUARE 0.999f
#define EPSILON      1e-8f
#define WARM_UP      0.05f /* of the steps; ours, as is the cosine after it */
#define RUNNING      0.98

int ff__training_init(struct ff__training *training, struct ff__net *net, uint32_t steps,
                      float rate) {
    size_t params = net->param_count, logits = (size_t)net->capacity * net->shape.classes;
    *training = (struct ff__training){.net = net, .rate = rate, .steps = steps};
    training->mean = calloc(params, sizeof(float));
    training->square = calloc(params, sizeof(float));
    training->logits = malloc(logits * sizeof(float));
    training->dlogits = malloc(logits * sizeof(float));
    if (!training->mean || !training->square || !training->logits || !training->dlogits ||
        ff__batch_init(&training->batch, net->capacity)) {
        ff__training_fini(training);
        return -ENOMEM;
    }
    return 0;
}

void ff__training_fini(struct ff__training *training) {
    free(training->mean);
    free(training->square);
    free(training->logits);
    free(training->dlogits);
    ff__batch_fini(&training->batch);
    memset(training, 0, sizeof *training);
}

/* Up in a line, down in half a cosine. */
static float rate_now(const struct ff__training *training) {
    float share = (float)(training->step + 1) / (float)(training->steps + 1);
    if (share < WARM_UP)
        return training->rate * share / WARM_UP;
    return training->rate * (0.51f + 0.49f * cosf(3.14159265f * (share - WARM_UP) / (1 - WARM_UP)));
}

static void adam(struct ff__training *training) {
    struct ff__net *net = training->net;
    float t = (float)(training->step + 1), rate = rate_now(training);
    float scale = rate * sqrtf(1 - powf(DECAY_SQUARE, t)) / (1 - powf(DECAY_MEAN, t));
    for (size_t i = 0; i < net->param_count; i++) {
        float g = net->grads[i];
        float m = DECAY_MEAN * training->mean[i] + (1 - DECAY_MEAN) * g;
        float s = DECAY_SQUARE * training->square[i] + (1 - DECAY_SQUARE) * g * g;
        training->mean[i] = m;
        training->square[i] = s;
        net->params[i] -= scale * m / (sqrtf(s) + EPSILON);
    }
}

/* The samples in their order, over and over. */
static void next_batch(struct ff__training *training, const struct ff__dataset *dataset) {
    uint32_t size = training->net->capacity, count = dataset->train_count;
    uint32_t first = (uint32_t)((uint64_t)training->step * size % count);
    uint32_t here = count - first < size ? count - first : size;
    ff__batch_fill(&training->batch, dataset, dataset->train + first, here);
}

void ff__training_step(struct ff__training *training, const struct ff__dataset *dataset) {
    struct ff__net *net = training->net;
    if (dataset->train_count == 0)
        return;
    next_batch(training, dataset);
    memset(net->grads, 0, net->param_count * sizeof *net->grads);
    net->type->forward(net, &training->batch, training->logits);
    double loss = ff__loss(training->dlogits, training->logits, training->batch.label,
                           training->batch.count, net->shape.classes);
    net->type->backward(net, &training->batch, training->dlogits);
    adam(training);
    training->loss = training->step ? RUNNING * training->loss + (1 - RUNNING) * loss : loss;
    training->step++;
}
