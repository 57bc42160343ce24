#include "learn/rivals.h"

struct ff__embedding ff__rival_embedding(const struct ff__shape *shape) {
    struct ff__embedding embedding = {.features = 3, .width = FF__RIVAL_WIDTH};
    for (uint32_t f = 0; f < 3; f++) {
        embedding.feature[f] = (enum ff__feature)f;
        embedding.part[f] = FF__RIVAL_PART;
        embedding.ids[f] = shape->ids[f];
    }
    return embedding;
}

size_t ff__rival_map(struct ff__rival_weights *weights, const struct ff__rival *rival,
                     const struct ff__shape *shape, float *params) {
    struct ff__pieces pieces = {params, 0};
    struct ff__embedding embedding = ff__rival_embedding(shape);
    weights->embed = ff__piece(&pieces, ff__embedding_params(&embedding));
    weights->w1 = ff__piece(&pieces, (size_t)rival->in * rival->hidden);
    weights->b1 = ff__piece(&pieces, rival->hidden);
    weights->w2 = ff__piece(&pieces, (size_t)rival->found * shape->classes);
    weights->b2 = ff__piece(&pieces, shape->classes);
    return pieces.used;
}

void ff__rival_init(struct ff__net *net, const struct ff__rival *rival, struct ff__random *random) {
    struct ff__rival_weights w;
    struct ff__embedding embedding = ff__rival_embedding(&net->shape);
    ff__rival_map(&w, rival, &net->shape, net->params);
    ff__net_uniform(w.embed, ff__embedding_params(&embedding), 1, random);
    ff__net_fill(w.w1, rival->in, rival->hidden, random);
    ff__net_fill(w.w2, rival->found, net->shape.classes, random);
}
