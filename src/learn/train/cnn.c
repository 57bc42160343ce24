/* A convolution over time: 32 filters over 3 tokens each, the classes from all their places. */
#include "learn/train/baselines.h"

#include <string.h>

#define TAPS    3u
#define PLACES  (FF__WINDOW - TAPS + 1)
#define PATCH   (TAPS * FF__BASELINE_WIDTH)
#define FILTERS 32u
#define FOUND   (PLACES * FILTERS)

static const struct ff__baseline baseline = {PATCH, FILTERS, FOUND};

struct work {
    float *tokens, *patches, *found, *dtokens, *dpatches, *dfound;
};

static size_t map_work(struct work *work, uint32_t capacity, float *base) {
    struct ff__pieces pieces = {base, 0};
    size_t n = capacity;
    work->tokens = ff__piece(&pieces, n * FF__WINDOW * FF__BASELINE_WIDTH);
    work->patches = ff__piece(&pieces, n * PLACES * PATCH);
    work->found = ff__piece(&pieces, n * FOUND);
    work->dtokens = ff__piece(&pieces, n * FF__WINDOW * FF__BASELINE_WIDTH);
    work->dpatches = ff__piece(&pieces, n * PLACES * PATCH);
    work->dfound = ff__piece(&pieces, n * FOUND);
    return pieces.used;
}

FF__BASELINE_SIZES

static void init(struct ff__net *net, struct ff__random *random) {
    ff__baseline_init(net, &baseline, random);
}

/* Neighbouring tokens beside each other: the convolution is then a product. */
static void unfold(float *patches, const float *tokens, size_t sequences) {
    for (size_t s = 0; s < sequences; s++)
        for (size_t p = 0; p < PLACES; p++)
            memcpy(patches + (s * PLACES + p) * PATCH,
                   tokens + (s * FF__WINDOW + p) * FF__BASELINE_WIDTH, PATCH * sizeof *patches);
}

static void fold(float *tokens, const float *patches, size_t sequences) {
    memset(tokens, 0, sequences * FF__WINDOW * FF__BASELINE_WIDTH * sizeof *tokens);
    for (size_t s = 0; s < sequences; s++)
        for (size_t p = 0; p < PLACES; p++)
            for (size_t i = 0; i < PATCH; i++)
                tokens[(s * FF__WINDOW + p) * FF__BASELINE_WIDTH + i] +=
                    patches[(s * PLACES + p) * PATCH + i];
}

static void forward(struct ff__net *net, const struct ff__batch *batch, float *logits) {
    struct ff__baseline_weights w;
    struct work work;
    struct ff__embedding embedding = ff__baseline_embedding(&net->shape);
    const struct ff__linear filter = {batch->count * PLACES, PATCH, FILTERS};
    const struct ff__linear classes = {batch->count, FOUND, net->shape.classes};
    ff__baseline_map(&w, &baseline, &net->shape, net->params);
    map_work(&work, net->capacity, net->work);
    ff__embedding_forward(&embedding, work.tokens, batch->ids[0], (size_t)batch->count * FF__WINDOW,
                          w.embed);
    unfold(work.patches, work.tokens, batch->count);
    ff__linear_forward(&filter, work.found, work.patches, w.w1, w.b1);
    ff__relu_forward(work.found, (size_t)batch->count * FOUND);
    ff__linear_forward(&classes, logits, work.found, w.w2, w.b2);
}

static void backward(struct ff__net *net, const struct ff__batch *batch, const float *dlogits) {
    struct ff__baseline_weights w, d;
    struct work work;
    struct ff__embedding embedding = ff__baseline_embedding(&net->shape);
    const struct ff__linear filter = {batch->count * PLACES, PATCH, FILTERS};
    const struct ff__linear classes = {batch->count, FOUND, net->shape.classes};
    ff__baseline_map(&w, &baseline, &net->shape, net->params);
    ff__baseline_map(&d, &baseline, &net->shape, net->grads);
    map_work(&work, net->capacity, net->work);
    ff__linear_backward(&classes, work.dfound, d.w2, d.b2, dlogits, work.found, w.w2);
    ff__relu_backward(work.dfound, work.found, (size_t)batch->count * FOUND);
    ff__linear_backward(&filter, work.dpatches, d.w1, d.b1, work.dfound, work.patches, w.w1);
    fold(work.dtokens, work.dpatches, batch->count);
    ff__embedding_backward(&embedding, d.embed, work.dtokens, batch->ids[0],
                           (size_t)batch->count * FF__WINDOW);
}

const struct ff__net_type ff__net_cnn = {
    .name = "cnn",
    .summary = "convolution over time: 32 filters of 3 tokens",
    .batch = 128,
    .steps = 1500,
    .rate = 0.003f,
    .params = param_count,
    .work = work_size,
    .init = init,
    .forward = forward,
    .backward = backward,
};
