/*
 * The STREAM triad, a = b + scalar * c. With --svm the three arrays are coarse-grained shared
 * virtual memory (OpenCL 2.0) instead of buffers.
 */
#include "common.h"

#include "host/streamtriad.h"

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
    .problem = &streamtriad_problem,
    .kernels = kernels,
    .extras = &extras,
};

/* Both ways return the downloaded result. */
static const float *run_with_buffers(struct app *app, cl_kernel triad, size_t count) {
    const size_t bytes = count * sizeof(float);
    const float scalar = SCALAR;
    float *host_b = streamtriad_input(&app->work, 'b');
    float *host_c = streamtriad_input(&app->work, 'c');
    cl_mem a = app_buffer(app, CL_MEM_WRITE_ONLY, bytes, NULL);
    cl_mem b = app_buffer(app, CL_MEM_READ_ONLY, bytes, NULL);
    cl_mem c = app_buffer(app, CL_MEM_READ_ONLY, bytes, NULL);

    app_start_clock(app);
    app_write(app, b, bytes, host_b);
    app_write(app, c, bytes, host_c);
    free(host_b);
    free(host_c);
    for (size_t i = 0; i < app->work.iterations; ++i) {
        app_launch(app, triad, over(count), ARG(a), ARG(b), ARG(c), ARG(scalar), ARG(count));
        app_end_iteration(app);
    }
    const float *got = app_download(app, a, bytes);
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

static float *svm_stream(struct app *app, size_t bytes) {
    float *stream = clSVMAlloc(app->context, CL_MEM_READ_WRITE, bytes, 0);
    if (stream == NULL)
        require(CL_MEM_OBJECT_ALLOCATION_FAILURE, "clSVMAlloc");
    app->work.footprint += bytes;
    return stream;
}

static void svm_copy(struct app *app, void *to, const void *from, size_t bytes) {
    require(clEnqueueSVMMemcpy(app->queue, CL_TRUE, to, from, bytes, 0, NULL, NULL),
            "clEnqueueSVMMemcpy");
}

static const float *run_with_svm(struct app *app, cl_kernel triad, size_t count) {
    require_svm(app);
    const size_t bytes = count * sizeof(float);
    const float scalar = SCALAR;
    float *host_b = streamtriad_input(&app->work, 'b');
    float *host_c = streamtriad_input(&app->work, 'c');
    float *got = app_result(app, bytes);
    float *a = svm_stream(app, bytes);
    float *b = svm_stream(app, bytes);
    float *c = svm_stream(app, bytes);

    app_start_clock(app);
    svm_copy(app, b, host_b, bytes);
    svm_copy(app, c, host_c, bytes);
    free(host_b);
    free(host_c);
    for (size_t i = 0; i < app->work.iterations; ++i) {
        app_launch(app, triad, over(count), SVM_ARG(a), SVM_ARG(b), SVM_ARG(c), ARG(scalar),
                   ARG(count));
        app_end_iteration(app);
    }
    svm_copy(app, got, a, bytes);
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

    const size_t count = streamtriad_count(&app.work);
    const float *got =
        use_svm ? run_with_svm(&app, triad, count) : run_with_buffers(&app, triad, count);

    if (app.work.check)
        streamtriad_check(&app.work, got);
    return app_close(&app);
}
