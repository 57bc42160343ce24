/*
 * The cheapest path from the top of a grid to each cell of its bottom row, moving down and at most
 * one column sideways, in C with the driver API. One launch advances several rows: a block computes
 * a margin beyond its own columns, which gets narrower by one with each row.
 */
#include "driver.h"

#include "host/pathfinder.h"

#include <assert.h>
#include <stdlib.h>

static_assert(LANES == THREADS, "each thread has a lane");

struct arrays {
    CUdeviceptr wall, from, to;
};

/* Descends from the top row, which is itself the first row of costs. The result is in `from`. */
static void descend(CUfunction advance, struct arrays *arrays, size_t columns) {
    const size_t blocks = divide_up(columns, LANES - 2 * ROWS_PER_LAUNCH);
    CHECK(cuMemcpyDtoD(arrays->from, arrays->wall, columns * sizeof(int32_t)));
    for (size_t row = 1; row < ROWS; row += ROWS_PER_LAUNCH) {
        unsigned rows = (unsigned)min_size(ROWS_PER_LAUNCH, ROWS - row);
        LAUNCH(advance, blocks, &arrays->wall, &arrays->from, &arrays->to, &columns, &row, &rows);
        const CUdeviceptr swap = arrays->from;
        arrays->from = arrays->to;
        arrays->to = swap;
    }
}

int main(int argc, char **argv) {
    struct work work;
    struct device device;
    work_open(&work, &pathfinder_problem, NULL, argc, argv);
    const size_t columns = pathfinder_columns(&work);
    const size_t row_bytes = columns * sizeof(int32_t);
    int32_t *host_wall = pathfinder_wall(&work);
    device_open(&device);
    CUfunction advance = device_kernel(&device, "advance");
    struct arrays arrays = {
        .wall = device_array(&work, ROWS * row_bytes),
        .from = device_array(&work, row_bytes),
        .to = device_array(&work, row_bytes),
    };

    work_start_clock(&work);
    CHECK(cuMemcpyHtoD(arrays.wall, host_wall, ROWS * row_bytes));
    free(host_wall);
    for (size_t i = 0; i < work.iterations; ++i) {
        descend(advance, &arrays, columns);
        end_iteration(&work);
    }
    int32_t *got = download(arrays.from, row_bytes);
    stop_clock(&work);

    if (work.check)
        pathfinder_check(&work, got);
    free(got);
    CHECK(cuMemFree(arrays.to));
    CHECK(cuMemFree(arrays.from));
    CHECK(cuMemFree(arrays.wall));
    device_close(&device);
    return work_close(&work);
}
