/*
 * Speckle-reducing anisotropic diffusion of an image. In every iteration the host reads a small
 * region of the image (cudaMemcpy2D) to estimate the speckle, one kernel computes each pixel's
 * derivatives and diffusion coefficient, and a second one diffuses the image.
 */
#include "common.h"

#include "host/srad.h"

/* What the first kernel leaves for the second. */
struct derivatives {
    float *north, *south, *west, *east, *coefficient;
};

__global__ void coefficients(const float *image, struct derivatives out, size_t side,
                             float speckle) {
    const size_t x = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    const size_t y = blockIdx.y * (size_t)blockDim.y + threadIdx.y;
    if (x >= side || y >= side)
        return;
    const size_t here = y * side + x;
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
    const float variation = (0.5f * gradient - 0.0625f * laplacian * laplacian) / (spread * spread);
    const float excess = (variation - speckle) / (speckle * (1.0f + speckle));

    out.north[here] = to_north;
    out.south[here] = to_south;
    out.west[here] = to_west;
    out.east[here] = to_east;
    out.coefficient[here] = __saturatef(1.0f / (1.0f + excess));
}

__global__ void diffuse(float *image, struct derivatives in, size_t side) {
    const size_t x = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    const size_t y = blockIdx.y * (size_t)blockDim.y + threadIdx.y;
    if (x >= side || y >= side)
        return;
    const size_t here = y * side + x;
    const float own = in.coefficient[here];
    const float below = y + 1 < side ? in.coefficient[here + side] : own;
    const float right = x + 1 < side ? in.coefficient[here + 1] : own;
    const float divergence =
        own * in.north[here] + below * in.south[here] + own * in.west[here] + right * in.east[here];
    image[here] += 0.25f * LAMBDA * divergence;
}

static float read_speckle(const float *image, size_t side) {
    float region[REGION_SIDE * REGION_SIDE];
    const size_t row_bytes = REGION_SIDE * sizeof(float);
    CHECK(cudaMemcpy2D(region, row_bytes, image, side * sizeof(float), row_bytes, REGION_SIDE,
                       cudaMemcpyDeviceToHost));
    return srad_speckle(region);
}

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &srad_problem, NULL, argc, argv);
    const size_t side = srad_side(&work), pixels = side * side;
    const dim3 block(64, 4), grid(blocks(side, block.x), blocks(side, block.y));
    float *host_image = srad_image(&work);
    float *image = device_array<float>(&work, pixels);
    struct derivatives between;
    float **const arrays[] = {&between.north, &between.south, &between.west, &between.east,
                              &between.coefficient};
    for (float **array : arrays)
        *array = device_array<float>(&work, pixels);

    work_start_clock(&work);
    upload(image, host_image, pixels);
    free(host_image);
    for (size_t i = 0; i < work.iterations; i++) {
        const float speckle = read_speckle(image, side);
        coefficients<<<grid, block>>>(image, between, side, speckle);
        diffuse<<<grid, block>>>(image, between, side);
        end_iteration(&work);
    }
    float *got = download(image, pixels);
    stop_clock(&work);

    if (work.check)
        srad_check(&work, got);
    free(got);
    for (float **array : arrays)
        CHECK(cudaFree(*array));
    CHECK(cudaFree(image));
    return work_close(&work);
}
