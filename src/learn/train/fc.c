/* Fully connected: the window's tokens, one layer of 64, the classes. */
#include "learn/train/baselines.h"

#define IN     (FF__WINDOW * FF__BASELINE_WIDTH)
#define HIDDEN 64u

static const struct ff__baseline baseline = {IN, HIDDEN, HIDDEN};

struct work {
    float *tokens, *hidden, *dtokens, *dhidden;
};

static size_t map_work(struct work *work, uint32_t capacity, float *base) {
    struct ff__pieces pieces = {base, 0};
    work->tokens = ff__piece(&pieces, (size_t)capacity * IN);
    work->hidden = ff__piece(&pieces, (size_t)capacity * HIDDEN);
    work->dtokens = ff__piece(&pieces, (size_t)capacity * IN);
    work->dhidden = ff__piece(&pieces, (size_t)capacity * HIDDEN);
    return pieces.used;
}

FF__BASELINE_SIZES

static void init(struct ff__net *net, struct ff__random *random) {
    ff__baseline_init(net, &baseline, random);
}

static void forward(struct ff__net *net, const struct ff__batch *batch, float *logits) {
    struct ff__baseline_weights w;
    struct work work;
    struct ff__embedding embedding = ff__baseline_embedding(&net->shape);
    const struct ff__linear first = {batch->count, IN, HIDDEN};
    const struct ff__linear second = {batch->count, HIDDEN, net->shape.classes};
    ff__baseline_map(&w, &baseline, &net->shape, net->params);
    map_work(&work, net->capacity, net->work);
    ff__embedding_forward(&embedding, work.tokens, batch->ids[0], (size_t)batch->count * FF__WINDOW,
                          w.embed);
    ff__linear_forward(&first, work.hidden, work.tokens, w.w1, w.b1);
    ff__relu_forward(work.hidden, (size_t)batch->count * HIDDEN);
    ff__linear_forward(&second, logits, work.hidden, w.w2, w.b2);
}

static void backward(struct ff__net *net, const struct ff__batch *batch, const float *dlogits) {
    struct ff__baseline_weights w, d;
    struct work work;
    struct ff__embedding embedding = ff__baseline_embedding(&net->shape);
    const struct ff__linear first = {batch->count, IN, HIDDEN};
    const struct ff__linear second = {batch->count, HIDDEN, net->shape.classes};
    ff__baseline_map(&w, &baseline, &net->shape, net->params);
    ff__baseline_map(&d, &baseline, &net->shape, net->grads);
    map_work(&work, net->capacity, net->work);
    ff__linear_backward(&second, work.dhidden, d.w2, d.b2, dlogits, work.hidden, w.w2);
    ff__relu_backward(work.dhidden, work.hidden, (size_t)batch->count * HIDDEN);
    ff__linear_backward(&first, work.dtokens, d.w1, d.b1, work.dhidden, work.tokens, w.w1);
    ff__embedding_backward(&embedding, d.embed, work.dtokens, batch->ids[0],
                           (size_t)batch->count * FF__WINDOW);
}

const struct ff__net_type ff__net_fc = {
    .name = "fc",
    .summary = "fully connected: one hidden layer of 64 units",
    .batch = 128,
    .steps = 1500,
    .rate = 0.003f,
    .params = param_count,
    .work = work_size,
    .init = init,
    .forward = forward,
    .backward = backward,
};
