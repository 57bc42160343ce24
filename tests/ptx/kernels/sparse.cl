/* sparse.cu in OpenCL C; its warps add through local memory. */
#pragma OPENCL FP_CONTRACT OFF

__kernel void csr_scalar(__global const int *starts, __global const int *columns,
                         __global const float *values, __global const float *x,
                         __global float *y, int n) {
    int row = get_global_id(0);
    if (row >= n)
        return;
    float sum = 0;
    for (int k = starts[row]; k < starts[row + 1]; k++)
        sum = fma(values[k], x[columns[k]], sum);
    y[row] = sum;
}

__kernel void csr_vector(__global const int *starts, __global const int *columns,
                         __global const float *values, __global const float *x,
                         __global float *y, int n) {
    __local float lanes[128];
    int row = get_global_id(0) / 32, at = get_local_id(0), lane = at % 32;
    float sum = 0;
    if (row < n)
        for (int k = starts[row] + lane; k < starts[row + 1]; k += 32)
            sum = fma(values[k], x[columns[k]], sum);
    lanes[at] = sum;
    for (int step = 16; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < step)
            lanes[at] += lanes[at + step];
    }
    if (lane == 0 && row < n)
        y[row] = lanes[at];
}

__kernel void ell(__global const int *columns, __global const float *values,
                  __global const float *x, __global float *y, int n, int width) {
    int row = get_global_id(0);
    if (row >= n)
        return;
    float sum = 0;
    for (int k = 0; k < width; k++) {
        int column = columns[k * n + row];
        if (column >= 0)
            sum = fma(values[k * n + row], x[column], sum);
    }
    y[row] = sum;
}
