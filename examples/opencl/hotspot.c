/*
 * The temperature of a chip, advanced in small time steps: every cell exchanges heat with its four
 * neighbours and the surroundings, and is heated by its part of the power grid.
 */
#include "common.h"

#include "host/hotspot.h"

#include <stdlib.h>

static const char kernels[] = OPENCL_SOURCE(__kernel void advance(
    __global const float *power, __global const float *from, __global float *to, ulong side) {
    const ulong x = get_global_id(0);
    const ulong y = get_global_id(1);
    if (x >= side || y >= side)
        return;
    const ulong here = y * side + x;
    const float now = from[here];
    /* Nothing flows over the edge: there a cell is its own neighbour. */
    const float north = y > 0 ? from[here - side] : now;
    const float south = y + 1 < side ? from[here + side] : now;
    const float west = x > 0 ? from[here - 1] : now;
    const float east = x + 1 < side ? from[here + 1] : now;
    to[here] = now + HEAT_PER_POWER * power[here] + FLOW_VERTICAL * (north + south - 2.0f * now) +
               FLOW_HORIZONTAL * (east + west - 2.0f * now) + FLOW_AMBIENT * (AMBIENT - now);
});

static const struct program program = {
    .problem = &hotspot_problem,
    .kernels = kernels,
};

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel advance = app_kernel(&app, "advance");

    const size_t side = hotspot_side(&app.work);
    const size_t bytes = side * side * sizeof(float);
    float *host_power = hotspot_power(&app.work);
    float *host_start = hotspot_start(&app.work);

    cl_mem power = app_buffer(&app, CL_MEM_READ_ONLY, bytes, NULL);
    cl_mem from = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);
    cl_mem to = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);

    app_start_clock(&app);
    app_write(&app, power, bytes, host_power);
    app_write(&app, from, bytes, host_start);
    free(host_power);
    free(host_start);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        app_launch(&app, advance, over_plane(side, side), ARG(power), ARG(from), ARG(to),
                   ARG(side));
        cl_mem swap = from;
        from = to;
        to = swap;
        app_end_iteration(&app);
    }
    const float *got = app_download(&app, from, bytes);
    app_stop_clock(&app);

    if (app.work.check)
        hotspot_check(&app.work, got);
    return app_close(&app);
}
