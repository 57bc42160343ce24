/*
 * x1 += A y1 and x2 += A^T y2 over one dense matrix. All buffers are host-allocated by OpenCL: they
 * are filled and read where they lie, by mapping them.
 */
#include "dense.h"

#include <stdlib.h>

static const struct program program = {
    .name = "mvt",
    .kernels = dense_kernels,
    .default_iterations = 1,
    .iteration_is = "both products, added once to x1 and x2",
};

/* A buffer that OpenCL allocates in host memory, mapped and filled with digits. */
struct mapped_buffer {
    cl_mem buffer;
    float *mapped;
};

static struct mapped_buffer map_digits(struct app *app, size_t count, uint64_t key) {
    const size_t bytes = count * sizeof(float);
    struct mapped_buffer result;
    result.buffer = app_buffer(app, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL);
    result.mapped = app_map(app, result.buffer, CL_MAP_WRITE_INVALIDATE_REGION, bytes);
    fill_digits(result.mapped, count, key, 0);
    return result;
}

static void unmap(struct app *app, struct mapped_buffer buffer) {
    app_unmap(app, buffer.buffer, buffer.mapped);
}

static void check_vector(struct app *app, cl_mem buffer, const float *wanted, size_t side) {
    float *got = app_map(app, buffer, CL_MAP_READ, side * sizeof(float));
    app_expect_floats(app, got, wanted, side, 0);
    app_unmap(app, buffer, got);
}

/* Whole numbers again: k iterations add exactly k times the product. */
static void check_products(struct app *app, cl_mem x1, cl_mem x2, size_t side) {
    const uint64_t seed = app->seed;
    float *y1 = dense_digits(side, random_key(seed, 'y'));
    float *y2 = dense_digits(side, random_key(seed, 'z'));
    float *products = host_array(2 * side, sizeof(float));
    dense_reference(random_key(seed, 'A'), side, y1, products, y2, products + side);

    float *wanted = dense_digits(side, random_key(seed, 'x'));
    for (size_t i = 0; i < side; ++i)
        wanted[i] += (float)app->iterations * products[i];
    check_vector(app, x1, wanted, side);

    fill_digits(wanted, side, random_key(seed, 'w'), 0);
    for (size_t i = 0; i < side; ++i)
        wanted[i] += (float)app->iterations * products[side + i];
    check_vector(app, x2, wanted, side);

    free(wanted);
    free(products);
    free(y2);
    free(y1);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel row_products = app_kernel(&app, "row_products");
    cl_kernel column_products = app_kernel(&app, "column_products");

    const size_t side = dense_side(app.size, 4);
    const struct mapped_buffer a = map_digits(&app, side * side, random_key(app.seed, 'A'));
    const struct mapped_buffer y1 = map_digits(&app, side, random_key(app.seed, 'y'));
    const struct mapped_buffer y2 = map_digits(&app, side, random_key(app.seed, 'z'));
    const struct mapped_buffer x1 = map_digits(&app, side, random_key(app.seed, 'x'));
    const struct mapped_buffer x2 = map_digits(&app, side, random_key(app.seed, 'w'));
    const cl_uint keep = 1;

    app_start_clock(&app);
    unmap(&app, a);
    unmap(&app, y1);
    unmap(&app, y2);
    unmap(&app, x1);
    unmap(&app, x2);
    for (size_t i = 0; i < app.iterations; ++i) {
        app_launch(&app, row_products, over(side), ARG(a.buffer), ARG(y1.buffer), ARG(x1.buffer),
                   ARG(side), ARG(keep));
        app_launch(&app, column_products, over(side), ARG(a.buffer), ARG(y2.buffer), ARG(x2.buffer),
                   ARG(side), ARG(keep));
        app_end_iteration(&app);
    }
    app_stop_clock(&app);

    if (app.check)
        check_products(&app, x1.buffer, x2.buffer, side);
    return app_close(&app);
}
