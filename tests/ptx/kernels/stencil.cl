/* stencil.cu in OpenCL C */
#pragma OPENCL FP_CONTRACT OFF

__kernel void stencil_1d(__global const float *in, __global float *out, int n) {
    __local float tile[128 + 6];
    int t = get_local_id(0), i = get_group_id(0) * 128 + t, at = t + 3;
    tile[at] = i < n ? in[i] : 0;
    if (t < 3) {
        tile[t] = i >= 3 ? in[i - 3] : 0;
        tile[at + 128] = i + 128 < n ? in[i + 128] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i >= n)
        return;
    float sum = 0;
    for (int k = -3; k <= 3; k++)
        sum += tile[at + k];
    out[i] = sum / 7;
}

__kernel void stencil_2d(__global const float *in, __global float *out, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
        return;
    __global const float *at = in + y * width + x;
    out[y * width + x] = 0.2f * (at[0] + at[-1] + at[1] + at[-width] + at[width]);
}

__kernel void stencil_3d(__global const float *in, __global float *out, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    for (int z = 1; z < n - 1; z++) {
        __global const float *at = in + (z * n + y) * n + x;
        out[(z * n + y) * n + x] = (at[-1] + at[1]) + (at[-n] + at[n]) +
                                   (at[-n * n] + at[n * n]) - at[0];
    }
}

__kernel void hotspot(__global const float *heat, __global const float *power,
                      __global float *out, int n) {
    __local float now[16][16], next[16][16];
    int tx = get_local_id(0), ty = get_local_id(1);
    int x = (int)get_group_id(0) * 12 + tx - 2, y = (int)get_group_id(1) * 12 + ty - 2;
    bool inside = x >= 0 && y >= 0 && x < n && y < n;
    now[ty][tx] = inside ? heat[y * n + x] : 0;
    float source = inside ? power[y * n + x] : 0;
    for (int step = 1; step <= 2; step++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tx >= step && ty >= step && tx < 16 - step && ty < 16 - step) {
            float around =
                (now[ty][tx - 1] + now[ty][tx + 1]) + (now[ty - 1][tx] + now[ty + 1][tx]);
            next[ty][tx] = inside ? fma(0.25f, around, source) : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tx >= step && ty >= step && tx < 16 - step && ty < 16 - step)
            now[ty][tx] = next[ty][tx];
    }
    if (inside && tx >= 2 && ty >= 2 && tx < 14 && ty < 14)
        out[y * n + x] = now[ty][tx];
}

__kernel void life(__global const int *in, __global int *out, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    int count = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx != 0 || dy != 0)
                count += in[((y + dy) & (n - 1)) * n + ((x + dx) & (n - 1))];
    out[y * n + x] = count == 3 || (count == 2 && in[y * n + x]);
}
