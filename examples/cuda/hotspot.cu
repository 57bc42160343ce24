/*
 * The temperature of a chip, advanced in small time steps: every cell exchanges heat with its four
 * neighbours and the surroundings, and is heated by its part of the power grid.
 */
#include "common.h"

#include "host/hotspot.h"

#include <utility>

__global__ void advance(const float *power, const float *from, float *to, size_t side) {
    const size_t x = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    const size_t y = blockIdx.y * (size_t)blockDim.y + threadIdx.y;
    if (x >= side || y >= side)
        return;
    const size_t here = y * side + x;
    const float now = from[here];
    /* Nothing flows over the edge: there a cell is its own neighbour. */
    const float north = y > 0 ? from[here - side] : now;
    const float south = y + 1 < side ? from[here + side] : now;
    const float west = x > 0 ? from[here - 1] : now;
    const float east = x + 1 < side ? from[here + 1] : now;
    to[here] = now + HEAT_PER_POWER * power[here] + FLOW_VERTICAL * (north + south - 2.0f * now) +
               FLOW_HORIZONTAL * (east + west - 2.0f * now) + FLOW_AMBIENT * (AMBIENT - now);
}

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &hotspot_problem, NULL, argc, argv);
    const size_t side = hotspot_side(&work), cells = side * side;
    const dim3 block(64, 4), grid(blocks(side, block.x), blocks(side, block.y));
    float *host_power = hotspot_power(&work);
    float *host_start = hotspot_start(&work);
    float *power = device_array<float>(&work, cells);
    float *from = device_array<float>(&work, cells);
    float *to = device_array<float>(&work, cells);

    work_start_clock(&work);
    upload(power, host_power, cells);
    upload(from, host_start, cells);
    free(host_power);
    free(host_start);
    for (size_t i = 0; i < work.iterations; i++) {
        advance<<<grid, block>>>(power, from, to, side);
        std::swap(from, to);
        end_iteration(&work);
    }
    float *got = download(from, cells);
    stop_clock(&work);

    if (work.check)
        hotspot_check(&work, got);
    free(got);
    CHECK(cudaFree(to));
    CHECK(cudaFree(from));
    CHECK(cudaFree(power));
    return work_close(&work);
}
