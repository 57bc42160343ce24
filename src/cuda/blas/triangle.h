/* Triangles of a matrix: products with them, and systems of equations. */
#ifndef FF_BLAS_TRIANGLE_H
#define FF_BLAS_TRIANGLE_H

#include "cuda/blas/elements.h"

/* b = alpha a b, or, if it solves, b = alpha a^-1 b, for a triangle of m rows and columns, and n
 * columns of b. Where alpha is 0, a is not read. By halves of both, as products are computed
 * (product.h). -ENOMEM. */
int ff__blas_triangle(const struct ff__blas_matrix *a, const struct ff__blas_matrix *b, int64_t m,
                      int64_t n, struct ff__blas_number alpha, bool solves);

#endif
