/*
 * 3 x 3 convolution of a large image. Input and output are managed memory, which the host fills
 * itself and prefetches; it reads the result where it is.
 */
#include "common.h"

#include "host/conv2d.h"

__global__ void convolve(const float *in, float *out, size_t side) {
    const size_t x = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    const size_t y = blockIdx.y * (size_t)blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x + 1 >= side || y + 1 >= side)
        return;
    const float *above = in + (y - 1) * side + x, *here = above + side, *below = here + side;
    out[y * side + x] = NORTH_WEST * above[-1] + NORTH * above[0] + NORTH_EAST * above[1] +
                        WEST * here[-1] + CENTER * here[0] + EAST * here[1] +
                        SOUTH_WEST * below[-1] + SOUTH * below[0] + SOUTH_EAST * below[1];
}

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &conv2d_problem, NULL, argc, argv);
    const size_t side = conv2d_side(&work);
    const size_t bytes = side * side * sizeof(float);
    const dim3 block(64, 4), grid(blocks(side, block.x), blocks(side, block.y));
    float *in, *out;
    CHECK(cudaMallocManaged(&in, bytes));
    CHECK(cudaMallocManaged(&out, bytes));
    work.footprint = 2 * bytes;
    conv2d_start(&work, in, out);

    work_start_clock(&work);
    CHECK(cudaMemPrefetchAsync(in, bytes, 0));
    for (size_t i = 0; i < work.iterations; i++) {
        convolve<<<grid, block>>>(in, out, side);
        end_iteration(&work);
    }
    stop_clock(&work);

    if (work.check)
        conv2d_check(&work, out);
    CHECK(cudaFree(out));
    CHECK(cudaFree(in));
    return work_close(&work);
}
