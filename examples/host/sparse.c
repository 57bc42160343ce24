#include "sparse.h"

#include <stdlib.h>

/* Streams of random strengths: of a node's coupling to the east and to the south, or to the
 * four sides and far away where no two directions are the same. */
enum { EAST, SOUTH, WEST, NORTH, FAR, DIRECTIONS };

struct sparse_system sparse_choose(size_t bytes, size_t vectors, bool symmetric, uint64_t seed) {
    const size_t entry = sizeof(uint32_t) + sizeof(float);
    const size_t most = symmetric ? SPARSE_MOST_PER_ROW - 1 : SPARSE_MOST_PER_ROW;
    const size_t per_row = most * entry + sizeof(uint64_t) + vectors * sizeof(float);
    const size_t side = square_side(bytes, per_row, 0);
    return (struct sparse_system){
        .symmetric = symmetric,
        .side = side,
        .rows = side * side,
        .nonzeros = most * side * side - 4 * side, /* the grid's edge has no neighbours */
        .coupling_key = random_key(seed, 'e'),
        .far_key = random_key(seed, 'f'),
        .right_side_key = random_key(seed, 'b'),
    };
}

static float coupling(const struct sparse_system *system, size_t node, size_t direction) {
    return 0.5f + random_unit(system->coupling_key, node * DIRECTIONS + direction);
}

static void add_neighbour(struct sparse_row *row, size_t column, float strength) {
    row->columns[row->count] = column;
    row->values[row->count++] = -strength;
    row->values[0] += strength;
}

struct sparse_row sparse_make_row(const struct sparse_system *system, size_t node) {
    const bool symmetric = system->symmetric;
    const size_t side = system->side;
    const size_t x = node % side;
    const size_t y = node / side;
    struct sparse_row row = {.count = 1, .columns = {node}, .values = {1.0f}};
    if (y > 0)
        add_neighbour(&row, node - side,
                      symmetric ? coupling(system, node - side, SOUTH)
                                : coupling(system, node, NORTH));
    if (x > 0)
        add_neighbour(&row, node - 1,
                      symmetric ? coupling(system, node - 1, EAST) : coupling(system, node, WEST));
    if (x + 1 < side)
        add_neighbour(&row, node + 1, coupling(system, node, EAST));
    if (y + 1 < side)
        add_neighbour(&row, node + side, coupling(system, node, SOUTH));
    if (!symmetric)
        add_neighbour(&row, random_bits(system->far_key, node) % system->rows,
                      coupling(system, node, FAR));
    return row;
}

float sparse_right_side(const struct sparse_system *system, size_t node) {
    return random_unit(system->right_side_key, node) - 0.5f;
}

struct sparse_host sparse_make_host(const struct sparse_system *system) {
    struct sparse_host host = {
        .offsets = host_pages((system->rows + 1) * sizeof(uint64_t)),
        .columns = host_pages(system->nonzeros * sizeof(uint32_t)),
        .values = host_pages(system->nonzeros * sizeof(float)),
        .right_side = host_pages(system->rows * sizeof(float)),
    };
    size_t used = 0;
    for (size_t node = 0; node < system->rows; ++node) {
        const struct sparse_row row = sparse_make_row(system, node);
        host.offsets[node] = used;
        for (size_t i = 0; i < row.count; ++i, ++used) {
            host.columns[used] = (uint32_t)row.columns[i];
            host.values[used] = row.values[i];
        }
        host.right_side[node] = sparse_right_side(system, node);
    }
    host.offsets[system->rows] = used;
    return host;
}

void sparse_free_host(struct sparse_host *host) {
    free(host->right_side);
    free(host->values);
    free(host->columns);
    free(host->offsets);
}

double sparse_reference_dot(const double *x, const double *y, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i)
        sum += x[i] * y[i];
    return sum;
}

void sparse_reference_multiply(const struct sparse_system *system, const double *x, double *y) {
    for (size_t node = 0; node < system->rows; ++node) {
        const struct sparse_row row = sparse_make_row(system, node);
        y[node] = 0;
        for (size_t i = 0; i < row.count; ++i)
            y[node] += (double)row.values[i] * x[row.columns[i]];
    }
}

void sparse_check(struct work *work, const float *got, const double *wanted, size_t rows) {
    const double tolerance = 1e-5; /* the right-hand side goes from -0.5 to 0.5 */
    for (size_t i = 0; i < rows; ++i)
        work_expect(work, i, (double)got[i], wanted[i], tolerance);
}
