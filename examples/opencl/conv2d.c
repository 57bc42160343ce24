/*
 * 3 x 3 convolution of a large image. Input and output are the program's own memory, which the
 * device uses in place (CL_MEM_USE_HOST_PTR); the result is read by mapping it.
 */
#include "common.h"

#include <stdlib.h>

/* Powers of two times digits: every sum is exact in any order, so the check asks for equality. */
#define NORTH_WEST 0.25f
#define NORTH      0.5f
#define NORTH_EAST -0.125f
#define WEST       -0.5f
#define CENTER     2.0f
#define EAST       0.25f
#define SOUTH_WEST -0.25f
#define SOUTH      1.0f
#define SOUTH_EAST 0.125f

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
    .name = "2dconv",
    .kernels = kernels,
    .default_iterations = 10,
    .iteration_is = "one convolution of the whole image",
};

/* Makes one row of the input again; three rows are kept, so a row replaces the one three above. */
static float *input_row(float *window, size_t side, size_t y, uint64_t key) {
    float *row = window + (y % 3) * side;
    fill_digits(row, side, key, y * side);
    return row;
}

static float convolve_pixel(const float *above, const float *middle, const float *below) {
    return NORTH_WEST * above[-1] + NORTH * above[0] + NORTH_EAST * above[1] + WEST * middle[-1] +
           CENTER * middle[0] + EAST * middle[1] + SOUTH_WEST * below[-1] + SOUTH * below[0] +
           SOUTH_EAST * below[1];
}

/* The kernel leaves the border of the output alone, so it must still hold what the host put. */
static void check_border(struct app *app, const float *out, size_t side) {
    for (size_t i = 0; i < side; ++i) {
        const size_t border[] = {i, (side - 1) * side + i, i * side, i * side + side - 1};
        for (size_t j = 0; j < sizeof(border) / sizeof(border[0]); ++j)
            app_expect(app, border[j], out[border[j]], 0, 0);
    }
}

static void check_image(struct app *app, const float *out, size_t side, uint64_t key) {
    float *window = host_array(3 * side, sizeof(float));
    const float *above = input_row(window, side, 0, key);
    const float *middle = input_row(window, side, 1, key);
    for (size_t y = 1; y + 1 < side; ++y) {
        const float *below = input_row(window, side, y + 1, key);
        for (size_t x = 1; x + 1 < side; ++x)
            app_expect(app, y * side + x, out[y * side + x],
                       convolve_pixel(above + x, middle + x, below + x), 0);
        above = middle;
        middle = below;
    }
    free(window);
    check_border(app, out, side);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel convolve = app_kernel(&app, "convolve");

    const size_t side = square_side(app.size, 2 * sizeof(float), 0);
    const size_t pixels = side * side;
    const size_t bytes = pixels * sizeof(float);
    float *host_in = host_pages(bytes);
    float *host_out = host_pages(bytes);
    const uint64_t in_key = random_key(app.seed, 'i');
    fill_digits(host_in, pixels, in_key, 0);
    for (size_t i = 0; i < pixels; ++i)
        host_out[i] = 0.0f;

    app_start_clock(&app);
    cl_mem in = app_buffer(&app, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, bytes, host_in);
    cl_mem out = app_buffer(&app, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, host_out);
    for (size_t i = 0; i < app.iterations; ++i) {
        app_launch(&app, convolve, over_plane(side, side), ARG(in), ARG(out), ARG(side));
        app_end_iteration(&app);
    }
    const float *got = app_download_mapped(&app, out, bytes);
    app_stop_clock(&app);

    if (app.check)
        check_image(&app, got, side, in_key);
    /* OpenCL may touch the memory it was given until the buffers are gone. */
    const int status = app_close(&app);
    free(host_out);
    free(host_in);
    return status;
}
