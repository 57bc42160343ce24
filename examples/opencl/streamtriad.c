/*
 * The STREAM triad, a = b + scalar * c. With --svm the three arrays are coarse-grained shared
 * virtual memory (OpenCL 2.0) instead of buffers.
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>

static const char kernels[] =
    OPENCL_SOURCE(__kernel void triad(__global float *a, __global const float *b,
                                      __global const float *c, float scalar, ulong count) {
        const ulong i = get_global_id(0);
        if (i < count)
            a[i] = b[i] + scalar * c[i];
    });

enum option_key { OPTION_SVM = 512 };

static const struct argp_option options[] = {
    {"svm", OPTION_SVM, NULL, 0, "Use shared virtual memory instead of buffers", 0},
    {0},
};

static bool use_svm;

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    (void)argument;
    (void)state;
    if (key != OPTION_SVM)
        return ARGP_ERR_UNKNOWN;
    use_svm = true;
    return 0;
}

static const struct argp extras = {options, parse_option, NULL, NULL, NULL, NULL, NULL};

static const struct program program = {
    .name = "streamtriad",
    .kernels = kernels,
    .default_iterations = 10,
    .iteration_is = "one pass over the three arrays",
    .extras = &extras,
};

/* The inputs are digits and the scalar is a power of two: every sum is exact, fused or not. */
static const float scalar = 0.5f;

struct streams {
    size_t count, bytes;
    uint64_t b_key, c_key;
};

static void check_triad(struct app *app, const float *a, const struct streams *streams) {
    for (size_t i = 0; i < streams->count; ++i)
        app_expect(app, i, a[i],
                   random_digit(streams->b_key, i) + scalar * random_digit(streams->c_key, i), 0);
}

/* A program's own memory, from which the inputs are uploaded. */
static float *make_stream(const struct streams *streams, uint64_t key) {
    float *stream = host_pages(streams->bytes);
    fill_digits(stream, streams->count, key, 0);
    return stream;
}

/* Both ways return the downloaded result. */
static const float *run_with_buffers(struct app *app, cl_kernel triad,
                                     const struct streams *streams) {
    float *host_b = make_stream(streams, streams->b_key);
    float *host_c = make_stream(streams, streams->c_key);
    cl_mem a = app_buffer(app, CL_MEM_WRITE_ONLY, streams->bytes, NULL);
    cl_mem b = app_buffer(app, CL_MEM_READ_ONLY, streams->bytes, NULL);
    cl_mem c = app_buffer(app, CL_MEM_READ_ONLY, streams->bytes, NULL);

    app_start_clock(app);
    app_write(app, b, streams->bytes, host_b);
    app_write(app, c, streams->bytes, host_c);
    free(host_b);
    free(host_c);
    for (size_t i = 0; i < app->iterations; ++i) {
        app_launch(app, triad, over(streams->count), ARG(a), ARG(b), ARG(c), ARG(scalar),
                   ARG(streams->count));
        app_end_iteration(app);
    }
    const float *got = app_download(app, a, streams->bytes);
    app_stop_clock(app);
    return got;
}

static void require_svm(const struct app *app) {
    cl_device_svm_capabilities capabilities = 0;
    cl_int status = clGetDeviceInfo(app->device, CL_DEVICE_SVM_CAPABILITIES, sizeof(capabilities),
                                    &capabilities, NULL);
    /* Devices older than OpenCL 2.0 do not know the question. */
    if (status != CL_SUCCESS || !(capabilities & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))
        require(CL_INVALID_OPERATION, "clSVMAlloc");
}

static float *svm_stream(struct app *app, const struct streams *streams) {
    float *stream = clSVMAlloc(app->context, CL_MEM_READ_WRITE, streams->bytes, 0);
    if (stream == NULL)
        require(CL_MEM_OBJECT_ALLOCATION_FAILURE, "clSVMAlloc");
    app->footprint += streams->bytes;
    return stream;
}

static void svm_copy(struct app *app, void *to, const void *from, size_t bytes) {
    require(clEnqueueSVMMemcpy(app->queue, CL_TRUE, to, from, bytes, 0, NULL, NULL),
            "clEnqueueSVMMemcpy");
}

static const float *run_with_svm(struct app *app, cl_kernel triad, const struct streams *streams) {
    require_svm(app);
    float *host_b = make_stream(streams, streams->b_key);
    float *host_c = make_stream(streams, streams->c_key);
    float *got = app_result(app, streams->bytes);
    float *a = svm_stream(app, streams);
    float *b = svm_stream(app, streams);
    float *c = svm_stream(app, streams);

    app_start_clock(app);
    svm_copy(app, b, host_b, streams->bytes);
    svm_copy(app, c, host_c, streams->bytes);
    free(host_b);
    free(host_c);
    for (size_t i = 0; i < app->iterations; ++i) {
        app_launch(app, triad, over(streams->count), SVM_ARG(a), SVM_ARG(b), SVM_ARG(c),
                   ARG(scalar), ARG(streams->count));
        app_end_iteration(app);
    }
    svm_copy(app, got, a, streams->bytes);
    app_stop_clock(app);

    clSVMFree(app->context, a);
    clSVMFree(app->context, b);
    clSVMFree(app->context, c);
    return got;
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel triad = app_kernel(&app, "triad");

    const size_t count = app.size / (3 * sizeof(float));
    const struct streams streams = {
        .count = count,
        .bytes = count * sizeof(float),
        .b_key = random_key(app.seed, 'b'),
        .c_key = random_key(app.seed, 'c'),
    };
    const float *got =
        use_svm ? run_with_svm(&app, triad, &streams) : run_with_buffers(&app, triad, &streams);

    if (app.check)
        check_triad(&app, got, &streams);
    return app_close(&app);
}
