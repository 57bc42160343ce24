/*
 * Trains a network with a very large input layer, one hidden layer and one output. The device does
 * what grows with the input layer: the hidden layer's sums, in groups, and the change of all its
 * weights. The host does the few units after that, whose results kernels find in constant memory.
 */
#include "common.h"

#include "host/backprop.h"

__constant__ float steps[HIDDEN];

__global__ void forward(const float *inputs, const float *weights, float *partial_sums) {
    __shared__ float products[INPUTS_PER_GROUP][HIDDEN];
    const unsigned hidden = threadIdx.x, row = threadIdx.y;
    const size_t input = blockIdx.x * (size_t)INPUTS_PER_GROUP + row;
    products[row][hidden] = inputs[input] * weights[input * HIDDEN + hidden];
    __syncthreads();
    for (unsigned reach = INPUTS_PER_GROUP / 2; reach > 0; reach /= 2) {
        if (row < reach)
            products[row][hidden] += products[row + reach][hidden];
        __syncthreads();
    }
    if (row == 0)
        partial_sums[blockIdx.x * (size_t)HIDDEN + hidden] = products[0][hidden];
}

__global__ void adjust(const float *inputs, float *weights, float *changes) {
    const unsigned hidden = threadIdx.x;
    const size_t input = blockIdx.x * (size_t)INPUTS_PER_GROUP + threadIdx.y;
    const size_t weight = input * HIDDEN + hidden;
    const float change = steps[hidden] * inputs[input] + MOMENTUM * changes[weight];
    weights[weight] += change;
    changes[weight] = change;
}

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &backprop_problem, NULL, argc, argv);
    const size_t groups = backprop_groups(&work), inputs = groups * INPUTS_PER_GROUP;
    const dim3 group(HIDDEN, INPUTS_PER_GROUP);
    float *host_inputs = backprop_inputs(inputs, work.seed);
    float *host_weights = backprop_weights(inputs, work.seed);
    float *host_sums = (float *)host_pages(groups * HIDDEN * sizeof(float));
    struct network_end end = backprop_end(work.seed);
    float *input_layer = device_array<float>(&work, inputs);
    float *weights = device_array<float>(&work, inputs * HIDDEN);
    float *changes = device_array<float>(&work, inputs * HIDDEN);
    float *partial_sums = device_array<float>(&work, groups * HIDDEN);

    work_start_clock(&work);
    upload(input_layer, host_inputs, inputs);
    upload(weights, host_weights, inputs * HIDDEN);
    CHECK(cudaMemset(changes, 0, inputs * HIDDEN * sizeof(float)));
    free(host_inputs);
    free(host_weights);
    for (size_t i = 0; i < work.iterations; i++) {
        forward<<<(unsigned)groups, group>>>(input_layer, weights, partial_sums);
        CHECK(cudaMemcpy(host_sums, partial_sums, groups * HIDDEN * sizeof(float),
                         cudaMemcpyDeviceToHost));
        double sums[HIDDEN];
        float host_steps[HIDDEN];
        backprop_add_sums(host_sums, groups, sums);
        backprop_train_end(&end, sums, inputs, host_steps);
        CHECK(cudaMemcpyToSymbol(steps, host_steps, sizeof(host_steps)));
        adjust<<<(unsigned)groups, group>>>(input_layer, weights, changes);
        end_iteration(&work);
    }
    float *got_weights = download(weights, inputs * HIDDEN);
    float *got_changes = download(changes, inputs * HIDDEN);
    stop_clock(&work);
    free(host_sums);

    if (work.check)
        backprop_check(&work, got_weights, got_changes);
    free(got_changes);
    free(got_weights);
    float *const all[] = {partial_sums, changes, weights, input_layer};
    for (float *array : all)
        CHECK(cudaFree(array));
    return work_close(&work);
}
