#include "common.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Errors ---- */

static const char *status_name(cl_int status) {
    switch (status) {
#define NAMED(code)                                                                                \
    case code:                                                                                     \
        return #code
        NAMED(CL_DEVICE_NOT_FOUND);
        NAMED(CL_DEVICE_NOT_AVAILABLE);
        NAMED(CL_COMPILER_NOT_AVAILABLE);
        NAMED(CL_MEM_OBJECT_ALLOCATION_FAILURE);
        NAMED(CL_OUT_OF_RESOURCES);
        NAMED(CL_OUT_OF_HOST_MEMORY);
        NAMED(CL_MEM_COPY_OVERLAP);
        NAMED(CL_BUILD_PROGRAM_FAILURE);
        NAMED(CL_MAP_FAILURE);
        NAMED(CL_MISALIGNED_SUB_BUFFER_OFFSET);
        NAMED(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        NAMED(CL_INVALID_VALUE);
        NAMED(CL_INVALID_PLATFORM);
        NAMED(CL_INVALID_DEVICE);
        NAMED(CL_INVALID_CONTEXT);
        NAMED(CL_INVALID_QUEUE_PROPERTIES);
        NAMED(CL_INVALID_COMMAND_QUEUE);
        NAMED(CL_INVALID_HOST_PTR);
        NAMED(CL_INVALID_MEM_OBJECT);
        NAMED(CL_INVALID_BINARY);
        NAMED(CL_INVALID_BUILD_OPTIONS);
        NAMED(CL_INVALID_PROGRAM);
        NAMED(CL_INVALID_PROGRAM_EXECUTABLE);
        NAMED(CL_INVALID_KERNEL_NAME);
        NAMED(CL_INVALID_KERNEL);
        NAMED(CL_INVALID_ARG_INDEX);
        NAMED(CL_INVALID_ARG_VALUE);
        NAMED(CL_INVALID_ARG_SIZE);
        NAMED(CL_INVALID_KERNEL_ARGS);
        NAMED(CL_INVALID_WORK_DIMENSION);
        NAMED(CL_INVALID_WORK_GROUP_SIZE);
        NAMED(CL_INVALID_WORK_ITEM_SIZE);
        NAMED(CL_INVALID_EVENT_WAIT_LIST);
        NAMED(CL_INVALID_EVENT);
        NAMED(CL_INVALID_OPERATION);
        NAMED(CL_INVALID_BUFFER_SIZE);
        NAMED(CL_INVALID_GLOBAL_WORK_SIZE);
        NAMED(CL_INVALID_PROPERTY);
#undef NAMED
    case -1001: /* CL_PLATFORM_NOT_FOUND_KHR, which only the extension headers name */
        return "CL_PLATFORM_NOT_FOUND_KHR";
    default:
        return "unknown error";
    }
}

void require(cl_int status, const char *call) {
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: %s: %s (%d)\n", program_invocation_short_name, call, status_name(status),
            status);
    exit(EXIT_FAILURE);
}

/* ---- Device, context, queue and kernels ---- */

enum { MOST_DEVICES = 2 };

/* As many as are wanted, or fewer, of the first platform that has any; 0: none has. */
static cl_uint find_devices(const cl_platform_id *platforms, cl_uint count, cl_device_type type,
                            cl_uint wanted, cl_device_id *devices) {
    cl_uint found = 0;
    for (cl_uint i = 0; i < count; ++i)
        if (clGetDeviceIDs(platforms[i], type, wanted, devices, &found) == CL_SUCCESS)
            return found < wanted ? found : wanted;
    return 0;
}

static cl_uint choose_devices(cl_uint wanted, cl_device_id *devices) {
    enum { MOST_PLATFORMS = 16 };
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_uint count = 0;
    require(clGetPlatformIDs(MOST_PLATFORMS, platforms, &count), "clGetPlatformIDs");
    if (count > MOST_PLATFORMS)
        count = MOST_PLATFORMS;

    cl_uint found = find_devices(platforms, count, CL_DEVICE_TYPE_GPU, wanted, devices);
    if (found == 0)
        found = find_devices(platforms, count, CL_DEVICE_TYPE_ALL, wanted, devices);
    if (found == 0)
        require(CL_DEVICE_NOT_FOUND, "clGetDeviceIDs");
    return found;
}

static cl_command_queue make_queue(const struct app *app, cl_device_id device) {
    cl_int status = CL_SUCCESS;
    cl_command_queue queue = clCreateCommandQueue(app->context, device, 0, &status);
    require(status, "clCreateCommandQueue");
    return queue;
}

