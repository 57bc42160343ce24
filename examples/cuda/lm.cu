/*
 * The language model in CUDA: the kernels of opencl/lm/kernels.c, and what host/lm/device.h asks of
 * a device. The products of matrices are cuBLAS's.
 */
#include "common.h"

#include "host/lm/train.h"

#include <cublas_v2.h>

#include <cmath>

/* ---- kernels ---- */

__device__ static size_t index_x() {
    return blockIdx.x * (size_t)blockDim.x + threadIdx.x;
}

__device__ static size_t index_y() {
    return blockIdx.y * (size_t)blockDim.y + threadIdx.y;
}

__global__ void embed(const uint8_t *inputs, const float *tokens, const float *positions,
                      float *out, size_t width, size_t rows, size_t context) {
    const size_t column = index_x();
    const size_t row = index_y();
    if (column < width && row < rows)
        out[row * width + column] =
            tokens[inputs[row] * width + column] + positions[row % context * width + column];
}

__global__ void normalize_rows(const float *in, const float *gain, const float *bias, float *out,
                               float2 *moments, size_t width, size_t rows) {
    const size_t row = index_x();
    if (row >= rows)
        return;
    in += row * width;
    float mean = 0.0f;
    for (size_t i = 0; i < width; ++i)
        mean += in[i];
    mean /= width;
    float variance = 0.0f;
    for (size_t i = 0; i < width; ++i)
        variance += (in[i] - mean) * (in[i] - mean);
    const float scale = 1.0f / sqrtf(variance / width + LM_EPSILON);
    for (size_t i = 0; i < width; ++i)
        out[row * width + i] = (in[i] - mean) * scale * gain[i] + bias[i];
    moments[row] = make_float2(mean, scale);
}

__global__ void start_linear(const float *bias, float *out, size_t width, size_t rows) {
    const size_t column = index_x();
    const size_t row = index_y();
    if (column < width && row < rows)
        out[row * width + column] = bias[column];
}

__global__ void start_residual(const float *bias, const float *carried, float *out, size_t width,
                               size_t rows) {
    const size_t column = index_x();
    const size_t row = index_y();
    if (column < width && row < rows)
        out[row * width + column] = carried[row * width + column] + bias[column];
}

/* One work-item a (text, head, position): how much that position attends to those before it. */
__global__ void attend(const float *qkv, float *weights, size_t width, size_t heads, size_t context,
                       size_t count) {
    const size_t item = index_x();
    if (item >= count)
        return;
    const size_t position = item % context;
    const size_t head = item / context % heads;
    const size_t first_row = item / context / heads * context;
    const size_t size = width / heads;
    const float *query = qkv + (first_row + position) * 3 * width + head * size;
    const float *keys = qkv + first_row * 3 * width + width + head * size;
    weights += item * context;
    float largest = -INFINITY;
    for (size_t i = 0; i <= position; ++i) {
        float score = 0.0f;
        for (size_t k = 0; k < size; ++k)
            score += query[k] * keys[i * 3 * width + k];
        weights[i] = score / sqrtf((float)size);
        largest = fmaxf(largest, weights[i]);
    }
    float sum = 0.0f;
    for (size_t i = 0; i <= position; ++i)
        sum += weights[i] = expf(weights[i] - largest);
    for (size_t i = 0; i < context; ++i)
        weights[i] = i <= position ? weights[i] / sum : 0.0f;
}

__global__ void gather_values(const float *qkv, const float *weights, float *out, size_t width,
                              size_t rows, size_t heads, size_t context) {
    const size_t column = index_x();
    const size_t row = index_y();
    if (column >= width || row >= rows)
        return;
    const size_t position = row % context;
    const size_t head = column / (width / heads);
    weights += ((row / context * heads + head) * context + position) * context;
    const float *values = qkv + (row - position) * 3 * width + 2 * width + column;
    float sum = 0.0f;
    for (size_t i = 0; i <= position; ++i)
        sum += weights[i] * values[i * 3 * width];
    out[row * width + column] = sum;
}

