/* Products of matrices, row by row in memory. */
#ifndef FF_LEARN_MATRIX_H
#define FF_LEARN_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

/* c [m][n] = a [m][k] b [k][n] (+ c if `add`). `turn_a`: a is [k][m]; `turn_b`: b is [n][k]. */
struct ff__product {
    uint32_t m, n, k;
    bool turn_a, turn_b, add;
};

/* The reference: three loops. */
void ff__multiply_plain(const struct ff__product *product, const float *a, const float *b,
                        float *c);

/* What large products are done with: a BLAS, if the program has one (learn/blas/), else the
 * reference. The library itself depends on none. */
extern void (*ff__multiply_large)(const struct ff__product *product, const float *a, const float *b,
                                  float *c);

void ff__multiply(const struct ff__product *product, const float *a, const float *b, float *c);

#endif
