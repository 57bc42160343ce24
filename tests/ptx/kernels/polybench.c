#include "kernels.h"

#include <math.h>

static void plan_mvt(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, plan_blocks(n, 256), 256);
    plan_reals(plan, (size_t)n * (size_t)n);
    plan_reals(plan, (size_t)n);
    plan_reals(plan, (size_t)n);
    plan_int(plan, n);
}

static void mvt(const struct kernel_plan *plan, bool transposed) {
    const float *a = plan->buffers[0].data, *y = plan->buffers[1].data;
    float *x = plan->buffers[2].data;
    int32_t n = plan->ints[0];
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++)
            x[i] = fmaf(a[transposed ? j * n + i : i * n + j], y[j], x[i]);
}

static void mvt_rows(const struct kernel_plan *plan) {
    mvt(plan, false);
}

static void mvt_columns(const struct kernel_plan *plan) {
    mvt(plan, true);
}

static void plan_convolution(struct kernel_plan *plan, int32_t n) {
    plan_shape_2(plan, plan_blocks(n, 32), plan_blocks(n, 8), 32, 8);
    plan_reals(plan, (size_t)n * (size_t)n);
    plan_zeros(plan, (size_t)n * (size_t)n);
    plan_int(plan, n);
}

static void convolution(const struct kernel_plan *plan) {
    static const float weights[9] = {0.2f, 0.5f, -0.8f, -0.3f, 0.6f, -0.9f, 0.4f, 0.7f, 0.1f};
    const float *a = plan->buffers[0].data;
    float *b = plan->buffers[1].data;
    int32_t n = plan->ints[0];
    for (int32_t y = 1; y < n - 1; y++)
        for (int32_t x = 1; x < n - 1; x++) {
            float sum = 0;
            for (int32_t k = 0; k < 9; k++)
                sum = fmaf(weights[k], a[(y + k / 3 - 1) * n + x + k % 3 - 1], sum);
            b[y * n + x] = sum;
        }
}

static const struct kernel_case cases[] = {
    {"mvt_rows", plan_mvt, mvt_rows, 100, 1200, 0},
    {"mvt_columns", plan_mvt, mvt_columns, 100, 1200, 0},
    {"convolution", plan_convolution, convolution, 75, 2048, 0},
};
KERNEL_TOPIC(polybench);
