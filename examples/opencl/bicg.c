/*
 * The two products inside a BiCG step: q = A p reads the matrix by rows, s = A^T r by columns. The
 * inputs are copied in when their buffers are created.
 */
#include "dense.h"

#include "host/dense.h"

#include <stdlib.h>

static const struct program program = {
    .problem = &bicg_problem,
    .kernels = dense_kernels,
};

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel row_products = app_kernel(&app, "row_products");
    cl_kernel column_products = app_kernel(&app, "column_products");

    const size_t side = dense_side(app.work.size, BICG_VECTORS);
    const size_t matrix_bytes = side * side * sizeof(float);
    const size_t vector_bytes = side * sizeof(float);
    float *host_a = dense_digits(side * side, random_key(app.work.seed, 'A'));
    float *host_p = dense_digits(side, random_key(app.work.seed, 'p'));
    float *host_r = dense_digits(side, random_key(app.work.seed, 'r'));

    const cl_mem_flags input = CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR;
    app_start_clock(&app);
    cl_mem a = app_buffer(&app, input, matrix_bytes, host_a);
    cl_mem p = app_buffer(&app, input, vector_bytes, host_p);
    cl_mem r = app_buffer(&app, input, vector_bytes, host_r);
    cl_mem q = app_buffer(&app, CL_MEM_WRITE_ONLY, vector_bytes, NULL);
    cl_mem s = app_buffer(&app, CL_MEM_WRITE_ONLY, vector_bytes, NULL);
    free(host_a);
    free(host_p);
    free(host_r);
    const cl_uint keep = 0;
    for (size_t i = 0; i < app.work.iterations; ++i) {
        app_launch(&app, row_products, over(side), ARG(a), ARG(p), ARG(q), ARG(side), ARG(keep));
        app_launch(&app, column_products, over(side), ARG(a), ARG(r), ARG(s), ARG(side), ARG(keep));
        app_end_iteration(&app);
    }
    const float *got_q = app_download(&app, q, vector_bytes);
    const float *got_s = app_download(&app, s, vector_bytes);
    app_stop_clock(&app);

    if (app.work.check)
        bicg_check(&app.work, got_q, got_s);
    return app_close(&app);
}
