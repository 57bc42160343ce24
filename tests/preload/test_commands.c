/* Everything that moves data between buffers and the host. */
#include "client.h"

#define SIZE  (4 * MIB)
#define COUNT (SIZE / sizeof(cl_int))

static void test_read_write(const struct client *client) {
    cl_int *numbers = client_numbers(COUNT, 0, 1);
    cl_mem buffer = client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL);
    OK(clEnqueueWriteBuffer(client->queue, buffer, CL_TRUE, 0, SIZE, numbers, 0, NULL, NULL));
    CHECK(client_buffer_is_series(client->queue, buffer, COUNT, 0, 1));
    /* an odd span, not blocking */
    char *bytes = (char *)numbers;
    memset(bytes + 12345, 0x5a, 1000001);
    OK(clEnqueueWriteBuffer(client->queue, buffer, CL_FALSE, 12345, 1000001, bytes + 12345, 0, NULL,
                            NULL));
    OK(clFinish(client->queue));
    char *back = malloc(SIZE);
    CHECK(back);
    OK(clEnqueueReadBuffer(client->queue, buffer, CL_FALSE, 0, SIZE, back, 0, NULL, NULL));
    OK(clFinish(client->queue));
    CHECK(memcmp(back, bytes, SIZE) == 0);
    EXPECT(CL_INVALID_VALUE,
           clEnqueueReadBuffer(client->queue, buffer, CL_TRUE, SIZE, 4, back, 0, NULL, NULL));
    EXPECT(CL_INVALID_COMMAND_QUEUE,
           clEnqueueReadBuffer(NULL, buffer, CL_TRUE, 0, 4, back, 0, NULL, NULL));
    OK(clReleaseMemObject(buffer));
    free(back);
    free(numbers);
}

static void test_host_limits(const struct client *client) {
    char byte = 1;
    cl_mem buffer = client_buffer(client, CL_MEM_HOST_NO_ACCESS, SIZE, NULL);
    EXPECT(CL_INVALID_OPERATION,
           clEnqueueReadBuffer(client->queue, buffer, CL_TRUE, 0, 1, &byte, 0, NULL, NULL));
    EXPECT(CL_INVALID_OPERATION,
           clEnqueueWriteBuffer(client->queue, buffer, CL_TRUE, 0, 1, &byte, 0, NULL, NULL));
    OK(clReleaseMemObject(buffer));
}

/* Patterns of every size that OpenCL has. */
static void test_fill(const struct client *client) {
    cl_mem buffer = client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL);
    unsigned char pattern[128], *back = malloc(SIZE);
    CHECK(back);
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (unsigned char)(i * 3 + 1);
    for (size_t size = 1; size <= sizeof pattern; size *= 2) {
        size_t offset = size * 3, length = SIZE / 2;
        cl_int zero = 0;
        OK(clEnqueueFillBuffer(client->queue, buffer, &zero, sizeof zero, 0, SIZE, 0, NULL, NULL));
        OK(clEnqueueFillBuffer(client->queue, buffer, pattern, size, offset, length, 0, NULL,
                               NULL));
        OK(clEnqueueReadBuffer(client->queue, buffer, CL_TRUE, 0, SIZE, back, 0, NULL, NULL));
        for (size_t i = 0; i < SIZE; i++)
            CHECK(back[i] ==
                  (i >= offset && i < offset + length ? pattern[(i - offset) % size] : 0));
    }
    OK(clReleaseMemObject(buffer));
    free(back);
}

