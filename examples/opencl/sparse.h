/*
 * What the solvers of sparse linear systems (bicgstab, cg, gmres) share: a system in CSR form, its
 * copy on the device with the two kernels that read it and add up, and the CPU reference of both.
 */
#ifndef OPENCL_EXAMPLES_SPARSE_H
#define OPENCL_EXAMPLES_SPARSE_H

#include "common.h"

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

/*
 * multiply: y = A x, one work-item for each row. dot_product: partial sums of x . y, one for each
 * work-group, which the host adds up. A solver's kernels are these and its own after them.
 */
#define SPARSE_LANES              256
#define SPARSE_ELEMENTS_PER_GROUP 4096
#define SPARSE_KERNELS                                                                             \
    OPENCL_SOURCE(                                                                                 \
        __kernel void multiply(__global const ulong *offsets, __global const uint *columns,        \
                               __global const float *values, __global const float *x,              \
                               __global float *y, ulong rows) {                                    \
            const ulong row = get_global_id(0);                                                    \
            if (row >= rows)                                                                       \
                return;                                                                            \
            float sum = 0.0f;                                                                      \
            for (ulong i = offsets[row]; i < offsets[row + 1]; ++i)                                \
                sum += values[i] * x[columns[i]];                                                  \
            y[row] = sum;                                                                          \
        }                                                                                          \
                                                                                                   \
        __kernel void dot_product(__global const float *x, __global const float *y,                \
                                  __global float *partial_sums, ulong count) {                     \
            __local float sums[SPARSE_LANES];                                                      \
            const uint lane = get_local_id(0);                                                     \
            const ulong first = (ulong)get_group_id(0) * SPARSE_ELEMENTS_PER_GROUP;                \
            const ulong end = min(first + SPARSE_ELEMENTS_PER_GROUP, count);                       \
            float sum = 0.0f;                                                                      \
            for (ulong i = first + lane; i < end; i += SPARSE_LANES)                               \
                sum += x[i] * y[i];                                                                \
            sums[lane] = sum;                                                                      \
            barrier(CLK_LOCAL_MEM_FENCE);                                                          \
            for (uint reach = SPARSE_LANES / 2; reach > 0; reach /= 2) {                           \
                if (lane < reach)                                                                  \
                    sums[lane] += sums[lane + reach];                                              \
                barrier(CLK_LOCAL_MEM_FENCE);                                                      \
            }                                                                                      \
            if (lane == 0)                                                                         \
                partial_sums[get_group_id(0)] = sums[0];                                           \
        })

/* A and b in host memory. */
struct sparse_host {
    cl_ulong *offsets;
    cl_uint *columns;
    float *values, *right_side;
};

struct sparse_host sparse_make_host(const struct sparse_system *system);
void sparse_free_host(struct sparse_host *host);

/* A on the device. */
struct sparse_matrix {
    cl_kernel multiply, dot_product;
    cl_mem offsets, columns, values, partial_sums;
    size_t rows, groups;
    float *host_sums;
};

struct sparse_matrix sparse_create(struct app *app, const struct sparse_system *system);
void sparse_upload(struct app *app, const struct sparse_matrix *matrix,
                   const struct sparse_host *host);
void sparse_free(struct sparse_matrix *matrix); /* its host memory; app_close() does the rest */

/* y = A x, and x . y; the latter waits for its sum. */
void sparse_multiply(struct app *app, const struct sparse_matrix *matrix, cl_mem x, cl_mem y);
double sparse_dot(struct app *app, const struct sparse_matrix *matrix, cl_mem x, cl_mem y);

/* A solver stops when the squared residual is this small a part of the first one. */
static const double sparse_converged = 1e-12;

/* The same in double precision. The matrix is made again as it is needed, row by row. */
void sparse_reference_multiply(const struct sparse_system *system, const double *x, double *y);
double sparse_reference_dot(const double *x, const double *y, size_t count);

/* Checks a downloaded vector against the reference, which may differ by 1e-5. */
void sparse_check(struct app *app, const float *got, const double *wanted, size_t rows);

#endif
