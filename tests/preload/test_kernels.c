/* Kernels and their arguments. */
#include "client.h"

#define SIZE  (5 * MIB)
#define COUNT (SIZE / sizeof(cl_int))

static cl_mem series(const struct client *client, cl_int first, cl_int step) {
    cl_int *numbers = client_numbers(COUNT, first, step);
    cl_mem buffer = client_buffer(client, CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    free(numbers);
    return buffer;
}

static void run(const struct client *client, cl_kernel kernel) {
    size_t items = COUNT;
    OK(clEnqueueNDRangeKernel(client->queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
}

/* A clone has the arguments of its original at the time, and then its own. */
static void test_clone(const struct client *client) {
    cl_kernel original = client_kernel(client, "add"), clone;
    cl_mem first = series(client, 0, 0), second = series(client, 0, 0);
    cl_int value = 1, status;
    OK(clSetKernelArg(original, 0, sizeof first, &first));
    OK(clSetKernelArg(original, 1, sizeof value, &value));
    clone = clCloneKernel(original, &status);
    OK(status);
    run(client, clone); /* first += 1 */
    value = 10;
    OK(clSetKernelArg(original, 1, sizeof value, &value));
    OK(clSetKernelArg(clone, 0, sizeof second, &second));
    run(client, original); /* first += 10 */
    run(client, clone);    /* second += 1 */
    OK(clReleaseKernel(original));
    run(client, clone); /* second += 1 */
    CHECK(client_buffer_is_series(client->queue, first, COUNT, 11, 0));
    CHECK(client_buffer_is_series(client->queue, second, COUNT, 2, 0));
    OK(clReleaseKernel(clone));
    OK(clReleaseMemObject(first));
    OK(clReleaseMemObject(second));
}

/* Arguments are taken when the kernel is enqueued. */
static void test_late_changes(const struct client *client) {
    cl_kernel add = client_kernel(client, "add");
    cl_mem buffer = series(client, 0, 0), other = series(client, 0, 0);
    cl_int status, value = 5;
    size_t items = COUNT;
    cl_event gate = clCreateUserEvent(client->context, &status);
    OK(clSetKernelArg(add, 0, sizeof buffer, &buffer));
    OK(clSetKernelArg(add, 1, sizeof value, &value));
    OK(clEnqueueNDRangeKernel(client->queue, add, 1, NULL, &items, NULL, 1, &gate, NULL));
    value = 7;
    OK(clSetKernelArg(add, 0, sizeof other, &other));
    OK(clSetKernelArg(add, 1, sizeof value, &value));
    OK(clReleaseKernel(add));
    OK(clSetUserEventStatus(gate, CL_COMPLETE));
    CHECK(client_buffer_is_series(client->queue, buffer, COUNT, 5, 0));
    CHECK(client_buffer_is_series(client->queue, other, COUNT, 0, 0));
    OK(clReleaseEvent(gate));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseMemObject(other));
}

static void test_in_program(const struct client *client) {
    cl_kernel kernels[8];
    cl_uint count = 0;
    OK(clCreateKernelsInProgram(client->program, 0, NULL, &count));
    CHECK(count == 5);
    OK(clCreateKernelsInProgram(client->program, count, kernels, NULL));
    cl_mem buffer = series(client, 3, 1);
    for (cl_uint i = 0; i < count; i++) {
        char name[32];
        OK(clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL));
        if (strcmp(name, "add") == 0)
            client_launch(client->queue, kernels[i], buffer, 4, COUNT);
        OK(clRetainKernel(kernels[i]));
        OK(clReleaseKernel(kernels[i]));
        OK(clReleaseKernel(kernels[i]));
    }
    CHECK(client_buffer_is_series(client->queue, buffer, COUNT, 7, 1));
    OK(clReleaseMemObject(buffer));
}

static void test_local_memory(const struct client *client) {
    cl_kernel scaled = client_kernel(client, "scaled");
    cl_mem buffer = client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL);
    cl_int value = 3;
    size_t items = COUNT, group = 64;
    OK(clSetKernelArg(scaled, 0, sizeof buffer, &buffer));
    OK(clSetKernelArg(scaled, 1, sizeof value, &value));
    OK(clSetKernelArg(scaled, 2, group * sizeof(cl_int), NULL));
    OK(clEnqueueNDRangeKernel(client->queue, scaled, 1, NULL, &items, &group, 0, NULL, NULL));
    CHECK(client_buffer_is_series(client->queue, buffer, COUNT, 0, 3));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(scaled));
}

static void test_three_dimensions(const struct client *client) {
    cl_kernel where = client_kernel(client, "where");
    cl_mem buffer = client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL);
    const size_t items[] = {256, 64, COUNT / 256 / 64}, group[] = {16, 4, 1};
    OK(clSetKernelArg(where, 0, sizeof buffer, &buffer));
    OK(clEnqueueNDRangeKernel(client->queue, where, 3, NULL, items, group, 0, NULL, NULL));
    CHECK(client_buffer_is_series(client->queue, buffer, COUNT, 0, 1));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(where));
}