/* GELU in its tanh form. */
__global__ void activate(const float *in, float *out, size_t count) {
    const size_t i = index_x();
    if (i >= count)
        return;
    const float x = in[i];
    out[i] = 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

/* One work-item a row. Leaves the gradient of the mean loss where the logits were. */
__global__ void cross_entropy(float *logits, const uint8_t *targets, float *losses, size_t rows) {
    const size_t row = index_x();
    if (row >= rows)
        return;
    logits += row * LM_VOCABULARY;
    float largest = -INFINITY;
    for (unsigned i = 0; i < LM_VOCABULARY; ++i)
        largest = fmaxf(largest, logits[i]);
    float sum = 0.0f;
    for (unsigned i = 0; i < LM_VOCABULARY; ++i)
        sum += expf(logits[i] - largest);
    losses[row] = logf(sum) + largest - logits[targets[row]];
    for (unsigned i = 0; i < LM_VOCABULARY; ++i)
        logits[i] = (expf(logits[i] - largest) / sum - (i == targets[row])) / rows;
}

__global__ void normalize_backward(const float *in, const float2 *moments, const float *gain,
                                   const float *d_out, float *d_in, size_t width, size_t rows) {
    const size_t row = index_x();
    if (row >= rows)
        return;
    in += row * width;
    d_out += row * width;
    const float mean = moments[row].x;
    const float scale = moments[row].y;
    float sum = 0.0f;
    float sum_along = 0.0f; /* along the normalized row */
    for (size_t i = 0; i < width; ++i) {
        sum += d_out[i] * gain[i];
        sum_along += d_out[i] * gain[i] * (in[i] - mean) * scale;
    }
    for (size_t i = 0; i < width; ++i)
        d_in[row * width + i] +=
            scale * (d_out[i] * gain[i] - (sum + (in[i] - mean) * scale * sum_along) / width);
}

__global__ void normalize_gradients(const float *in, const float2 *moments, const float *d_out,
                                    float *d_gain, float *d_bias, size_t width, size_t rows) {
    const size_t column = index_x();
    if (column >= width)
        return;
    float gain_sum = 0.0f;
    float bias_sum = 0.0f;
    for (size_t row = 0; row < rows; ++row) {
        const float2 moment = moments[row];
        const size_t i = row * width + column;
        gain_sum += d_out[i] * (in[i] - moment.x) * moment.y;
        bias_sum += d_out[i];
    }
    d_gain[column] = gain_sum;
    d_bias[column] = bias_sum;
}

__global__ void bias_gradient(const float *d_out, float *d_bias, size_t width, size_t rows) {
    const size_t column = index_x();
    if (column >= width)
        return;
    float sum = 0.0f;
    for (size_t row = 0; row < rows; ++row)
        sum += d_out[row * width + column];
    d_bias[column] = sum;
}

__global__ void activate_backward(const float *in, float *d, size_t count) {
    const size_t i = index_x();
    if (i >= count)
        return;
    const float x = in[i];
    const float bent = tanhf(0.7978845608f * (x + 0.044715f * x * x * x));
    d[i] *= 0.5f * (1.0f + bent) +
            0.5f * x * (1.0f - bent * bent) * 0.7978845608f * (1.0f + 3.0f * 0.044715f * x * x);
}

/* Back to the scores, before the softmax; work-items as in attend. */
__global__ void attend_backward(const float *qkv, const float *weights, const float *d_attended,
                                float *d_scores, size_t width, size_t heads, size_t context,
                                size_t count) {
    const size_t item = index_x();
    if (item >= count)
        return;
    const size_t position = item % context;
    const size_t head = item / context % heads;
    const size_t first_row = item / context / heads * context;
    const size_t size = width / heads;
    const float *values = qkv + first_row * 3 * width + 2 * width + head * size;
    d_attended += (first_row + position) * width + head * size;
    weights += item * context;
    d_scores += item * context;
    float mean = 0.0f;
    for (size_t i = 0; i <= position; ++i) {
        float d_weight = 0.0f;
        for (size_t k = 0; k < size; ++k)
            d_weight += d_attended[k] * values[i * 3 * width + k];
        d_scores[i] = d_weight;
        mean += weights[i] * d_weight;
    }
    for (size_t i = 0; i < context; ++i)
        d_scores[i] = i <= position ? weights[i] * (d_scores[i] - mean) / sqrtf((float)size) : 0.0f;
}

/* One column of a query, a key and a value each: what all positions that used them hand back.
 */
__global__ void gather_backward(const float *qkv, const float *weights, const float *d_attended,
                                const float *d_scores, float *d_qkv, size_t width, size_t rows,
                                size_t heads, size_t context) {
    const size_t column = index_x();
    const size_t row = index_y();
    if (column >= width || row >= rows)
        return;
    const size_t position = row % context;
    const size_t first_row = row - position;
    const size_t head = column / (width / heads);
    const size_t square = (row / context * heads + head) * context * context;
    const float *queries = qkv + first_row * 3 * width + column;
    const float *keys = queries + width;
    float d_query = 0.0f;
    float d_key = 0.0f;
    float d_value = 0.0f;
    for (size_t i = 0; i <= position; ++i)
        d_query += d_scores[square + position * context + i] * keys[i * 3 * width];
    for (size_t i = position; i < context; ++i) {
        const size_t edge = square + i * context + position;
        d_key += d_scores[edge] * queries[i * 3 * width];
        d_value += weights[edge] * d_attended[(first_row + i) * width + column];
    }
    d_qkv += row * 3 * width + column;
    d_qkv[0] = d_query;
    d_qkv[width] = d_key;
    d_qkv[2 * width] = d_value;
}

/* Adds to what the tokens got as the head. */
__global__ void token_gradients(const uint8_t *inputs, const float *d_embedded, float *d_tokens,
                                size_t width, size_t rows) {
    const size_t column = index_x();
    const size_t token = index_y();
    if (column >= width || token >= LM_VOCABULARY)
        return;
    float sum = 0.0f;
    for (size_t row = 0; row < rows; ++row)
        if (inputs[row] == token)
            sum += d_embedded[row * width + column];
    d_tokens[token * width + column] += sum;
}

__global__ void position_gradients(const float *d_embedded, float *d_positions, size_t width,
                                   size_t rows, size_t context) {
    const size_t column = index_x();
    const size_t position = index_y();
    if (column >= width || position >= context)
        return;
    float sum = 0.0f;
    for (size_t row = position; row < rows; row += context)
        sum += d_embedded[row * width + column];
    d_positions[position * width + column] = sum;
}

/* rates: of learning, and the corrections of the two moments. */
__global__ void adamw(float *values, const float *gradients, float *first, float *second,
                      const float *rates, float decay, size_t count) {
    const size_t i = index_x();
    if (i >= count)
        return;
    const float gradient = gradients[i];
    first[i] = LM_BETA1 * first[i] + (1.0f - LM_BETA1) * gradient;
    second[i] = LM_BETA2 * second[i] + (1.0f - LM_BETA2) * gradient * gradient;
    const float direction = rates[1] * first[i] / (sqrtf(rates[2] * second[i]) + LM_ADAM_EPSILON);
    values[i] -= rates[0] * (direction + decay * values[i]);
}

/* ---- the device ---- */

struct device {
    struct work work;
    cublasHandle_t blas;
    void **allocations;
    size_t allocation_count;
};

static void check_blas(cublasStatus_t status, const char *call) {
    if (status == CUBLAS_STATUS_SUCCESS)
        return;
    fprintf(stderr, "lm-cuda: %s: %s\n", call, cublasGetStatusString(status));
    exit(EXIT_FAILURE);
}
#define CHECK_BLAS(call) check_blas(call, #call)

void device_prepare(struct device *device, const struct shape *) {
    CHECK_BLAS(cublasCreate(&device->blas));
}

memory device_memory(struct device *device, size_t bytes) {
    void *allocation = device_array<char>(&device->work, bytes);
    device->allocations =
        (void **)host_grow(device->allocations, device->allocation_count, sizeof(void *));
    device->allocations[device->allocation_count++] = allocation;
    return allocation;
}

void device_write(struct device *, memory to, size_t bytes, const void *from) {
    CHECK(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
}

void device_read(struct device *, memory from, size_t bytes, void *to) {
    CHECK(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}

void device_clear(struct device *, memory to, size_t bytes) {
    CHECK(cudaMemsetAsync(to, 0, bytes));
}

void device_launch(struct device *, enum lm_kernel kernel, size_t columns, size_t rows,
                   const struct argument *arguments, size_t count) {
    static const void *const kernels[] = {
#define KERNEL(name) (const void *)name,
        LM_KERNELS(KERNEL)
#undef KERNEL
    };
    const dim3 block = rows == 1 ? dim3(THREADS) : dim3(64, 4);
    const dim3 grid(blocks(columns, block.x), blocks(rows, block.y));
    void *values[16];
    for (size_t i = 0; i < count; i++)
        values[i] = (void *)arguments[i].value;
    CHECK(cudaLaunchKernel(kernels[kernel], grid, block, values, 0, NULL));
}

/* cuBLAS has matrices column by column, as which ours are transposed: c^T = b^T a^T. */
void device_multiply(struct device *device, struct product product, memory a, memory b, bool add,
                     memory c) {
    const int m = (int)product.m, n = (int)product.n, k = (int)product.k;
    const float one = 1, kept = add ? 1 : 0;
    CHECK_BLAS(cublasSgemm(device->blas, product.turn_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                           product.turn_a ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one, (float *)b,
                           product.turn_b ? k : n, (float *)a, product.turn_a ? m : k, &kept,
                           (float *)c, n));
}

void device_wait(struct device *) {
    CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv) {
    struct device device = {};
    work_open(&device.work, &lm_problem, &lm_extras, argc, argv);
    lm_train(&device.work, &device);
    while (device.allocation_count > 0)
        CHECK(cudaFree(device.allocations[--device.allocation_count]));
    free(device.allocations);
    CHECK_BLAS(cublasDestroy(device.blas));
    return work_close(&device.work);
}
