/* Stencils */
#include "cuda_runtime.h"

/* Seven points, with a halo in shared memory; blocks of 128. */
extern "C" __global__ void stencil_1d(const float *in, float *out, int n) {
    __shared__ float tile[128 + 6];
    int i = blockIdx.x * 128 + threadIdx.x, at = threadIdx.x + 3;
    tile[at] = i < n ? in[i] : 0;
    if (threadIdx.x < 3) {
        tile[threadIdx.x] = i >= 3 ? in[i - 3] : 0;
        tile[at + 128] = i + 128 < n ? in[i + 128] : 0;
    }
    __syncthreads();
    if (i >= n)
        return;
    float sum = 0;
    for (int k = -3; k <= 3; k++)
        sum += tile[at + k];
    out[i] = sum / 7;
}

extern "C" __global__ void stencil_2d(const float *in, float *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
        return;
    const float *at = in + y * width + x;
    out[y * width + x] = 0.2f * (at[0] + at[-1] + at[1] + at[-width] + at[width]);
}

extern "C" __global__ void stencil_3d(const float *in, float *out, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    for (int z = 1; z < n - 1; z++) {
        const float *at = in + (z * n + y) * n + x;
        out[(z * n + y) * n + x] = (at[-1] + at[1]) + (at[-n] + at[n]) +
                                   (at[-n * n] + at[n * n]) - at[0];
    }
}

/* Heat spreads twice in a tile of 16 x 16 of which the inner 12 x 12 are the block's. */
extern "C" __global__ void hotspot(const float *heat, const float *power, float *out, int n) {
    __shared__ float now[16][16], next[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = (int)blockIdx.x * 12 + tx - 2, y = (int)blockIdx.y * 12 + ty - 2;
    bool inside = x >= 0 && y >= 0 && x < n && y < n;
    now[ty][tx] = inside ? heat[y * n + x] : 0;
    float source = inside ? power[y * n + x] : 0;
    for (int step = 1; step <= 2; step++) {
        __syncthreads();
        if (tx >= step && ty >= step && tx < 16 - step && ty < 16 - step) {
            float around =
                (now[ty][tx - 1] + now[ty][tx + 1]) + (now[ty - 1][tx] + now[ty + 1][tx]);
            next[ty][tx] = inside ? source + 0.25f * around : 0;
        }
        __syncthreads();
        if (tx >= step && ty >= step && tx < 16 - step && ty < 16 - step)
            now[ty][tx] = next[ty][tx];
    }
    if (inside && tx >= 2 && ty >= 2 && tx < 14 && ty < 14)
        out[y * n + x] = now[ty][tx];
}

/* The Game of Life on a torus; n is a power of two. */
extern "C" __global__ void life(const int *in, int *out, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int count = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx != 0 || dy != 0)
                count += in[((y + dy) & (n - 1)) * n + ((x + dx) & (n - 1))];
    out[y * n + x] = count == 3 || (count == 2 && in[y * n + x]);
}
