/* linear.cu in OpenCL C, where `dot` is the name of another function. */
#pragma OPENCL FP_CONTRACT OFF

__kernel void gemv(__global const float *a, __global const float *x, __global float *y, int n) {
    int row = get_global_id(0);
    if (row >= n)
        return;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum = fma(a[row * n + k], x[k], sum);
    y[row] = sum;
}

__kernel void gemm(__global const float *a, __global const float *b, __global float *c, int n) {
    int column = get_global_id(0), row = get_global_id(1);
    if (row >= n || column >= n)
        return;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum = fma(a[row * n + k], b[k * n + column], sum);
    c[row * n + column] = sum;
}

__kernel void gemm_tiled(__global const float *a, __global const float *b, __global float *c,
                         int n) {
    __local float left[16][16], right[16][16];
    int x = get_local_id(0), y = get_local_id(1);
    int column = get_group_id(0) * 16 + x, row = get_group_id(1) * 16 + y;
    float sum = 0;
    for (int tile = 0; tile < n; tile += 16) {
        left[y][x] = a[row * n + tile + x];
        right[y][x] = b[(tile + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; k++)
            sum = fma(left[y][k], right[k][x], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}

__kernel void transpose(__global const float *in, __global float *out, int n) {
    __local float tile[16][17];
    int tx = get_local_id(0), ty = get_local_id(1);
    int x = get_group_id(0) * 16 + tx, y = get_group_id(1) * 16 + ty;
    if (x < n && y < n)
        tile[ty][tx] = in[y * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * 16 + tx;
    y = get_group_id(0) * 16 + ty;
    if (x < n && y < n)
        out[y * n + x] = tile[tx][ty];
}

__kernel void axpy(__global const float *x, __global float *y, int n, float a) {
    int i = get_global_id(0);
    if (i < n)
        y[i] = fma(a, x[i], y[i]);
}

__kernel void nrm2(__global const float *x, __global float *norms) {
    __local float sums[128];
    int at = get_local_id(0);
    float value = x[get_group_id(0) * 128 + at];
    sums[at] = value * value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = 64; half_size > 0; half_size /= 2) {
        if (at < half_size)
            sums[at] += sums[at + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (at == 0)
        norms[get_group_id(0)] = sqrt(sums[0]);
}

__kernel void gemv_columns(__global const float *a, __global const float *x, __global float *y,
                           int n) {
    int column = get_global_id(0);
    if (column >= n)
        return;
    float sum = y[column];
    for (int k = 0; k < n; k++)
        sum = fma(a[k * n + column], x[k], sum);
    y[column] = sum;
}
