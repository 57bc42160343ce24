#include "kernels.h"

static void plan_scan(struct kernel_plan *plan, int32_t n, uint32_t elements) {
    plan_shape(plan, (uint32_t)n, 128);
    plan_words(plan, (size_t)n * elements, 1000);
    plan_words(plan, (size_t)n * elements, 0);
}

static void plan_128(struct kernel_plan *plan, int32_t n) {
    plan_scan(plan, n, 128);
}

static void plan_256(struct kernel_plan *plan, int32_t n) {
    plan_scan(plan, n, 256);
}

static void scan(const struct kernel_plan *plan, size_t elements, bool inclusive) {
    const int32_t *in = plan->buffers[0].data;
    int32_t *out = plan->buffers[1].data, sum = 0;
    for (size_t i = 0; i < plan->grid[0] * elements; i++) {
        if (i % elements == 0)
            sum = 0;
        int32_t before = sum;
        sum += in[i];
        out[i] = inclusive ? sum : before;
    }
}

static void scan_128(const struct kernel_plan *plan) {
    scan(plan, 128, true);
}

static void scan_256(const struct kernel_plan *plan) {
    scan(plan, 256, false);
}

static void plan_compact(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, (uint32_t)n, 64);
    plan_words(plan, (size_t)n * 64, 1000);
    plan_words(plan, (size_t)n * 64, 0);
    plan_words(plan, (size_t)n, 0);
}

static void compact(const struct kernel_plan *plan) {
    const int32_t *in = plan->buffers[0].data;
    int32_t *out = plan->buffers[1].data, *counts = plan->buffers[2].data;
    for (uint32_t i = 0; i < plan->grid[0] * 64; i++) {
        uint32_t block = i / 64;
        out[i] = -1;
        if (in[i] % 3 == 0)
            out[block * 64 + (uint32_t)counts[block]++] = in[i];
    }
}

static const struct kernel_case cases[] = {
    {"scan_hillis", plan_128, scan_128, 20, 1 << 14, 0},
    {"scan_blelloch", plan_256, scan_256, 20, 1 << 14, 0},
    {"scan_warp", plan_128, scan_128, 20, 1 << 14, 0},
    {"compact", plan_compact, compact, 20, 1 << 14, 0},
};
KERNEL_TOPIC(scan);
