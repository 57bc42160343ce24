#include "dense.h"

#include <stdlib.h>

const struct problem atax_problem = {
    .default_iterations = 1,
    .iteration_is = "both products once",
};

const struct problem bicg_problem = {
    .default_iterations = 1,
    .iteration_is = "both products once",
};

const struct problem mvt_problem = {
    .default_iterations = 1,
    .iteration_is = "both products, added once to x1 and x2",
};

size_t dense_side(size_t bytes, size_t vectors) {
    return square_side(bytes, sizeof(float), vectors * sizeof(float));
}

float *dense_digits(size_t count, uint64_t key) {
    float *digits = host_pages(count * sizeof(float));
    fill_digits(digits, count, key, 0);
    return digits;
}

void dense_reference(uint64_t matrix_key, size_t side, const float *x, float *row_sums,
                     const float *w, float *column_sums) {
    float *row = host_array(side, sizeof(float));
    for (size_t i = 0; i < side; ++i) {
        fill_digits(row, side, matrix_key, i * side);
        for (size_t j = 0; j < side; ++j)
            row_sums[i] += row[j] * x[j];
        for (size_t j = 0; j < side; ++j)
            column_sums[j] += row[j] * w[i];
    }
    free(row);
}

/* y depends on every element of tmp, but checking tmp too points at the product that failed. */
void atax_check(struct work *work, const float *got_tmp, const float *got_y) {
    const size_t side = dense_side(work->size, ATAX_VECTORS);
    float *host_x = dense_digits(side, random_key(work->seed, 'x'));
    float *wanted_tmp = host_array(side, sizeof(float));
    float *wanted_y = host_array(side, sizeof(float));
    dense_reference(random_key(work->seed, 'A'), side, host_x, wanted_tmp, wanted_tmp, wanted_y);

    work_expect_floats(work, got_tmp, wanted_tmp, side, 0);
    work_expect_floats(work, got_y, wanted_y, side, 0);
    free(wanted_y);
    free(wanted_tmp);
    free(host_x);
}

void bicg_check(struct work *work, const float *got_q, const float *got_s) {
    const size_t side = dense_side(work->size, BICG_VECTORS);
    float *host_p = dense_digits(side, random_key(work->seed, 'p'));
    float *host_r = dense_digits(side, random_key(work->seed, 'r'));
    float *wanted_q = host_array(side, sizeof(float));
    float *wanted_s = host_array(side, sizeof(float));
    dense_reference(random_key(work->seed, 'A'), side, host_p, wanted_q, host_r, wanted_s);

    work_expect_floats(work, got_q, wanted_q, side, 0);
    work_expect_floats(work, got_s, wanted_s, side, 0);
    free(wanted_s);
    free(wanted_q);
    free(host_r);
    free(host_p);
}

/* Whole numbers again: k iterations add exactly k times the product. */
void mvt_check(struct work *work, const float *x1, const float *x2) {
    const size_t side = dense_side(work->size, MVT_VECTORS);
    const uint64_t seed = work->seed;
    float *y1 = dense_digits(side, random_key(seed, 'y'));
    float *y2 = dense_digits(side, random_key(seed, 'z'));
    float *products = host_array(2 * side, sizeof(float));
    dense_reference(random_key(seed, 'A'), side, y1, products, y2, products + side);

    float *wanted = dense_digits(side, random_key(seed, 'x'));
    for (size_t i = 0; i < side; ++i)
        wanted[i] += (float)work->iterations * products[i];
    work_expect_floats(work, x1, wanted, side, 0);

    fill_digits(wanted, side, random_key(seed, 'w'), 0);
    for (size_t i = 0; i < side; ++i)
        wanted[i] += (float)work->iterations * products[side + i];
    work_expect_floats(work, x2, wanted, side, 0);

    free(wanted);
    free(products);
    free(y2);
    free(y1);
}
