#include "cuda/blas/sum.h"

#include "cuda/blas/product.h"

/* A column of a block; ours. */
#define ROWS FF_BLAS_LEAST

/* to += factor * elements of a column. */
static void add_column(const struct ff__blas_matrix *matrix, struct ff__blas_number factor,
                       int64_t j, int64_t count, double *to) {
    double numbers[2 * ROWS];
    if (factor.re == 0 && factor.im == 0)
        return;
    ff__blas_load(matrix, 0, j, count, true, numbers);
    if (ff__blas_parts(matrix->type) == 1)
        for (int64_t i = 0; i < count; i++)
            to[i] += factor.re * numbers[i];
    else
        for (int64_t i = 0; i < 2 * count; i += 2) {
            to[i] += factor.re * numbers[i] - factor.im * numbers[i + 1];
            to[i + 1] += factor.re * numbers[i + 1] + factor.im * numbers[i];
        }
}

static void add_block(const struct ff__blas_sum *sum) {
    for (int64_t j = 0; j < sum->n; j++) {
        double column[2 * ROWS] = {0};
        add_column(&sum->a, sum->alpha, j, sum->m, column);
        add_column(&sum->b, sum->beta, j, sum->m, column);
        ff__blas_store(&sum->c, 0, j, sum->m, true, column);
    }
}

void ff__blas_add(const struct ff__blas_sum *sum) {
    if (sum->m <= ROWS && sum->n <= ROWS) {
        add_block(sum);
        return;
    }
    struct ff__blas_sum first = *sum, second = *sum;
    bool rows = sum->m > sum->n;
    int64_t half = ff__blas_half(rows ? sum->m : sum->n), i = rows ? half : 0, j = half - i;
    *(rows ? &first.m : &first.n) = half;
    second.m -= i;
    second.n -= j;
    second.a = ff__blas_from(&sum->a, i, j);
    second.b = ff__blas_from(&sum->b, i, j);
    second.c = ff__blas_from(&sum->c, i, j);
    ff__blas_add(&first);
    ff__blas_add(&second);
}
