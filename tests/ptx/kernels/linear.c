#include "kernels.h"

#include <math.h>

static void plan_gemv(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, plan_blocks(n, 64), 64);
    plan_reals(plan, (size_t)n * (size_t)n);
    plan_reals(plan, (size_t)n);
    plan_reals(plan, (size_t)n);
    plan_int(plan, n);
}

static void gemv(const struct kernel_plan *plan) {
    const float *a = plan->buffers[0].data, *x = plan->buffers[1].data;
    float *y = plan->buffers[2].data;
    int32_t n = plan->ints[0];
    for (int32_t row = 0; row < n; row++) {
        float sum = 0;
        for (int32_t k = 0; k < n; k++)
            sum = fmaf(a[row * n + k], x[k], sum);
        y[row] = sum;
    }
}

static void gemv_columns(const struct kernel_plan *plan) {
    const float *a = plan->buffers[0].data, *x = plan->buffers[1].data;
    float *y = plan->buffers[2].data;
    int32_t n = plan->ints[0];
    for (int32_t column = 0; column < n; column++)
        for (int32_t k = 0; k < n; k++)
            y[column] = fmaf(a[k * n + column], x[k], y[column]);
}

static void plan_gemm(struct kernel_plan *plan, int32_t n) {
    plan_shape_2(plan, plan_blocks(n, 16), plan_blocks(n, 16), 16, 16);
    plan_reals(plan, (size_t)n * (size_t)n);
    plan_reals(plan, (size_t)n * (size_t)n);
    plan_zeros(plan, (size_t)n * (size_t)n);
    plan_int(plan, n);
}

static void gemm(const struct kernel_plan *plan) {
    const float *a = plan->buffers[0].data, *b = plan->buffers[1].data;
    float *c = plan->buffers[2].data;
    int32_t n = plan->ints[0];
    for (int32_t i = 0; i < n * n; i++) {
        float sum = 0;
        for (int32_t k = 0; k < n; k++)
            sum = fmaf(a[i / n * n + k], b[k * n + i % n], sum);
        c[i] = sum;
    }
}

static void plan_transpose(struct kernel_plan *plan, int32_t n) {
    plan_shape_2(plan, plan_blocks(n, 16), plan_blocks(n, 16), 16, 16);
    plan_reals(plan, (size_t)n * (size_t)n);
    plan_zeros(plan, (size_t)n * (size_t)n);
    plan_int(plan, n);
}

static void transpose(const struct kernel_plan *plan) {
    const float *in = plan->buffers[0].data;
    float *out = plan->buffers[1].data;
    int32_t n = plan->ints[0];
    for (int32_t i = 0; i < n * n; i++)
        out[i] = in[i % n * n + i / n];
}

static void plan_axpy(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, plan_blocks(n, 256), 256);
    plan_reals(plan, (size_t)n);
    plan_reals(plan, (size_t)n);
    plan_int(plan, n);
    plan_float(plan, 1.7f);
}

static void axpy(const struct kernel_plan *plan) {
    const float *x = plan->buffers[0].data;
    float *y = plan->buffers[1].data;
    for (int32_t i = 0; i < plan->ints[0]; i++)
        y[i] = fmaf(plan->floats[0], x[i], y[i]);
}

static void plan_dot(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, 8, 128);
    plan_reals(plan, (size_t)n);
    plan_reals(plan, (size_t)n);
    plan_zeros(plan, 8);
    plan_int(plan, n);
}

static void dot(const struct kernel_plan *plan) {
    const float *x = plan->buffers[0].data, *y = plan->buffers[1].data;
    float *sums = plan->buffers[2].data;
    for (int32_t block = 0; block < 8; block++) {
        float warps[4];
        for (int32_t warp = 0; warp < 4; warp++) {
            float lanes[32] = {0};
            for (int32_t lane = 0; lane < 32; lane++)
                for (int32_t i = block * 128 + warp * 32 + lane; i < plan->ints[0]; i += 1024)
                    lanes[lane] = fmaf(x[i], y[i], lanes[lane]);
            for (int32_t step = 16; step > 0; step /= 2)
                for (int32_t lane = 0; lane < step; lane++)
                    lanes[lane] += lanes[lane + step];
            warps[warp] = lanes[0];
        }
        sums[block] = (warps[0] + warps[1]) + (warps[2] + warps[3]);
    }
}

static void plan_scal(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, 10, 96);
    plan_reals(plan, (size_t)n);
    plan_int(plan, n);
    plan_float(plan, -0.3f);
}

static void scal(const struct kernel_plan *plan) {
    float *x = plan->buffers[0].data;
    for (int32_t i = 0; i < plan->ints[0]; i++)
        x[i] *= plan->floats[0];
}

static void plan_nrm2(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, (uint32_t)n, 128);
    plan_reals(plan, 128 * (size_t)n);
    plan_zeros(plan, (size_t)n);
}

static void nrm2(const struct kernel_plan *plan) {
    const float *x = plan->buffers[0].data;
    float *norms = plan->buffers[1].data;
    for (uint32_t row = 0; row < plan->grid[0]; row++) {
        float sums[128];
        for (uint32_t i = 0; i < 128; i++)
            sums[i] = x[row * 128 + i] * x[row * 128 + i];
        for (uint32_t half = 64; half > 0; half /= 2)
            for (uint32_t i = 0; i < half; i++)
                sums[i] += sums[i + half];
        norms[row] = sqrtf(sums[0]);
    }
}

static void plan_lu_step(struct kernel_plan *plan, int32_t n) {
    plan_shape_2(plan, plan_blocks(n, 16), plan_blocks(n, 16), 16, 16);
    float *a = plan_reals(plan, (size_t)n * (size_t)n);
    a[3 * n + 3] = 2;
    plan_int(plan, n);
    plan_int(plan, 3);
}

static void lu_step(const struct kernel_plan *plan) {
    float *a = plan->buffers[0].data;
    int32_t n = plan->ints[0], k = plan->ints[1];
    for (int32_t row = k + 1; row < n; row++) {
        float factor = a[row * n + k] / a[k * n + k];
        for (int32_t column = k + 1; column < n; column++)
            a[row * n + column] = fmaf(-factor, a[k * n + column], a[row * n + column]);
    }
}

static const struct kernel_case cases[] = {
    {"gemv", plan_gemv, gemv, 100, 2048, 0},
    {"gemv_columns", plan_gemv, gemv_columns, 100, 2048, 0},
    {"gemm", plan_gemm, gemm, 40, 256, 0},
    {"gemm_tiled", plan_gemm, gemm, 48, 256, 0},
    {"transpose", plan_transpose, transpose, 1500, 2048, 0},
    {"axpy", plan_axpy, axpy, 2200001, 1 << 22, 0},
    {"dot", plan_dot, dot, 5000, 1 << 22, 0},
    {"scal", plan_scal, scal, 5000, 1 << 23, 0},
    {"nrm2", plan_nrm2, nrm2, 17, 1 << 15, 0},
    {"lu_step", plan_lu_step, lu_step, 60, 2048, 0},
};
KERNEL_TOPIC(linear);
