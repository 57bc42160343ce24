/* Kernels of PolyBench/GPU's shape: with the simulator's models of them, mvt and 2dconv, they have
 * threads, blocks and the order of their accesses in common. */
#include "cuda_runtime.h"

/* x += A y, a thread for each row; the sum is stored in each round. */
extern "C" __global__ void mvt_rows(const float *a, const float *y, float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int j = 0; j < n; j++)
            x[i] = fmaf(a[i * n + j], y[j], x[i]);
}

/* x += A^T y, a thread for each column. */
extern "C" __global__ void mvt_columns(const float *a, const float *y, float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int j = 0; j < n; j++)
            x[i] = fmaf(a[j * n + i], y[j], x[i]);
}

/* The inner points of b from three times three points of a. */
extern "C" __global__ void convolution(const float *a, float *b, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    const float *at = a + y * n + x;
    float sum = 0.2f * at[-n - 1];
    sum = fmaf(0.5f, at[-n], sum);
    sum = fmaf(-0.8f, at[-n + 1], sum);
    sum = fmaf(-0.3f, at[-1], sum);
    sum = fmaf(0.6f, at[0], sum);
    sum = fmaf(-0.9f, at[1], sum);
    sum = fmaf(0.4f, at[n - 1], sum);
    sum = fmaf(0.7f, at[n], sum);
    b[y * n + x] = fmaf(0.1f, at[n + 1], sum);
}
