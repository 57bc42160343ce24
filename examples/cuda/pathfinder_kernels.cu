/* The kernel of pathfinder.c. */
#include "host/pathfinder.h"

extern "C" __global__ void advance(const int *wall, const int *from, int *to, size_t columns,
                                   size_t first_row, unsigned rows) {
    __shared__ int costs[2][LANES];
    const int lane = (int)threadIdx.x;
    const long column =
        (long)blockIdx.x * (LANES - 2 * ROWS_PER_LAUNCH) + lane - ROWS_PER_LAUNCH;
    const bool in_grid = column >= 0 && column < (long)columns;
    costs[0][lane] = in_grid ? from[column] : INT_MAX;
    __syncthreads();

    for (unsigned row = 0; row < rows; row++) {
        const unsigned before = row % 2;
        int cost = INT_MAX;
        if (in_grid && lane > 0 && lane < LANES - 1) {
            const int beside = min(costs[before][lane - 1], costs[before][lane + 1]);
            cost = wall[(first_row + row) * columns + column] + min(costs[before][lane], beside);
        }
        costs[1 - before][lane] = cost;
        __syncthreads();
    }

    if (in_grid && lane >= ROWS_PER_LAUNCH && lane < LANES - ROWS_PER_LAUNCH)
        to[column] = costs[rows % 2][lane];
}
