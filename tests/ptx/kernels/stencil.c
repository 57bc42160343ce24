#include "kernels.h"

#include <math.h>

static void plan_1d(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, plan_blocks(n, 128), 128);
    plan_reals(plan, (size_t)n);
    plan_zeros(plan, (size_t)n);
    plan_int(plan, n);
}

static void stencil_1d(const struct kernel_plan *plan) {
    const float *in = plan->buffers[0].data;
    float *out = plan->buffers[1].data;
    int32_t n = plan->ints[0];
    for (int32_t i = 0; i < n; i++) {
        float sum = 0;
        for (int32_t k = i - 3; k <= i + 3; k++)
            sum += k >= 0 && k < n ? in[k] : 0;
        out[i] = sum / 7;
    }
}

static void plan_2d(struct kernel_plan *plan, int32_t n) {
    plan_shape_2(plan, plan_blocks(n, 32), plan_blocks(n + 5, 8), 32, 8);
    plan_reals(plan, (size_t)(n * (n + 5)));
    plan_zeros(plan, (size_t)(n * (n + 5)));
    plan_int(plan, n);
    plan_int(plan, n + 5);
}

static void stencil_2d(const struct kernel_plan *plan) {
    int32_t width = plan->ints[0];
    for (int32_t y = 1; y < plan->ints[1] - 1; y++)
        for (int32_t x = 1; x < width - 1; x++) {
            const float *at = (const float *)plan->buffers[0].data + y * width + x;
            float *out = plan->buffers[1].data;
            out[y * width + x] = 0.2f * (at[0] + at[-1] + at[1] + at[-width] + at[width]);
        }
}

static void plan_3d(struct kernel_plan *plan, int32_t n) {
    plan_shape_2(plan, plan_blocks(n, 16), plan_blocks(n, 8), 16, 8);
    plan_reals(plan, (size_t)(n * n * n));
    plan_zeros(plan, (size_t)(n * n * n));
    plan_int(plan, n);
}

static void stencil_3d(const struct kernel_plan *plan) {
    int32_t n = plan->ints[0];
    for (int32_t i = 0; i < n * n * n; i++) {
        int32_t x = i % n, y = i / n % n, z = i / n / n;
        if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1)
            continue;
        const float *at = (const float *)plan->buffers[0].data + i;
        float *out = plan->buffers[1].data;
        out[i] = (at[-1] + at[1]) + (at[-n] + at[n]) + (at[-n * n] + at[n * n]) - at[0];
    }
}

static void plan_hotspot(struct kernel_plan *plan, int32_t n) {
    plan_shape_2(plan, plan_blocks(n, 12), plan_blocks(n, 12), 16, 16);
    plan_reals(plan, (size_t)(n * n));
    plan_reals(plan, (size_t)(n * n));
    plan_zeros(plan, (size_t)(n * n));
    plan_int(plan, n);
}

static float heat_at(const struct kernel_plan *plan, int32_t x, int32_t y, int32_t steps) {
    const float *heat = plan->buffers[0].data, *power = plan->buffers[1].data;
    int32_t n = plan->ints[0];
    if (x < 0 || y < 0 || x >= n || y >= n)
        return 0;
    if (steps == 0)
        return heat[y * n + x];
    float around = (heat_at(plan, x - 1, y, steps - 1) + heat_at(plan, x + 1, y, steps - 1)) +
                   (heat_at(plan, x, y - 1, steps - 1) + heat_at(plan, x, y + 1, steps - 1));
    return fmaf(0.25f, around, power[y * n + x]);
}

static void hotspot(const struct kernel_plan *plan) {
    float *out = plan->buffers[2].data;
    int32_t n = plan->ints[0];
    for (int32_t i = 0; i < n * n; i++)
        out[i] = heat_at(plan, i % n, i / n, 2);
}

static void plan_life(struct kernel_plan *plan, int32_t n) {
    plan_shape_2(plan, (uint32_t)n / 32, (uint32_t)n / 4, 32, 4);
    plan_words(plan, (size_t)(n * n), 2);
    plan_words(plan, (size_t)(n * n), 0);
    plan_int(plan, n);
}

static void life(const struct kernel_plan *plan) {
    const int32_t *in = plan->buffers[0].data;
    int32_t *out = plan->buffers[1].data, n = plan->ints[0];
    for (int32_t i = 0; i < n * n; i++) {
        int32_t count = -in[i];
        for (int32_t k = 0; k < 9; k++)
            count += in[(i / n + k / 3 - 1 + n) % n * n + (i % n + k % 3 - 1 + n) % n];
        out[i] = count == 3 || (count == 2 && in[i]);
    }
}

static const struct kernel_case cases[] = {
    {"stencil_1d", plan_1d, stencil_1d, 5000, 1 << 22, 0},
    {"stencil_2d", plan_2d, stencil_2d, 90, 2048, 0},
    {"stencil_3d", plan_3d, stencil_3d, 30, 192, 0},
    {"hotspot", plan_hotspot, hotspot, 50, 1024, 0},
    {"life", plan_life, life, 64, 1024, 0},
};
KERNEL_TOPIC(stencil);
