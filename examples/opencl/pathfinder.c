/*
 * The cheapest path from the top of a grid to each cell of its bottom row, moving down and at most
 * one column sideways. One launch advances several rows: a group computes a margin beyond its own
 * columns, which gets narrower by one with each row.
 */
#include "common.h"

#include "host/pathfinder.h"

#include <stdlib.h>

static const char kernels[] = OPENCL_SOURCE(__kernel void advance(
    __global const int *wall, __global const int *from, __global int *to, ulong columns,
    ulong first_row, uint rows) {
    __local int costs[2][LANES];
    const int lane = get_local_id(0);
    const long column =
        (long)get_group_id(0) * (LANES - 2 * ROWS_PER_LAUNCH) + lane - ROWS_PER_LAUNCH;
    const int in_grid = column >= 0 && column < (long)columns;
    costs[0][lane] = in_grid ? from[column] : INT_MAX;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint row = 0; row < rows; ++row) {
        const uint before = row % 2;
        int cost = INT_MAX;
        if (in_grid && lane > 0 && lane < LANES - 1) {
            const int beside = min(costs[before][lane - 1], costs[before][lane + 1]);
            cost = wall[(first_row + row) * columns + column] + min(costs[before][lane], beside);
        }
        costs[1 - before][lane] = cost;
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    if (in_grid && lane >= ROWS_PER_LAUNCH && lane < LANES - ROWS_PER_LAUNCH)
        to[column] = costs[rows % 2][lane];
});

static const struct program program = {
    .problem = &pathfinder_problem,
    .kernels = kernels,
};

struct buffers {
    cl_mem wall, from, to;
};

/* Descends from the top row, which is itself the first row of costs. The result is in `from`. */
static void descend(struct app *app, cl_kernel advance, struct buffers *buffers, size_t columns) {
    require(clEnqueueCopyBuffer(app->queue, buffers->wall, buffers->from, 0, 0,
                                columns * sizeof(cl_int), 0, NULL, NULL),
            "clEnqueueCopyBuffer");
    const size_t groups = divide_up(columns, LANES - 2 * ROWS_PER_LAUNCH);
    for (size_t row = 1; row < ROWS; row += ROWS_PER_LAUNCH) {
        const cl_uint rows = (cl_uint)min_size(ROWS_PER_LAUNCH, ROWS - row);
        app_launch(app, advance, over_groups(groups, LANES), ARG(buffers->wall), ARG(buffers->from),
                   ARG(buffers->to), ARG(columns), ARG(row), ARG(rows));
        cl_mem swap = buffers->from;
        buffers->from = buffers->to;
        buffers->to = swap;
    }
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel advance = app_kernel(&app, "advance");

    const size_t columns = pathfinder_columns(&app.work);
    const size_t row_bytes = columns * sizeof(cl_int);
    cl_int *host_wall = pathfinder_wall(&app.work);

    struct buffers buffers = {
        .wall = app_buffer(&app, CL_MEM_READ_ONLY, ROWS * row_bytes, NULL),
        .from = app_buffer(&app, CL_MEM_READ_WRITE, row_bytes, NULL),
        .to = app_buffer(&app, CL_MEM_READ_WRITE, row_bytes, NULL),
    };

    app_start_clock(&app);
    app_write(&app, buffers.wall, ROWS * row_bytes, host_wall);
    free(host_wall);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        descend(&app, advance, &buffers, columns);
        app_end_iteration(&app);
    }
    const cl_int *got = app_download(&app, buffers.from, row_bytes);
    app_stop_clock(&app);

    if (app.work.check)
        pathfinder_check(&app.work, got);
    return app_close(&app);
}