static void print_build_log(const struct app *app) {
    size_t length = 0;
    clGetProgramBuildInfo(app->binary, app->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &length);
    char *log = host_array(length + 1, 1);
    clGetProgramBuildInfo(app->binary, app->device, CL_PROGRAM_BUILD_LOG, length, log, NULL);
    fprintf(stderr, "%s\n", log);
    free(log);
}

static void build_kernels(struct app *app) {
    cl_int status = CL_SUCCESS;
    const char *source = app->program->kernels;
    app->binary = clCreateProgramWithSource(app->context, 1, &source, NULL, &status);
    require(status, "clCreateProgramWithSource");
    status = clBuildProgram(app->binary, 0, NULL, "-cl-std=CL1.2", NULL, NULL);
    if (status == CL_BUILD_PROGRAM_FAILURE)
        print_build_log(app);
    require(status, "clBuildProgram");
}

void app_open(struct app *app, const struct program *program, int argc, char **argv) {
    *app = (struct app){.program = program};
    work_open(&app->work, program->problem, program->extras, argc, argv);

    cl_int status = CL_SUCCESS;
    cl_device_id devices[MOST_DEVICES];
    const cl_uint count = choose_devices(program->two_queues ? MOST_DEVICES : 1, devices);
    app->device = devices[0];
    app->context = clCreateContext(NULL, count, devices, NULL, NULL, &status);
    require(status, "clCreateContext");
    app->queue = make_queue(app, devices[0]);
    if (program->two_queues)
        app->other_queue = make_queue(app, devices[count - 1]);
    build_kernels(app);
}

cl_kernel app_kernel(struct app *app, const char *name) {
    cl_int status = CL_SUCCESS;
    cl_kernel kernel = clCreateKernel(app->binary, name, &status);
    require(status, "clCreateKernel");
    app->kernels = host_grow(app->kernels, app->kernel_count, sizeof(cl_kernel));
    app->kernels[app->kernel_count++] = kernel;
    return kernel;
}

/* ---- Time and verdict ---- */

void app_start_clock(struct app *app) {
    work_start_clock(&app->work);
}

void app_switch_queue(struct app *app) {
    cl_command_queue queue = app->queue;
    app->queue = app->other_queue;
    app->other_queue = queue;
}

void app_wait(const struct app *app) {
    require(clFinish(app->queue), "clFinish");
    if (app->other_queue)
        require(clFinish(app->other_queue), "clFinish");
}

static void release_queue(cl_command_queue *queue) {
    if (*queue)
        require(clReleaseCommandQueue(*queue), "clReleaseCommandQueue");
    *queue = NULL;
}

void app_end_iteration(struct app *app) {
    if (!app->work.times)
        return;
    app_wait(app);
    work_end_iteration(&app->work);
}

void app_stop_clock(struct app *app) {
    app_wait(app);
    work_stop_clock(&app->work);
    release_queue(&app->queue);
    release_queue(&app->other_queue);
}

int app_close(struct app *app) {
    /* Sub-buffers were created after their parents, so the last one goes first. */
    while (app->buffer_count > 0)
        require(clReleaseMemObject(app->buffers[--app->buffer_count]), "clReleaseMemObject");
    while (app->kernel_count > 0)
        require(clReleaseKernel(app->kernels[--app->kernel_count]), "clReleaseKernel");
    require(clReleaseProgram(app->binary), "clReleaseProgram");
    require(clReleaseContext(app->context), "clReleaseContext");
    while (app->result_count > 0)
        free(app->results[--app->result_count]);
    free(app->results);
    free(app->buffers);
    free(app->kernels);
    return work_close(&app->work);
}

/* ---- Buffers ---- */

static cl_mem keep_buffer(struct app *app, cl_mem buffer) {
    app->buffers = host_grow(app->buffers, app->buffer_count, sizeof(cl_mem));
    app->buffers[app->buffer_count++] = buffer;
    return buffer;
}

cl_mem app_buffer(struct app *app, cl_mem_flags flags, size_t bytes, void *host) {
    cl_int status = CL_SUCCESS;
    cl_mem buffer = clCreateBuffer(app->context, flags, bytes, host, &status);
    require(status, "clCreateBuffer");
    app->work.footprint += bytes;
    return keep_buffer(app, buffer);
}

