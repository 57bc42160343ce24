/* Layers of neural networks */
#include "cuda_runtime.h"

/* A warp for each row of n elements. */
extern "C" __global__ void softmax(const float *in, float *out, int n) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    in += row * n;
    out += row * n;
    float most = -__builtin_inff(), sum = 0;
    for (int i = lane; i < n; i += 32)
        most = fmaxf(most, in[i]);
    for (int step = 16; step > 0; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
    for (int i = lane; i < n; i += 32) {
        float value = expf(in[i] - most);
        out[i] = value;
        sum += value;
    }
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    for (int i = lane; i < n; i += 32)
        out[i] /= sum;
}

/* The sum over a block of 128 threads. */
static __device__ float sum_block(float *sums, float value) {
    __syncthreads();
    sums[threadIdx.x] = value;
    for (unsigned half = 64; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __syncthreads();
    return sums[0];
}

/* A block of 128 threads for each row of n elements. */
extern "C" __global__ void layer_norm(const float *in, const float *scale, const float *shift,
                                      float *out, int n) {
    __shared__ float sums[128];
    in += blockIdx.x * n;
    out += blockIdx.x * n;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < n; i += 128)
        sum += in[i];
    float mean = sum_block(sums, sum) / n;
    for (int i = threadIdx.x; i < n; i += 128)
        squares = fmaf(in[i] - mean, in[i] - mean, squares);
    float factor = rsqrtf(sum_block(sums, squares) / n + 1e-5f);
    for (int i = threadIdx.x; i < n; i += 128)
        out[i] = fmaf((in[i] - mean) * factor, scale[i], shift[i]);
}

extern "C" __global__ void gelu(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = in[i];
    out[i] = x / (1 + expf(-1.595769122f * fmaf(0.044715f * x * x, x, x)));
}

enum { DIMENSIONS = 32, TILE = 64 };

/* A thread for each query; keys and values of 32 numbers come by tiles of 64, and what is summed up
 * is scaled anew where a larger score comes. n is a multiple of 64. */
extern "C" __global__ void attention(const float *queries, const float *keys, const float *values,
                                     float *out, int n) {
    __shared__ float key[TILE][DIMENSIONS], value[TILE][DIMENSIONS];
    int query = blockIdx.x * TILE + threadIdx.x;
    float mine[DIMENSIONS], sums[DIMENSIONS] = {0}, most = -__builtin_inff(), weight = 0;
    for (int d = 0; d < DIMENSIONS; d++)
        mine[d] = queries[query * DIMENSIONS + d];
    for (int tile = 0; tile < n; tile += TILE) {
        for (int i = threadIdx.x; i < TILE * DIMENSIONS; i += TILE) {
            key[i / DIMENSIONS][i % DIMENSIONS] = keys[tile * DIMENSIONS + i];
            value[i / DIMENSIONS][i % DIMENSIONS] = values[tile * DIMENSIONS + i];
        }
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            float score = 0;
            for (int d = 0; d < DIMENSIONS; d++)
                score = fmaf(mine[d], key[k][d], score);
            float larger = fmaxf(most, score);
            float old = __expf(most - larger), share = __expf(score - larger);
            most = larger;
            weight = fmaf(weight, old, share);
            for (int d = 0; d < DIMENSIONS; d++)
                sums[d] = fmaf(share, value[k][d], sums[d] * old);
        }
        __syncthreads();
    }
    for (int d = 0; d < DIMENSIONS; d++)
        out[query * DIMENSIONS + d] = sums[d] / weight;
}

/* A warp multiplies 16 rows of n inputs by 8 columns of n weights, pairs of f16 that are neighbours
 * in a row or column; n is a multiple of 16. */
extern "C" __global__ void dense_f16(const unsigned *inputs, const unsigned *weights, float *out,
                                     int n) {
    int lane = threadIdx.x % 32, group = lane / 4, part = lane % 4;
    int column = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 8, row = blockIdx.y * 16 + group;
    const unsigned *a = inputs + row * (n / 2) + part;
    const unsigned *b = weights + (column + group) * (n / 2) + part;
    float sums[4] = {0};
    for (int k = 0; k < n / 2; k += 8)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
            "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
            : "r"(a[k]), "r"(a[k + 4 * n]), "r"(a[k + 4]), "r"(a[k + 4 * n + 4]), "r"(b[k]),
              "r"(b[k + 4]));
    int width = gridDim.x * blockDim.x / 4;
    float *at = out + row * width + column + 2 * part;
    at[0] = sums[0];
    at[1] = sums[1];
    at[8 * width] = sums[2];
    at[8 * width + 1] = sums[3];
}
