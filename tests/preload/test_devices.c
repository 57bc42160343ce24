/* Platforms and devices: as OpenCL has them, and, under the preload, as a program that looks for a
 * GPU wants them. Then buffers that go from one device to the next. */
#include "client.h"

#define SIZE  (3 * MIB)
#define COUNT (SIZE / sizeof(cl_int))

static cl_ulong size_of(cl_device_id device, cl_device_info what) {
    cl_ulong size = 0;
    OK(clGetDeviceInfo(device, what, sizeof size, &size, NULL));
    return size;
}

static cl_device_type type_of(cl_device_id device) {
    cl_device_type type = 0;
    OK(clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL));
    return type;
}

static void test_queries(const struct client *client) {
    cl_uint count = 0;
    cl_platform_id platforms[16];
    char name[128] = "";
    size_t size = 0;
    OK(clGetPlatformIDs(0, NULL, &count));
    CHECK(count >= 1 && count <= 16);
    OK(clGetPlatformIDs(count, platforms, NULL));
    CHECK(platforms[0] == client->platform);
    EXPECT(CL_INVALID_VALUE, clGetPlatformIDs(0, NULL, NULL));
    EXPECT(CL_INVALID_VALUE, clGetPlatformIDs(0, platforms, NULL));
    OK(clGetPlatformInfo(client->platform, CL_PLATFORM_NAME, sizeof name, name, NULL));
    CHECK(strcmp(name, "Portable Computing Language") == 0);
    OK(clGetDeviceIDs(client->platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count));
    CHECK(count == client->device_count);
    OK(clGetDeviceInfo(client->device, CL_DEVICE_NAME, 0, NULL, &size));
    CHECK(size > 1);
    EXPECT(CL_INVALID_VALUE, clGetDeviceInfo(client->device, CL_DEVICE_TYPE, 1, name, NULL));
    EXPECT(CL_INVALID_VALUE, clGetDeviceInfo(client->device, 0, sizeof name, name, NULL));
}

/* What is asked for is what is shown. */
static void test_stand_in(const struct client *client) {
    cl_device_id device = NULL;
    cl_uint count = 0;
    cl_int status;
    CHECK(type_of(client->device) == CL_DEVICE_TYPE_GPU); /* asked for all kinds */
    OK(clGetDeviceIDs(client->platform, CL_DEVICE_TYPE_CPU, 1, &device, NULL));
    CHECK(device == client->device && type_of(device) == CL_DEVICE_TYPE_CPU);
    OK(clGetDeviceIDs(NULL, CL_DEVICE_TYPE_GPU, 1, &device, &count));
    CHECK(device == client->device && type_of(device) == CL_DEVICE_TYPE_GPU);
    CHECK(count == client->device_count);
    OK(clGetDeviceIDs(client->platform, CL_DEVICE_TYPE_ACCELERATOR, 1, &device, NULL));
    CHECK(device == client->device);
    cl_context context = clCreateContextFromType(NULL, CL_DEVICE_TYPE_GPU, NULL, NULL, &status);
    OK(status);
    OK(clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, NULL));
    CHECK(count == client->device_count);
    OK(clReleaseContext(context));
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)client->platform, 0};
    context = clCreateContextFromType(properties, CL_DEVICE_TYPE_ACCELERATOR, NULL, NULL, &status);
    OK(status);
    OK(clReleaseContext(context));
}

static void test_memory_shown(const struct client *client) {
    cl_bool unified = CL_TRUE;
    cl_ulong memory = size_of(client->device, CL_DEVICE_GLOBAL_MEM_SIZE);
    cl_ulong largest = size_of(client->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    OK(clGetDeviceInfo(client->device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified,
                       NULL));
    CHECK(unified == CL_FALSE);
    CHECK(memory > 256 * MIB && largest <= memory && largest > 64 * MIB);
}

/* Every device adds to every buffer in turn. */
static void test_hand_over(const struct client *client) {
    enum { BUFFERS = 4, ROUNDS = 5 };
    cl_kernel add = client_kernel(client, "add");
    cl_command_queue queues[8];
    cl_mem buffers[BUFFERS];
    cl_int zero = 0, sum = 0;
    for (cl_uint i = 0; i < client->device_count; i++)
        queues[i] = client_queue(client, client->devices[i], 0);
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i] = client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL);
        OK(clEnqueueFillBuffer(queues[0], buffers[i], &zero, sizeof zero, 0, SIZE, 0, NULL, NULL));
    }
    OK(clFinish(queues[0]));
    for (cl_int round = 0; round < ROUNDS; round++) {
        for (cl_uint device = 0; device < client->device_count; device++) {
            cl_int value = round * 10 + (cl_int)device;
            for (int i = 0; i < BUFFERS; i++)
                client_launch(queues[device], add, buffers[i], value, COUNT);
            OK(clFinish(queues[device]));
            sum += value;
        }
    }
    for (int i = 0; i < BUFFERS; i++) {
        CHECK(client_buffer_is_series(queues[0], buffers[i], COUNT, sum, 0));
        OK(clReleaseMemObject(buffers[i]));
    }
    for (cl_uint i = 0; i < client->device_count; i++)
        OK(clReleaseCommandQueue(queues[i]));
    OK(clReleaseKernel(add));
}