cl_mem app_sub_buffer(struct app *app, cl_mem parent, size_t offset, size_t bytes) {
    const cl_buffer_region region = {offset, bytes};
    cl_int status = CL_SUCCESS;
    cl_mem buffer = clCreateSubBuffer(parent, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    require(status, "clCreateSubBuffer");
    return keep_buffer(app, buffer);
}

size_t app_sub_buffer_alignment(const struct app *app) {
    cl_uint bits = 0;
    require(clGetDeviceInfo(app->device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL),
            "clGetDeviceInfo");
    return bits / 8;
}

void app_write(struct app *app, cl_mem buffer, size_t bytes, const void *from) {
    require(clEnqueueWriteBuffer(app->queue, buffer, CL_TRUE, 0, bytes, from, 0, NULL, NULL),
            "clEnqueueWriteBuffer");
}

void app_read(struct app *app, cl_mem buffer, size_t bytes, void *to) {
    require(clEnqueueReadBuffer(app->queue, buffer, CL_TRUE, 0, bytes, to, 0, NULL, NULL),
            "clEnqueueReadBuffer");
}

void app_fill(struct app *app, cl_mem buffer, size_t bytes, const void *word) {
    require(clEnqueueFillBuffer(app->queue, buffer, word, sizeof(cl_int), 0, bytes, 0, NULL, NULL),
            "clEnqueueFillBuffer");
}

static void *map(struct app *app, cl_mem buffer, cl_map_flags flags, size_t bytes) {
    cl_int status = CL_SUCCESS;
    void *mapped =
        clEnqueueMapBuffer(app->queue, buffer, CL_TRUE, flags, 0, bytes, 0, NULL, NULL, &status);
    require(status, "clEnqueueMapBuffer");
    return mapped;
}

static void unmap(struct app *app, cl_mem buffer, void *mapped) {
    require(clEnqueueUnmapMemObject(app->queue, buffer, mapped, 0, NULL, NULL),
            "clEnqueueUnmapMemObject");
}

void app_write_mapped(struct app *app, cl_mem buffer, size_t bytes, const void *from) {
    void *mapped = map(app, buffer, CL_MAP_WRITE_INVALIDATE_REGION, bytes);
    memcpy(mapped, from, bytes);
    unmap(app, buffer, mapped);
}

/* ---- Results ---- */

void *app_result(struct app *app, size_t bytes) {
    app->results = host_grow(app->results, app->result_count, sizeof(void *));
    return app->results[app->result_count++] = host_pages(bytes);
}

void *app_download(struct app *app, cl_mem buffer, size_t bytes) {
    void *result = app_result(app, bytes);
    app_read(app, buffer, bytes, result);
    return result;
}

void *app_download_mapped(struct app *app, cl_mem buffer, size_t bytes) {
    void *result = app_result(app, bytes);
    void *mapped = map(app, buffer, CL_MAP_READ, bytes);
    memcpy(result, mapped, bytes);
    unmap(app, buffer, mapped);
    return result;
}

/* ---- Launches ---- */

struct range over(size_t items) {
    return (struct range){1, {items, 1, 1}, {GROUP_SIZE, 1, 1}};
}

struct range over_plane(size_t width, size_t height) {
    return (struct range){2, {width, height, 1}, {64, 4, 1}};
}

struct range over_volume(size_t width, size_t height, size_t depth) {
    return (struct range){3, {width, height, depth}, {64, 4, 1}};
}

struct range over_groups(size_t groups, size_t group_size) {
    return (struct range){1, {groups * group_size, 1, 1}, {group_size, 1, 1}};
}

static void set_argument(cl_kernel kernel, cl_uint index, struct argument argument) {
    if (argument.size == 0)
        require(clSetKernelArgSVMPointer(kernel, index, argument.value),
                "clSetKernelArgSVMPointer");
    else
        require(clSetKernelArg(kernel, index, argument.size, argument.value), "clSetKernelArg");
}

void app_launch_with(struct app *app, cl_kernel kernel, struct range range,
                     const struct argument *arguments, size_t count) {
    for (size_t i = 0; i < count; ++i)
        set_argument(kernel, (cl_uint)i, arguments[i]);
    size_t global[3];
    for (size_t i = 0; i < 3; ++i)
        global[i] = divide_up(range.items[i], range.group[i]) * range.group[i];
    require(clEnqueueNDRangeKernel(app->queue, kernel, range.dimensions, NULL, global, range.group,
                                   0, NULL, NULL),
            "clEnqueueNDRangeKernel");
}
