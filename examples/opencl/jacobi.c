/*
 * Jacobi iterations on the 3D Poisson problem: every inner cell becomes the mean of its six
 * neighbours plus its source term, from one buffer into the other. Uploads do not block.
 */
#include "common.h"

#include "host/jacobi.h"

#include <stdlib.h>

static const char kernels[] =
    OPENCL_SOURCE(__kernel void relax(__global const float *source, __global const float *from,
                                      __global float *to, ulong side, ulong depth) {
        const ulong x = get_global_id(0);
        const ulong y = get_global_id(1);
        const ulong z = get_global_id(2);
        if (x >= side || y >= side || z >= depth)
            return;
        const ulong plane = side * side;
        const ulong here = z * plane + y * side + x;
        /* The surface is held at its values, which both buffers must have. */
        if (x == 0 || y == 0 || z == 0 || x + 1 == side || y + 1 == side || z + 1 == depth) {
            to[here] = from[here];
            return;
        }
        to[here] = SIXTH * (from[here - plane] + from[here + plane] + from[here - side] +
                            from[here + side] + from[here - 1] + from[here + 1] + source[here]);
    });

static const struct program program = {
    .problem = &jacobi_problem,
    .kernels = kernels,
};

static void start_write(struct app *app, cl_mem buffer, size_t bytes, const float *from) {
    require(clEnqueueWriteBuffer(app->queue, buffer, CL_FALSE, 0, bytes, from, 0, NULL, NULL),
            "clEnqueueWriteBuffer");
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel relax = app_kernel(&app, "relax");

    const struct volume volume = jacobi_volume(&app.work);
    float *host_source = jacobi_values(&app.work, 'f');
    float *host_start = jacobi_values(&app.work, 'u');

    cl_mem source = app_buffer(&app, CL_MEM_READ_ONLY, volume.bytes, NULL);
    cl_mem from = app_buffer(&app, CL_MEM_READ_WRITE, volume.bytes, NULL);
    cl_mem to = app_buffer(&app, CL_MEM_READ_WRITE, volume.bytes, NULL);

    app_start_clock(&app);
    start_write(&app, source, volume.bytes, host_source);
    start_write(&app, from, volume.bytes, host_start);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        app_launch(&app, relax, over_volume(volume.side, volume.side, volume.depth), ARG(source),
                   ARG(from), ARG(to), ARG(volume.side), ARG(volume.depth));
        cl_mem swap = from;
        from = to;
        to = swap;
        app_end_iteration(&app);
    }
    const float *got = app_download(&app, from, volume.bytes);
    app_stop_clock(&app);
    free(host_start);
    free(host_source);

    if (app.work.check)
        jacobi_check(&app.work, got);
    return app_close(&app);
}