/* A part of a device is that device, to the memory. */
static void test_sub_device(const struct client *client) {
    const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id parts[2], *none = NULL;
    cl_uint units = 0, count = 0;
    OK(clGetDeviceInfo(client->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL));
    if (units != 2)
        return;
    OK(clCreateSubDevices(client->device, halves, 0, none, &count));
    CHECK(count == 2);
    OK(clCreateSubDevices(client->device, halves, 2, parts, NULL));
    CHECK(type_of(parts[0]) == type_of(client->device));
    CHECK(size_of(parts[0], CL_DEVICE_GLOBAL_MEM_SIZE) ==
          size_of(client->device, CL_DEVICE_GLOBAL_MEM_SIZE));
    OK(clReleaseDevice(parts[0]));
    OK(clReleaseDevice(parts[1]));
}

static void write_and_read(const struct client *client, cl_mem buffer, size_t at) {
    cl_int wanted = (cl_int)(at % 1000) + 1, got = 0;
    OK(clEnqueueWriteBuffer(client->queue, buffer, CL_TRUE, at, sizeof wanted, &wanted, 0, NULL,
                            NULL));
    OK(clEnqueueReadBuffer(client->queue, buffer, CL_TRUE, at, sizeof got, &got, 0, NULL, NULL));
    CHECK(got == wanted);
}

/* What the device says that an allocation may have, it may: a buffer, a part of it at its very end,
 * and shared virtual memory. One byte more is refused. Little of it is touched. */
static void test_largest(const struct client *client) {
    cl_ulong largest = size_of(client->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE),
             global = size_of(client->device, CL_DEVICE_GLOBAL_MEM_SIZE);
    size_t size = (size_t)largest / MIB * MIB;
    CHECK(largest >= global / 4 && largest <= global);
    cl_mem buffer = client_buffer(client, CL_MEM_READ_WRITE, size, NULL);
    write_and_read(client, buffer, 0);
    write_and_read(client, buffer, size - sizeof(cl_int));
    const cl_buffer_region region = {size - MIB, MIB};
    cl_int status;
    cl_mem end = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    OK(status);
    write_and_read(client, end, MIB / 2);
    OK(clReleaseMemObject(end));
    OK(clReleaseMemObject(buffer));
    int *shared = clSVMAlloc(client->context, CL_MEM_READ_WRITE, size, 0);
    CHECK(shared);
    OK(clEnqueueSVMMap(client->queue, CL_TRUE, CL_MAP_WRITE, shared + size / sizeof(int) - 1,
                       sizeof(int), 0, NULL, NULL));
    shared[size / sizeof(int) - 1] = 7;
    OK(clEnqueueSVMUnmap(client->queue, shared + size / sizeof(int) - 1, 0, NULL, NULL));
    OK(clFinish(client->queue));
    clSVMFree(client->context, shared);
    buffer = clCreateBuffer(client->context, CL_MEM_READ_WRITE, (size_t)largest + 1, NULL, &status);
    CHECK(!buffer && status == CL_INVALID_BUFFER_SIZE);
}

int main(void) {
    struct client client;
    client_open(&client, 0);
    const char *expected = getenv("TEST_DEVICES");
    if (expected)
        CHECK(client.device_count == (cl_uint)atoi(expected));
    test_queries(&client);
    if (client_is_preloaded()) {
        test_stand_in(&client);
        test_memory_shown(&client);
    }
    test_largest(&client);
    test_hand_over(&client);
    test_sub_device(&client);
    client_close(&client);
    return 0;
}
