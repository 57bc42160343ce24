#include "learn/train/baselines.h"

#define TOKENS (FF__WINDOW * FF__BASELINE_WIDTH)

static const struct ff__baseline *baseline_of(const struct ff__net_type *type) {
    return (const struct ff__baseline *)type; /* its first member */
}

static struct ff__embedding embedding_of(const struct ff__shape *shape) {
    struct ff__embedding embedding = {.features = 3, .width = FF__BASELINE_WIDTH};
    for (uint32_t f = 0; f < 3; f++) {
        embedding.feature[f] = (enum ff__feature)f;
        embedding.part[f] = FF__BASELINE_PART;
        embedding.ids[f] = shape->ids[f];
    }
    return embedding;
}

struct baseline_weights {
    float *embed, *w1, *b1, *w2, *b2;
};

/* Where everything is in an array of all parameters; its length is returned. */
static size_t map_weights(struct baseline_weights *weights, const struct ff__baseline *baseline,
                          const struct ff__shape *shape, float *params) {
    struct ff__pieces pieces = {params, 0};
    struct ff__embedding embedding = embedding_of(shape);
    weights->embed = ff__piece(&pieces, ff__embedding_params(&embedding));
    weights->w1 = ff__piece(&pieces, (size_t)baseline->in * baseline->hidden);
    weights->b1 = ff__piece(&pieces, baseline->hidden);
    weights->w2 = ff__piece(&pieces, (size_t)baseline->found * shape->classes);
    weights->b2 = ff__piece(&pieces, shape->classes);
    return pieces.used;
}

static size_t map_work(struct ff__baseline_run *run, const struct ff__baseline *baseline,
                       size_t capacity, float *base) {
    struct ff__pieces pieces = {base, 0};
    run->tokens = ff__piece(&pieces, capacity * TOKENS);
    run->dtokens = ff__piece(&pieces, capacity * TOKENS);
    run->found = ff__piece(&pieces, capacity * baseline->found);
    run->dfound = ff__piece(&pieces, capacity * baseline->found);
    run->middle = ff__piece(&pieces, capacity * baseline->middle);
    return pieces.used;
}

size_t ff__baseline_params(const struct ff__net_type *type, const struct ff__shape *shape) {
    struct baseline_weights w;
    return map_weights(&w, baseline_of(type), shape, NULL);
}

size_t ff__baseline_work(const struct ff__net_type *type, const struct ff__shape *shape,
                         uint32_t capacity) {
    struct ff__baseline_run run;
    (void)shape;
    return map_work(&run, baseline_of(type), capacity, NULL);
}

void ff__baseline_init(struct ff__net *net, struct ff__random *random) {
    const struct ff__baseline *baseline = baseline_of(net->type);
    struct baseline_weights w;
    struct ff__embedding embedding = embedding_of(&net->shape);
    map_weights(&w, baseline, &net->shape, net->params);
    ff__net_uniform(w.embed, ff__embedding_params(&embedding), 1, random);
    ff__net_fill(w.w1, baseline->in, baseline->hidden, random);
    ff__net_fill(w.w2, baseline->found, net->shape.classes, random);
    for (uint32_t i = baseline->remembers; i < 2 * baseline->remembers; i++)
        w.b1[i] = 1;
}

static struct ff__baseline_run run_of(const struct ff__net *net, const struct ff__batch *batch,
                                      struct baseline_weights *w, struct baseline_weights *d) {
    const struct ff__baseline *baseline = baseline_of(net->type);
    struct ff__baseline_run run;
    map_work(&run, baseline, net->capacity, net->work);
    map_weights(w, baseline, &net->shape, net->params);
    map_weights(d, baseline, &net->shape, net->grads);
    run.n = batch->count;
    run.w = w->w1;
    run.b = w->b1;
    run.dw = d->w1;
    run.db = d->b1;
    return run;
}

void ff__baseline_forward(struct ff__net *net, const struct ff__batch *batch, float *logits) {
    const struct ff__baseline *baseline = baseline_of(net->type);
    const struct ff__linear classes = {batch->count, baseline->found, net->shape.classes};
    const struct ff__embedding embedding = embedding_of(&net->shape);
    struct baseline_weights w, d;
    struct ff__baseline_run run = run_of(net, batch, &w, &d);
    ff__embedding_forward(&embedding, run.tokens, batch->ids[0], run.n * FF__WINDOW, w.embed);
    baseline->forward(baseline, &run);
    ff__linear_forward(&classes, logits, run.found, w.w2, w.b2);
}

void ff__baseline_backward(struct ff__net *net, const struct ff__batch *batch,
                           const float *dlogits) {
    const struct ff__baseline *baseline = baseline_of(net->type);
    const struct ff__linear classes = {batch->count, baseline->found, net->shape.classes};
    const struct ff__embedding embedding = embedding_of(&net->shape);
    struct baseline_weights w, d;
    struct ff__baseline_run run = run_of(net, batch, &w, &d);
    ff__linear_backward(&classes, run.dfound, d.w2, d.b2, dlogits, run.found, w.w2);
    baseline->backward(baseline, &run);
    ff__embedding_backward(&embedding, d.embed, run.dtokens, batch->ids[0], run.n * FF__WINDOW);
}
