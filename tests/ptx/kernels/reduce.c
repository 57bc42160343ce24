#include "kernels.h"

static void plan_tree(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, (uint32_t)n, 256);
    plan_reals(plan, 256 * (size_t)n);
    plan_zeros(plan, (size_t)n);
}

/* Adds pairs that are far from each other first. */
static void tree(const struct kernel_plan *plan, uint32_t size) {
    const float *in = plan->buffers[0].data;
    float *sums = plan->buffers[1].data, values[256];
    size_t count = plan->buffers[1].size / sizeof *sums;
    for (size_t k = 0; k < count; k++) {
        for (uint32_t i = 0; i < size; i++)
            values[i] = in[k * size + i];
        for (uint32_t half = size / 2; half > 0; half /= 2)
            for (uint32_t i = 0; i < half; i++)
                values[i] += values[i + half];
        sums[k] = values[0];
    }
}

static void reduce_tree(const struct kernel_plan *plan) {
    tree(plan, 256);
}

static void plan_shuffle(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, (uint32_t)n, 128);
    plan_reals(plan, 128 * (size_t)n);
    plan_zeros(plan, 4 * (size_t)n);
}

static void reduce_shuffle(const struct kernel_plan *plan) {
    tree(plan, 32);
}

static void plan_last(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, 16, 64);
    plan_words(plan, (size_t)n, 1000);
    plan_words(plan, 16, 0);
    plan_words(plan, 1, 0);
    plan_words(plan, 1, 0);
    plan_int(plan, n);
}

static void reduce_last(const struct kernel_plan *plan) {
    const int32_t *in = plan->buffers[0].data;
    int32_t *sums = plan->buffers[1].data, *total = plan->buffers[2].data;
    for (int32_t i = 0; i < plan->ints[0]; i++) {
        sums[i / 64 % 16] += in[i];
        total[0] += in[i];
    }
}

static void plan_argmax(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, (uint32_t)n, 128);
    float *in = plan_reals(plan, 128 * (size_t)n);
    for (int32_t i = 0; i < 128 * n; i++)
        in[i] = (float)(int32_t)(in[i] * 50);
    plan_words(plan, (size_t)n, 0);
}

static void argmax(const struct kernel_plan *plan) {
    const float *in = plan->buffers[0].data;
    int32_t *places = plan->buffers[1].data;
    for (uint32_t block = 0; block < plan->grid[0]; block++, in += 128)
        for (int32_t i = 1; i < 128; i++)
            if (in[i] > in[places[block]])
                places[block] = i;
}

static void plan_redux(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, (uint32_t)n, 64);
    plan_words(plan, 64 * (size_t)n, 1000);
    plan_words(plan, 8 * (size_t)n, 0);
}

static void redux(const struct kernel_plan *plan) {
    const int32_t *in = plan->buffers[0].data;
    int32_t *out = plan->buffers[1].data;
    for (uint32_t warp = 0; warp < 2 * plan->grid[0]; warp++, out += 4) {
        out[1] = 500;
        out[2] = -500;
        for (uint32_t i = warp * 32; i < warp * 32 + 32; i++) {
            int32_t value = in[i] - 500;
            out[0] += value;
            out[1] = value < out[1] ? value : out[1];
            out[2] = value > out[2] ? value : out[2];
            out[3] ^= value;
        }
    }
}

static void plan_votes(struct kernel_plan *plan, int32_t n) {
    plan_shape(plan, (uint32_t)n, 96);
    int32_t *in = plan_words(plan, 96 * (size_t)n, 1000);
    for (int32_t i = 0; i < 96; i++)
        in[i] = 501;
    plan_words(plan, 96 * (size_t)n, 0);
}

static void votes(const struct kernel_plan *plan) {
    const int32_t *in = plan->buffers[0].data;
    int32_t *out = plan->buffers[1].data;
    for (uint32_t block = 0; block < plan->grid[0]; block++, in += 96) {
        int32_t count = 0;
        for (int32_t i = 0; i < 96; i++)
            count += in[i] > 500;
        for (int32_t i = 0; i < 96; i++)
            *out++ = count * 4 + (count == 96 ? 2 : 0) + (count > 0 ? 1 : 0);
    }
}

static const struct kernel_case cases[] = {
    {"reduce_tree", plan_tree, reduce_tree, 20, 1 << 14, 0},
    {"reduce_shuffle", plan_shuffle, reduce_shuffle, 20, 1 << 14, 0},
    {"reduce_last", plan_last, reduce_last, 20000, 1 << 23, 0},
    {"argmax", plan_argmax, argmax, 20, 1 << 14, 0},
    {"redux", plan_redux, redux, 20, 1 << 14, 0},
    {"votes", plan_votes, votes, 20, 1 << 13, 0},
};
KERNEL_TOPIC(reduce);
