/*
 * Trains a network with a very large input layer, one hidden layer and one output. The device does
 * what grows with the input layer: the hidden layer's sums, in groups, and the change of all its
 * weights. The host does the few units after that.
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>

#define HIDDEN           16
#define INPUTS_PER_GROUP 16
#define MOMENTUM         0.3f

static const char kernels[] = OPENCL_SOURCE(
    __kernel void forward(__global const float *inputs, __global const float *weights,
                          __global float *partial_sums) {
        __local float products[INPUTS_PER_GROUP][HIDDEN];
        const uint hidden = get_local_id(0);
        const uint row = get_local_id(1);
        const ulong input = get_global_id(1);
        products[row][hidden] = inputs[input] * weights[input * HIDDEN + hidden];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint reach = INPUTS_PER_GROUP / 2; reach > 0; reach /= 2) {
            if (row < reach)
                products[row][hidden] += products[row + reach][hidden];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (row == 0)
            partial_sums[get_group_id(1) * HIDDEN + hidden] = products[0][hidden];
    }

    __kernel void adjust(__global const float *inputs, __global const float *steps,
                         __global float *weights, __global float *changes) {
        const uint hidden = get_global_id(0);
        const ulong input = get_global_id(1);
        const ulong weight = input * HIDDEN + hidden;
        const float change = steps[hidden] * inputs[input] + MOMENTUM * changes[weight];
        weights[weight] += change;
        changes[weight] = change;
    });

static const struct program program = {
    .name = "backprop",
    .kernels = kernels,
    .default_iterations = 3,
    .iteration_is = "one forward and one backward pass",
};

/* The small end of the network: the hidden units' weights to the one output. */
struct network_end {
    double weights[HIDDEN], changes[HIDDEN];
};

static const double target = 0.9;

static double squash(double sum) {
    return 1 / (1 + exp(-sum));
}

/*
 * Takes the hidden units' input sums, trains the weights to the output, and gives the factor by
 * which each input changes its weight to each hidden unit. The learning rate is relative to the
 * number of inputs, so that any size of input layer learns at the same pace.
 */
static void train_end(struct network_end *end, const double *sums, size_t inputs, float *steps) {
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

static struct network_end make_end(uint64_t key) {
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
static float *make_inputs(size_t inputs, uint64_t seed) {
    float *values = make_centered(inputs, random_key(seed, 'i'), 1.0f);
    values[0] = 1.0f;
    return values;
}

/* The more inputs, the smaller their weights: the sums must not saturate the hidden units. */
static float weight_scale(size_t inputs) {
    return 1.0f / sqrtf((float)inputs);
}

static float *make_weights(size_t inputs, uint64_t seed) {
    return make_centered(inputs * HIDDEN, random_key(seed, 'w'), weight_scale(inputs));
}

static void add_partial_sums(const float *partial_sums, size_t groups, double *sums) {
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
    train_end(end, sums, count, steps);
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
static void check_weights(struct app *app, const float *weights, const float *changes,
                          size_t inputs) {
    const size_t count = inputs * HIDDEN;
    float *wanted_weights = make_weights(inputs, app->seed);
    float *wanted_changes = host_array(count, sizeof(float));
    float *host_inputs = make_inputs(inputs, app->seed);
    struct network_end end = make_end(random_key(app->seed, 'e'));
    for (size_t i = 0; i < app->iterations; ++i)
        reference_epoch(&end, host_inputs, wanted_weights, wanted_changes, inputs);
    free(host_inputs);

    float largest_change = 0;
    for (size_t i = 0; i < count; ++i)
        largest_change = fmaxf(largest_change, fabsf(wanted_changes[i]));

    app_expect_floats(app, weights, wanted_weights, count, 2e-6 * (double)weight_scale(inputs));
    app_expect_floats(app, changes, wanted_changes, count, 1e-4 * (double)largest_change);
    free(wanted_changes);
    free(wanted_weights);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel forward = app_kernel(&app, "forward");
    cl_kernel adjust = app_kernel(&app, "adjust");

    const size_t bytes_per_group = (INPUTS_PER_GROUP * (1 + 2 * HIDDEN) + HIDDEN) * sizeof(float);
    const size_t groups = app.size / bytes_per_group;
    const size_t inputs = groups * INPUTS_PER_GROUP;
    const size_t input_bytes = inputs * sizeof(float);
    const size_t weight_bytes = inputs * HIDDEN * sizeof(float);
    const size_t sum_bytes = groups * HIDDEN * sizeof(float);
    float *host_inputs = make_inputs(inputs, app.seed);
    float *host_weights = make_weights(inputs, app.seed);
    float *host_sums = host_pages(sum_bytes);
    struct network_end end = make_end(random_key(app.seed, 'e'));
    float host_steps[HIDDEN];

    cl_mem input_layer = app_buffer(&app, CL_MEM_READ_ONLY, input_bytes, NULL);
    cl_mem weights = app_buffer(&app, CL_MEM_READ_WRITE, weight_bytes, NULL);
    cl_mem changes = app_buffer(&app, CL_MEM_READ_WRITE, weight_bytes, NULL);
    cl_mem partial_sums = app_buffer(&app, CL_MEM_WRITE_ONLY, sum_bytes, NULL);
    cl_mem steps = app_buffer(&app, CL_MEM_READ_ONLY, sizeof(host_steps), NULL);
    const struct range all_weights = {2, {HIDDEN, inputs, 1}, {HIDDEN, INPUTS_PER_GROUP, 1}};
    const float zero = 0;

    app_start_clock(&app);
    app_write(&app, input_layer, input_bytes, host_inputs);
    app_write(&app, weights, weight_bytes, host_weights);
    app_fill(&app, changes, weight_bytes, &zero);
    free(host_inputs);
    free(host_weights);
    for (size_t i = 0; i < app.iterations; ++i) {
        app_launch(&app, forward, all_weights, ARG(input_layer), ARG(weights), ARG(partial_sums));
        app_read(&app, partial_sums, sum_bytes, host_sums);
        double sums[HIDDEN];
        add_partial_sums(host_sums, groups, sums);
        train_end(&end, sums, inputs, host_steps);
        app_write(&app, steps, sizeof(host_steps), host_steps);
        app_launch(&app, adjust, all_weights, ARG(input_layer), ARG(steps), ARG(weights),
                   ARG(changes));
        app_end_iteration(&app);
    }
    const float *got_weights = app_download(&app, weights, weight_bytes);
    const float *got_changes = app_download(&app, changes, weight_bytes);
    app_stop_clock(&app);
    free(host_sums);

    if (app.check)
        check_weights(&app, got_weights, got_changes, inputs);
    return app_close(&app);
}
