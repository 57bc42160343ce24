/*
 * What the programs around one dense square matrix (atax, bicg, mvt) share: the two kernels that
 * multiply with the matrix and with its transpose, and the CPU reference of both products.
 */
#ifndef OPENCL_EXAMPLES_DENSE_H
#define OPENCL_EXAMPLES_DENSE_H

#include "common.h"

/*
 * row_products: y = M x, and column_products: y = M^T x, both with (M, x, y, side, keep). One
 * work-item per row reads along its row; one per column walks down the whole matrix, in tiles of
 * 256 rows that a work-group takes together. With keep, the product is added to what y holds;
 * otherwise it replaces it.
 */
extern const char dense_kernels[];

/* The side of the matrix when it and `vectors` vectors take `bytes` on the device. */
size_t dense_side(size_t bytes, size_t vectors);

/* A fresh array of the first `count` digits of a stream: a matrix or a vector. */
float *dense_digits(size_t count, uint64_t key);

/*
 * Adds M x to row_sums and M^T w to column_sums, where M is the matrix of digits with this key.
 * It makes M again row by row, so it needs no copy of it. Row i of M is used for row_sums[i] first
 * and only then meets w[i]: passing row_sums as w computes M^T (M x) in one pass.
 */
void dense_reference(uint64_t matrix_key, size_t side, const float *x, float *row_sums,
                     const float *w, float *column_sums);

#endif
