/*
 * The summed-area table (integral image) of an image, in place: every pixel becomes the sum of all
 * pixels above it and to its left. Running sums go along the rows first; then each work-item walks
 * down the whole image with four columns. Sums wrap at 32 bits.
 */
#include "common.h"

#include "host/integral.h"

#include <stdlib.h>

static const char kernels[] = OPENCL_SOURCE(
    __kernel void sum_rows(__global uint *image, ulong side) {
        const ulong row = get_global_id(0);
        if (row >= side)
            return;
        uint sum = 0;
        for (ulong column = 0; column < side; ++column) {
            sum += image[row * side + column];
            image[row * side + column] = sum;
        }
    }

    __kernel void sum_columns(__global uint4 *image, ulong side, ulong width) {
        const ulong column = get_global_id(0);
        if (column >= width)
            return;
        uint4 sum = (uint4)(0);
        for (ulong row = 0; row < side; ++row) {
            sum += image[row * width + column];
            image[row * width + column] = sum;
        }
    });

static const struct program program = {
    .problem = &integral_problem,
    .kernels = kernels,
};

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel sum_rows = app_kernel(&app, "sum_rows");
    cl_kernel sum_columns = app_kernel(&app, "sum_columns");

    const size_t side = integral_side(&app.work);
    const size_t width = side / COLUMNS_PER_ITEM;
    const size_t bytes = side * side * sizeof(uint32_t);
    uint32_t *host_image = integral_image(&app.work);
    cl_mem image = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);

    app_start_clock(&app);
    app_write(&app, image, bytes, host_image);
    free(host_image);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        app_launch(&app, sum_rows, over(side), ARG(image), ARG(side));
        app_launch(&app, sum_columns, over(width), ARG(image), ARG(side), ARG(width));
        app_end_iteration(&app);
    }
    const uint32_t *got = app_download(&app, image, bytes);
    app_stop_clock(&app);

    if (app.work.check)
        integral_check(&app.work, got);
    return app_close(&app);
}
