/*
 * Speckle-reducing anisotropic diffusion of an image. In every iteration the host reads a small
 * region of the image (clEnqueueReadBufferRect) to estimate the speckle, one kernel computes each
 * pixel's derivatives and diffusion coefficient, and a second one diffuses the image.
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>

#define LAMBDA 0.5f

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
    .name = "srad",
    .kernels = kernels,
    .default_iterations = 6,
    .iteration_is = "one estimate of the speckle and one diffusion of the image",
};

/* The part of the image which is taken to show speckle and nothing else: its upper left corner. */
enum { REGION_SIDE = 32 };

/* The squared coefficient of variation of the region, kept above 0 because we divide by it. */
static float region_speckle(const float region[REGION_SIDE * REGION_SIDE]) {
    const int pixels = REGION_SIDE * REGION_SIDE;
    double sum = 0, squares = 0;
    for (int i = 0; i < pixels; ++i) {
        sum += (double)region[i];
        squares += (double)region[i] * (double)region[i];
    }
    const double mean = sum / pixels;
    const double variance = squares / pixels - mean * mean;
    return (float)fmax(variance / (mean * mean), 1e-4);
}

static float read_speckle(struct app *app, cl_mem image, size_t side) {
    float region[REGION_SIDE * REGION_SIDE];
    const size_t origin[3] = {0, 0, 0};
    const size_t extent[3] = {REGION_SIDE * sizeof(float), REGION_SIDE, 1};
    require(clEnqueueReadBufferRect(app->queue, image, CL_TRUE, origin, origin, extent,
                                    side * sizeof(float), 0, extent[0], 0, region, 0, NULL, NULL),
            "clEnqueueReadBufferRect");
    return region_speckle(region);
}

/* Like ultrasound, whose intensities are an exponential of what was recorded: from 1 to e. */
static float *make_image(size_t pixels, uint64_t key) {
    float *image = host_pages(pixels * sizeof(float));
    for (size_t i = 0; i < pixels; ++i)
        image[i] = expf(random_unit(key, i));
    return image;
}

static float image_speckle(const float *image, size_t side) {
    float region[REGION_SIDE * REGION_SIDE];
    for (size_t i = 0; i < REGION_SIDE * REGION_SIDE; ++i)
        region[i] = image[i / REGION_SIDE * side + i % REGION_SIDE];
    return region_speckle(region);
}

struct derivatives {
    float north, south, west, east;
};

static struct derivatives derivatives_at(const float *image, size_t side, size_t x, size_t y) {
    const size_t here = y * side + x;
    const float pixel = image[here];
    return (struct derivatives){
        .north = (y > 0 ? image[here - side] : pixel) - pixel,
        .south = (y + 1 < side ? image[here + side] : pixel) - pixel,
        .west = (x > 0 ? image[here - 1] : pixel) - pixel,
        .east = (x + 1 < side ? image[here + 1] : pixel) - pixel,
    };
}

static float reference_coefficient(float pixel, struct derivatives to, float speckle) {
    const float gradient =
        (to.north * to.north + to.south * to.south + to.west * to.west + to.east * to.east) /
        (pixel * pixel);
    const float laplacian = (to.north + to.south + to.west + to.east) / pixel;
    const float spread = 1.0f + 0.25f * laplacian;
    const float variation = (0.5f * gradient - 0.0625f * laplacian * laplacian) / (spread * spread);
    const float excess = (variation - speckle) / (speckle * (1.0f + speckle));
    return fminf(fmaxf(1.0f / (1.0f + excess), 0.0f), 1.0f);
}

/* One iteration from one image into another; coefficient is scratch memory of the same size. */
static void reference_iteration(const float *from, float *to, float *coefficient, size_t side) {
    const float speckle = image_speckle(from, side);
    for (size_t y = 0; y < side; ++y)
        for (size_t x = 0; x < side; ++x)
            coefficient[y * side + x] = reference_coefficient(
                from[y * side + x], derivatives_at(from, side, x, y), speckle);

    for (size_t y = 0; y < side; ++y) {
        for (size_t x = 0; x < side; ++x) {
            const size_t here = y * side + x;
            const struct derivatives toward = derivatives_at(from, side, x, y);
            const float own = coefficient[here];
            const float below = y + 1 < side ? coefficient[here + side] : own;
            const float right = x + 1 < side ? coefficient[here + 1] : own;
            const float divergence =
                own * toward.north + below * toward.south + own * toward.west + right * toward.east;
            to[here] = from[here] + 0.25f * LAMBDA * divergence;
        }
    }
}

static void check_image(struct app *app, const float *got, size_t side, uint64_t key) {
    const size_t pixels = side * side;
    float *from = make_image(pixels, key);
    float *to = host_pages(pixels * sizeof(float));
    float *coefficient = host_pages(pixels * sizeof(float));
    for (size_t i = 0; i < app->iterations; ++i) {
        reference_iteration(from, to, coefficient, side);
        float *swap = from;
        from = to;
        to = swap;
    }
    app_expect_floats(app, got, from, pixels, 1e-4);
    free(coefficient);
    free(to);
    free(from);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel coefficients = app_kernel(&app, "coefficients");
    cl_kernel diffuse = app_kernel(&app, "diffuse");

    const size_t side = square_side(app.size, 6 * sizeof(float), 0);
    const size_t bytes = side * side * sizeof(float);
    const uint64_t key = random_key(app.seed, 'i');
    float *host_image = make_image(side * side, key);

    cl_mem image = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);
    cl_mem north = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);
    cl_mem south = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);
    cl_mem west = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);
    cl_mem east = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);
    cl_mem coefficient = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);

    app_start_clock(&app);
    app_write(&app, image, bytes, host_image);
    free(host_image);
    for (size_t i = 0; i < app.iterations; ++i) {
        const float speckle = read_speckle(&app, image, side);
        app_launch(&app, coefficients, over_plane(side, side), ARG(image), ARG(north), ARG(south),
                   ARG(west), ARG(east), ARG(coefficient), ARG(side), ARG(speckle));
        app_launch(&app, diffuse, over_plane(side, side), ARG(image), ARG(north), ARG(south),
                   ARG(west), ARG(east), ARG(coefficient), ARG(side));
        app_end_iteration(&app);
    }
    const float *got = app_download(&app, image, bytes);
    app_stop_clock(&app);

    if (app.check)
        check_image(&app, got, side, key);
    return app_close(&app);
}
