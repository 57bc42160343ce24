#include "kernels.h"

#include <math.h>

#define ROW        200
#define DIMENSIONS 32

static void plan_rows(struct kernel_plan *plan, int32_t n) {
    plan_reals(plan, (size_t)n * ROW);
    plan_int(plan, ROW);
}

static void plan_softmax(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, (uint32_t)n / 4, 128);
    plan_rows(plan, n);
    plan_zeros(plan, (size_t)n * ROW);
}

static void softmax(const struct kernel_plan *plan) {
    const float *in = plan->buffers[0].data;
    float *out = plan->buffers[1].data;
    for (uint32_t row = 0; row < plan->grid[0] * 4; row++, in += ROW, out += ROW) {
        double sum = 0;
        for (int32_t i = 0; i < ROW; i++)
            sum += exp((double)in[i]);
        for (int32_t i = 0; i < ROW; i++)
            out[i] = (float)(exp((double)in[i]) / sum);
    }
}

static void plan_layer_norm(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, (uint32_t)n, 128);
    plan_rows(plan, n);
    plan_reals(plan, ROW);
    plan_reals(plan, ROW);
    plan_zeros(plan, (size_t)n * ROW);
}

static void layer_norm(const struct kernel_plan *plan) {
    const float *in = plan->buffers[0].data;
    const float *scale = plan->buffers[1].data, *shift = plan->buffers[2].data;
    float *out = plan->buffers[3].data;
    for (uint32_t row = 0; row < plan->grid[0]; row++, in += ROW, out += ROW) {
        double mean = 0, variance = 0;
        for (int32_t i = 0; i < ROW; i++)
            mean += (double)in[i] / ROW;
        for (int32_t i = 0; i < ROW; i++)
            variance += ((double)in[i] - mean) * ((double)in[i] - mean) / ROW;
        for (int32_t i = 0; i < ROW; i++)
            out[i] = (float)(((double)in[i] - mean) / sqrt(variance + 1e-5) * (double)scale[i] +
                             (double)shift[i]);
    }
}

static void plan_gelu(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, plan_blocks(n, 256), 256);
    float *in = plan_reals(plan, (size_t)n);
    for (int32_t i = 0; i < n; i++)
        in[i] *= 8;
    plan_zeros(plan, (size_t)n);
    plan_int(plan, n);
}

static void gelu(const struct kernel_plan *plan) {
    const float *in = plan->buffers[0].data;
    float *out = plan->buffers[1].data;
    for (int32_t i = 0; i < plan->ints[0]; i++) {
        double x = (double)in[i];
        out[i] = (float)(x / 2 * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x))));
    }
}

static void plan_attention(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, (uint32_t)n / 64, 64);
    for (int32_t i = 0; i < 3; i++)
        plan_reals(plan, (size_t)n * DIMENSIONS);
    plan_zeros(plan, (size_t)n * DIMENSIONS);
    plan_int(plan, n);
}

static void attention(const struct kernel_plan *plan) {
    const float *query = plan->buffers[0].data;
    float *out = plan->buffers[3].data;
    for (int32_t q = 0; q < plan->ints[0]; q++, query += DIMENSIONS, out += DIMENSIONS) {
        const float *key = plan->buffers[1].data, *value = plan->buffers[2].data;
        double sums[DIMENSIONS] = {0}, weight = 0;
        for (int32_t k = 0; k < plan->ints[0]; k++, key += DIMENSIONS, value += DIMENSIONS) {
            double score = 0;
            for (int32_t d = 0; d < DIMENSIONS; d++)
                score += (double)query[d] * (double)key[d];
            weight += exp(score);
            for (int32_t d = 0; d < DIMENSIONS; d++)
                sums[d] += exp(score) * (double)value[d];
        }
        for (int32_t d = 0; d < DIMENSIONS; d++)
            out[d] = (float)(sums[d] / weight);
    }
}

/* Pairs of f16 between 1/2 and 1, of both signs. */
static void plan_pairs(struct kernel_plan *plan, size_t pairs) {
    int32_t *words = plan_words(plan, pairs, 0);
    for (size_t i = 0; i < pairs; i++) {
        uint32_t low = plan_random(plan) & 0x83ff, high = plan_random(plan) & 0x83ff;
        words[i] = (int32_t)((high | 0x3800) << 16 | low | 0x3800);
    }
}

static float half_at(const uint32_t *pairs, int32_t i) {
    uint32_t bits = pairs[i / 2] >> (i % 2 * 16);
    float size = 0.5f + (float)(bits & 0x3ff) * 0x1p-11f;
    return bits & 0x8000 ? -size : size;
}

static void plan_dense(struct kernel_plan *plan, int32_t n) {
    plan_shape_2(plan, (uint32_t)n / 32, (uint32_t)n / 16, 128, 1);
    plan_pairs(plan, (size_t)n * (size_t)n / 2);
    plan_pairs(plan, (size_t)n * (size_t)n / 2);
    plan_zeros(plan, (size_t)n * (size_t)n);
    plan_int(plan, n);
}

static void dense_f16(const struct kernel_plan *plan) {
    const uint32_t *inputs = plan->buffers[0].data, *weights = plan->buffers[1].data;
    float *out = plan->buffers[2].data;
    int32_t n = plan->ints[0];
    for (int32_t i = 0; i < n * n; i++) {
        float sum = 0;
        for (int32_t k = 0; k < n; k++)
            sum += half_at(inputs, i / n * n + k) * half_at(weights, i % n * n + k);
        out[i] = sum;
    }
}

/* The twins of the first four are in double precision. */
static const struct kernel_case cases[] = {
    {"softmax", plan_softmax, softmax, 20, 1 << 14, 2e-6},
    {"layer_norm", plan_layer_norm, layer_norm, 9, 1 << 14, 1e-5},
    {"gelu", plan_gelu, gelu, 3000, 1 << 22, 1e-5},
    {"attention", plan_attention, attention, 128, 1024, 1e-5},
    {"dense_f16", plan_dense, dense_f16, 64, 256, 1e-5},
};
KERNEL_TOPIC(neural);
