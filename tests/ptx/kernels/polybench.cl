/* polybench.cu in OpenCL C. */
#pragma OPENCL FP_CONTRACT OFF

__kernel void mvt_rows(__global const float *a, __global const float *y, __global float *x, int n) {
    int i = get_global_id(0);
    if (i < n)
        for (int j = 0; j < n; j++)
            x[i] = fma(a[i * n + j], y[j], x[i]);
}

__kernel void mvt_columns(__global const float *a, __global const float *y, __global float *x,
                          int n) {
    int i = get_global_id(0);
    if (i < n)
        for (int j = 0; j < n; j++)
            x[i] = fma(a[j * n + i], y[j], x[i]);
}

__kernel void convolution(__global const float *a, __global float *b, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    __global const float *at = a + y * n + x;
    float sum = 0.2f * at[-n - 1];
    sum = fma(0.5f, at[-n], sum);
    sum = fma(-0.8f, at[-n + 1], sum);
    sum = fma(-0.3f, at[-1], sum);
    sum = fma(0.6f, at[0], sum);
    sum = fma(-0.9f, at[1], sum);
    sum = fma(0.4f, at[n - 1], sum);
    sum = fma(0.7f, at[n], sum);
    b[y * n + x] = fma(0.1f, at[n + 1], sum);
}
