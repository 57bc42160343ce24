/* c = a + b over three large vectors. The inputs are copied in when their buffers are created. */
#include "common.h"

#include "host/addvectors.h"

#include <stdlib.h>

static const char kernels[] = OPENCL_SOURCE(__kernel void add(
    __global const float *a, __global const float *b, __global float *sum, ulong count) {
    const ulong i = get_global_id(0);
    if (i < count)
        sum[i] = a[i] + b[i];
});

static const struct program program = {
    .problem = &addvectors_problem,
    .kernels = kernels,
};

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel add = app_kernel(&app, "add");

    const size_t count = addvectors_count(&app.work);
    const size_t bytes = count * sizeof(float);
    float *host_a = addvectors_input(&app.work, 'a');
    float *host_b = addvectors_input(&app.work, 'b');

    app_start_clock(&app);
    cl_mem a = app_buffer(&app, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, host_a);
    cl_mem b = app_buffer(&app, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, host_b);
    cl_mem sum = app_buffer(&app, CL_MEM_WRITE_ONLY, bytes, NULL);
    free(host_a);
    free(host_b);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        app_launch(&app, add, over(count), ARG(a), ARG(b), ARG(sum), ARG(count));
        app_end_iteration(&app);
    }
    const float *sums = app_download(&app, sum, bytes);
    app_stop_clock(&app);

    if (app.work.check)
        addvectors_check(&app.work, sums);
    return app_close(&app);
}
