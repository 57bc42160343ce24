#include "hotspot.h"

#include <stdlib.h>

const struct problem hotspot_problem = {
    .default_iterations = 10,
    .iteration_is = "one time step",
};

size_t hotspot_side(const struct work *work) {
    return square_side(work->size, 3 * sizeof(float), 0);
}

/* Cells start 40 degrees apart at most, so a stale or foreign page is off by whole degrees. */
static float start_temperature(uint64_t key, size_t cell) {
    return AMBIENT + 40.0f * random_unit(key, cell);
}

float *hotspot_start(const struct work *work) {
    const size_t cells = hotspot_side(work) * hotspot_side(work);
    const uint64_t key = random_key(work->seed, 't');
    float *temperatures = host_pages(cells * sizeof(float));
    for (size_t i = 0; i < cells; ++i)
        temperatures[i] = start_temperature(key, i);
    return temperatures;
}

float *hotspot_power(const struct work *work) {
    const size_t cells = hotspot_side(work) * hotspot_side(work);
    float *power = host_pages(cells * sizeof(float));
    fill_units(power, cells, random_key(work->seed, 'p'), 0);
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

void hotspot_check(struct work *work, const float *got) {
    const size_t side = hotspot_side(work);
    const size_t cells = side * side;
    float *power = hotspot_power(work);
    float *from = hotspot_start(work);
    float *to = host_pages(cells * sizeof(float));
    for (size_t i = 0; i < work->iterations; ++i) {
        for (size_t y = 0; y < side; ++y)
            reference_row(power, from, to, side, y);
        float *swap = from;
        from = to;
        to = swap;
    }
    work_expect_floats(work, got, from, cells, 1e-5 * AMBIENT);
    free(to);
    free(from);
    free(power);
}
