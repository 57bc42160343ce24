#include "learn/train/baselines.h"

struct ff__embedding ff__baseline_embedding(const struct ff__shape *shape) {
    struct ff__embedding embedding = {.features = 3, .width = FF__BASELINE_WIDTH};
    for (uint32_t f = 0; f < 3; f++) {
        embedding.feature[f] = (enum ff__feature)f;
        embedding.part[f] = FF__BASELINE_PART;
        embedding.ids[f] = shape->ids[f];
    }
    return embedding;
}

size_t ff__baseline_map(struct ff__baseline_weights *weights, const struct ff__baseline *baseline,
                        const struct ff__shape *shape, float *params) {
    struct ff__pieces pieces = {params, 0};
    struct ff__embedding embedding = ff__baseline_embedding(shape);
    weights->embed = ff__piece(&pieces, ff__embedding_params(&embedding));
    weights->w1 = ff__piece(&pieces, (size_t)baseline->in * baseline->hidden);
    weights->b1 = ff__piece(&pieces, baseline->hidden);
    weights->w2 = ff__piece(&pieces, (size_t)baseline->found * shape->classes);
    weights->b2 = ff__piece(&pieces, shape->classes);
    return pieces.used;
}

void ff__baseline_init(struct ff__net *net, const struct ff__baseline *baseline,
                       struct ff__random *random) {
    struct ff__baseline_weights w;
    struct ff__embedding embedding = ff__baseline_embedding(&net->shape);
    ff__baseline_map(&w, baseline, &net->shape, net->params);
    ff__net_uniform(w.embed, ff__embedding_params(&embedding), 1, random);
    ff__net_fill(w.w1, baseline->in, baseline->hidden, random);
    ff__net_fill(w.w2, baseline->found, net->shape.classes, random);
}
