// slices ROUNDS: one allocation of 96 MiB, as of a framework that has a pool; each kernel uses
// three slices of 1 MiB of it.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLICES = 96, COUNT = 1 << 18, BLOCK = 256 };

__global__ void combine(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = a[i];
    for (int k = 0; k < 40; k++)
        x = x * 0.999f + b[i];
    c[i] = x;
}

static float *pick(float *pool, unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return pool + (size_t)((*seed >> 8) % SLICES) * COUNT;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 150;
    unsigned seed = 1;
    float *pool;
    if (cudaMallocManaged(&pool, sizeof *pool * SLICES * COUNT) != cudaSuccess)
        return 1;
    for (size_t i = 0; i < (size_t)SLICES * COUNT; i++)
        pool[i] = (float)(i % 7);
    for (int i = 0; i < rounds; i++) {
        float *a = pick(pool, &seed), *b = pick(pool, &seed), *c = pick(pool, &seed);
        combine<<<(COUNT + BLOCK - 1) / BLOCK, BLOCK>>>(a, b, c, COUNT);
    }
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 1;
    double sum = 0;
    for (size_t i = 0; i < (size_t)SLICES * COUNT; i += 1001)
        sum += pool[i];
    printf("%.6e\n", sum);
    return cudaFree(pool) != cudaSuccess;
}
