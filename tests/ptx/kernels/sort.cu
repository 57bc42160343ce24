/* Sorting within a block */
#include "cuda_runtime.h"

/* 256 elements, 128 threads. */
extern "C" __global__ void bitonic(int *data) {
    __shared__ int keys[256];
    int *mine = data + blockIdx.x * 256;
    keys[threadIdx.x] = mine[threadIdx.x];
    keys[threadIdx.x + 128] = mine[threadIdx.x + 128];
    for (unsigned size = 2; size <= 256; size *= 2)
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            unsigned low = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            bool up = (low & size) == 0;
            int a = keys[low], b = keys[low + stride];
            if ((a > b) == up) {
                keys[low] = b;
                keys[low + stride] = a;
            }
        }
    __syncthreads();
    mine[threadIdx.x] = keys[threadIdx.x];
    mine[threadIdx.x + 128] = keys[threadIdx.x + 128];
}

/* 64 elements and threads. */
extern "C" __global__ void odd_even(int *data) {
    __shared__ int keys[64];
    int at = threadIdx.x;
    keys[at] = data[blockIdx.x * 64 + at];
    for (int round = 0; round < 64; round++) {
        __syncthreads();
        if (at % 2 == round % 2 && at < 63 && keys[at] > keys[at + 1]) {
            int key = keys[at];
            keys[at] = keys[at + 1];
            keys[at + 1] = key;
        }
    }
    __syncthreads();
    data[blockIdx.x * 64 + at] = keys[at];
}

/* Each block puts its 128 keys in the order of a digit of four bits; equal ones stay in order. */
extern "C" __global__ void radix_pass(const int *in, int *out, int shift) {
    __shared__ int counts[16][129];
    int at = threadIdx.x, key = in[blockIdx.x * 128 + at], digit = key >> shift & 15;
    for (int d = 0; d < 16; d++)
        counts[d][at] = d == digit;
    __syncthreads();
    if (at < 16)
        for (int k = 1, sum = counts[at][0]; k < 128; k++)
            counts[at][k] = sum += counts[at][k];
    __syncthreads();
    int before = counts[digit][at] - 1;
    for (int d = 0; d < digit; d++)
        before += counts[d][127];
    out[blockIdx.x * 128 + before] = key;
}
