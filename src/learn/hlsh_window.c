#include "learn/hlsh_parts.h"

struct window_space {
    struct ff__hlsh_space own;
    float *tokens;              /* [batch][outputs] */
    float *raw_hidden, *hidden; /* [batch][hidden] */
    float *dhidden, *dtokens;
};

static size_t map_work(struct window_space *work, const struct ff__net_type *type,
                       const struct ff__shape *shape, uint32_t capacity, float *base) {
    struct ff__pieces pieces = {base, 0};
    ff__hlsh_space(&work->own, &pieces, type, shape);
    work->tokens = ff__piece(&pieces, (size_t)capacity * FF__OUTPUTS);
    work->dtokens = ff__piece(&pieces, (size_t)capacity * FF__OUTPUTS);
    work->raw_hidden = ff__piece(&pieces, (size_t)capacity * FF__HIDDEN);
    work->hidden = ff__piece(&pieces, (size_t)capacity * FF__HIDDEN);
    work->dhidden = ff__piece(&pieces, (size_t)capacity * FF__HIDDEN);
    return pieces.used;
}

size_t ff__window_work(const struct ff__net_type *type, const struct ff__shape *shape,
                       uint32_t capacity) {
    struct window_space work;
    return map_work(&work, type, shape, capacity, NULL);
}

void ff__window_init(struct ff__net *net, struct ff__random *random) {
    struct ff__hlsh_weights w;
    ff__hlsh_map(&w, net->type, &net->shape, net->params);
    ff__hlsh_init_tables(&w, random);
    ff__net_fill(w.of[FF__HLSH_MIX], FF__OUTPUTS, FF__HIDDEN, random);
    ff__net_fill(w.of[FF__HLSH_CLASSES], FF__HIDDEN, net->shape.classes, random);
}

void ff__window_forward(struct ff__net *net, const struct ff__batch *batch, float *logits) {
    struct window_space work;
    struct ff__hlsh_weights w;
    struct ff__embedding embedding = ff__hlsh_embedding(&net->shape);
    const struct ff__linear mix = {batch->count, FF__OUTPUTS, FF__HIDDEN};
    const struct ff__linear classes = {batch->count, FF__HIDDEN, net->shape.classes};
    map_work(&work, net->type, &net->shape, net->capacity, net->work);
    ff__hlsh_current(&w, net, &work.own);
    if (net->quantized)
        ff__hlsh_quantize(net, work.own.weights, work.own.steps);
    ff__embedding_forward(&embedding, work.tokens, batch->ids[0], (size_t)batch->count * FF__WINDOW,
                          w.of[FF__HLSH_PAGE]);
    ff__linear_forward(&mix, work.raw_hidden, work.tokens, w.of[FF__HLSH_MIX],
                       w.of[FF__HLSH_MIX_BIAS]);
    ff__clamp_positive(net, work.hidden, work.raw_hidden, (size_t)batch->count * FF__HIDDEN,
                       FF__STEP_HIDDEN);
    ff__linear_forward(&classes, logits, work.hidden, w.of[FF__HLSH_CLASSES],
                       w.of[FF__HLSH_CLASSES_BIAS]);
}

void ff__window_backward(struct ff__net *net, const struct ff__batch *batch, const float *dlogits) {
    struct window_space work;
    struct ff__hlsh_weights w, d;
    struct ff__embedding embedding = ff__hlsh_embedding(&net->shape);
    const struct ff__linear mix = {batch->count, FF__OUTPUTS, FF__HIDDEN};
    const struct ff__linear classes = {batch->count, FF__HIDDEN, net->shape.classes};
    map_work(&work, net->type, &net->shape, net->capacity, net->work);
    ff__hlsh_current(&w, net, &work.own);
    ff__hlsh_map(&d, net->type, &net->shape, net->grads);
    ff__linear_backward(&classes, work.dhidden, d.of[FF__HLSH_CLASSES], d.of[FF__HLSH_CLASSES_BIAS],
                        dlogits, work.hidden, w.of[FF__HLSH_CLASSES]);
    ff__clamp_positive_backward(net, work.dhidden, work.raw_hidden,
                                (size_t)batch->count * FF__HIDDEN, FF__STEP_HIDDEN);
    ff__linear_backward(&mix, work.dtokens, d.of[FF__HLSH_MIX], d.of[FF__HLSH_MIX_BIAS],
                        work.dhidden, work.tokens, w.of[FF__HLSH_MIX]);
    ff__embedding_backward(&embedding, d.of[FF__HLSH_PAGE], work.dtokens, batch->ids[0],
                           (size_t)batch->count * FF__WINDOW);
}
