#include "kernels.h"

#include <math.h>

static void plan_roots(struct kernel_plan *plan, int32_t n) {
    float *roots = plan_zeros(plan, 2 * (size_t)n);
    for (int32_t k = 0; k < n; k++) {
        roots[2 * k] = (float)cos(-6.283185307179586 * k / n);
        roots[2 * k + 1] = (float)sin(-6.283185307179586 * k / n);
    }
}

static void plan_fft(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, (uint32_t)n, 128);
    plan_reals(plan, 512 * (size_t)n);
    plan_roots(plan, 256);
}

static void plan_dft(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, (uint32_t)n / 64, 64);
    plan_reals(plan, 2 * (size_t)n);
    plan_zeros(plan, 2 * (size_t)n);
    plan_roots(plan, n);
    plan_int(plan, n);
}

static void transform(const float *in, float *out, const float *roots, int32_t n) {
    for (int32_t k = 0; k < n; k++) {
        double real = 0, imaginary = 0;
        for (int32_t i = 0; i < n; i++) {
            const float *root = roots + 2 * (k * i % n), *value = in + 2 * (size_t)i;
            real += (double)root[0] * (double)value[0] - (double)root[1] * (double)value[1];
            imaginary += (double)root[0] * (double)value[1] + (double)root[1] * (double)value[0];
        }
        out[2 * k] = (float)real;
        out[2 * k + 1] = (float)imaginary;
    }
}

static void fft(const struct kernel_plan *plan) {
    float *data = plan->buffers[0].data, in[512];
    for (uint32_t block = 0; block < plan->grid[0]; block++, data += 512) {
        for (int32_t i = 0; i < 512; i++)
            in[i] = data[i];
        transform(in, data, plan->buffers[1].data, 256);
    }
}

static void dft(const struct kernel_plan *plan) {
    transform(plan->buffers[0].data, plan->buffers[1].data, plan->buffers[2].data, plan->ints[0]);
}

/* Sums of n numbers below 1, in an order of their own, beside sums in double precision. */
static const struct kernel_case cases[] = {
    {"fft", plan_fft, fft, 3, 1 << 12, 2e-5},
    {"dft", plan_dft, dft, 256, 2048, 2e-4},
};
KERNEL_TOPIC(fourier);
