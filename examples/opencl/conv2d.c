/*
 * 3 x 3 convolution of a large image. Input and output are the program's own memory, which the
 * device uses in place (CL_MEM_USE_HOST_PTR); the result is read by mapping it.
 */
#include "common.h"

#include "host/conv2d.h"

#include <stdlib.h>

static const char kernels[] = OPENCL_SOURCE(
    __kernel void convolve(__global const float *in, __global float *out, ulong side) {
        const ulong x = get_global_id(0);
        const ulong y = get_global_id(1);
        if (x < 1 || y < 1 || x + 1 >= side || y + 1 >= side)
            return;
        const ulong here = y * side + x;
        const ulong above = here - side;
        const ulong below = here + side;
        out[here] = NORTH_WEST * in[above - 1] + NORTH * in[above] + NORTH_EAST * in[above + 1] +
                    WEST * in[here - 1] + CENTER * in[here] + EAST * in[here + 1] +
                    SOUTH_WEST * in[below - 1] + SOUTH * in[below] + SOUTH_EAST * in[below + 1];
    });

static const struct program program = {
    .problem = &conv2d_problem,
    .kernels = kernels,
};

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel convolve = app_kernel(&app, "convolve");

    const size_t side = conv2d_side(&app.work);
    const size_t bytes = side * side * sizeof(float);
    float *host_in = host_pages(bytes);
    float *host_out = host_pages(bytes);
    conv2d_start(&app.work, host_in, host_out);

    app_start_clock(&app);
    cl_mem in = app_buffer(&app, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, bytes, host_in);
    cl_mem out = app_buffer(&app, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, host_out);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        app_launch(&app, convolve, over_plane(side, side), ARG(in), ARG(out), ARG(side));
        app_end_iteration(&app);
    }
    const float *got = app_download_mapped(&app, out, bytes);
    app_stop_clock(&app);

    if (app.work.check)
        conv2d_check(&app.work, got);
    /* OpenCL may touch the memory it was given until the buffers are gone. */
    const int status = app_close(&app);
    free(host_out);
    free(host_in);
    return status;
}
