/* c = a + b over three large vectors. The inputs are copied in when their buffers are created. */
#include "common.h"

#include <stdlib.h>

static const char kernels[] = OPENCL_SOURCE(__kernel void add(
    __global const float *a, __global const float *b, __global float *sum, ulong count) {
    const ulong i = get_global_id(0);
    if (i < count)
        sum[i] = a[i] + b[i];
});

static const struct program program = {
    .name = "addvectors",
    .kernels = kernels,
    .default_iterations = 10,
    .iteration_is = "one addition of the whole vectors",
};

static float *make_vector(size_t count, uint64_t key) {
    float *vector = host_pages(count * sizeof(float));
    fill_units(vector, count, key, 0);
    return vector;
}

/* One addition of two floats rounds in one way only, so the sums must be equal. */
static void check_sums(struct app *app, const float *sums, size_t count, uint64_t a_key,
                       uint64_t b_key) {
    for (size_t i = 0; i < count; ++i)
        app_expect(app, i, sums[i], random_unit(a_key, i) + random_unit(b_key, i), 0);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel add = app_kernel(&app, "add");

    const size_t count = app.size / (3 * sizeof(float));
    const size_t bytes = count * sizeof(float);
    const uint64_t a_key = random_key(app.seed, 'a');
    const uint64_t b_key = random_key(app.seed, 'b');
    float *host_a = make_vector(count, a_key);
    float *host_b = make_vector(count, b_key);

    app_start_clock(&app);
    cl_mem a = app_buffer(&app, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, host_a);
    cl_mem b = app_buffer(&app, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, host_b);
    cl_mem sum = app_buffer(&app, CL_MEM_WRITE_ONLY, bytes, NULL);
    free(host_a);
    free(host_b);
    for (size_t i = 0; i < app.iterations; ++i) {
        app_launch(&app, add, over(count), ARG(a), ARG(b), ARG(sum), ARG(count));
        app_end_iteration(&app);
    }
    const float *sums = app_download(&app, sum, bytes);
    app_stop_clock(&app);

    if (app.check)
        check_sums(&app, sums, count, a_key, b_key);
    return app_close(&app);
}
