/*
 * The cheapest path from the top of a grid to each cell of its bottom row, moving down and at most
 * one column sideways. One launch advances several rows: a group computes a margin beyond its own
 * columns, which gets narrower by one with each row.
 */
#include "common.h"

#include <stdlib.h>

#define ROWS_PER_LAUNCH 8
#define LANES           256

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
    .name = "pathfinder",
    .kernels = kernels,
    .default_iterations = 5,
    .iteration_is = "one descent through the whole grid",
};

enum { ROWS = 257 };

struct grid {
    size_t columns;
    size_t row_bytes;
    uint64_t key;
};

static cl_int wall_cost(uint64_t key, size_t cell) {
    return (cl_int)((random_bits(key, cell) >> 32) * 10 >> 32);
}

static cl_int *make_wall(const struct grid *grid) {
    cl_int *wall = host_pages(ROWS * grid->row_bytes);
    for (size_t cell = 0; cell < ROWS * grid->columns; ++cell)
        wall[cell] = wall_cost(grid->key, cell);
    return wall;
}

struct buffers {
    cl_mem wall, from, to;
};

/* Descends from the top row, which is itself the first row of costs. The result is in `from`. */
static void descend(struct app *app, cl_kernel advance, struct buffers *buffers,
                    const struct grid *grid) {
    require(clEnqueueCopyBuffer(app->queue, buffers->wall, buffers->from, 0, 0, grid->row_bytes, 0,
                                NULL, NULL),
            "clEnqueueCopyBuffer");
    const size_t groups = divide_up(grid->columns, LANES - 2 * ROWS_PER_LAUNCH);
    for (size_t row = 1; row < ROWS; row += ROWS_PER_LAUNCH) {
        const cl_uint rows = (cl_uint)min_size(ROWS_PER_LAUNCH, ROWS - row);
        app_launch(app, advance, over_groups(groups, LANES), ARG(buffers->wall), ARG(buffers->from),
                   ARG(buffers->to), ARG(grid->columns), ARG(row), ARG(rows));
        cl_mem swap = buffers->from;
        buffers->from = buffers->to;
        buffers->to = swap;
    }
}

static cl_int cheapest(const cl_int *costs, size_t columns, size_t column) {
    cl_int best = costs[column];
    if (column > 0 && costs[column - 1] < best)
        best = costs[column - 1];
    if (column + 1 < columns && costs[column + 1] < best)
        best = costs[column + 1];
    return best;
}

static void check_costs(struct app *app, const cl_int *got, const struct grid *grid) {
    const size_t columns = grid->columns;
    cl_int *from = host_pages(grid->row_bytes);
    cl_int *to = host_pages(grid->row_bytes);
    for (size_t column = 0; column < columns; ++column)
        from[column] = wall_cost(grid->key, column);
    for (size_t row = 1; row < ROWS; ++row) {
        for (size_t column = 0; column < columns; ++column)
            to[column] =
                wall_cost(grid->key, row * columns + column) + cheapest(from, columns, column);
        cl_int *swap = from;
        from = to;
        to = swap;
    }
    for (size_t column = 0; column < columns; ++column)
        app_expect(app, column, got[column], from[column], 0);
    free(to);
    free(from);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel advance = app_kernel(&app, "advance");

    struct grid grid = {.key = random_key(app.seed, 'w')};
    grid.columns = app.size / ((ROWS + 2) * sizeof(cl_int));
    grid.row_bytes = grid.columns * sizeof(cl_int);
    cl_int *host_wall = make_wall(&grid);

    struct buffers buffers = {
        .wall = app_buffer(&app, CL_MEM_READ_ONLY, ROWS * grid.row_bytes, NULL),
        .from = app_buffer(&app, CL_MEM_READ_WRITE, grid.row_bytes, NULL),
        .to = app_buffer(&app, CL_MEM_READ_WRITE, grid.row_bytes, NULL),
    };

    app_start_clock(&app);
    app_write(&app, buffers.wall, ROWS * grid.row_bytes, host_wall);
    free(host_wall);
    for (size_t i = 0; i < app.iterations; ++i) {
        descend(&app, advance, &buffers, &grid);
        app_end_iteration(&app);
    }
    const cl_int *got = app_download(&app, buffers.from, grid.row_bytes);
    app_stop_clock(&app);

    if (app.check)
        check_costs(&app, got, &grid);
    return app_close(&app);
}
