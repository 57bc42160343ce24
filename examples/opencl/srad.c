/*
 * Speckle-reducing anisotropic diffusion of an image. In every iteration the host reads a small
 * region of the image (clEnqueueReadBufferRect) to estimate the speckle, one kernel computes each
 * pixel's derivatives and diffusion coefficient, and a second one diffuses the image.
 */
#include "common.h"

#include "host/srad.h"

#include <stdlib.h>

static const char kernels[] = OPENCL_SOURCE(
    __kernel void coefficients(__global const float *image, __global float *north,
                               __global float *south, __global float *west, __global float *east,
                               __global float *coefficient, ulong side, float speckle) {
        const ulong x = get_global_id(0);
        const ulong y = get_global_id(1);
        if (x >= side || y >= side)
            return;
        const ulong here = y * side + x;
        const float pixel = image[here];
        const float to_north = (y > 0 ? image[here - side] : pixel) - pixel;
        const float to_south = (y + 1 < side ? image[here + side] : pixel) - pixel;
        const float to_west = (x > 0 ? image[here - 1] : pixel) - pixel;
        const float to_east = (x + 1 < side ? image[here + 1] : pixel) - pixel;

        const float gradient =
            (to_north * to_north + to_south * to_south + to_west * to_west + to_east * to_east) /
            (pixel * pixel);
        const float laplacian = (to_north + to_south + to_west + to_east) / pixel;
        const float spread = 1.0f + 0.25f * laplacian;
        const float variation =
            (0.5f * gradient - 0.0625f * laplacian * laplacian) / (spread * spread);
        const float excess = (variation - speckle) / (speckle * (1.0f + speckle));

        north[here] = to_north;
        south[here] = to_south;
        west[here] = to_west;
        east[here] = to_east;
        coefficient[here] = clamp(1.0f / (1.0f + excess), 0.0f, 1.0f);
    }

    __kernel void diffuse(__global float *image, __global const float *north,
                          __global const float *south, __global const float *west,
                          __global const float *east, __global const float *coefficient,
                          ulong side) {
        const ulong x = get_global_id(0);
        const ulong y = get_global_id(1);
        if (x >= side || y >= side)
            return;
        const ulong here = y * side + x;
        const float own = coefficient[here];
        const float below = y + 1 < side ? coefficient[here + side] : own;
        const float right = x + 1 < side ? coefficient[here + 1] : own;
        const float divergence =
            own * north[here] + below * south[here] + own * west[here] + right * east[here];
        image[here] += 0.25f * LAMBDA * divergence;
    });

static const struct program program = {
    .problem = &srad_problem,
    .kernels = kernels,
};

static float read_speckle(struct app *app, cl_mem image, size_t side) {
    float region[REGION_SIDE * REGION_SIDE];
    const size_t origin[3] = {0, 0, 0};
    const size_t extent[3] = {REGION_SIDE * sizeof(float), REGION_SIDE, 1};
    require(clEnqueueReadBufferRect(app->queue, image, CL_TRUE, origin, origin, extent,
                                    side * sizeof(float), 0, extent[0], 0, region, 0, NULL, NULL),
            "clEnqueueReadBufferRect");
    return srad_speckle(region);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel coefficients = app_kernel(&app, "coefficients");
    cl_kernel diffuse = app_kernel(&app, "diffuse");

    const size_t side = srad_side(&app.work);
    const size_t bytes = side * side * sizeof(float);
    float *host_image = srad_image(&app.work);

    cl_mem image = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);
    cl_mem north = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);
    cl_mem south = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);
    cl_mem west = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);
    cl_mem east = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);
    cl_mem coefficient = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);

    app_start_clock(&app);
    app_write(&app, image, bytes, host_image);
    free(host_image);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        const float speckle = read_speckle(&app, image, side);
        app_launch(&app, coefficients, over_plane(side, side), ARG(image), ARG(north), ARG(south),
                   ARG(west), ARG(east), ARG(coefficient), ARG(side), ARG(speckle));
        app_launch(&app, diffuse, over_plane(side, side), ARG(image), ARG(north), ARG(south),
                   ARG(west), ARG(east), ARG(coefficient), ARG(side));
        app_end_iteration(&app);
    }
    const float *got = app_download(&app, image, bytes);
    app_stop_clock(&app);

    if (app.work.check)
        srad_check(&app.work, got);
    return app_close(&app);
}
