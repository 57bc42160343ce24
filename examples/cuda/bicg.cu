/* The two products inside a BiCG step: q = A p reads the matrix by rows, s = A^T r by columns. Each
 * goes to a stream of its own, so they may run at the same time. */
#include "dense.h"

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &bicg_problem, NULL, argc, argv);
    const size_t side = dense_side(work.size, BICG_VECTORS);
    float *host_a = dense_digits(side * side, random_key(work.seed, 'A'));
    float *host_p = dense_digits(side, random_key(work.seed, 'p'));
    float *host_r = dense_digits(side, random_key(work.seed, 'r'));
    float *a = device_array<float>(&work, side * side);
    float *p = device_array<float>(&work, side);
    float *r = device_array<float>(&work, side);
    float *q = device_array<float>(&work, side);
    float *s = device_array<float>(&work, side);
    cudaStream_t by_rows, by_columns;
    CHECK(cudaStreamCreate(&by_rows));
    CHECK(cudaStreamCreate(&by_columns));

    work_start_clock(&work);
    upload(a, host_a, side * side);
    upload(p, host_p, side);
    upload(r, host_r, side);
    free(host_a);
    free(host_p);
    free(host_r);
    for (size_t i = 0; i < work.iterations; i++) {
        row_products<false><<<blocks(side), THREADS, 0, by_rows>>>(a, p, q, side);
        column_products<false><<<blocks(side), THREADS, 0, by_columns>>>(a, r, s, side);
        end_iteration(&work);
    }
    float *got_q = download(q, side);
    float *got_s = download(s, side);
    stop_clock(&work);

    if (work.check)
        bicg_check(&work, got_q, got_s);
    free(got_s);
    free(got_q);
    CHECK(cudaStreamDestroy(by_columns));
    CHECK(cudaStreamDestroy(by_rows));
    CHECK(cudaFree(s));
    CHECK(cudaFree(q));
    CHECK(cudaFree(r));
    CHECK(cudaFree(p));
    CHECK(cudaFree(a));
    return work_close(&work);
}
