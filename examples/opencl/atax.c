/* y = A^T (A x) over one dense matrix, read row by row and then column by column. */
#include "dense.h"

#include "host/dense.h"

#include <stdlib.h>

static const struct program program = {
    .problem = &atax_problem,
    .kernels = dense_kernels,
};

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel row_products = app_kernel(&app, "row_products");
    cl_kernel column_products = app_kernel(&app, "column_products");

    const size_t side = dense_side(app.work.size, ATAX_VECTORS);
    const size_t matrix_bytes = side * side * sizeof(float);
    const size_t vector_bytes = side * sizeof(float);
    float *host_a = dense_digits(side * side, random_key(app.work.seed, 'A'));
    float *host_x = dense_digits(side, random_key(app.work.seed, 'x'));

    cl_mem a = app_buffer(&app, CL_MEM_READ_ONLY, matrix_bytes, NULL);
    cl_mem x = app_buffer(&app, CL_MEM_READ_ONLY, vector_bytes, NULL);
    cl_mem tmp = app_buffer(&app, CL_MEM_READ_WRITE, vector_bytes, NULL);
    cl_mem y = app_buffer(&app, CL_MEM_WRITE_ONLY, vector_bytes, NULL);
    const cl_uint keep = 0;

    app_start_clock(&app);
    app_write(&app, a, matrix_bytes, host_a);
    app_write(&app, x, vector_bytes, host_x);
    free(host_a);
    free(host_x);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        app_launch(&app, row_products, over(side), ARG(a), ARG(x), ARG(tmp), ARG(side), ARG(keep));
        app_launch(&app, column_products, over(side), ARG(a), ARG(tmp), ARG(y), ARG(side),
                   ARG(keep));
        app_end_iteration(&app);
    }
    const float *got_tmp = app_download(&app, tmp, vector_bytes);
    const float *got_y = app_download(&app, y, vector_bytes);
    app_stop_clock(&app);

    if (app.work.check)
        atax_check(&app.work, got_tmp, got_y);
    return app_close(&app);
}
