/* Dot products of two vectors, summed by shuffles in a warp, in shared memory between the warps of
 * a block, and by atomics between blocks. All numbers are small and whole: sums are exact. */
#include "common.h"

#include <vector>

__global__ void dot(const float *a, const float *b, size_t count, double *sum) {
    __shared__ double warps[8];
    double mine = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        mine += (double)a[i] * b[i];
    for (int step = 16; step > 0; step /= 2)
        mine += __shfl_down_sync(~0u, mine, step);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned i = 1; i < blockDim.x / 32; i++)
            mine += warps[i];
        atomicAdd(sum, mine);
    }
}

int main(int argc, char **argv) {
    Work work = read_work(argc, argv, 3);
    size_t count = work.bytes / 2 / sizeof(float);
    std::vector<float> numbers(count);
    double expected = 0, found;
    for (size_t i = 0; i < count; i++) {
        numbers[i] = (float)(i % 10);
        expected += (double)(numbers[i] * numbers[i]);
    }
    float *a, *b;
    double *sum;
    CHECK(cudaMalloc(&a, count * sizeof(float)));
    CHECK(cudaMalloc(&b, count * sizeof(float)));
    CHECK(cudaMalloc(&sum, sizeof(double)));
    CHECK(cudaMemcpy(a, numbers.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b, numbers.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(sum, 0, sizeof(double)));
    for (int i = 0; i < work.iterations; i++)
        dot<<<64, 256>>>(a, b, count, sum);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&found, sum, sizeof(double), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(sum));
    return verdict(found == work.iterations * expected);
}
