/* Histograms of values below 64 */
#include "cuda_runtime.h"

extern "C" __global__ void histogram_global(const int *values, int *bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[values[i]], 1);
}

extern "C" __global__ void histogram_shared(const int *values, int *bins, int n) {
    __shared__ int mine[64];
    if (threadIdx.x < 64)
        mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[values[i]], 1);
    __syncthreads();
    if (threadIdx.x < 64)
        atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

/* One lane adds for all lanes of its warp that have the same value. */
extern "C" __global__ void histogram_match(const int *values, int *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned active = __ballot_sync(0xffffffff, i < n);
    if (i >= n)
        return;
    unsigned same = __match_any_sync(active, values[i]);
    if (__ffs(same) - 1 == (int)threadIdx.x % 32)
        atomicAdd(&bins[values[i]], __popc(same));
}

/* How many are odd: one addition a warp. */
extern "C" __global__ void count_odd(const int *values, int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned odd = __ballot_sync(0xffffffff, i < n && values[i] % 2 != 0);
    if (threadIdx.x % 32 == 0)
        atomicAdd(count, __popc(odd));
}
