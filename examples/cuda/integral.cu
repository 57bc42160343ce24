/*
 * The summed-area table (integral image) of an image, in place: every pixel becomes the sum of all
 * pixels above it and to its left. Running sums go along the rows first; then each thread walks
 * down the whole image with four columns. Sums wrap at 32 bits.
 */
#include "common.h"

#include "host/integral.h"

__global__ void sum_rows(unsigned *image, size_t side) {
    const size_t row = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (row >= side)
        return;
    unsigned sum = 0;
    for (unsigned *pixel = image + row * side; pixel < image + (row + 1) * side; pixel++)
        *pixel = sum += *pixel;
}

__global__ void sum_columns(uint4 *image, size_t side, size_t width) {
    const size_t column = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (column >= width)
        return;
    uint4 sum = make_uint4(0, 0, 0, 0);
    for (size_t row = 0; row < side; row++) {
        const uint4 here = image[row * width + column];
        sum = make_uint4(sum.x + here.x, sum.y + here.y, sum.z + here.z, sum.w + here.w);
        image[row * width + column] = sum;
    }
}

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &integral_problem, NULL, argc, argv);
    const size_t side = integral_side(&work), width = side / COLUMNS_PER_ITEM;
    uint32_t *host_image = integral_image(&work);
    uint32_t *image = device_array<uint32_t>(&work, side * side);

    work_start_clock(&work);
    upload(image, host_image, side * side);
    free(host_image);
    for (size_t i = 0; i < work.iterations; i++) {
        sum_rows<<<blocks(side), THREADS>>>(image, side);
        sum_columns<<<blocks(width), THREADS>>>((uint4 *)image, side, width);
        end_iteration(&work);
    }
    uint32_t *got = download(image, side * side);
    stop_clock(&work);

    if (work.check)
        integral_check(&work, got);
    free(got);
    CHECK(cudaFree(image));
    return work_close(&work);
}
