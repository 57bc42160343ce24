#include "kernels.h"

#include <math.h>

#define ROW_MAX 64u

/* Rows of up to ROW_MAX elements, some empty. */
static void plan_csr(struct kernel_plan *plan, int32_t n) {
    size_t rows = (size_t)n;
    int32_t *starts = plan_words(plan, rows + 1, 0);
    for (size_t i = 0; i < rows; i++) {
        uint32_t size = plan_random(plan) % ROW_MAX;
        starts[i + 1] = starts[i] + (int32_t)(size < 9 ? 0 : size);
    }
    size_t count = (size_t)starts[rows] + 1;
    plan_words(plan, count, (uint32_t)n);
    plan_reals(plan, count);
    plan_reals(plan, rows);
    plan_zeros(plan, rows);
    plan_int(plan, n);
}

static void plan_csr_scalar(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, plan_blocks(n, 64), 64);
    plan_csr(plan, n);
}

static void csr_scalar(const struct kernel_plan *plan) {
    const int32_t *starts = plan->buffers[0].data, *columns = plan->buffers[1].data;
    const float *values = plan->buffers[2].data, *x = plan->buffers[3].data;
    float *y = plan->buffers[4].data;
    for (int32_t row = 0; row < plan->ints[0]; row++) {
        float sum = 0;
        for (int32_t k = starts[row]; k < starts[row + 1]; k++)
            sum = fmaf(values[k], x[columns[k]], sum);
        y[row] = sum;
    }
}

static void plan_csr_vector(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, plan_blocks(n, 4), 128);
    plan_csr(plan, n);
}

static void csr_vector(const struct kernel_plan *plan) {
    const int32_t *starts = plan->buffers[0].data, *columns = plan->buffers[1].data;
    const float *values = plan->buffers[2].data, *x = plan->buffers[3].data;
    float *y = plan->buffers[4].data;
    for (int32_t row = 0; row < plan->ints[0]; row++) {
        float lanes[32] = {0};
        for (int32_t k = starts[row]; k < starts[row + 1]; k++) {
            int32_t lane = (k - starts[row]) % 32;
            lanes[lane] = fmaf(values[k], x[columns[k]], lanes[lane]);
        }
        for (int32_t step = 16; step > 0; step /= 2)
            for (int32_t lane = 0; lane < step; lane++)
                lanes[lane] += lanes[lane + step];
        y[row] = lanes[0];
    }
}

static void plan_ell(struct kernel_plan *plan, int32_t n) {
    const int32_t width = 12;
    size_t count = (size_t)(n * width);
    plan_shape(plan, plan_blocks(n, 128), 128);
    int32_t *columns = plan_words(plan, count, (uint32_t)n);
    for (size_t i = 0; i < count; i += 1 + plan_random(plan) % 7)
        columns[i] = -1;
    plan_reals(plan, count);
    plan_reals(plan, (size_t)n);
    plan_zeros(plan, (size_t)n);
    plan_int(plan, n);
    plan_int(plan, width);
}

static void ell(const struct kernel_plan *plan) {
    const int32_t *columns = plan->buffers[0].data;
    const float *values = plan->buffers[1].data, *x = plan->buffers[2].data;
    float *y = plan->buffers[3].data;
    int32_t n = plan->ints[0];
    for (int32_t row = 0; row < n; row++)
        for (int32_t k = row; k < n * plan->ints[1]; k += n)
            if (columns[k] >= 0)
                y[row] = fmaf(values[k], x[columns[k]], y[row]);
}

static const struct kernel_case cases[] = {
    {"csr_scalar", plan_csr_scalar, csr_scalar, 500, 1 << 17, 0},
    {"csr_vector", plan_csr_vector, csr_vector, 301, 1 << 17, 0},
    {"ell", plan_ell, ell, 500, 1 << 19, 0},
};
KERNEL_TOPIC(sparse);
