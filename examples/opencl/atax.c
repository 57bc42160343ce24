/* y = A^T (A x) over one dense matrix, read row by row and then column by column. */
#include "dense.h"

#include <stdlib.h>

static const struct program program = {
    .name = "atax",
    .kernels = dense_kernels,
    .default_iterations = 1,
    .iteration_is = "both products once",
};

/* y depends on every element of tmp, but checking tmp too points at the product that failed. */
static void check_products(struct app *app, const float *got_tmp, const float *got_y, size_t side,
                           uint64_t a_key, const float *host_x) {
    float *wanted_tmp = host_array(side, sizeof(float));
    float *wanted_y = host_array(side, sizeof(float));
    dense_reference(a_key, side, host_x, wanted_tmp, wanted_tmp, wanted_y);

    app_expect_floats(app, got_tmp, wanted_tmp, side, 0);
    app_expect_floats(app, got_y, wanted_y, side, 0);
    free(wanted_y);
    free(wanted_tmp);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel row_products = app_kernel(&app, "row_products");
    cl_kernel column_products = app_kernel(&app, "column_products");

    const size_t side = dense_side(app.size, 3);
    const size_t matrix_bytes = side * side * sizeof(float);
    const size_t vector_bytes = side * sizeof(float);
    const uint64_t a_key = random_key(app.seed, 'A');
    float *host_a = dense_digits(side * side, a_key);
    float *host_x = dense_digits(side, random_key(app.seed, 'x'));

    cl_mem a = app_buffer(&app, CL_MEM_READ_ONLY, matrix_bytes, NULL);
    cl_mem x = app_buffer(&app, CL_MEM_READ_ONLY, vector_bytes, NULL);
    cl_mem tmp = app_buffer(&app, CL_MEM_READ_WRITE, vector_bytes, NULL);
    cl_mem y = app_buffer(&app, CL_MEM_WRITE_ONLY, vector_bytes, NULL);
    const cl_uint keep = 0;

    app_start_clock(&app);
    app_write(&app, a, matrix_bytes, host_a);
    app_write(&app, x, vector_bytes, host_x);
    free(host_a);
    for (size_t i = 0; i < app.iterations; ++i) {
        app_launch(&app, row_products, over(side), ARG(a), ARG(x), ARG(tmp), ARG(side), ARG(keep));
        app_launch(&app, column_products, over(side), ARG(a), ARG(tmp), ARG(y), ARG(side),
                   ARG(keep));
        app_end_iteration(&app);
    }
    const float *got_tmp = app_download(&app, tmp, vector_bytes);
    const float *got_y = app_download(&app, y, vector_bytes);
    app_stop_clock(&app);

    if (app.check)
        check_products(&app, got_tmp, got_y, side, a_key, host_x);
    free(host_x);
    return app_close(&app);
}
