/* Products of matrices that may be larger than the device's memory. */
#ifndef FF_BLAS_PRODUCT_H
#define FF_BLAS_PRODUCT_H

#include "cuda/blas/elements.h"

struct ff__blas_product {
    int64_t m, n, k;
    struct ff__blas_matrix a, b, c; /* m x k, k x n, m x n */
    bool wide;                      /* computed in doubles */
};

/* c = alpha a b + beta c. Where alpha is 0, or k, neither a nor b is read; where beta is 0, c is
 * not. c has no elements in common with a and b. Of a triangle no more is computed and written.
 *
 * The largest dimension is halved again and again, until blocks are left that are copied out of the
 * matrices: at some step what is multiplied fits into the device's memory, however large that is,
 * and all that follows moves it once (Frigo et al., Cache-Oblivious Algorithms, FOCS 1999). Sums
 * are numbers to compute with until the end: c is rounded once. -ENOMEM. */
int ff__blas_multiply(const struct ff__blas_product *product, struct ff__blas_number alpha,
                      struct ff__blas_number beta);

/* The processor's BLAS may be built for one thread at a time. Memory of programs is not accessed
 * under its lock: a kernel that fails leaves none behind. */
void ff__blas_lock(void);
void ff__blas_unlock(void);

/* The larger one of a dimension's halves: a multiple of what a BLAS multiplies well. Ours. */
#define FF_BLAS_LEAST 128
static inline int64_t ff__blas_half(int64_t size) {
    return (size / 2 + FF_BLAS_LEAST - 1) / FF_BLAS_LEAST * FF_BLAS_LEAST;
}

#endif
