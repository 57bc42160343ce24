#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__global__ void combine(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = a[i], y = b[i];
        for (int k = 0; k < 40; k++) x = x * 0.999f + y;
        c[i] = x;
    }
}
int main(int argc, char **argv) {
    int slices = 96, n = 1 << 18, rounds = argc > 1 ? atoi(argv[1]) : 150;
    float *pool;
    if (cudaMallocManaged(&pool, (size_t)slices * n * 4) != cudaSuccess) return 1;
    for (size_t i = 0; i < (size_t)slices * n; i++) pool[i] = (float)(i % 7);
    unsigned seed = 1;
    for (int r = 0; r < rounds; r++) {
        unsigned s[3];
        for (int k = 0; k < 3; k++) { seed = seed * 1664525u + 1013904223u; s[k] = (seed >> 8) % slices; }
        combine<<<(n + 255) / 256, 256>>>(pool + (size_t)s[0] * n, pool + (size_t)s[1] * n, pool + (size_t)s[2] * n, n);
    }
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    double sum = 0;
    for (size_t i = 0; i < (size_t)slices * n; i += 1001) sum += pool[i];
    printf("%.6e\n", sum);
    return 0;
}
