/* x1 += A y1 and x2 += A^T y2 over one dense matrix. All memory is managed: the host writes and
 * reads it itself. */
#include "dense.h"

static float *managed_digits(struct work *work, size_t count, char name) {
    float *array;
    CHECK(cudaMallocManaged(&array, count * sizeof(float)));
    work->footprint += count * sizeof(float);
    fill_digits(array, count, random_key(work->seed, (uint64_t)name), 0);
    return array;
}

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &mvt_problem, NULL, argc, argv);
    const size_t side = dense_side(work.size, MVT_VECTORS);

    work_start_clock(&work);
    float *a = managed_digits(&work, side * side, 'A');
    float *y1 = managed_digits(&work, side, 'y');
    float *y2 = managed_digits(&work, side, 'z');
    float *x1 = managed_digits(&work, side, 'x');
    float *x2 = managed_digits(&work, side, 'w');
    CHECK(cudaMemAdvise(a, side * side * sizeof(float), cudaMemAdviseSetReadMostly, 0));
    for (size_t i = 0; i < work.iterations; i++) {
        row_products<true><<<blocks(side), THREADS>>>(a, y1, x1, side);
        column_products<true><<<blocks(side), THREADS>>>(a, y2, x2, side);
        end_iteration(&work);
    }
    stop_clock(&work);

    if (work.check)
        mvt_check(&work, x1, x2);
    float *const all[] = {x2, x1, y2, y1, a};
    for (float *array : all)
        CHECK(cudaFree(array));
    return work_close(&work);
}
