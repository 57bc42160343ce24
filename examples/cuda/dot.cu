/*
 * Dot products of two vectors, summed by shuffles in a warp, in shared memory between the warps of
 * a block, and by atomics between blocks. All numbers are small and whole: sums are exact.
 */
#include "common.h"

static const struct problem dot_problem = {3, "one dot product of the whole vectors"};

__global__ void dot(const float *a, const float *b, size_t count, double *sum) {
    __shared__ double warps[THREADS / 32];
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

static void check_sum(struct work *work, double got, size_t count) {
    const uint64_t a_key = random_key(work->seed, 'a');
    const uint64_t b_key = random_key(work->seed, 'b');
    double wanted = 0;
    for (size_t i = 0; i < count; i++)
        wanted += (double)random_digit(a_key, i) * random_digit(b_key, i);
    work_expect(work, 0, got, (double)work->iterations * wanted, 0);
}

/* A fresh device array of the digits of a stream. */
static float *upload_digits(struct work *work, size_t count, char name) {
    float *host = (float *)host_pages(count * sizeof(float));
    float *array = device_array<float>(work, count);
    fill_digits(host, count, random_key(work->seed, (uint64_t)name), 0);
    upload(array, host, count);
    free(host);
    return array;
}

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &dot_problem, NULL, argc, argv);
    const size_t count = work.size / (2 * sizeof(float));
    double *sum = device_array<double>(&work, 1), got;

    work_start_clock(&work);
    float *a = upload_digits(&work, count, 'a');
    float *b = upload_digits(&work, count, 'b');
    CHECK(cudaMemset(sum, 0, sizeof(double)));
    for (size_t i = 0; i < work.iterations; i++) {
        dot<<<64, THREADS>>>(a, b, count, sum);
        end_iteration(&work);
    }
    CHECK(cudaMemcpy(&got, sum, sizeof(double), cudaMemcpyDeviceToHost));
    stop_clock(&work);

    if (work.check)
        check_sum(&work, got, count);
    CHECK(cudaFree(b));
    CHECK(cudaFree(a));
    CHECK(cudaFree(sum));
    return work_close(&work);
}
