/* The two kernels with which atax, bicg and mvt multiply with a matrix and with its transpose. */
#ifndef CUDA_EXAMPLES_DENSE_H
#define CUDA_EXAMPLES_DENSE_H

#include "common.h"
#include "host/dense.h"

/* y = M x, or y += M x: one thread for each row, which reads along it. */
template <bool KEEP>
__global__ void row_products(const float *matrix, const float *x, float *y, size_t side) {
    const size_t row = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (row >= side)
        return;
    float sum = KEEP ? y[row] : 0;
    for (size_t column = 0; column < side; column++)
        sum += matrix[row * side + column] * x[column];
    y[row] = sum;
}

/* y = M^T x, or y += M^T x: one thread for each column, which walks down the whole matrix, in tiles
 * of rows that a block takes together. */
template <bool KEEP>
__global__ void column_products(const float *matrix, const float *x, float *y, size_t side) {
    __shared__ float tile[THREADS];
    const size_t column = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    float sum = KEEP && column < side ? y[column] : 0;
    for (size_t first = 0; first < side; first += THREADS) {
        const unsigned rows = side - first < THREADS ? (unsigned)(side - first) : THREADS;
        if (threadIdx.x < rows)
            tile[threadIdx.x] = x[first + threadIdx.x];
        __syncthreads();
        for (unsigned row = 0; row < rows && column < side; row++)
            sum += matrix[(first + row) * side + column] * tile[row];
        __syncthreads();
    }
    if (column < side)
        y[column] = sum;
}

#endif
