/*
 * Trains a network with a very large input layer, one hidden layer and one output. The device does
 * what grows with the input layer: the hidden layer's sums, in groups, and the change of all its
 * weights. The host does the few units after that.
 */
#include "common.h"

#include "host/backprop.h"

#include <stdlib.h>

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
    .problem = &backprop_problem,
    .kernels = kernels,
};

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel forward = app_kernel(&app, "forward");
    cl_kernel adjust = app_kernel(&app, "adjust");

    const size_t groups = backprop_groups(&app.work);
    const size_t inputs = groups * INPUTS_PER_GROUP;
    const size_t input_bytes = inputs * sizeof(float);
    const size_t weight_bytes = inputs * HIDDEN * sizeof(float);
    const size_t sum_bytes = groups * HIDDEN * sizeof(float);
    float *host_inputs = backprop_inputs(inputs, app.work.seed);
    float *host_weights = backprop_weights(inputs, app.work.seed);
    float *host_sums = host_pages(sum_bytes);
    struct network_end end = backprop_end(app.work.seed);
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
    for (size_t i = 0; i < app.work.iterations; ++i) {
        app_launch(&app, forward, all_weights, ARG(input_layer), ARG(weights), ARG(partial_sums));
        app_read(&app, partial_sums, sum_bytes, host_sums);
        double sums[HIDDEN];
        backprop_add_sums(host_sums, groups, sums);
        backprop_train_end(&end, sums, inputs, host_steps);
        app_write(&app, steps, sizeof(host_steps), host_steps);
        app_launch(&app, adjust, all_weights, ARG(input_layer), ARG(steps), ARG(weights),
                   ARG(changes));
        app_end_iteration(&app);
    }
    const float *got_weights = app_download(&app, weights, weight_bytes);
    const float *got_changes = app_download(&app, changes, weight_bytes);
    app_stop_clock(&app);
    free(host_sums);

    if (app.work.check)
        backprop_check(&app.work, got_weights, got_changes);
    return app_close(&app);
}
