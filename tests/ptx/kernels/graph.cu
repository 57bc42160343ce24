/* Graphs in compressed rows: v has the neighbours targets[starts[v]] to targets[starts[v + 1]] */
#include "cuda_runtime.h"

/* Vertices at `level` reach those without one. */
extern "C" __global__ void bfs_level(const int *starts, const int *targets, int *levels,
                                     int *changed, int n, int level) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || levels[v] != level)
        return;
    for (int k = starts[v]; k < starts[v + 1]; k++)
        if (atomicCAS(&levels[targets[k]], -1, level + 1) == -1)
            atomicAdd(changed, 1);
}

extern "C" __global__ void pagerank(const int *starts, const int *targets, const float *shares,
                                    float *ranks, int n, float damping) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n)
        return;
    float sum = 0;
    for (int k = starts[v]; k < starts[v + 1]; k++)
        sum += shares[targets[k]];
    ranks[v] = fmaf(damping, sum, (1 - damping) / n);
}

/* The next distances, from those of before. */
extern "C" __global__ void sssp_relax(const int *starts, const int *targets, const int *lengths,
                                      const int *before, int *after, int n) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n)
        return;
    for (int k = starts[v]; k < starts[v + 1]; k++)
        atomicMin(&after[targets[k]], before[v] + lengths[k]);
}

/* How many k > j > i are neighbours of each other; neighbours are in ascending order. */
extern "C" __global__ void triangles(const int *starts, const int *targets, int *counts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, count = 0;
    if (i >= n)
        return;
    for (int e = starts[i]; e < starts[i + 1]; e++) {
        int j = targets[e], a = e + 1, b = starts[j];
        while (a < starts[i + 1] && b < starts[j + 1]) {
            int x = targets[a], y = targets[b];
            count += x == y;
            a += x <= y;
            b += y <= x;
        }
    }
    counts[i] = count;
}
