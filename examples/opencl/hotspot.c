/*
 * The temperature of a chip, advanced in small time steps: every cell exchanges heat with its four
 * neighbours and the surroundings, and is heated by its part of the power grid.
 */
#include "common.h"

#include <stdlib.h>

/* Shares of a temperature difference that flow in one step, and degrees that one unit heats. */
#define FLOW_VERTICAL   0.12f
#define FLOW_HORIZONTAL 0.10f
#define FLOW_AMBIENT    0.01f
#define HEAT_PER_POWER  0.5f
#define AMBIENT         80.0f

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
    .name = "hotspot",
    .kernels = kernels,
    .default_iterations = 10,
    .iteration_is = "one time step",
};

/* Cells start 40 degrees apart at most, so a stale or foreign page is off by whole degrees. */
static float start_temperature(uint64_t key, size_t cell) {
    return AMBIENT + 40.0f * random_unit(key, cell);
}

static float *start_temperatures(size_t cells, uint64_t key) {
    float *temperatures = host_pages(cells * sizeof(float));
    for (size_t i = 0; i < cells; ++i)
        temperatures[i] = start_temperature(key, i);
    return temperatures;
}

static float *make_power(size_t cells, uint64_t key) {
    float *power = host_pages(cells * sizeof(float));
    fill_units(power, cells, key, 0);
    return power;
}

static void reference_row(const float *power, const float *from, float *to, size_t side, size_t y) {
    for (size_t x = 0; x < side; ++x) {
        const size_t here = y * side + x;
        const float now = from[here];
        const float north = y > 0 ? from[here - side] : now;
        const float south = y + 1 < side ? from[here + side] : now;
        const float west = x > 0 ? from[here - 1] : now;
        const float east = x + 1 < side ? from[here + 1] : now;
        to[here] = now + HEAT_PER_POWER * power[here] +
                   FLOW_VERTICAL * (north + south - 2.0f * now) +
                   FLOW_HORIZONTAL * (east + west - 2.0f * now) + FLOW_AMBIENT * (AMBIENT - now);
    }
}

static void check_temperatures(struct app *app, const float *got, size_t side, uint64_t power_key,
                               uint64_t start_key) {
    const size_t cells = side * side;
    float *power = make_power(cells, power_key);
    float *from = start_temperatures(cells, start_key);
    float *to = host_pages(cells * sizeof(float));
    for (size_t i = 0; i < app->iterations; ++i) {
        for (size_t y = 0; y < side; ++y)
            reference_row(power, from, to, side, y);
        float *swap = from;
        from = to;
        to = swap;
    }
    app_expect_floats(app, got, from, cells, 1e-5 * AMBIENT);
    free(to);
    free(from);
    free(power);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel advance = app_kernel(&app, "advance");

    const size_t side = square_side(app.size, 3 * sizeof(float), 0);
    const size_t cells = side * side;
    const size_t bytes = cells * sizeof(float);
    const uint64_t power_key = random_key(app.seed, 'p');
    const uint64_t start_key = random_key(app.seed, 't');
    float *host_power = make_power(cells, power_key);
    float *host_start = start_temperatures(cells, start_key);

    cl_mem power = app_buffer(&app, CL_MEM_READ_ONLY, bytes, NULL);
    cl_mem from = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);
    cl_mem to = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);

    app_start_clock(&app);
    app_write(&app, power, bytes, host_power);
    app_write(&app, from, bytes, host_start);
    free(host_power);
    free(host_start);
    for (size_t i = 0; i < app.iterations; ++i) {
        app_launch(&app, advance, over_plane(side, side), ARG(power), ARG(from), ARG(to),
                   ARG(side));
        cl_mem swap = from;
        from = to;
        to = swap;
        app_end_iteration(&app);
    }
    const float *got = app_download(&app, from, bytes);
    app_stop_clock(&app);

    if (app.check)
        check_temperatures(&app, got, side, power_key, start_key);
    return app_close(&app);
}
