#include "backprop.h"

#include <math.h>
#include <stdlib.h>

const struct problem backprop_problem = {
    .default_iterations = 3,
    .iteration_is = "one forward and one backward pass",
};

size_t backprop_groups(const struct work *work) {
    return work->size / ((INPUTS_PER_GROUP * (1 + 2 * HIDDEN) + HIDDEN) * sizeof(float));
}

static const double target = 0.9;

static double squash(double sum) {
    return 1 / (1 + exp(-sum));
}

void backprop_train_end(struct network_end *end, const double *sums, size_t inputs, float *steps) {
    const double rate = 0.3;
    const double input_rate = 64 / (double)inputs;
    double hidden[HIDDEN];
    double sum = 0;
    for (size_t i = 0; i < HIDDEN; ++i) {
        hidden[i] = squash(sums[i]);
        sum += hidden[i] * end->weights[i];
    }
    const double output = squash(sum);
    const double output_delta = output * (1 - output) * (target - output);
    for (size_t i = 0; i < HIDDEN; ++i) {
        const double delta = hidden[i] * (1 - hidden[i]) * output_delta * end->weights[i];
        steps[i] = (float)(input_rate * delta);
        end->changes[i] = rate * output_delta * hidden[i] + (double)MOMENTUM * end->changes[i];
        end->weights[i] += end->changes[i];
    }
}

struct network_end backprop_end(uint64_t seed) {
    const uint64_t key = random_key(seed, 'e');
    struct network_end end = {{0}, {0}};
    for (size_t i = 0; i < HIDDEN; ++i)
        end.weights[i] = (double)random_unit(key, i) - 0.5;
    return end;
}

/* From -scale to scale. */
static float *make_centered(size_t count, uint64_t key, float scale) {
    float *values = host_pages(count * sizeof(float));
    for (size_t i = 0; i < count; ++i)
        values[i] = scale * (2.0f * random_unit(key, i) - 1.0f);
    return values;
}

/* The first input unit is the bias: always 1. */
float *backprop_inputs(size_t inputs, uint64_t seed) {
    float *values = make_centered(inputs, random_key(seed, 'i'), 1.0f);
    values[0] = 1.0f;
    return values;
}

/* The more inputs, the smaller their weights: the sums must not saturate the hidden units. */
static float weight_scale(size_t inputs) {
    return 1.0f / sqrtf((float)inputs);
}

float *backprop_weights(size_t inputs, uint64_t seed) {
    return make_centered(inputs * HIDDEN, random_key(seed, 'w'), weight_scale(inputs));
}

void backprop_add_sums(const float *partial_sums, size_t groups, double *sums) {
    for (size_t i = 0; i < HIDDEN; ++i)
        sums[i] = 0;
    for (size_t group = 0; group < groups; ++group)
        for (size_t i = 0; i < HIDDEN; ++i)
            sums[i] += (double)partial_sums[group * HIDDEN + i];
}

static void reference_epoch(struct network_end *end, const float *inputs, float *weights,
                            float *changes, size_t count) {
    double sums[HIDDEN] = {0};
    for (size_t input = 0; input < count; ++input)
        for (size_t i = 0; i < HIDDEN; ++i)
            sums[i] += (double)inputs[input] * (double)weights[input * HIDDEN + i];

    float steps[HIDDEN];
    backprop_train_end(end, sums, count, steps);
    for (size_t input = 0; input < count; ++input)
        for (size_t i = 0; i < HIDDEN; ++i) {
            const size_t weight = input * HIDDEN + i;
            changes[weight] = steps[i] * inputs[input] + MOMENTUM * changes[weight];
            weights[weight] += changes[weight];
        }
}

/*
 * Weights may differ by the rounding of their own size. The changes are far smaller and would hide
 * in that, so they are checked too, and relative to the largest of them.
 */
void backprop_check(struct work *work, const float *weights, const float *changes) {
    const size_t inputs = backprop_groups(work) * INPUTS_PER_GROUP;
    const size_t count = inputs * HIDDEN;
    float *wanted_weights = backprop_weights(inputs, work->seed);
    float *wanted_changes = host_array(count, sizeof(float));
    float *host_inputs = backprop_inputs(inputs, work->seed);
    struct network_end end = backprop_end(work->seed);
    for (size_t i = 0; i < work->iterations; ++i)
        reference_epoch(&end, host_inputs, wanted_weights, wanted_changes, inputs);
    free(host_inputs);

    float largest_change = 0;
    for (size_t i = 0; i < count; ++i)
        largest_change = fmaxf(largest_change, fabsf(wanted_changes[i]));

    work_expect_floats(work, weights, wanted_weights, count, 2e-6 * (double)weight_scale(inputs));
    work_expect_floats(work, changes, wanted_changes, count, 1e-4 * (double)largest_change);
    free(wanted_changes);
    free(wanted_weights);
}
