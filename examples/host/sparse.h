/* Sparse linear systems in CSR form, which bicgstab, cg and gmres solve, and the CPU reference. */
#ifndef EXAMPLES_HOST_SPARSE_H
#define EXAMPLES_HOST_SPARSE_H

#include "work.h"

HOST_BEGIN

/*
 * A x = b for a square grid of nodes, each coupled with random strength to its neighbours. The
 * diagonal is 1 plus the sum of a row's couplings, which stand negative beside it, so every
 * solver converges. A symmetric system has one strength for both directions of a coupling. In
 * others the directions differ, and every node is also coupled to one anywhere in the grid.
 */
struct sparse_system {
    bool symmetric;
    size_t side, rows, nonzeros;
    uint64_t coupling_key, far_key, right_side_key;
};

enum { SPARSE_MOST_PER_ROW = 6 };

struct sparse_row {
    size_t count;
    size_t columns[SPARSE_MOST_PER_ROW];
    float values[SPARSE_MOST_PER_ROW];
};

/* The largest system that takes `bytes` on the device, with so many vectors beside the matrix. */
struct sparse_system sparse_choose(size_t bytes, size_t vectors, bool symmetric, uint64_t seed);

/* Any row of A, and any element of b, each made afresh. */
struct sparse_row sparse_make_row(const struct sparse_system *system, size_t node);
float sparse_right_side(const struct sparse_system *system, size_t node);

/* A and b in host memory. */
struct sparse_host {
    uint64_t *offsets;
    uint32_t *columns;
    float *values, *right_side;
};

struct sparse_host sparse_make_host(const struct sparse_system *system);
void sparse_free_host(struct sparse_host *host);

/* Work-items of a group, and elements of which each group makes a partial sum. */
#define SPARSE_LANES              256
#define SPARSE_ELEMENTS_PER_GROUP 4096

/* A solver stops when the squared residual is this small a part of the first one. */
static const double sparse_converged = 1e-12;

/* The same in double precision. The matrix is made again as it is needed, row by row. */
void sparse_reference_multiply(const struct sparse_system *system, const double *x, double *y);
double sparse_reference_dot(const double *x, const double *y, size_t count);

/* Checks a downloaded vector against the reference, which may differ by 1e-5. */
void sparse_check(struct work *work, const float *got, const double *wanted, size_t rows);

HOST_END

#endif
