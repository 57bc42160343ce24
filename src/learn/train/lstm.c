/* One LSTM layer of 48 over the window, the classes from its last state. */
#include "learn/train/baselines.h"
#include "learn/train/layers.h"

#include <string.h>

#define STATE 48u
#define IN    (FF__BASELINE_WIDTH + STATE) /* a token and the state before it */
#define GATES (4 * STATE)

/* By time, then by sample; the last state is what is found. */
struct lstm_space {
    float *in, *gates, *cells, *states;
    float *din, *dgates, *dcell;
};

#define WORK                                                                                       \
    (FF__WINDOW * (IN + GATES) + (FF__WINDOW + 1) * STATE + FF__WINDOW * STATE + IN + GATES + STATE)

static float *cut(float **rest, size_t count) {
    float *piece = *rest;
    *rest += count;
    return piece;
}

static struct lstm_space map_work(const struct ff__baseline_run *run) {
    float *rest = run->middle;
    const size_t n = run->n;
    struct lstm_space work;
    work.in = cut(&rest, FF__WINDOW * n * IN);
    work.gates = cut(&rest, FF__WINDOW * n * GATES);
    work.cells = cut(&rest, (FF__WINDOW + 1) * n * STATE);
    work.states = cut(&rest, FF__WINDOW * n * STATE);
    work.din = cut(&rest, n * IN);
    work.dgates = cut(&rest, n * GATES);
    work.dcell = cut(&rest, n * STATE);
    return work;
}

/* A step's input: its token and the state before, side by side. */
static void join(const struct lstm_space *work, const float *tokens, size_t t, size_t n) {
    float *in = work->in + t * n * IN;
    const float *state = work->states + t * n * STATE;
    for (size_t s = 0; s < n; s++) {
        memcpy(in + s * IN, tokens + (s * FF__WINDOW + t) * FF__BASELINE_WIDTH,
               FF__BASELINE_WIDTH * sizeof *in);
        memcpy(in + s * IN + FF__BASELINE_WIDTH, state + s * STATE, STATE * sizeof *in);
    }
}

static void part(const struct lstm_space *work, const struct ff__baseline_run *run, size_t t) {
    for (size_t s = 0; s < run->n; s++) {
        memcpy(run->dtokens + (s * FF__WINDOW + t) * FF__BASELINE_WIDTH, work->din + s * IN,
               FF__BASELINE_WIDTH * sizeof(float));
        memcpy(run->dfound + s * STATE, work->din + s * IN + FF__BASELINE_WIDTH,
               STATE * sizeof(float));
    }
}

static void forward(const struct ff__baseline *baseline, const struct ff__baseline_run *run) {
    const struct lstm_space work = map_work(run);
    const size_t n = run->n, state = n * STATE;
    const struct ff__linear gates = {(uint32_t)n, baseline->in, baseline->hidden};
    memset(work.cells, 0, state * sizeof(float));
    memset(work.states, 0, state * sizeof(float));
    for (size_t t = 0; t < FF__WINDOW; t++) {
        float *now = work.gates + t * n * GATES;
        join(&work, run->tokens, t, n);
        ff__linear_forward(&gates, now, work.in + t * n * IN, run->w, run->b);
        ff__lstm_forward(t + 1 < FF__WINDOW ? work.states + (t + 1) * state : run->found,
                         work.cells + (t + 1) * state, now, work.cells + t * state, n, STATE);
    }
}

static void backward(const struct ff__baseline *baseline, const struct ff__baseline_run *run) {
    const struct lstm_space work = map_work(run);
    const size_t n = run->n, state = n * STATE;
    const struct ff__linear gates = {(uint32_t)n, baseline->in, baseline->hidden};
    memset(work.dcell, 0, state * sizeof(float));
    for (size_t t = FF__WINDOW; t-- > 0;) {
        ff__lstm_backward(work.dgates, work.dcell, run->dfound, work.gates + t * n * GATES,
                          work.cells + (t + 1) * state, work.cells + t * state, n, STATE);
        ff__linear_backward(&gates, work.din, run->dw, run->db, work.dgates, work.in + t * n * IN,
                            run->w);
        part(&work, run, t);
    }
}

const struct ff__baseline ff__net_lstm = {
    FF__BASELINE("lstm", "one LSTM layer of 48 units"),
    .in = IN,
    .hidden = GATES,
    .found = STATE,
    .middle = WORK,
    .remembers = STATE, /* the forget gate's, at first (Jozefowicz et al. 2015) */
    .forward = forward,
    .backward = backward,
};
