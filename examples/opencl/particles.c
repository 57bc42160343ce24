/*
 * Particles in a harmonic trap: each step changes all velocities and positions. The kernel's loop
 * strides by the grid: there are only as many work-items as keep the device busy, and each walks
 * through both arrays.
 */
#include "common.h"

#include <stdlib.h>

#define TIME_STEP 0.05f

/* Work-groups for each compute unit: enough to hide latency, few enough to be resident at once. */
#define GROUPS_PER_UNIT 4

static const char kernels[] = OPENCL_SOURCE(__kernel void advance(
    __global float4 *positions, __global float4 *velocities, float4 stiffness, ulong count) {
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
        const float4 velocity = velocities[i] - TIME_STEP * stiffness * positions[i];
        velocities[i] = velocity;
        positions[i] += TIME_STEP * velocity;
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

/* Of the three directions; the fourth number of a position is the particle's charge. */
static const cl_float4 stiffness = {{1.0f, 2.0f, 3.0f, 0.0f}};

static const double tolerance = 1e-5; /* positions and velocities begin between 0 and 1 */

static cl_float4 *make_vectors(size_t count, uint64_t key) {
    cl_float4 *vectors = host_pages(count * sizeof(cl_float4));
    for (size_t i = 0; i < count; ++i)
        fill_units(vectors[i].s, 4, key, 4 * i);
    return vectors;
}

static void reference(float *position, float *velocity, float stiff, size_t steps) {
    for (size_t i = 0; i < steps; ++i) {
        *velocity -= TIME_STEP * stiff * *position;
        *position += TIME_STEP * *velocity;
    }
}

static void check_particles(struct app *app, const cl_float4 *positions,
                            const cl_float4 *velocities, size_t count, uint64_t position_key,
                            uint64_t velocity_key) {
    for (size_t i = 0; i < 4 * count; ++i) {
        float position = random_unit(position_key, i);
        float velocity = random_unit(velocity_key, i);
        reference(&position, &velocity, stiffness.s[i % 4], app->work.iterations);
        work_expect(&app->work, i, (double)positions[i / 4].s[i % 4], (double)position, tolerance);
        work_expect(&app->work, i, (double)velocities[i / 4].s[i % 4], (double)velocity, tolerance);
    }
}

static size_t group_count(const struct app *app) {
    cl_uint units = 0;
    require(clGetDeviceInfo(app->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL),
            "clGetDeviceInfo");
    return (size_t)units * GROUPS_PER_UNIT;
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel advance = app_kernel(&app, "advance");

    const size_t count = app.work.size / (2 * sizeof(cl_float4));
    const size_t bytes = count * sizeof(cl_float4);
    const size_t groups = group_count(&app);
    const uint64_t position_key = random_key(app.work.seed, 'x');
    const uint64_t velocity_key = random_key(app.work.seed, 'v');
    cl_float4 *host_positions = make_vectors(count, position_key);
    cl_float4 *host_velocities = make_vectors(count, velocity_key);
    cl_mem positions = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);
    cl_mem velocities = app_buffer(&app, CL_MEM_READ_WRITE, bytes, NULL);

    app_start_clock(&app);
    app_write(&app, positions, bytes, host_positions);
    app_write(&app, velocities, bytes, host_velocities);
    free(host_velocities);
    free(host_positions);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        app_launch(&app, advance, over_groups(groups, GROUP_SIZE), ARG(positions), ARG(velocities),
                   ARG(stiffness), ARG(count));
        app_end_iteration(&app);
    }
    const cl_float4 *got_positions = app_download(&app, positions, bytes);
    const cl_float4 *got_velocities = app_download(&app, velocities, bytes);
    app_stop_clock(&app);

    if (app.work.check)
        check_particles(&app, got_positions, got_velocities, count, position_key, velocity_key);
    return app_close(&app);
}
