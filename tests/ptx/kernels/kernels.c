#include "kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t element_size[] = {[KERNEL_WORDS] = 4,
                                      [KERNEL_LONGS] = 8,
                                      [KERNEL_HALVES] = 2,
                                      [KERNEL_REALS] = 4,
                                      [KERNEL_DOUBLES] = 8};

void plan_shape(struct kernel_plan *plan, uint32_t grid, uint32_t block) {
    plan_shape_2(plan, grid, 1, block, 1);
}

void plan_shape_2(struct kernel_plan *plan, uint32_t grid_x, uint32_t grid_y, uint32_t block_x,
                  uint32_t block_y) {
    plan->grid[0] = grid_x;
    plan->grid[1] = grid_y;
    plan->block[0] = block_x;
    plan->block[1] = block_y;
}

uint32_t plan_blocks(int32_t n, uint32_t block) {
    return ((uint32_t)n + block - 1) / block;
}

void plan_int(struct kernel_plan *plan, int32_t value) {
    plan->ints[plan->int_count++] = value;
}

void plan_float(struct kernel_plan *plan, float value) {
    plan->floats[plan->float_count++] = value;
}

uint32_t plan_random(struct kernel_plan *plan) {
    plan->seed = plan->seed * 1664525u + 1013904223u;
    return plan->seed >> 8;
}

static double random_real(struct kernel_plan *plan) {
    return plan_random(plan) * 0x1p-23 - 1;
}

static void *add(struct kernel_plan *plan, enum kernel_type type, size_t count) {
    struct kernel_buffer *buffer = &plan->buffers[plan->buffer_count++];
    *buffer =
        (struct kernel_buffer){type, count * element_size[type], calloc(count, element_size[type])};
    if (buffer->data == NULL) {
        fprintf(stderr, "not enough memory for the data of a kernel\n");
        exit(1);
    }
    return buffer->data;
}

float *plan_zeros(struct kernel_plan *plan, size_t count) {
    return add(plan, KERNEL_REALS, count);
}

float *plan_reals(struct kernel_plan *plan, size_t count) {
    float *data = add(plan, KERNEL_REALS, count);
    for (size_t i = 0; i < count; i++)
        data[i] = (float)random_real(plan);
    return data;
}

uint16_t *plan_halves(struct kernel_plan *plan, size_t count) {
    uint16_t *data = add(plan, KERNEL_HALVES, count);
    for (size_t i = 0; i < count; i++)
        data[i] = half_of(random_real(plan));
    return data;
}

double *plan_doubles(struct kernel_plan *plan, size_t count) {
    double *data = add(plan, KERNEL_DOUBLES, count);
    for (size_t i = 0; i < count; i++)
        data[i] = random_real(plan);
    return data;
}

int32_t *plan_words(struct kernel_plan *plan, size_t count, uint32_t below) {
    int32_t *data = add(plan, KERNEL_WORDS, count);
    for (size_t i = 0; i < count && below != 0; i++)
        data[i] = (int32_t)(plan_random(plan) % below);
    return data;
}

int64_t *plan_longs(struct kernel_plan *plan, size_t count, uint32_t below) {
    int64_t *data = add(plan, KERNEL_LONGS, count);
    for (size_t i = 0; i < count && below != 0; i++)
        data[i] = (int64_t)(plan_random(plan) % below);
    return data;
}

/* A carry out of the fraction is one more in the exponent. */
uint16_t half_of(double value) {
    int exponent;
    double size = fabs(value), part = frexp(size, &exponent);
    long bits = exponent < -13 ? lrint(ldexp(size, 24))
                               : ((long)exponent + 13) * 1024 + lrint(ldexp(part, 11));
    return (uint16_t)(bits | (signbit(value) ? 0x8000 : 0));
}

double half_value(uint16_t half) {
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double size = exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25);
    return half & 0x8000 ? -size : size;
}

void kernel_plan_make(struct kernel_plan *plan, const struct kernel_case *kernel, int32_t n) {
    *plan = (struct kernel_plan){.grid = {1, 1, 1}, .block = {1, 1, 1}, .seed = 1};
    kernel->plan(plan, n);
}

void kernel_plan_free(struct kernel_plan *plan) {
    for (int i = 0; i < plan->buffer_count; i++)
        free(plan->buffers[i].data);
}

size_t kernel_plan_parameters(const struct kernel_plan *plan, void *const *buffers,
                              struct kernel_parameters *parameters) {
    size_t pointers = (size_t)plan->buffer_count * sizeof *buffers;
    size_t ints = (size_t)plan->int_count * sizeof *plan->ints;
    size_t floats = (size_t)plan->float_count * sizeof *plan->floats;
    char *at = (char *)parameters;
    memcpy(at, buffers, pointers);
    memcpy(at + pointers, plan->ints, ints);
    memcpy(at + pointers + ints, plan->floats, floats);
    return pointers + ints + floats;
}

double kernel_element(enum kernel_type type, const void *data, size_t at) {
    switch (type) {
    case KERNEL_WORDS:
        return ((const int32_t *)data)[at];
    case KERNEL_LONGS:
        return (double)((const int64_t *)data)[at];
    case KERNEL_HALVES:
        return half_value(((const uint16_t *)data)[at]);
    case KERNEL_REALS:
        return (double)((const float *)data)[at];
    case KERNEL_DOUBLES:
        return ((const double *)data)[at];
    }
    return 0;
}

long kernel_difference(const struct kernel_buffer *buffer, const void *found, double tolerance) {
    if (memcmp(buffer->data, found, buffer->size) == 0)
        return -1;
    bool exact = tolerance <= 0 || buffer->type == KERNEL_WORDS || buffer->type == KERNEL_LONGS;
    size_t size = element_size[buffer->type];
    for (size_t i = 0; i < buffer->size / size; i++) {
        double expected = kernel_element(buffer->type, buffer->data, i);
        double value = kernel_element(buffer->type, found, i);
        bool equal = memcmp((const char *)buffer->data + i * size, (const char *)found + i * size,
                            size) == 0;
        if (!equal && (exact || !(fabs(value - expected) <= tolerance * fmax(1, fabs(expected)))))
            return (long)i;
    }
    return -1;
}

extern const struct kernel_topic linear_topic, sparse_topic, stencil_topic, scan_topic, sort_topic,
    histogram_topic, graph_topic, fourier_topic, reduce_topic, neural_topic, physics_topic,
    polybench_topic, language_topic;

const struct kernel_topic *const kernel_topics[] = {
    &linear_topic,    &sparse_topic,    &stencil_topic, &scan_topic,   &sort_topic,
    &histogram_topic, &graph_topic,     &fourier_topic, &reduce_topic, &neural_topic,
    &physics_topic,   &polybench_topic, &language_topic};
const int kernel_topic_count = sizeof kernel_topics / sizeof *kernel_topics;
