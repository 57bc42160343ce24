#include "learn/quant.h"

#define STEPS 8 /* powers of two to choose from: 1 down to 1/128 */

static double loss_of(const float *x, size_t count, float step) {
    double loss = 0;
    for (size_t i = 0; i < count; i++) {
        double lost = (double)(x[i] - ff__quantize(x[i], step));
        loss += lost * lost;
    }
    return loss;
}

float ff__quantize_step(const float *x, size_t count) {
    float best = 1, step = 1;
    double least = loss_of(x, count, 1);
    for (int i = 1; i < STEPS; i++) {
        step /= 2;
        double loss = loss_of(x, count, step);
        if (loss >= least)
            continue;
        least = loss;
        best = step;
    }
    return best;
}

void ff__quantize_all(float *y, const float *x, size_t count, float step) {
    for (size_t i = 0; i < count; i++)
        y[i] = ff__quantize(x[i], step);
}

void ff__quantize_backward(float *dx, const float *x, size_t count, float step) {
    for (size_t i = 0; i < count; i++) {
        float q = x[i] / step;
        dx[i] = q >= FF__Q_MIN - 0.5f && q <= FF__Q_MAX + 0.5f ? dx[i] : 0;
    }
}
