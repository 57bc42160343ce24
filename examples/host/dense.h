/* What the programs around one dense square matrix (atax, bicg, mvt) compute, and their checks. */
#ifndef EXAMPLES_HOST_DENSE_H
#define EXAMPLES_HOST_DENSE_H

#include "work.h"

HOST_BEGIN

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

/* y = A^T (A x), with tmp = A x. A, x and what follows are streams of digits of these names. */
enum { ATAX_VECTORS = 3 };
extern const struct problem atax_problem;
void atax_check(struct work *work, const float *got_tmp, const float *got_y);

/* q = A p and s = A^T r. */
enum { BICG_VECTORS = 4 };
extern const struct problem bicg_problem;
void bicg_check(struct work *work, const float *got_q, const float *got_s);

/* x1 += A y1 and x2 += A^T y2, which are the streams 'x', 'y', 'w' and 'z'. */
enum { MVT_VECTORS = 4 };
extern const struct problem mvt_problem;
void mvt_check(struct work *work, const float *x1, const float *x2);

HOST_END

#endif
