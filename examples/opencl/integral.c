/*
 * The summed-area table (integral image) of an image, in place: every pixel becomes the sum of all
 * pixels above it and to its left. Running sums go along the rows first; then each work-item walks
 * down the whole image with four columns. Sums wrap at 32 bits.
 */
#include "common.h"

#include <stdlib.h>

#define COLUMNS_PER_ITEM 4

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
    .name = "integral",
    .kernels = kernels,
    .default_iterations = 1,
    .iteration_is = "one pass along the rows and one down the columns, over what the last one left",
};

static uint32_t *make_image(size_t pixels, uint64_t key) {
    uint32_t *image = host_pages(pixels * sizeof(uint32_t));
    for (size_t i = 0; i < pixels; ++i)
        image[i] = (uint32_t)(random_bits(key, i) >> 56);
    return image;
}

/* Both passes at once: what is left of a pixel has been summed when its turn comes. */
static void reference(uint32_t *image, size_t side) {
    for (size_t row = 0; row < side; ++row) {
        uint32_t sum = 0;
        for (size_t column = 0; column < side; ++column) {
            uint32_t *here = &image[row * side + column];
            sum += *here;
            *here = sum + (row > 0 ? here[-(ptrdiff_t)side] : 0);
        }
    }
}

static void check_image(struct app *app, const uint32_t *got, size_t side, uint64_t key) {
    const size_t pixels = side * side;
    uint32_t *wanted = make_image(pixels, key);
    for (size_t i = 0; i < app->iterations; ++i)
        reference(wanted, side);
    for (size_t i = 0; i < pixels; ++i)
        app_expect(app, i, got[i], wanted[i], 0);
    free(wanted);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel sum_rows = app_kernel(&app, "sum_rows");
    cl_kernel sum_columns = app_kernel(&app, "sum_columns");

    const size_t width = square_side(app.size, sizeof(uint32_t), 0) / COLUMNS_PER_ITEM;
    const size_t side = width * COLUMNS_PER_ITEM;
    const size_t bytes = side * side * sizeof(uint32_t);
    const uint64_t key = random_key(app.seed, 'i');
    uint32_t *host_image = make_image(side * side, key);
    cl_mem image = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);

    app_start_clock(&app);
    app_write(&app, image, bytes, host_image);
    free(host_image);
    for (size_t i = 0; i < app.iterations; ++i) {
        app_launch(&app, sum_rows, over(side), ARG(image), ARG(side));
        app_launch(&app, sum_columns, over(width), ARG(image), ARG(side), ARG(width));
        app_end_iteration(&app);
    }
    const uint32_t *got = app_download(&app, image, bytes);
    app_stop_clock(&app);

    if (app.check)
        check_image(&app, got, side, key);
    return app_close(&app);
}
