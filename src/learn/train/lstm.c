/* One LSTM layer of 48 over the window, the classes from its last state. */
#include "learn/train/baselines.h"
#include "learn/train/layers.h"

#include <string.h>

#define STATE 48u
#define IN    (FF__BASELINE_WIDTH + STATE) /* a token and the state before it */
#define GATES (4 * STATE)

static const struct ff__baseline baseline = {IN, GATES, STATE};

/* By time, then by sample. */
struct work {
    float *tokens, *in, *gates, *cells, *states;
    float *dtokens, *din, *dgates, *dcell, *dstate;
};

static size_t map_work(struct work *work, uint32_t capacity, float *base) {
    struct ff__pieces pieces = {base, 0};
    size_t n = capacity;
    work->tokens = ff__piece(&pieces, n * FF__WINDOW * FF__BASELINE_WIDTH);
    work->in = ff__piece(&pieces, FF__WINDOW * n * IN);
    work->gates = ff__piece(&pieces, FF__WINDOW * n * GATES);
    work->cells = ff__piece(&pieces, (FF__WINDOW + 1) * n * STATE);
    work->states = ff__piece(&pieces, (FF__WINDOW + 1) * n * STATE);
    work->dtokens = ff__piece(&pieces, n * FF__WINDOW * FF__BASELINE_WIDTH);
    work->din = ff__piece(&pieces, n * IN);
    work->dgates = ff__piece(&pieces, n * GATES);
    work->dcell = ff__piece(&pieces, n * STATE);
    work->dstate = ff__piece(&pieces, n * STATE);
    return pieces.used;
}

FF__BASELINE_SIZES

static void init(struct ff__net *net, struct ff__random *random) {
    struct ff__baseline_weights w;
    ff__baseline_init(net, &baseline, random);
    ff__baseline_map(&w, &baseline, &net->shape, net->params);
    for (uint32_t i = STATE; i < 2 * STATE; i++)
        w.b1[i] = 1; /* remember, at first (Jozefowicz et al. 2015) */
}

/* A step's input: its token and the state before, side by side. */
static void join(const struct work *work, uint32_t t, uint32_t n) {
    float *in = work->in + (size_t)t * n * IN;
    const float *state = work->states + (size_t)t * n * STATE;
    for (size_t s = 0; s < n; s++) {
        memcpy(in + s * IN, work->tokens + (s * FF__WINDOW + t) * FF__BASELINE_WIDTH,
               FF__BASELINE_WIDTH * sizeof *in);
        memcpy(in + s * IN + FF__BASELINE_WIDTH, state + s * STATE, STATE * sizeof *in);
    }
}

static void part(const struct work *work, uint32_t t, uint32_t n) {
    for (size_t s = 0; s < n; s++) {
        memcpy(work->dtokens + (s * FF__WINDOW + t) * FF__BASELINE_WIDTH, work->din + s * IN,
               FF__BASELINE_WIDTH * sizeof(float));
        memcpy(work->dstate + s * STATE, work->din + s * IN + FF__BASELINE_WIDTH,
               STATE * sizeof(float));
    }
}

static void forward(struct ff__net *net, const struct ff__batch *batch, float *logits) {
    struct ff__baseline_weights w;
    struct work work;
    struct ff__embedding embedding = ff__baseline_embedding(&net->shape);
    uint32_t n = batch->count;
    size_t state = (size_t)n * STATE;
    const struct ff__linear gates = {n, IN, GATES}, classes = {n, STATE, net->shape.classes};
    ff__baseline_map(&w, &baseline, &net->shape, net->params);
    map_work(&work, net->capacity, net->work);
    ff__embedding_forward(&embedding, work.tokens, batch->ids[0], (size_t)n * FF__WINDOW, w.embed);
    memset(work.cells, 0, state * sizeof(float));
    memset(work.states, 0, state * sizeof(float));
    for (uint32_t t = 0; t < FF__WINDOW; t++) {
        float *now = work.gates + (size_t)t * n * GATES;
        join(&work, t, n);
        ff__linear_forward(&gates, now, work.in + (size_t)t * n * IN, w.w1, w.b1);
        ff__lstm_forward(work.states + (t + 1) * state, work.cells + (t + 1) * state, now,
                         work.cells + t * state, n, STATE);
    }
    ff__linear_forward(&classes, logits, work.states + FF__WINDOW * state, w.w2, w.b2);
}

static void backward(struct ff__net *net, const struct ff__batch *batch, const float *dlogits) {
    struct ff__baseline_weights w, d;
    struct work work;
    struct ff__embedding embedding = ff__baseline_embedding(&net->shape);
    uint32_t n = batch->count;
    size_t state = (size_t)n * STATE;
    const struct ff__linear gates = {n, IN, GATES}, classes = {n, STATE, net->shape.classes};
    ff__baseline_map(&w, &baseline, &net->shape, net->params);
    ff__baseline_map(&d, &baseline, &net->shape, net->grads);
    map_work(&work, net->capacity, net->work);
    ff__linear_backward(&classes, work.dstate, d.w2, d.b2, dlogits,
                        work.states + FF__WINDOW * state, w.w2);
    memset(work.dcell, 0, state * sizeof(float));
    for (uint32_t t = FF__WINDOW; t-- > 0;) {
        ff__lstm_backward(work.dgates, work.dcell, work.dstate, work.gates + (size_t)t * n * GATES,
                          work.cells + (t + 1) * state, work.cells + t * state, n, STATE);
        ff__linear_backward(&gates, work.din, d.w1, d.b1, work.dgates, work.in + (size_t)t * n * IN,
                            w.w1);
        part(&work, t, n);
    }
    ff__embedding_backward(&embedding, d.embed, work.dtokens, batch->ids[0],
                           (size_t)n * FF__WINDOW);
}

const struct ff__net_type ff__net_lstm = {
    .name = "lstm",
    .summary = "one LSTM layer of 48 units",
    .batch = 128,
    .steps = 1500,
    .rate = 0.003f,
    .params = param_count,
    .work = work_size,
    .init = init,
    .forward = forward,
    .backward = backward,
};
