/* neural.cu in OpenCL C; its warps work through local memory. */
#pragma OPENCL FP_CONTRACT OFF

__kernel void softmax(__global const float *in, __global float *out, int n) {
    __local float lanes[128];
    int row = get_global_id(0) / 32, at = get_local_id(0), lane = at % 32;
    in += row * n;
    out += row * n;
    float most = -INFINITY, sum = 0;
    for (int i = lane; i < n; i += 32)
        most = fmax(most, in[i]);
    lanes[at] = most;
    for (int step = 16; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < step)
            lanes[at] = fmax(lanes[at], lanes[at + step]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    most = lanes[at - lane];
    for (int i = lane; i < n; i += 32) {
        float value = exp(in[i] - most);
        out[i] = value;
        sum += value;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    lanes[at] = sum;
    for (int step = 16; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < step)
            lanes[at] += lanes[at + step];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = lanes[at - lane];
    for (int i = lane; i < n; i += 32)
        out[i] /= sum;
}

#define SUM_BLOCK(result, value)                                                                   \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                  \
    sums[at] = (value);                                                                            \
    for (int size = 64; size > 0; size /= 2) {                                                     \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        if (at < size)                                                                             \
            sums[at] += sums[at + size];                                                           \
    }                                                                                              \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                  \
    result = sums[0];

__kernel void layer_norm(__global const float *in, __global const float *scale,
                         __global const float *shift, __global float *out, int n) {
    __local float sums[128];
    int at = get_local_id(0);
    in += get_group_id(0) * n;
    out += get_group_id(0) * n;
    float sum = 0, squares = 0;
    for (int i = at; i < n; i += 128)
        sum += in[i];
    SUM_BLOCK(sum, sum)
    float mean = sum / n;
    for (int i = at; i < n; i += 128)
        squares = fma(in[i] - mean, in[i] - mean, squares);
    SUM_BLOCK(squares, squares)
    float factor = rsqrt(squares / n + 1e-5f);
    for (int i = at; i < n; i += 128)
        out[i] = fma((in[i] - mean) * factor, scale[i], shift[i]);
}

__kernel void gelu(__global const float *in, __global float *out, int n) {
    int i = get_global_id(0);
    if (i >= n)
        return;
    float x = in[i];
    out[i] = x / (1 + exp(-1.595769122f * fma(0.044715f * x * x, x, x)));
}

#define DIMENSIONS 32
#define TILE       64

__kernel void attention(__global const float *queries, __global const float *keys,
                        __global const float *values, __global float *out, int n) {
    __local float key[TILE][DIMENSIONS], value[TILE][DIMENSIONS];
    int at = get_local_id(0), query = get_global_id(0);
    float mine[DIMENSIONS], sums[DIMENSIONS], most = -INFINITY, weight = 0;
    for (int d = 0; d < DIMENSIONS; d++) {
        mine[d] = queries[query * DIMENSIONS + d];
        sums[d] = 0;
    }
    for (int tile = 0; tile < n; tile += TILE) {
        for (int i = at; i < TILE * DIMENSIONS; i += TILE) {
            key[i / DIMENSIONS][i % DIMENSIONS] = keys[tile * DIMENSIONS + i];
            value[i / DIMENSIONS][i % DIMENSIONS] = values[tile * DIMENSIONS + i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++) {
            float score = 0;
            for (int d = 0; d < DIMENSIONS; d++)
                score = fma(mine[d], key[k][d], score);
            float larger = fmax(most, score);
            float old = native_exp(most - larger), share = native_exp(score - larger);
            most = larger;
            weight = fma(weight, old, share);
            for (int d = 0; d < DIMENSIONS; d++)
                sums[d] = fma(share, value[k][d], sums[d] * old);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int d = 0; d < DIMENSIONS; d++)
        out[query * DIMENSIONS + d] = sums[d] / weight;
}
