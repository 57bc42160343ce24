#include "dense.h"

const char dense_kernels[] = OPENCL_SOURCE(
    __kernel void row_products(__global const float *matrix, __global const float *x,
                               __global float *y, ulong side, uint keep) {
        const ulong row = get_global_id(0);
        if (row >= side)
            return;
        float sum = keep ? y[row] : 0.0f;
        for (ulong column = 0; column < side; ++column)
            sum += matrix[row * side + column] * x[column];
        y[row] = sum;
    }

    __kernel void column_products(__global const float *matrix, __global const float *x,
                                  __global float *y, ulong side, uint keep) {
        __local float tile[256];
        const ulong column = get_global_id(0);
        float sum = keep && column < side ? y[column] : 0.0f;
        for (ulong first = 0; first < side; first += 256) {
            const ulong rows = side - first < 256 ? side - first : 256;
            for (ulong i = get_local_id(0); i < rows; i += get_local_size(0))
                tile[i] = x[first + i];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (ulong row = 0; row < rows && column < side; ++row)
                sum += matrix[(first + row) * side + column] * tile[row];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (column < side)
            y[column] = sum;
    });
