/*
 * Jacobi iterations on the 3D Poisson problem: every inner cell becomes the mean of its six
 * neighbours plus its source term, from one array into the other. Uploads are asynchronous.
 */
#include "common.h"

#include "host/jacobi.h"

#include <utility>

__global__ void relax(const float *source, const float *from, float *to, size_t side,
                      size_t depth) {
    const size_t x = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    const size_t y = blockIdx.y * (size_t)blockDim.y + threadIdx.y;
    const size_t z = blockIdx.z;
    if (x >= side || y >= side)
        return;
    const size_t plane = side * side;
    const size_t here = z * plane + y * side + x;
    /* The surface is held at its values, which both arrays must have. */
    if (x == 0 || y == 0 || z == 0 || x + 1 == side || y + 1 == side || z + 1 == depth) {
        to[here] = from[here];
        return;
    }
    to[here] = SIXTH * (from[here - plane] + from[here + plane] + from[here - side] +
                        from[here + side] + from[here - 1] + from[here + 1] + source[here]);
}

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &jacobi_problem, NULL, argc, argv);
    const struct volume volume = jacobi_volume(&work);
    float *host_source = jacobi_values(&work, 'f');
    float *host_start = jacobi_values(&work, 'u');
    float *source = device_array<float>(&work, volume.cells);
    float *from = device_array<float>(&work, volume.cells);
    float *to = device_array<float>(&work, volume.cells);
    const dim3 block(64, 4);
    const dim3 grid(blocks(volume.side, block.x), blocks(volume.side, block.y),
                    (unsigned)volume.depth);

    work_start_clock(&work);
    CHECK(cudaMemcpyAsync(source, host_source, volume.bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyAsync(from, host_start, volume.bytes, cudaMemcpyHostToDevice));
    for (size_t i = 0; i < work.iterations; i++) {
        relax<<<grid, block>>>(source, from, to, volume.side, volume.depth);
        std::swap(from, to);
        end_iteration(&work);
    }
    float *got = download(from, volume.cells);
    stop_clock(&work);
    free(host_start);
    free(host_source);

    if (work.check)
        jacobi_check(&work, got);
    free(got);
    CHECK(cudaFree(to));
    CHECK(cudaFree(from));
    CHECK(cudaFree(source));
    return work_close(&work);
}
