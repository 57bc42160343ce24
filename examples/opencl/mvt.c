/*
 * x1 += A y1 and x2 += A^T y2 over one dense matrix. All buffers are host-allocated by OpenCL: they
 * are written and read by mapping them.
 */
#include "dense.h"

#include "host/dense.h"

#include <stdlib.h>

static const struct program program = {
    .problem = &mvt_problem,
    .kernels = dense_kernels,
};

/* Digits, and a buffer for them that OpenCL allocates in host memory. */
struct input {
    cl_mem buffer;
    size_t bytes;
    float *digits;
};

static struct input make_input(struct app *app, size_t count, uint64_t key) {
    const size_t bytes = count * sizeof(float);
    const cl_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR;
    return (struct input){app_buffer(app, flags, bytes, NULL), bytes, dense_digits(count, key)};
}

static void upload(struct app *app, struct input input) {
    app_write_mapped(app, input.buffer, input.bytes, input.digits);
    free(input.digits);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel row_products = app_kernel(&app, "row_products");
    cl_kernel column_products = app_kernel(&app, "column_products");

    const size_t side = dense_side(app.work.size, MVT_VECTORS);
    const struct input a = make_input(&app, side * side, random_key(app.work.seed, 'A'));
    const struct input y1 = make_input(&app, side, random_key(app.work.seed, 'y'));
    const struct input y2 = make_input(&app, side, random_key(app.work.seed, 'z'));
    const struct input x1 = make_input(&app, side, random_key(app.work.seed, 'x'));
    const struct input x2 = make_input(&app, side, random_key(app.work.seed, 'w'));
    const cl_uint keep = 1;

    app_start_clock(&app);
    upload(&app, a);
    upload(&app, y1);
    upload(&app, y2);
    upload(&app, x1);
    upload(&app, x2);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        app_launch(&app, row_products, over(side), ARG(a.buffer), ARG(y1.buffer), ARG(x1.buffer),
                   ARG(side), ARG(keep));
        app_launch(&app, column_products, over(side), ARG(a.buffer), ARG(y2.buffer), ARG(x2.buffer),
                   ARG(side), ARG(keep));
        app_end_iteration(&app);
    }
    const float *got_x1 = app_download_mapped(&app, x1.buffer, x1.bytes);
    const float *got_x2 = app_download_mapped(&app, x2.buffer, x2.bytes);
    app_stop_clock(&app);

    if (app.work.check)
        mvt_check(&app.work, got_x1, got_x2);
    return app_close(&app);
}
