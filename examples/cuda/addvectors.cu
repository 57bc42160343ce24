/* c = a + b over three large vectors. */
#include "common.h"

#include "host/addvectors.h"

__global__ void add(const float *a, const float *b, float *sum, size_t count) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count)
        sum[i] = a[i] + b[i];
}

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &addvectors_problem, NULL, argc, argv);
    const size_t count = addvectors_count(&work);
    float *host_a = addvectors_input(&work, 'a');
    float *host_b = addvectors_input(&work, 'b');
    float *a = device_array<float>(&work, count);
    float *b = device_array<float>(&work, count);
    float *sum = device_array<float>(&work, count);

    work_start_clock(&work);
    upload(a, host_a, count);
    upload(b, host_b, count);
    free(host_a);
    free(host_b);
    for (size_t i = 0; i < work.iterations; i++) {
        add<<<blocks(count), THREADS>>>(a, b, sum, count);
        end_iteration(&work);
    }
    float *sums = download(sum, count);
    stop_clock(&work);

    if (work.check)
        addvectors_check(&work, sums);
    free(sums);
    CHECK(cudaFree(sum));
    CHECK(cudaFree(b));
    CHECK(cudaFree(a));
    return work_close(&work);
}
