/* Dense linear algebra */
#include "cuda_runtime.h"

extern "C" __global__ void gemv(const float *a, const float *x, float *y, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum = fmaf(a[row * n + k], x[k], sum);
    y[row] = sum;
}

extern "C" __global__ void gemm(const float *a, const float *b, float *c, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n)
        return;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum = fmaf(a[row * n + k], b[k * n + column], sum);
    c[row * n + column] = sum;
}

/* n is a multiple of the tile's 16. */
extern "C" __global__ void gemm_tiled(const float *a, const float *b, float *c, int n) {
    __shared__ float left[16][16], right[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    int column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int tile = 0; tile < n; tile += 16) {
        left[y][x] = a[row * n + tile + x];
        right[y][x] = b[(tile + y) * n + column];
        __syncthreads();
        for (int k = 0; k < 16; k++)
            sum = fmaf(left[y][k], right[k][x], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}

/* A block of 16 x 16 threads moves a tile. */
extern "C" __global__ void transpose(const float *in, float *out, int n) {
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < n && y < n)
        tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < n && y < n)
        out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void axpy(const float *x, float *y, int n, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = fmaf(a, x[i], y[i]);
}

/* One partial sum a block of 128 threads, which strides over all. */
extern "C" __global__ void dot(const float *x, const float *y, float *sums, int n) {
    __shared__ float warps[4];
    float sum = 0;
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128)
        sum = fmaf(x[i], y[i], sum);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        sums[blockIdx.x] = (warps[0] + warps[1]) + (warps[2] + warps[3]);
}

extern "C" __global__ void scal(float *x, int n, float a) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        x[i] *= a;
}

/* The norm of each row of 128 elements, by a tree in shared memory. */
extern "C" __global__ void nrm2(const float *x, float *norms) {
    __shared__ float sums[128];
    float value = x[blockIdx.x * 128 + threadIdx.x];
    sums[threadIdx.x] = value * value;
    __syncthreads();
    for (unsigned half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        norms[blockIdx.x] = sqrtf(sums[0]);
}

/* Column k is eliminated from the rows below it. */
extern "C" __global__ void lu_step(float *a, int n, int k) {
    int column = k + blockIdx.x * blockDim.x + threadIdx.x;
    int row = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column >= n || column == k)
        return;
    float factor = a[row * n + k] / a[k * n + k];
    a[row * n + column] = fmaf(-factor, a[k * n + column], a[row * n + column]);
}

/* y += A^T x: neighbours in a warp read neighbours in memory. */
extern "C" __global__ void gemv_columns(const float *a, const float *x, float *y, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n)
        return;
    float sum = y[column];
    for (int k = 0; k < n; k++)
        sum = fmaf(a[k * n + column], x[k], sum);
    y[column] = sum;
}
