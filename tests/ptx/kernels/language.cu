/* What language models do between their products, on f16 with sums in single precision. */
#include "cuda_fp16.h"

static __device__ float sum_warp(float value) {
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(0xffffffff, value, step);
    return value;
}

/* A warp for each row of n pairs. */
extern "C" __global__ void softmax_f16(const __half2 *in, __half2 *out, int n) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    in += row * n;
    out += row * n;
    float most = -__builtin_inff(), sum = 0;
    for (int i = lane; i < n; i += 32) {
        float2 pair = __half22float2(in[i]);
        most = fmaxf(most, fmaxf(pair.x, pair.y));
    }
    for (int step = 16; step > 0; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
    for (int i = lane; i < n; i += 32) {
        float2 pair = __half22float2(in[i]);
        sum += expf(pair.x - most) + expf(pair.y - most);
    }
    sum = sum_warp(sum);
    for (int i = lane; i < n; i += 32) {
        float2 pair = __half22float2(in[i]);
        out[i] = __floats2half2_rn(expf(pair.x - most) / sum, expf(pair.y - most) / sum);
    }
}

/* A warp for each row of n pairs. */
extern "C" __global__ void layer_norm_f16(const __half2 *in, const __half2 *scale,
                                          const __half2 *shift, __half2 *out, int n) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    in += row * n;
    out += row * n;
    float sum = 0, squares = 0;
    for (int i = lane; i < n; i += 32) {
        float2 pair = __half22float2(in[i]);
        sum += pair.x + pair.y;
    }
    float mean = sum_warp(sum) / (2 * n);
    for (int i = lane; i < n; i += 32) {
        float2 pair = __half22float2(in[i]);
        squares += (pair.x - mean) * (pair.x - mean) + (pair.y - mean) * (pair.y - mean);
    }
    float factor = rsqrtf(sum_warp(squares) / (2 * n) + 1e-5f);
    for (int i = lane; i < n; i += 32) {
        float2 pair = __half22float2(in[i]);
        __half2 normal = __floats2half2_rn((pair.x - mean) * factor, (pair.y - mean) * factor);
        out[i] = normal * scale[i] + shift[i];
    }
}

/* Of n pairs, by tanh, with the polynomial in f16. */
extern "C" __global__ void gelu_f16(const __half2 *in, __half2 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    __half2 x = in[i], factor = __float2half2_rn(0.044715f);
    float2 inner = __half22float2(x + factor * x * x * x), outer = __half22float2(x);
    out[i] = __floats2half2_rn(0.5f * outer.x * (1 + tanhf(0.7978845608f * inner.x)),
                               0.5f * outer.y * (1 + tanhf(0.7978845608f * inner.y)));
}
