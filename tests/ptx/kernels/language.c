#include "kernels.h"

#include <math.h>

#define ROW 200 /* halves */

static void plan_rows(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, (uint32_t)n / 4, 128);
    plan_int(plan, ROW / 2);
    plan_halves(plan, (size_t)n * ROW);
}

static void plan_softmax(struct kernel_plan *plan, int32_t n) {
    plan_rows(plan, n);
    plan_halves(plan, (size_t)n * ROW);
}

static void softmax(const struct kernel_plan *plan) {
    const uint16_t *in = plan->buffers[0].data;
    uint16_t *out = plan->buffers[1].data;
    for (uint32_t row = 0; row < plan->grid[0] * 4; row++, in += ROW, out += ROW) {
        double sum = 0;
        for (int32_t i = 0; i < ROW; i++)
            sum += exp(half_value(in[i]));
        for (int32_t i = 0; i < ROW; i++)
            out[i] = half_of(exp(half_value(in[i])) / sum);
    }
}

static void plan_layer_norm(struct kernel_plan *plan, int32_t n) {
    plan_rows(plan, n);
    plan_halves(plan, ROW);
    plan_halves(plan, ROW);
    plan_halves(plan, (size_t)n * ROW);
}

static void layer_norm(const struct kernel_plan *plan) {
    const uint16_t *in = plan->buffers[0].data;
    const uint16_t *scale = plan->buffers[1].data, *shift = plan->buffers[2].data;
    uint16_t *out = plan->buffers[3].data;
    for (uint32_t row = 0; row < plan->grid[0] * 4; row++, in += ROW, out += ROW) {
        double mean = 0, variance = 0;
        for (int32_t i = 0; i < ROW; i++)
            mean += half_value(in[i]) / ROW;
        for (int32_t i = 0; i < ROW; i++)
            variance += (half_value(in[i]) - mean) * (half_value(in[i]) - mean) / ROW;
        for (int32_t i = 0; i < ROW; i++)
            out[i] =
                half_of((half_value(in[i]) - mean) / sqrt(variance + 1e-5) * half_value(scale[i]) +
                        half_value(shift[i]));
    }
}

static void plan_gelu(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, plan_blocks(n, 256), 256);
    uint16_t *in = plan_halves(plan, 2 * (size_t)n);
    for (int32_t i = 0; i < 2 * n; i++)
        in[i] = half_of(4 * half_value(in[i]));
    plan_halves(plan, 2 * (size_t)n);
    plan_int(plan, n);
}

static void gelu(const struct kernel_plan *plan) {
    const uint16_t *in = plan->buffers[0].data;
    uint16_t *out = plan->buffers[1].data;
    for (int32_t i = 0; i < 2 * plan->ints[0]; i++) {
        double x = half_value(in[i]);
        out[i] = half_of(x / 2 * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x))));
    }
}

/* Twins are in double precision; the tolerance is a few units in the last place of f16. */
static const struct kernel_case cases[] = {
    {"softmax_f16", plan_softmax, softmax, 20, 1 << 14, 1e-5},
    {"layer_norm_f16", plan_layer_norm, layer_norm, 20, 1 << 14, 2e-3},
    {"gelu_f16", plan_gelu, gelu, 3000, 1 << 21, 2e-3},
};
KERNEL_TOPIC(language);
