/* Every layer by itself against finite differences, by each of its inputs and parameters. The loss
 * is a sum of the outputs, each times a number of its own. */
#include "base/cases.h"

#include "base/random.h"
#include "learn/quant.h"
#include "learn/train/layers.h"

#include <math.h>

#define INPUTS_MAX  512u
#define OUTPUTS_MAX 512u
#define STEP        0.01f

/* `run`: outputs of inputs, returns how many. `back`: the gradient by inputs, from that by outputs.
 */
struct layer {
    const char *name;
    uint32_t inputs;
    size_t (*run)(const float *in, float *out);
    void (*back)(const float *in, const float *dout, float *din);
};

static void fill(float *x, size_t count, uint64_t seed) {
    struct ff__random generator = ff__random_seeded(seed);
    for (size_t i = 0; i < count; i++) {
        float unit = (float)(ff__random_next(&generator) >> 40) / (float)(1 << 24);
        x[i] = 2 * unit - 1;
        x[i] += x[i] < 0 ? -0.05f : 0.05f; /* not where a ReLU turns */
    }
}

static double loss_of(const struct layer *layer, const float *in, const float *by) {
    float out[OUTPUTS_MAX];
    double loss = 0;
    size_t count = layer->run(in, out);
    for (size_t i = 0; i < count; i++)
        loss += (double)out[i] * (double)by[i];
    return loss;
}

static void check(const struct layer *layer) {
    float in[INPUTS_MAX], by[OUTPUTS_MAX], din[INPUTS_MAX] = {0};
    fill(in, layer->inputs, 1);
    fill(by, OUTPUTS_MAX, 2);
    loss_of(layer, in, by); /* what backward keeps from forward */
    layer->back(in, by, din);
    for (uint32_t i = 0; i < layer->inputs; i++) {
        float kept = in[i];
        in[i] = kept + STEP;
        double up = loss_of(layer, in, by);
        in[i] = kept - STEP;
        double down = loss_of(layer, in, by), slope = (up - down) / (2 * (double)STEP);
        in[i] = kept;
        if (fabs(slope - (double)din[i]) > 2e-3 + 2e-3 * fabs(slope)) {
            print_error("%s: input %u: %g, not %g\n", layer->name, i, (double)din[i], slope);
            fail();
        }
    }
}

/* ---- linear: x [3][5], w [5][4], b [4] ---- */

static const struct ff__linear linear = {3, 5, 4};

static size_t linear_run(const float *in, float *out) {
    ff__linear_forward(&linear, out, in, in + 15, in + 35);
    return 12;
}

static void linear_back(const float *in, const float *dout, float *din) {
    ff__linear_backward(&linear, din, din + 15, din + 35, dout, in, in + 15);
}

/* ---- embedding: two features of 3 and 4 ids, 2 and 3 wide ---- */

static const struct ff__embedding embedding = {
    .features = 2, .width = 5, .feature = {1, 4}, .part = {2, 3}, .ids = {3, 4}};
static const uint16_t ids[4][FF__FEATURES] = {{0, 2, 0, 0, 1}, {0, 0, 0, 0, 3}, {0, 2, 0, 0, 1}};

static size_t embedding_run(const float *in, float *out) {
    ff__embedding_forward(&embedding, out, ids, 4, in);
    return 20;
}

static void embedding_back(const float *in, const float *dout, float *din) {
    (void)in;
    ff__embedding_backward(&embedding, din, dout, ids, 4);
}

/* ---- element by element ---- */

static size_t relu_run(const float *in, float *out) {
    memcpy(out, in, 40 * sizeof *out);
    ff__relu_forward(out, 40);
    return 40;
}

static void relu_back(const float *in, const float *dout, float *din) {
    float out[40];
    relu_run(in, out);
    memcpy(din, dout, sizeof out);
    ff__relu_backward(din, out, 40);
}

/* ---- normalization: x [3][6], w [6], b [6] ---- */

static float stats[6];

