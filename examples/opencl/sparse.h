/*
 * What the solvers of sparse linear systems (bicgstab, cg, gmres) share: the copy of a system on
 * the device, with the two kernels that read it and add up.
 */
#ifndef OPENCL_EXAMPLES_SPARSE_H
#define OPENCL_EXAMPLES_SPARSE_H

#include "common.h"

#include "host/sparse.h"

/*
 * multiply: y = A x, one work-item for each row. dot_product: partial sums of x . y, one for each
 * work-group, which the host adds up. A solver's kernels are these and its own after them.
 */
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

#endif
