#include "kernels.h"

#include <stdlib.h>

static void plan_sort(struct kernel_plan *plan, int32_t n, uint32_t block, uint32_t elements) {
    plan_shape(plan, (uint32_t)n, block);
    plan_words(plan, (size_t)n * elements, 100000);
}

static void plan_bitonic(struct kernel_plan *plan, int32_t n) {
    plan_sort(plan, n, 128, 256);
}

static void plan_odd_even(struct kernel_plan *plan, int32_t n) {
    plan_sort(plan, n, 64, 64);
}

static int compare(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void sort(const struct kernel_plan *plan) {
    size_t size = plan->buffers[0].size / plan->grid[0];
    for (uint32_t block = 0; block < plan->grid[0]; block++)
        qsort((char *)plan->buffers[0].data + block * size, size / 4, 4, compare);
}

static void plan_radix_pass(struct kernel_plan *plan, int32_t n) {
    plan_sort(plan, n, 128, 128);
    plan_words(plan, 128 * (size_t)n, 0);
    plan_int(plan, 4);
}

static void radix_pass(const struct kernel_plan *plan) {
    const int32_t *in = plan->buffers[0].data;
    int32_t *out = plan->buffers[1].data;
    for (uint32_t block = 0; block < plan->grid[0]; block++)
        for (int32_t digit = 0; digit < 16; digit++)
            for (uint32_t i = block * 128; i < block * 128 + 128; i++)
                if ((in[i] >> plan->ints[0] & 15) == digit)
                    *out++ = in[i];
}

static const struct kernel_case cases[] = {
    {"bitonic", plan_bitonic, sort, 12, 1 << 11, 0},
    {"odd_even", plan_odd_even, sort, 12, 1 << 12, 0},
    {"radix_pass", plan_radix_pass, radix_pass, 12, 1 << 12, 0},
};
KERNEL_TOPIC(sort);