static size_t norm_run(const float *in, float *out) {
    ff__norm_forward(out, stats, in, in + 18, in + 24, 3, 6);
    return 18;
}

static void norm_back(const float *in, const float *dout, float *din) {
    float out[18];
    norm_run(in, out);
    ff__norm_backward(din, din + 18, din + 24, dout, stats, in, in + 18, 3, 6);
}

/* ---- softmax and cross-entropy: logits [3][7] ---- */

static size_t loss_run(const float *in, float *out) {
    static const uint16_t label[] = {2, 0, 6};
    float dlogits[21];
    out[0] = (float)ff__loss(dlogits, in, label, 3, 7);
    return 1;
}

static void loss_back(const float *in, const float *dout, float *din) {
    static const uint16_t label[] = {2, 0, 6};
    ff__loss(din, in, label, 3, 7);
    for (int i = 0; i < 21; i++)
        din[i] *= dout[0];
}

/* ---- attention: qkv [2][5][3 x 6], two heads; all tokens ask, or the last two ---- */

static const struct ff__attention everyone = {2, 5, 5, 6, 2}, newest = {2, 5, 2, 6, 2};
static float weights[2 * 2 * 5 * 5];

static size_t everyone_run(const float *in, float *out) {
    ff__attention_forward(&everyone, out, weights, in);
    return 60;
}

static void everyone_back(const float *in, const float *dout, float *din) {
    float out[60];
    everyone_run(in, out);
    ff__attention_backward(&everyone, din, dout, weights, in);
}

static size_t newest_run(const float *in, float *out) {
    ff__attention_forward(&newest, out, weights, in);
    return 24;
}

static void newest_back(const float *in, const float *dout, float *din) {
    float out[24];
    newest_run(in, out);
    ff__attention_backward(&newest, din, dout, weights, in);
}

/* ---- a step of an LSTM: gates [2][4 x 3], cell before [2][3]; the state and the cell count ----
 */

static size_t lstm_run(const float *in, float *out) {
    float gates[24];
    memcpy(gates, in, sizeof gates);
    ff__lstm_forward(out, out + 6, gates, in + 24, 2, 3);
    return 12;
}

static void lstm_back(const float *in, const float *dout, float *din) {
    float gates[24], out[12], dcell[6];
    memcpy(gates, in, sizeof gates);
    memcpy(dcell, dout + 6, sizeof dcell);
    ff__lstm_forward(out, out + 6, gates, in + 24, 2, 3);
    ff__lstm_backward(din, dcell, dout, gates, out + 6, in + 24, 2, 3);
    memcpy(din + 24, dcell, sizeof dcell);
}

static const struct layer layers[] = {
    {"linear", 39, linear_run, linear_back},
    {"embedding", 18, embedding_run, embedding_back},
    {"relu", 40, relu_run, relu_back},
    {"norm", 30, norm_run, norm_back},
    {"cross-entropy", 21, loss_run, loss_back},
    {"attention", 180, everyone_run, everyone_back},
    {"attention of the newest", 180, newest_run, newest_back},
    {"lstm", 30, lstm_run, lstm_back},
};

static void test_layers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        check(&layers[i]);
}

/* Steps have no slope: the gradient passes through, except where values are cut off. */
static void test_quantizer(void **state) {
    const float x[] = {0.3f, -4.2f, 3.7f, 3.8f, -4.3f}, passes[] = {1, 1, 1, 0, 0};
    float y[5], d[] = {1, 1, 1, 1, 1};
    (void)state;
    ff__quantize_all(y, x, 5, 0.5f);
    ff__quantize_backward(d, x, 5, 0.5f);
    for (int i = 0; i < 5; i++) {
        assert_true(y[i] >= -4 && y[i] <= 3.5f);
        assert_true(d[i] == passes[i]);
    }
    assert_true(y[0] == 0.5f && y[1] == -4 && y[2] == 3.5f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layers),
                                       cmocka_unit_test(test_quantizer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
