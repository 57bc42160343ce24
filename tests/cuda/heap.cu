/* new, delete, malloc() and free() in kernels. Returns 0 if the numbers are right. */
#include <cuda_runtime.h>

struct pair {
    int first, second;
    __device__ pair(int a, int b) : first(a), second(b) {}
};

__global__ void make(pair **pairs, int **lists) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    pairs[i] = new pair(i, 2 * i);
    lists[i] = (int *)malloc((size_t)(i + 1) * sizeof(int));
    for (int k = 0; lists[i] && k <= i; k++)
        lists[i][k] = k;
}

__global__ void add(pair **pairs, int **lists, int *sums) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    sums[i] = pairs[i]->first + pairs[i]->second;
    for (int k = 0; k <= i; k++)
        sums[i] += lists[i][k];
    delete pairs[i];
    free(lists[i]);
}

int main() {
    const int count = 256;
    pair **pairs;
    int **lists, *sums, wrong = 0;
    if (cudaMallocManaged(&pairs, count * sizeof *pairs) ||
        cudaMallocManaged(&lists, count * sizeof *lists) ||
        cudaMallocManaged(&sums, count * sizeof *sums) ||
        cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20))
        return 1;
    for (int repeat = 0; repeat < 20; repeat++) { /* more than the heap, if nothing were freed */
        make<<<8, 32>>>(pairs, lists);
        add<<<4, 64>>>(pairs, lists, sums);
        if (cudaDeviceSynchronize())
            return 1;
        for (int i = 0; i < count; i++)
            wrong += sums[i] != 3 * i + i * (i + 1) / 2;
    }
    return wrong != 0;
}
