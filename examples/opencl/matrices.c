/*
 * Two matrices of which one stays and the other is a new one in every iteration, in a new buffer:
 * y += A x and z += B x, where B is released after it was used once.
 */
#include "dense.h"

#include "host/dense.h"

#include <stdlib.h>

/* How far apart in one stream of digits the matrices B of two iterations begin. */
#define SHIFT 4099

static const struct problem problem = {
    .default_iterations = 16,
    .iteration_is = "a product with the matrix that stays, and one with a new matrix",
};

static const struct program program = {
    .problem = &problem,
    .kernels = dense_kernels,
};

static cl_mem new_matrix(struct app *app, size_t bytes, const float *digits) {
    cl_int status = CL_SUCCESS;
    cl_mem matrix = clCreateBuffer(app->context, CL_MEM_READ_ONLY, bytes, NULL, &status);
    require(status, "clCreateBuffer");
    app_write(app, matrix, bytes, digits);
    return matrix;
}

static void add_products(const float *matrix, size_t side, const float *x, float *sums) {
    for (size_t row = 0; row < side; ++row)
        for (size_t column = 0; column < side; ++column)
            sums[row] += matrix[row * side + column] * x[column];
}

static void check_sums(struct app *app, const float *got_y, const float *got_z, size_t side,
                       const float *a, const float *b, const float *x) {
    float *once = host_array(side, sizeof(float)), *z = host_array(side, sizeof(float));
    add_products(a, side, x, once);
    for (size_t i = 0; i < app->work.iterations; ++i)
        add_products(b + i * SHIFT, side, x, z);
    for (size_t row = 0; row < side; ++row)
        work_expect(&app->work, row, got_y[row], (double)app->work.iterations * once[row], 0);
    work_expect_floats(&app->work, got_z, z, side, 0);
    free(z);
    free(once);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel row_products = app_kernel(&app, "row_products");

    const size_t side = square_side(app.work.size, 2 * sizeof(float), 3 * sizeof(float));
    const size_t matrix_bytes = side * side * sizeof(float), vector_bytes = side * sizeof(float);
    float *host_a = dense_digits(side * side, random_key(app.work.seed, 'A'));
    float *host_b =
        dense_digits(side * side + app.work.iterations * SHIFT, random_key(app.work.seed, 'B'));
    float *host_x = dense_digits(side, random_key(app.work.seed, 'x'));
    cl_mem a = app_buffer(&app, CL_MEM_READ_ONLY, matrix_bytes, NULL);
    cl_mem x = app_buffer(&app, CL_MEM_READ_ONLY, vector_bytes, NULL);
    cl_mem y = app_buffer(&app, CL_MEM_READ_WRITE, vector_bytes, NULL);
    cl_mem z = app_buffer(&app, CL_MEM_READ_WRITE, vector_bytes, NULL);
    app.work.footprint += matrix_bytes; /* of one new matrix at a time */

    app_start_clock(&app);
    app_write(&app, a, matrix_bytes, host_a);
    app_write(&app, x, vector_bytes, host_x);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        const cl_uint keep = i > 0;
        cl_mem b = new_matrix(&app, matrix_bytes, host_b + i * SHIFT);
        app_launch(&app, row_products, over(side), ARG(b), ARG(x), ARG(z), ARG(side), ARG(keep));
        app_launch(&app, row_products, over(side), ARG(a), ARG(x), ARG(y), ARG(side), ARG(keep));
        require(clFinish(app.queue), "clFinish");
        require(clReleaseMemObject(b), "clReleaseMemObject");
        app_end_iteration(&app);
    }
    const float *got_y = app_download(&app, y, vector_bytes);
    const float *got_z = app_download(&app, z, vector_bytes);
    app_stop_clock(&app);

    if (app.work.check)
        check_sums(&app, got_y, got_z, side, host_a, host_b, host_x);
    free(host_x);
    free(host_b);
    free(host_a);
    return app_close(&app);
}