static void test_offset_and_task(const struct client *client) {
    cl_kernel add = client_kernel(client, "add");
    cl_mem buffer = series(client, 0, 0);
    cl_int value = 2;
    size_t half = COUNT / 2;
    OK(clSetKernelArg(add, 0, sizeof buffer, &buffer));
    OK(clSetKernelArg(add, 1, sizeof value, &value));
    OK(clEnqueueNDRangeKernel(client->queue, add, 1, &half, &half, NULL, 0, NULL, NULL));
    OK(clEnqueueTask(client->queue, add, 0, NULL, NULL));
    cl_int *all = client_numbers(COUNT, -1, 0);
    OK(clEnqueueReadBuffer(client->queue, buffer, CL_TRUE, 0, SIZE, all, 0, NULL, NULL));
    CHECK(all[0] == 2);
    CHECK(client_is_series(all + 1, half - 1, 0, 0));
    CHECK(client_is_series(all + half, half, 2, 0));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(add));
    free(all);
}

/* One buffer for several arguments, part of it for another. */
static void test_shared_operands(const struct client *client) {
    cl_kernel sum = client_kernel(client, "sum");
    cl_mem buffer = series(client, 0, 1);
    const cl_buffer_region region = {4 * MIB, MIB};
    cl_int status;
    cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    OK(status);
    size_t items = MIB / sizeof(cl_int);
    OK(clSetKernelArg(sum, 0, sizeof buffer, &buffer));
    OK(clSetKernelArg(sum, 1, sizeof buffer, &buffer));
    OK(clSetKernelArg(sum, 2, sizeof part, &part));
    OK(clEnqueueNDRangeKernel(client->queue, sum, 1, NULL, &items, NULL, 0, NULL, NULL));
    CHECK(client_buffer_is_series(client->queue, part, items, 0, 2));
    OK(clReleaseMemObject(part));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(sum));
}

static void test_errors(const struct client *client) {
    cl_kernel add = client_kernel(client, "add");
    cl_mem buffer = series(client, 0, 0);
    cl_int value = 1, status;
    size_t items = COUNT;
    EXPECT(CL_INVALID_ARG_INDEX, clSetKernelArg(add, 2, sizeof value, &value));
    EXPECT(CL_INVALID_ARG_SIZE, clSetKernelArg(add, 0, 1, &buffer));
    EXPECT(CL_INVALID_ARG_SIZE, clSetKernelArg(add, 1, 1, &value));
    EXPECT(CL_INVALID_KERNEL, clSetKernelArg(NULL, 0, sizeof buffer, &buffer));
    EXPECT(CL_INVALID_KERNEL_ARGS,
           clEnqueueNDRangeKernel(client->queue, add, 1, NULL, &items, NULL, 0, NULL, NULL));
    CHECK(!clCreateKernel(client->program, "missing", &status));
    CHECK(status == CL_INVALID_KERNEL_NAME);
    EXPECT(CL_INVALID_KERNEL, clReleaseKernel(NULL));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(add));
}

static void test_binary(const struct client *client) {
    size_t size = 0;
    cl_int status, loaded;
    cl_uint devices = client->device_count;
    if (devices > 1) /* one device's binary is enough, and a query fills in all of them */
        return;
    OK(clGetProgramInfo(client->program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
    unsigned char *bytes = malloc(size);
    CHECK(bytes && size);
    OK(clGetProgramInfo(client->program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL));
    const unsigned char *binary = bytes;
    cl_program program = clCreateProgramWithBinary(client->context, 1, &client->device, &size,
                                                   &binary, &loaded, &status);
    OK(status);
    OK(loaded);
    OK(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    cl_kernel add = clCreateKernel(program, "add", &status);
    OK(status);
    cl_mem buffer = series(client, 1, 1);
    client_launch(client->queue, add, buffer, 8, COUNT);
    CHECK(client_buffer_is_series(client->queue, buffer, COUNT, 9, 1));
    OK(clReleaseKernel(add));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseProgram(program));
    free(bytes);
}

/* Launches are told apart by what says where, which needs the arguments' types. */
static void test_types(const struct client *client) {
    char type[16] = "";
    cl_kernel add = client_kernel(client, "add");
    cl_int status =
        clGetKernelArgInfo(add, 1, CL_KERNEL_ARG_TYPE_NAME, sizeof type - 1, type, NULL);
    if (client_is_preloaded())
        CHECK(status == CL_SUCCESS && strcmp(type, "int") == 0);
    OK(clReleaseKernel(add));
}

int main(void) {
    struct client client;
    client_open(&client, 0);
    test_clone(&client);
    test_late_changes(&client);
    test_in_program(&client);
    test_local_memory(&client);
    test_three_dimensions(&client);
    test_offset_and_task(&client);
    test_shared_operands(&client);
    test_errors(&client);
    test_binary(&client);
    test_types(&client);
    client_close(&client);
    return 0;
}
