#include "kernels.h"

#include <math.h>

static void plan_nbody(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, (uint32_t)n / 128, 128);
    plan_reals(plan, 4 * (size_t)n);
    plan_zeros(plan, 4 * (size_t)n);
    plan_int(plan, n);
}

static void nbody(const struct kernel_plan *plan) {
    const float *bodies = plan->buffers[0].data;
    float *pulls = plan->buffers[1].data;
    for (int32_t i = 0; i < plan->ints[0]; i++) {
        double sums[3] = {0};
        for (int32_t k = 0; k < plan->ints[0]; k++) {
            double way[3], square = 0.01;
            for (int32_t d = 0; d < 3; d++) {
                way[d] = (double)bodies[4 * k + d] - (double)bodies[4 * i + d];
                square += way[d] * way[d];
            }
            for (int32_t d = 0; d < 3; d++)
                sums[d] += (double)bodies[4 * k + 3] * way[d] / (square * sqrt(square));
        }
        for (int32_t d = 0; d < 3; d++)
            pulls[4 * i + d] = (float)sums[d];
    }
}

static void plan_monte_carlo(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, (uint32_t)n / 64, 64);
    plan_words(plan, (size_t)n, 0);
    plan_int(plan, 20);
    plan_int(plan, 34);
}

static void philox(uint32_t counter[4], uint32_t key) {
    uint32_t other = 0;
    for (int32_t round = 0; round < 10; round++) {
        uint64_t a = UINT64_C(0xd2511f53) * counter[0], b = UINT64_C(0xcd9e8d57) * counter[2];
        counter[0] = (uint32_t)(b >> 32) ^ counter[1] ^ key;
        counter[1] = (uint32_t)b;
        counter[2] = (uint32_t)(a >> 32) ^ counter[3] ^ other;
        counter[3] = (uint32_t)a;
        key += 0x9e3779b9;
        other += 0xbb67ae85;
    }
}

static void monte_carlo(const struct kernel_plan *plan) {
    int32_t *counts = plan->buffers[0].data;
    for (uint32_t thread = 0; thread < plan->grid[0] * 64; thread++)
        for (int32_t i = 0; i < plan->ints[0]; i++) {
            uint32_t random[4] = {(uint32_t)i, thread, 0, 0};
            philox(random, (uint32_t)plan->ints[1]);
            for (int32_t k = 0; k < 4; k += 2) {
                float x = (float)(random[k] >> 8) * 0x1p-24f;
                float y = (float)(random[k + 1] >> 8) * 0x1p-24f;
                counts[thread] += fmaf(x, x, y * y) < 1;
            }
        }
}

/* The sums are of n numbers up to 1000, in single and in double precision. */
static const struct kernel_case cases[] = {
    {"nbody", plan_nbody, nbody, 256, 2048, 2e-4},
    {"monte_carlo", plan_monte_carlo, monte_carlo, 192, 1 << 15, 0},
};
KERNEL_TOPIC(physics);
