/* The two kernels with which atax, bicg and mvt multiply with a matrix and with its transpose. */
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

#endif
