#include "jacobi.h"

#include <stdlib.h>

const struct problem jacobi_problem = {
    .default_iterations = 10,
    .iteration_is = "one relaxation of the whole volume",
};

struct volume jacobi_volume(const struct work *work) {
    const size_t cells = work->size / (3 * sizeof(float));
    const size_t side = cube_side(cells);
    const size_t depth = cells / (side * side);
    const size_t used = side * side * depth;
    return (struct volume){side, depth, used, used * sizeof(float)};
}

float *jacobi_values(const struct work *work, char name) {
    const struct volume volume = jacobi_volume(work);
    float *values = host_pages(volume.bytes);
    fill_units(values, volume.cells, random_key(work->seed, (uint64_t)name), 0);
    return values;
}

static void reference_row(const struct volume *volume, const float *source, const float *from,
                          float *to, size_t y, size_t z) {
    const size_t side = volume->side;
    const size_t plane = side * side;
    const bool surface = y == 0 || z == 0 || y + 1 == side || z + 1 == volume->depth;
    for (size_t x = 0; x < side; ++x) {
        const size_t here = z * plane + y * side + x;
        if (surface || x == 0 || x + 1 == side)
            to[here] = from[here];
        else
            to[here] = SIXTH * (from[here - plane] + from[here + plane] + from[here - side] +
                                from[here + side] + from[here - 1] + from[here + 1] + source[here]);
    }
}

void jacobi_check(struct work *work, const float *got) {
    const struct volume volume = jacobi_volume(work);
    float *source = jacobi_values(work, 'f');
    float *from = jacobi_values(work, 'u');
    float *to = host_pages(volume.bytes);
    for (size_t i = 0; i < work->iterations; ++i) {
        for (size_t z = 0; z < volume.depth; ++z)
            for (size_t y = 0; y < volume.side; ++y)
                reference_row(&volume, source, from, to, y, z);
        float *swap = from;
        from = to;
        to = swap;
    }
    work_expect_floats(work, got, from, volume.cells, 1e-5);
    free(to);
    free(from);
    free(source);
}
