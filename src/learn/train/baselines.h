/* What the networks for comparison of Figure 9 share (fully connected, CNN, LSTM), scaled down:
 * three features, 24 wide tokens, full precision, two matrices. Their sizes are ours.
 *
 * Each embeds the window's tokens, has a middle of its own, which finds something in them with the
 * first matrix, and tells the classes from that with the second one. */
#ifndef FF_LEARN_TRAIN_BASELINES_H
#define FF_LEARN_TRAIN_BASELINES_H

#include "learn/train/nets.h"

#define FF__BASELINE_PART  8u
#define FF__BASELINE_WIDTH (3 * FF__BASELINE_PART)

/* Of a batch: parameters, their gradients, and the activations around the middle with theirs. */
struct ff__baseline_run {
    size_t n; /* samples */
    float *w, *b, *dw, *db;
    float *tokens, *dtokens; /* [n][FF__WINDOW][FF__BASELINE_WIDTH] */
    float *found, *dfound;   /* [n][found] */
    float *middle;           /* the middle's own numbers */
};

struct ff__baseline {
    struct ff__net_type base;
    uint32_t in, hidden, found; /* the first matrix is [in][hidden], the second [found][classes] */
    uint32_t middle;            /* numbers of the middle's own, by sample */
    uint32_t taps;              /* of a convolution: tokens that it sees at a time */
    uint32_t remembers; /* biases from here on, as many as there are before, begin as 1; 0: none */
    /* forward: sets `found`. backward: sets `dtokens`, and adds to the gradients of parameters. */
    void (*forward)(const struct ff__baseline *baseline, const struct ff__baseline_run *run);
    void (*backward)(const struct ff__baseline *baseline, const struct ff__baseline_run *run);
};

extern const struct ff__baseline ff__net_fc, ff__net_cnn, ff__net_lstm;

/* Functions of net types that are the `base` of one. */
size_t ff__baseline_params(const struct ff__net_type *type, const struct ff__shape *shape);
size_t ff__baseline_work(const struct ff__net_type *type, const struct ff__shape *shape,
                         uint32_t capacity);
void ff__baseline_init(struct ff__net *net, struct ff__random *random);
void ff__baseline_forward(struct ff__net *net, const struct ff__batch *batch, float *logits);
void ff__baseline_backward(struct ff__net *net, const struct ff__batch *batch,
                           const float *dlogits);

#define FF__BASELINE(called, says)                                                                 \
    .base = {.name = called,                                                                       \
             .summary = says,                                                                      \
             .batch = 128,                                                                         \
             .steps = 1500,                                                                        \
             .rate = 0.003f,                                                                       \
             .params = ff__baseline_params,                                                        \
             .work = ff__baseline_work,                                                            \
             .init = ff__baseline_init,                                                            \
             .forward = ff__baseline_forward,                                                      \
             .backward = ff__baseline_backward}

#endif
