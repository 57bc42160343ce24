/* The STREAM triad, a = b + scalar * c, in C with the driver API. */
#include "driver.h"

#include "host/streamtriad.h"

#include <stdlib.h>

int main(int argc, char **argv) {
    struct work work;
    struct device device;
    work_open(&work, &streamtriad_problem, NULL, argc, argv);
    size_t count = streamtriad_count(&work);
    const size_t bytes = count * sizeof(float);
    float *host_b = streamtriad_input(&work, 'b');
    float *host_c = streamtriad_input(&work, 'c');
    device_open(&device);
    CUfunction triad = device_kernel(&device, "triad");
    CUdeviceptr a = device_array(&work, bytes);
    CUdeviceptr b = device_array(&work, bytes);
    CUdeviceptr c = device_array(&work, bytes);
    float scalar = SCALAR;

    work_start_clock(&work);
    CHECK(cuMemcpyHtoD(b, host_b, bytes));
    CHECK(cuMemcpyHtoD(c, host_c, bytes));
    free(host_b);
    free(host_c);
    for (size_t i = 0; i < work.iterations; ++i) {
        LAUNCH(triad, divide_up(count, THREADS), &a, &b, &c, &scalar, &count);
        end_iteration(&work);
    }
    float *got = download(a, bytes);
    stop_clock(&work);

    if (work.check)
        streamtriad_check(&work, got);
    free(got);
    CHECK(cuMemFree(c));
    CHECK(cuMemFree(b));
    CHECK(cuMemFree(a));
    device_close(&device);
    return work_close(&work);
}
