/*
 * Jacobi iterations on the 3D Poisson problem: every inner cell becomes the mean of its six
 * neighbours plus its source term, from one buffer into the other. Uploads do not block.
 */
#include "common.h"

#include <stdlib.h>

#define SIXTH (1.0f / 6.0f)

static const char kernels[] =
    OPENCL_SOURCE(__kernel void relax(__global const float *source, __global const float *from,
                                      __global float *to, ulong side, ulong depth) {
        const ulong x = get_global_id(0);
        const ulong y = get_global_id(1);
        const ulong z = get_global_id(2);
        if (x >= side || y >= side || z >= depth)
            return;
        const ulong plane = side * side;
        const ulong here = z * plane + y * side + x;
        /* The surface is held at its values, which both buffers must have. */
        if (x == 0 || y == 0 || z == 0 || x + 1 == side || y + 1 == side || z + 1 == depth) {
            to[here] = from[here];
            return;
        }
        to[here] = SIXTH * (from[here - plane] + from[here + plane] + from[here - side] +
                            from[here + side] + from[here - 1] + from[here + 1] + source[here]);
    });

static const struct program program = {
    .name = "jacobi",
    .kernels = kernels,
    .default_iterations = 10,
    .iteration_is = "one relaxation of the whole volume",
};

/* A volume of depth planes of side x side cells, as near to a cube as the size allows. */
struct volume {
    size_t side, depth, cells, bytes;
};

static struct volume choose_volume(size_t bytes) {
    const size_t cells = bytes / (3 * sizeof(float));
    const size_t side = cube_side(cells);
    const size_t depth = cells / (side * side);
    const size_t used = side * side * depth;
    return (struct volume){side, depth, used, used * sizeof(float)};
}

/*
 * The source stays rough from cell to cell, so the solution does too: a stale page remains far
 * from the right one however many iterations run.
 */
static float *random_volume(const struct volume *volume, uint64_t key) {
    float *values = host_pages(volume->bytes);
    fill_units(values, volume->cells, key, 0);
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

static void check_solution(struct app *app, const float *got, const struct volume *volume,
                           uint64_t source_key, uint64_t start_key) {
    float *source = random_volume(volume, source_key);
    float *from = random_volume(volume, start_key);
    float *to = host_pages(volume->bytes);
    for (size_t i = 0; i < app->iterations; ++i) {
        for (size_t z = 0; z < volume->depth; ++z)
            for (size_t y = 0; y < volume->side; ++y)
                reference_row(volume, source, from, to, y, z);
        float *swap = from;
        from = to;
        to = swap;
    }
    app_expect_floats(app, got, from, volume->cells, 1e-5);
    free(to);
    free(from);
    free(source);
}

static void start_write(struct app *app, cl_mem buffer, size_t bytes, const float *from) {
    require(clEnqueueWriteBuffer(app->queue, buffer, CL_FALSE, 0, bytes, from, 0, NULL, NULL),
            "clEnqueueWriteBuffer");
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel relax = app_kernel(&app, "relax");

    const struct volume volume = choose_volume(app.size);
    const uint64_t source_key = random_key(app.seed, 'f');
    const uint64_t start_key = random_key(app.seed, 'u');
    float *host_source = random_volume(&volume, source_key);
    float *host_start = random_volume(&volume, start_key);

    cl_mem source = app_buffer(&app, CL_MEM_READ_ONLY, volume.bytes, NULL);
    cl_mem from = app_buffer(&app, CL_MEM_READ_WRITE, volume.bytes, NULL);
    cl_mem to = app_buffer(&app, CL_MEM_READ_WRITE, volume.bytes, NULL);

    app_start_clock(&app);
    start_write(&app, source, volume.bytes, host_source);
    start_write(&app, from, volume.bytes, host_start);
    for (size_t i = 0; i < app.iterations; ++i) {
        app_launch(&app, relax, over_volume(volume.side, volume.side, volume.depth), ARG(source),
                   ARG(from), ARG(to), ARG(volume.side), ARG(volume.depth));
        cl_mem swap = from;
        from = to;
        to = swap;
        app_end_iteration(&app);
    }
    const float *got = app_download(&app, from, volume.bytes);
    app_stop_clock(&app);
    free(host_start);
    free(host_source);

    if (app.check)
        check_solution(&app, got, &volume, source_key, start_key);
    return app_close(&app);
}
