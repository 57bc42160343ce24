/* Prefix sums of the elements of each block */
#include "cuda_runtime.h"

extern "C" __global__ void scan_hillis(const int *in, int *out) {
    __shared__ int sums[2][128];
    int at = threadIdx.x, from = 0;
    sums[0][at] = in[blockIdx.x * 128 + at];
    for (int step = 1; step < 128; step *= 2) {
        __syncthreads();
        sums[1 - from][at] = sums[from][at] + (at >= step ? sums[from][at - step] : 0);
        from = 1 - from;
    }
    out[blockIdx.x * 128 + at] = sums[from][at];
}

/* Without the element itself; a block of 128 threads has 256 elements. */
extern "C" __global__ void scan_blelloch(const int *in, int *out) {
    __shared__ int tree[256];
    int at = threadIdx.x;
    in += blockIdx.x * 256;
    out += blockIdx.x * 256;
    tree[2 * at] = in[2 * at];
    tree[2 * at + 1] = in[2 * at + 1];
    int step = 1;
    for (int active = 128; active > 0; active /= 2) {
        __syncthreads();
        if (at < active)
            tree[step * (2 * at + 2) - 1] += tree[step * (2 * at + 1) - 1];
        step *= 2;
    }
    if (at == 0)
        tree[255] = 0;
    for (int active = 1; active < 256; active *= 2) {
        step /= 2;
        __syncthreads();
        if (at < active) {
            int left = step * (2 * at + 1) - 1, right = step * (2 * at + 2) - 1;
            int value = tree[left];
            tree[left] = tree[right];
            tree[right] += value;
        }
    }
    __syncthreads();
    out[2 * at] = tree[2 * at];
    out[2 * at + 1] = tree[2 * at + 1];
}

/* Of each warp, then of the warps. */
extern "C" __global__ void scan_warp(const int *in, int *out) {
    __shared__ int totals[4];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int sum = in[blockIdx.x * 128 + threadIdx.x];
    for (int step = 1; step < 32; step *= 2) {
        int other = __shfl_up_sync(0xffffffff, sum, step);
        if (lane >= step)
            sum += other;
    }
    if (lane == 31)
        totals[warp] = sum;
    __syncthreads();
    for (int k = 0; k < warp; k++)
        sum += totals[k];
    out[blockIdx.x * 128 + threadIdx.x] = sum;
}

/* Keeps the multiples of three of each block's 64 elements, in order; the rest is -1. */
extern "C" __global__ void compact(const int *in, int *out, int *counts) {
    __shared__ int first;
    int lane = threadIdx.x % 32, value = in[blockIdx.x * 64 + threadIdx.x];
    bool keep = value % 3 == 0;
    unsigned mask = __ballot_sync(0xffffffff, keep);
    if (threadIdx.x == 0)
        first = __popc(mask);
    out[blockIdx.x * 64 + threadIdx.x] = -1;
    __syncthreads();
    int at = (threadIdx.x < 32 ? 0 : first) + __popc(mask & ((1u << lane) - 1));
    if (keep)
        out[blockIdx.x * 64 + at] = value;
    if (threadIdx.x == 32)
        counts[blockIdx.x] = first + __popc(mask);
}
