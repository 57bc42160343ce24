#include "kernels.h"

static void plan_strided(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, 6, 128);
    plan_words(plan, (size_t)n, 64);
    plan_words(plan, 64, 0);
    plan_int(plan, n);
}

static void plan_direct(struct kernel_plan *plan, int32_t n) {
    plan_strided(plan, n);
    plan_shape(plan, plan_blocks(n, 96), 96);
}

static void histogram(const struct kernel_plan *plan) {
    const int32_t *values = plan->buffers[0].data;
    int32_t *bins = plan->buffers[1].data;
    for (int32_t i = 0; i < plan->ints[0]; i++)
        bins[values[i]]++;
}

static void count_odd(const struct kernel_plan *plan) {
    const int32_t *values = plan->buffers[0].data;
    int32_t *bins = plan->buffers[1].data;
    for (int32_t i = 0; i < plan->ints[0]; i++)
        bins[0] += values[i] % 2;
}

static const struct kernel_case cases[] = {
    {"histogram_global", plan_strided, histogram, 10000, 1 << 20, 0},
    {"histogram_shared", plan_strided, histogram, 10000, 1 << 21, 0},
    {"histogram_match", plan_direct, histogram, 5000, 1 << 19, 0},
    {"count_odd", plan_direct, count_odd, 5000, 1 << 21, 0},
};
KERNEL_TOPIC(histogram);
