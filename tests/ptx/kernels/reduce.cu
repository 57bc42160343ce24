/* Reductions */
#include "cuda_runtime.h"

/* A sum for each block of 256. */
extern "C" __global__ void reduce_tree(const float *in, float *sums) {
    __shared__ float tree[256];
    tree[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
    for (unsigned half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            tree[threadIdx.x] += tree[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = tree[0];
}

/* A sum for each warp. */
extern "C" __global__ void reduce_shuffle(const float *in, float *sums) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = in[i];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (i % 32 == 0)
        sums[i / 32] = sum;
}

/* The last block of 64 threads to end adds up the sums of all; at most 64 blocks. */
extern "C" __global__ void reduce_last(const int *in, int *sums, int *total, unsigned *ended,
                                       int n) {
    __shared__ int mine[64];
    __shared__ bool last;
    int sum = 0;
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64)
        sum += in[i];
    mine[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < 64; k++)
            sum += mine[k];
        sums[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(ended, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int all = 0;
        for (unsigned k = 0; k < gridDim.x; k++)
            all += ((volatile int *)sums)[k];
        *total = all;
    }
}

/* Where each block of 128 has its largest element: the first one. */
extern "C" __global__ void argmax(const float *in, int *places) {
    __shared__ float values[128];
    __shared__ int at[128];
    int t = threadIdx.x;
    values[t] = in[blockIdx.x * 128 + t];
    at[t] = t;
    for (int half = 64; half > 0; half /= 2) {
        __syncthreads();
        if (t < half && (values[t + half] > values[t] ||
                         (values[t + half] == values[t] && at[t + half] < at[t]))) {
            values[t] = values[t + half];
            at[t] = at[t + half];
        }
    }
    if (t == 0)
        places[blockIdx.x] = at[0];
}

/* Sum, smallest, largest and exclusive or of each warp. */
extern "C" __global__ void redux(const int *in, int *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i] - 500;
    int sum = __reduce_add_sync(0xffffffff, value), least = __reduce_min_sync(0xffffffff, value);
    int most = __reduce_max_sync(0xffffffff, value);
    unsigned bits = __reduce_xor_sync(0xffffffff, (unsigned)value);
    int4 results = make_int4(sum, least, most, (int)bits);
    if (i % 32 == 0)
        ((int4 *)out)[i / 32] = results;
}

/* How many threads of each block have an element above 500, and whether any, and whether all. */
extern "C" __global__ void votes(const int *in, int *out) {
    int above = in[blockIdx.x * blockDim.x + threadIdx.x] > 500;
    int count = __syncthreads_count(above), all = __syncthreads_and(above);
    int any = __syncthreads_or(above);
    out[blockIdx.x * blockDim.x + threadIdx.x] = count * 4 + (all ? 2 : 0) + (any ? 1 : 0);
}