static void test_copy(const struct client *client) {
    cl_int *numbers = client_numbers(COUNT, 0, 1), zero = 0;
    cl_mem from = client_buffer(client, CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    cl_mem to = client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL);
    OK(clEnqueueFillBuffer(client->queue, to, &zero, sizeof zero, 0, SIZE, 0, NULL, NULL));
    OK(clEnqueueCopyBuffer(client->queue, from, to, MIB, 2 * MIB, MIB, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(client->queue, to, CL_TRUE, 0, SIZE, numbers, 0, NULL, NULL));
    size_t mib = MIB / sizeof(cl_int);
    CHECK(client_is_series(numbers, 2 * mib, 0, 0));
    CHECK(client_is_series(numbers + 2 * mib, mib, (cl_int)mib, 1));
    CHECK(client_is_series(numbers + 3 * mib, mib, 0, 0));
    /* within one buffer; overlapping is refused */
    OK(clEnqueueCopyBuffer(client->queue, from, from, 0, 2 * MIB, MIB, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(client->queue, from, CL_TRUE, 2 * MIB, MIB, numbers, 0, NULL, NULL));
    CHECK(client_is_series(numbers, mib, 0, 1));
    EXPECT(CL_MEM_COPY_OVERLAP,
           clEnqueueCopyBuffer(client->queue, from, from, 0, 64, 128, 0, NULL, NULL));
    OK(clReleaseMemObject(from));
    OK(clReleaseMemObject(to));
    free(numbers);
}

/* A box of 16 x 8 x 4 ints, from the middle of one 1024 x 256 x 4 volume into another. */
static void test_rectangles(const struct client *client) {
    const size_t row = 1024 * sizeof(cl_int), slice = row * 256;
    const size_t from_origin[] = {64, 3, 0}, to_origin[] = {128, 17, 0};
    const size_t region[] = {16 * sizeof(cl_int), 8, 4}, packed[] = {0, 0, 0};
    cl_int *numbers = client_numbers(COUNT, 0, 1), zero = 0, box[16 * 8 * 4];
    cl_mem from = client_buffer(client, CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    cl_mem to = client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL);
    CHECK(slice * 4 == SIZE);
    OK(clEnqueueFillBuffer(client->queue, to, &zero, sizeof zero, 0, SIZE, 0, NULL, NULL));
    OK(clEnqueueCopyBufferRect(client->queue, from, to, from_origin, to_origin, region, row, slice,
                               row, slice, 0, NULL, NULL));
    OK(clEnqueueReadBufferRect(client->queue, to, CL_TRUE, to_origin, packed, region, row, slice, 0,
                               0, box, 0, NULL, NULL));
    for (int z = 0; z < 4; z++)
        for (int y = 0; y < 8; y++)
            CHECK(client_is_series(box + (z * 8 + y) * 16, 16, z * 1024 * 256 + (y + 3) * 1024 + 16,
                                   1));
    OK(clEnqueueWriteBufferRect(client->queue, from, CL_TRUE, packed, packed, region, row, slice, 0,
                                0, box, 0, NULL, NULL));
    OK(clEnqueueReadBuffer(client->queue, from, CL_TRUE, 0, SIZE, numbers, 0, NULL, NULL));
    CHECK(client_is_series(numbers, 16, 3 * 1024 + 16, 1));
    CHECK(client_is_series(numbers + 16, 1008, 16, 1));
    OK(clReleaseMemObject(from));
    OK(clReleaseMemObject(to));
    free(numbers);
}

static void test_migrate(const struct client *client) {
    cl_int *numbers = client_numbers(COUNT, 9, 2);
    cl_mem buffer = client_buffer(client, CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    OK(clEnqueueMigrateMemObjects(client->queue, 1, &buffer, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL,
                                  NULL));
    OK(clEnqueueMigrateMemObjects(client->queue, 1, &buffer, 0, 0, NULL, NULL));
    CHECK(client_buffer_is_series(client->queue, buffer, COUNT, 9, 2));
    OK(clReleaseMemObject(buffer));
    free(numbers);
}

struct native {
    cl_int *data;
    cl_int value;
};

static void CL_CALLBACK native_kernel(void *arguments) {
    struct native *native = arguments;
    for (size_t i = 0; i < COUNT; i++)
        native->data[i] += native->value;
}

static void test_native_kernel(const struct client *client) {
    cl_int *numbers = client_numbers(COUNT, 0, 1);
    cl_mem buffer = client_buffer(client, CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    struct native native = {NULL, 100};
    const void *place = &native.data;
    cl_device_exec_capabilities can = 0;
    OK(clGetDeviceInfo(client->device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can, &can, NULL));
    CHECK(can & CL_EXEC_NATIVE_KERNEL);
    OK(clEnqueueNativeKernel(client->queue, native_kernel, &native, sizeof native, 1, &buffer,
                             &place, 0, NULL, NULL));
    CHECK(client_buffer_is_series(client->queue, buffer, COUNT, 100, 1));
    OK(clReleaseMemObject(buffer));
    free(numbers);
}

int main(void) {
    struct client client;
    client_open(&client, 0);
    test_read_write(&client);
    test_host_limits(&client);
    test_fill(&client);
    test_copy(&client);
    test_rectangles(&client);
    test_migrate(&client);
    test_native_kernel(&client);
    client_close(&client);
    return 0;
}
