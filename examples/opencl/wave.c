/*
 * The wave equation in three dimensions, with walls that hold still around the volume. Each
 * work-item has a strip of neighbouring cells and takes it through all planes of the volume. What
 * is two steps old is overwritten.
 */
#include "common.h"

#include <stdlib.h>

#define STRIP 16
#define SPEED 0.1f /* squared, in cells per step */

static const char kernels[] = OPENCL_SOURCE(__kernel void advance(
    __global const float *now, __global float *before, ulong width, ulong height, ulong depth) {
    const ulong first = get_global_id(0) * STRIP;
    const ulong y = get_global_id(1);
    if (first >= width || y >= height)
        return;
    const ulong plane = width * height;
    for (ulong z = 0; z < depth; ++z)
        for (ulong x = first; x < first + STRIP; ++x) {
            const ulong here = z * plane + y * width + x;
            const float around =
                (z > 0 ? now[here - plane] : 0.0f) + (z + 1 < depth ? now[here + plane] : 0.0f) +
                (y > 0 ? now[here - width] : 0.0f) + (y + 1 < height ? now[here + width] : 0.0f) +
                (x > 0 ? now[here - 1] : 0.0f) + (x + 1 < width ? now[here + 1] : 0.0f);
            before[here] = 2.0f * now[here] - before[here] + SPEED * (around - 6.0f * now[here]);
        }
});

static const struct problem problem = {
    .default_iterations = 1,
    .iteration_is = "one time step",
};

static const struct program program = {
    .problem = &problem,
    .kernels = kernels,
};

/* Planes of width x height cells, as near to a cube as whole strips and the size allow. */
struct volume {
    size_t width, height, depth, cells, bytes;
};

static struct volume choose_volume(size_t bytes) {
    const size_t cells = bytes / (2 * sizeof(float));
    const size_t side = cube_side(cells);
    const size_t width = side / STRIP * STRIP;
    const size_t depth = cells / (width * side);
    const size_t used = width * side * depth;
    return (struct volume){width, side, depth, used, used * sizeof(float)};
}

/* Rough from cell to cell, so a stale page is far from the right one. */
static float *random_volume(const struct volume *volume, uint64_t key) {
    float *values = host_pages(volume->bytes);
    fill_units(values, volume->cells, key, 0);
    return values;
}

static void reference_row(const struct volume *volume, const float *now, float *before, size_t y,
                          size_t z) {
    const size_t width = volume->width;
    const size_t plane = width * volume->height;
    for (size_t x = 0; x < width; ++x) {
        const size_t here = z * plane + y * width + x;
        const float around = (z > 0 ? now[here - plane] : 0.0f) +
                             (z + 1 < volume->depth ? now[here + plane] : 0.0f) +
                             (y > 0 ? now[here - width] : 0.0f) +
                             (y + 1 < volume->height ? now[here + width] : 0.0f) +
                             (x > 0 ? now[here - 1] : 0.0f) +
                             (x + 1 < width ? now[here + 1] : 0.0f);
        before[here] = 2.0f * now[here] - before[here] + SPEED * (around - 6.0f * now[here]);
    }
}

static void reference_step(const struct volume *volume, const float *now, float *before) {
    for (size_t z = 0; z < volume->depth; ++z)
        for (size_t y = 0; y < volume->height; ++y)
            reference_row(volume, now, before, y, z);
}

static void check_volume(struct app *app, const float *got, const struct volume *volume,
                         uint64_t now_key, uint64_t before_key) {
    float *now = random_volume(volume, now_key);
    float *before = random_volume(volume, before_key);
    for (size_t i = 0; i < app->work.iterations; ++i) {
        reference_step(volume, now, before);
        float *swap = now;
        now = before;
        before = swap;
    }
    work_expect_floats(&app->work, got, now, volume->cells, 1e-5);
    free(before);
    free(now);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel advance = app_kernel(&app, "advance");

    const struct volume volume = choose_volume(app.work.size);
    const uint64_t now_key = random_key(app.work.seed, 'n');
    const uint64_t before_key = random_key(app.work.seed, 'b');
    float *host_now = random_volume(&volume, now_key);
    float *host_before = random_volume(&volume, before_key);
    cl_mem now = app_buffer(&app, CL_MEM_READ_WRITE, volume.bytes, NULL);
    cl_mem before = app_buffer(&app, CL_MEM_READ_WRITE, volume.bytes, NULL);

    app_start_clock(&app);
    app_write(&app, now, volume.bytes, host_now);
    app_write(&app, before, volume.bytes, host_before);
    free(host_before);
    free(host_now);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        app_launch(&app, advance, over_plane(volume.width / STRIP, volume.height), ARG(now),
                   ARG(before), ARG(volume.width), ARG(volume.height), ARG(volume.depth));
        cl_mem swap = now;
        now = before;
        before = swap;
        app_end_iteration(&app);
    }
    const float *got = app_download(&app, now, volume.bytes);
    app_stop_clock(&app);

    if (app.work.check)
        check_volume(&app, got, &volume, now_key, before_key);
    return app_close(&app);
}
