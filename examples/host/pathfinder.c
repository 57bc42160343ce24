#include "pathfinder.h"

#include <stdlib.h>

const struct problem pathfinder_problem = {
    .default_iterations = 5,
    .iteration_is = "one descent through the whole grid",
};

size_t pathfinder_columns(const struct work *work) {
    return work->size / ((ROWS + 2) * sizeof(int32_t));
}

static uint64_t wall_key(const struct work *work) {
    return random_key(work->seed, 'w');
}

static int32_t wall_cost(uint64_t key, size_t cell) {
    return (int32_t)((random_bits(key, cell) >> 32) * 10 >> 32);
}

int32_t *pathfinder_wall(const struct work *work) {
    const size_t cells = ROWS * pathfinder_columns(work);
    const uint64_t key = wall_key(work);
    int32_t *wall = host_pages(cells * sizeof(int32_t));
    for (size_t cell = 0; cell < cells; ++cell)
        wall[cell] = wall_cost(key, cell);
    return wall;
}

static int32_t cheapest(const int32_t *costs, size_t columns, size_t column) {
    int32_t best = costs[column];
    if (column > 0 && costs[column - 1] < best)
        best = costs[column - 1];
    if (column + 1 < columns && costs[column + 1] < best)
        best = costs[column + 1];
    return best;
}

void pathfinder_check(struct work *work, const int32_t *got) {
    const uint64_t key = wall_key(work);
    const size_t columns = pathfinder_columns(work);
    int32_t *from = host_pages(columns * sizeof(int32_t));
    int32_t *to = host_pages(columns * sizeof(int32_t));
    for (size_t column = 0; column < columns; ++column)
        from[column] = wall_cost(key, column);
    for (size_t row = 1; row < ROWS; ++row) {
        for (size_t column = 0; column < columns; ++column)
            to[column] = wall_cost(key, row * columns + column) + cheapest(from, columns, column);
        int32_t *swap = from;
        from = to;
        to = swap;
    }
    for (size_t column = 0; column < columns; ++column)
        work_expect(work, column, got[column], from[column], 0);
    free(to);
    free(from);
}
