/* Sparse matrices times vectors */
#include "cuda_runtime.h"

extern "C" __global__ void csr_scalar(const int *starts, const int *columns, const float *values,
                                      const float *x, float *y, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    float sum = 0;
    for (int k = starts[row]; k < starts[row + 1]; k++)
        sum = fmaf(values[k], x[columns[k]], sum);
    y[row] = sum;
}

/* A warp for each row. */
extern "C" __global__ void csr_vector(const int *starts, const int *columns, const float *values,
                                      const float *x, float *y, int n) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= n)
        return;
    float sum = 0;
    for (int k = starts[row] + lane; k < starts[row + 1]; k += 32)
        sum = fmaf(values[k], x[columns[k]], sum);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (lane == 0)
        y[row] = sum;
}

/* Column-major; -1 stands for no element. */
extern "C" __global__ void ell(const int *columns, const float *values, const float *x, float *y,
                               int n, int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    float sum = 0;
    for (int k = 0; k < width; k++) {
        int column = columns[k * n + row];
        if (column >= 0)
            sum = fmaf(values[k * n + row], x[column], sum);
    }
    y[row] = sum;
}
