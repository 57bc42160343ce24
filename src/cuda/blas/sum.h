/* Sums of matrices. */
#ifndef FF_BLAS_SUM_H
#define FF_BLAS_SUM_H

#include "cuda/blas/elements.h"

/* c = alpha a + beta b, of m rows and n columns: elements of c may be the same ones of a or b. What
 * is multiplied by 0 is not read. By halves, as products are computed (product.h). */
struct ff__blas_sum {
    int64_t m, n;
    struct ff__blas_matrix a, b, c;
    struct ff__blas_number alpha, beta;
};
void ff__blas_add(const struct ff__blas_sum *sum);

#endif
