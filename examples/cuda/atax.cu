/* y = A^T (A x) over one dense matrix, read row by row and then column by column. */
#include "dense.h"

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &atax_problem, NULL, argc, argv);
    const size_t side = dense_side(work.size, ATAX_VECTORS);
    float *host_a = dense_digits(side * side, random_key(work.seed, 'A'));
    float *host_x = dense_digits(side, random_key(work.seed, 'x'));
    float *a = device_array<float>(&work, side * side);
    float *x = device_array<float>(&work, side);
    float *tmp = device_array<float>(&work, side);
    float *y = device_array<float>(&work, side);

    work_start_clock(&work);
    upload(a, host_a, side * side);
    upload(x, host_x, side);
    free(host_a);
    free(host_x);
    for (size_t i = 0; i < work.iterations; i++) {
        row_products<false><<<blocks(side), THREADS>>>(a, x, tmp, side);
        column_products<false><<<blocks(side), THREADS>>>(a, tmp, y, side);
        end_iteration(&work);
    }
    float *got_tmp = download(tmp, side);
    float *got_y = download(y, side);
    stop_clock(&work);

    if (work.check)
        atax_check(&work, got_tmp, got_y);
    free(got_y);
    free(got_tmp);
    CHECK(cudaFree(y));
    CHECK(cudaFree(tmp));
    CHECK(cudaFree(x));
    CHECK(cudaFree(a));
    return work_close(&work);
}
