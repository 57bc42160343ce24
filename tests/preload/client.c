#include "client.h"

static const char kernels[] =
    "kernel void add(global int *data, int value) { data[get_global_id(0)] += value; }\n"
    "kernel void sum(global const int *a, global const int *b, global int *c) {\n"
    "    size_t i = get_global_id(0);\n"
    "    c[i] = a[i] + b[i];\n"
    "}\n"
    "kernel void scaled(global int *data, int value, local int *scratch) {\n"
    "    size_t i = get_local_id(0);\n"
    "    scratch[i] = (int)get_global_id(0);\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    data[get_global_id(0)] = scratch[i] * value;\n"
    "}\n"
    "struct pointers { global int *first; };\n"
    "kernel void chase(global struct pointers *pointers, int value) {\n"
    "    size_t i = get_global_id(0);\n"
    "    pointers->first[i] = value + (int)i;\n"
    "}\n"
    "kernel void where(global int *data) {\n"
    "    size_t i = get_global_id(2) * get_global_size(1) + get_global_id(1);\n"
    "    i = i * get_global_size(0) + get_global_id(0);\n"
    "    data[i] = (int)i;\n"
    "}\n";

void client_fail(const char *file, int line, const char *what, cl_int status) {
    fprintf(stderr, "%s:%d: %s (status %d)\n", file, line, what, status);
    exit(EXIT_FAILURE);
}

void client_open(struct client *client, cl_command_queue_properties properties) {
    cl_int status;
    memset(client, 0, sizeof *client);
    OK(clGetPlatformIDs(1, &client->platform, NULL));
    OK(clGetDeviceIDs(client->platform, CL_DEVICE_TYPE_ALL, 8, client->devices,
                      &client->device_count));
    client->device = client->devices[0];
    client->context =
        clCreateContext(NULL, client->device_count, client->devices, NULL, NULL, &status);
    OK(status);
    client->queue = client_queue(client, client->device, properties);
    const char *source = kernels;
    client->program = clCreateProgramWithSource(client->context, 1, &source, NULL, &status);
    OK(status);
    OK(clBuildProgram(client->program, 0, NULL, "-cl-std=CL1.2", NULL, NULL));
}

void client_close(struct client *client) {
    OK(clReleaseProgram(client->program));
    OK(clReleaseCommandQueue(client->queue));
    OK(clReleaseContext(client->context));
}

cl_kernel client_kernel(const struct client *client, const char *name) {
    cl_int status;
    cl_kernel kernel = clCreateKernel(client->program, name, &status);
    OK(status);
    return kernel;
}

cl_command_queue client_queue(const struct client *client, cl_device_id device,
                              cl_command_queue_properties properties) {
    cl_int status;
    cl_command_queue queue = clCreateCommandQueue(client->context, device, properties, &status);
    OK(status);
    return queue;
}

cl_mem client_buffer(const struct client *client, cl_mem_flags flags, size_t size, void *host) {
    cl_int status;
    cl_mem buffer = clCreateBuffer(client->context, flags, size, host, &status);
    OK(status);
    return buffer;
}

void client_launch(cl_command_queue queue, cl_kernel kernel, cl_mem buffer, cl_int value,
                   size_t items) {
    OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    OK(clSetKernelArg(kernel, 1, sizeof value, &value));
    OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
}

cl_int *client_numbers(size_t count, cl_int first, cl_int step) {
    cl_int *numbers = malloc(count * sizeof *numbers);
    CHECK(numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = first + (cl_int)i * step;
    return numbers;
}

bool client_is_series(const cl_int *numbers, size_t count, cl_int first, cl_int step) {
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] != first + (cl_int)i * step) {
            fprintf(stderr, "element %zu is %d, not %d\n", i, numbers[i], first + (cl_int)i * step);
            return false;
        }
    }
    return true;
}

bool client_buffer_is_series(cl_command_queue queue, cl_mem buffer, size_t count, cl_int first,
                             cl_int step) {
    cl_int *numbers = client_numbers(count, -1, 0);
    OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, count * sizeof *numbers, numbers, 0, NULL,
                           NULL));
    bool is = client_is_series(numbers, count, first, step);
    free(numbers);
    return is;
}

bool client_is_preloaded(void) {
    return getenv("FARFAULT_REQUIRE") != NULL;
}
