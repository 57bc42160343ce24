/* Mapping buffers, of every kind of host pointer. */
#include "client.h"

#include <fcntl.h>
#include <unistd.h>

#define SIZE  (6 * MIB)
#define COUNT (SIZE / sizeof(cl_int))

static cl_int *map(cl_command_queue queue, cl_mem buffer, cl_map_flags flags, size_t offset,
                   size_t size) {
    cl_int status;
    void *mapped =
        clEnqueueMapBuffer(queue, buffer, CL_TRUE, flags, offset, size, 0, NULL, NULL, &status);
    OK(status);
    CHECK(mapped);
    return mapped;
}

static void unmap(cl_command_queue queue, cl_mem buffer, void *mapped) {
    OK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
}

static cl_uint map_count(cl_mem buffer) {
    cl_uint count = 99;
    OK(clGetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof count, &count, NULL));
    return count;
}

/* PoCL 3.1 takes an unmapping off the count only after clFinish() may have returned. */
static bool map_count_becomes(cl_mem buffer, cl_uint wanted) {
    for (int tries = 0; map_count(buffer) != wanted && tries < 5000; tries++)
        usleep(1000);
    return map_count(buffer) == wanted;
}

static cl_command_type type_of(cl_event event) {
    cl_command_type type = 0;
    OK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
    return type;
}

static void set_series(cl_int *numbers, size_t count, cl_int first, cl_int step) {
    for (size_t i = 0; i < count; i++)
        numbers[i] = first + (cl_int)i * step;
}

/* Write through a mapping, work on it, read through a mapping. */
static void round_trip(const struct client *client, cl_mem buffer, char *host) {
    cl_kernel add = client_kernel(client, "add");
    cl_int *mapped = map(client->queue, buffer, CL_MAP_WRITE_INVALIDATE_REGION, 0, SIZE);
    CHECK(!host || mapped == (cl_int *)(void *)host);
    CHECK(map_count(buffer) == 1);
    set_series(mapped, COUNT, 7, 2);
    unmap(client->queue, buffer, mapped);
    client_launch(client->queue, add, buffer, 10, COUNT);
    mapped = map(client->queue, buffer, CL_MAP_READ, 0, SIZE);
    CHECK(client_is_series(mapped, COUNT, 17, 2));
    unmap(client->queue, buffer, mapped);

    /* part of it, changed in place */
    size_t half = COUNT / 2;
    mapped = map(client->queue, buffer, CL_MAP_READ | CL_MAP_WRITE, SIZE / 2, SIZE / 2);
    CHECK(!host || mapped == (cl_int *)(void *)(host + SIZE / 2));
    CHECK(client_is_series(mapped, half, 17 + 2 * (cl_int)half, 2));
    set_series(mapped, half, -4, 1);
    unmap(client->queue, buffer, mapped);
    OK(clFinish(client->queue));
    CHECK(map_count_becomes(buffer, 0));
    cl_int *all = client_numbers(COUNT, 0, 0);
    OK(clEnqueueReadBuffer(client->queue, buffer, CL_TRUE, 0, SIZE, all, 0, NULL, NULL));
    CHECK(client_is_series(all, half, 17, 2));
    CHECK(client_is_series(all + half, half, -4, 1));

    /* CL_MAP_WRITE alone also shows what is there */
    mapped = map(client->queue, buffer, CL_MAP_WRITE, 0, SIZE / 2);
    CHECK(client_is_series(mapped, half, 17, 2));
    mapped[3] = 1234;
    unmap(client->queue, buffer, mapped);
    OK(clEnqueueReadBuffer(client->queue, buffer, CL_TRUE, 0, SIZE, all, 0, NULL, NULL));
    CHECK(all[3] == 1234 && all[4] == 17 + 8);
    OK(clReleaseKernel(add));
    free(all);
}

static void test_round_trips(const struct client *client) {
    char *host = NULL;
    CHECK(posix_memalign((void **)&host, 4096, SIZE + 4096) == 0);
    memset(host, 0, SIZE + 4096);
    const struct {
        cl_mem_flags flags;
        char *host;
        bool at_host;
    } cases[] = {
        {CL_MEM_READ_WRITE, NULL, false},        {CL_MEM_ALLOC_HOST_PTR, NULL, false},
        {CL_MEM_COPY_HOST_PTR, host, false},     {CL_MEM_USE_HOST_PTR, host, true},
        {CL_MEM_USE_HOST_PTR, host + 128, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cl_mem buffer = client_buffer(client, cases[i].flags, SIZE, cases[i].host);
        round_trip(client, buffer, cases[i].at_host ? cases[i].host : NULL);
        OK(clReleaseMemObject(buffer));
    }
    free(host);
}

static void test_errors(const struct client *client) {
    cl_int *host = client_numbers(COUNT, 0, 1), status;
    const cl_mem_flags pointers[] = {0, CL_MEM_USE_HOST_PTR};
    for (int i = 0; i < 2; i++) {
        void *given = pointers[i] ? host : NULL;
        cl_mem buffer = client_buffer(client, pointers[i], SIZE, given);
        const size_t spans[][2] = {{0, 0}, {0, SIZE + 1}, {SIZE, 4}, {4, SIZE}};
        for (int j = 0; j < 4; j++) {
            CHECK(!clEnqueueMapBuffer(client->queue, buffer, CL_TRUE, CL_MAP_READ, spans[j][0],
                                      spans[j][1], 0, NULL, NULL, &status));
            CHECK(status == CL_INVALID_VALUE);
        }
        CHECK(!clEnqueueMapBuffer(client->queue, buffer, CL_TRUE, CL_MAP_READ, 0, SIZE, 1, NULL,
                                  NULL, &status));
        CHECK(status == CL_INVALID_EVENT_WAIT_LIST);
        EXPECT(CL_INVALID_VALUE,
               clEnqueueUnmapMemObject(client->queue, buffer, &status, 0, NULL, NULL));
        CHECK(map_count(buffer) == 0);
        OK(clReleaseMemObject(buffer));

        buffer = client_buffer(client, CL_MEM_HOST_WRITE_ONLY | pointers[i], SIZE, given);
        CHECK(!clEnqueueMapBuffer(client->queue, buffer, CL_TRUE, CL_MAP_READ, 0, SIZE, 0, NULL,
                                  NULL, &status));
        CHECK(status == CL_INVALID_OPERATION);
        unmap(client->queue, buffer, map(client->queue, buffer, CL_MAP_WRITE, 0, SIZE));
        OK(clFinish(client->queue));
        OK(clReleaseMemObject(buffer));

        buffer = client_buffer(client, CL_MEM_HOST_READ_ONLY | pointers[i], SIZE, given);
        CHECK(!clEnqueueMapBuffer(client->queue, buffer, CL_TRUE, CL_MAP_WRITE, 0, SIZE, 0, NULL,
                                  NULL, &status));
        CHECK(status == CL_INVALID_OPERATION);
        unmap(client->queue, buffer, map(client->queue, buffer, CL_MAP_READ, 0, SIZE));
        OK(clFinish(client->queue));
        OK(clReleaseMemObject(buffer));
    }
    free(host);
}

/* Two mappings of the same region, and a third unmap that is one too many. */
static void test_twice(const struct client *client) {
    cl_int *host = client_numbers(COUNT, 0, 1);
    const cl_mem_flags pointers[] = {0, CL_MEM_USE_HOST_PTR};
    for (int i = 0; i < 2; i++) {
        cl_mem buffer = client_buffer(client, pointers[i], SIZE, pointers[i] ? host : NULL);
        cl_int *first = map(client->queue, buffer, CL_MAP_READ, 0, SIZE);
        cl_int *second = map(client->queue, buffer, CL_MAP_READ, 0, SIZE);
        cl_int *part = map(client->queue, buffer, CL_MAP_READ, MIB, MIB);
        CHECK(first == second && (char *)part == (char *)first + MIB);
        CHECK(map_count(buffer) == 3);
        unmap(client->queue, buffer, first);
        unmap(client->queue, buffer, second);
        OK(clFinish(client->queue));
        CHECK(map_count_becomes(buffer, 1));
        EXPECT(CL_INVALID_VALUE,
               clEnqueueUnmapMemObject(client->queue, buffer, first, 0, NULL, NULL));
        unmap(client->queue, buffer, part);
        OK(clFinish(client->queue));
        OK(clReleaseMemObject(buffer));
    }
    free(host);
}

/* Nothing blocks; the events alone say when. */
static void test_events(const struct client *client, cl_command_queue queue) {
    cl_int *host = client_numbers(COUNT, 0, 1), status, value = 5;
    cl_mem buffer = client_buffer(client, CL_MEM_USE_HOST_PTR, SIZE, host);
    cl_event gate = clCreateUserEvent(client->context, &status), filled, mapped, unmapped;
    OK(status);
    OK(clEnqueueFillBuffer(queue, buffer, &value, sizeof value, 0, SIZE, 1, &gate, &filled));
    cl_int *pointer = clEnqueueMapBuffer(queue, buffer, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                         SIZE, 1, &filled, &mapped, &status);
    OK(status);
    CHECK(pointer == host);
    CHECK(type_of(mapped) == CL_COMMAND_MAP_BUFFER);
    OK(clGetEventInfo(mapped, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    CHECK(status != CL_COMPLETE);
    OK(clSetUserEventStatus(gate, CL_COMPLETE));
    OK(clWaitForEvents(1, &mapped));
    CHECK(client_is_series(pointer, COUNT, 5, 0));
    set_series(pointer, COUNT, 3, 3);

    cl_event late = clCreateUserEvent(client->context, &status);
    OK(clEnqueueUnmapMemObject(queue, buffer, pointer, 1, &late, &unmapped));
    CHECK(type_of(unmapped) == CL_COMMAND_UNMAP_MEM_OBJECT);
    CHECK(map_count(buffer) == 1);
    OK(clSetUserEventStatus(late, CL_COMPLETE));
    cl_int *all = client_numbers(COUNT, 0, 0);
    OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, SIZE, all, 1, &unmapped, NULL));
    CHECK(client_is_series(all, COUNT, 3, 3));
    OK(clFinish(queue));
    CHECK(map_count_becomes(buffer, 0));
    cl_event events[] = {gate, filled, mapped, late, unmapped};
    for (size_t i = 0; i < 5; i++)
        OK(clReleaseEvent(events[i]));
    OK(clReleaseMemObject(buffer));
    free(all);
    free(host);
}

static void test_sub_buffer(const struct client *client) {
    cl_int *host = client_numbers(COUNT, 0, 1), status;
    cl_mem buffer = client_buffer(client, CL_MEM_USE_HOST_PTR, SIZE, host);
    const cl_buffer_region region = {2 * MIB, MIB};
    cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    OK(status);
    cl_kernel add = client_kernel(client, "add");
    client_launch(client->queue, add, part, 1000, MIB / sizeof(cl_int));
    cl_int *mapped = map(client->queue, part, CL_MAP_READ | CL_MAP_WRITE, 4096, 8192);
    CHECK((char *)mapped == (char *)host + 2 * MIB + 4096);
    CHECK(client_is_series(mapped, 8192 / sizeof(cl_int),
                           1000 + (cl_int)((2 * MIB + 4096) / sizeof(cl_int)), 1));
    set_series(mapped, 8192 / sizeof(cl_int), 1, 0);
    unmap(client->queue, part, mapped);
    mapped = map(client->queue, buffer, CL_MAP_READ, 2 * MIB + 4096, 8192);
    CHECK(client_is_series(mapped, 8192 / sizeof(cl_int), 1, 0));
    unmap(client->queue, buffer, mapped);
    OK(clFinish(client->queue));
    OK(clReleaseKernel(add));
    OK(clReleaseMemObject(part));
    OK(clReleaseMemObject(buffer));
    free(host);
}

/* System calls take mapped memory like any other. */
static void test_system_calls(const struct client *client) {
    cl_mem buffer = client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL);
    char *mapped = (char *)map(client->queue, buffer, CL_MAP_READ | CL_MAP_WRITE, 0, SIZE);
    int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
    memset(mapped, 1, SIZE);
    CHECK(read(zero, mapped + MIB, 3 * MIB) == (ssize_t)(3 * MIB));
    CHECK(write(null, mapped, SIZE) == (ssize_t)SIZE);
    CHECK(mapped[MIB - 1] == 1 && mapped[MIB] == 0 && mapped[4 * MIB] == 1);
    close(zero);
    close(null);
    unmap(client->queue, buffer, mapped);
    OK(clFinish(client->queue));
    OK(clReleaseMemObject(buffer));
}

/* Whether system calls take the buffer's memory once it is on no device. */
static bool takes_system_calls(const struct client *client, char *mapped) {
    cl_int *other = client_numbers(4 * COUNT, 0, 1);
    cl_mem buffer = client_buffer(client, CL_MEM_COPY_HOST_PTR, 4 * SIZE, other);
    cl_kernel add = client_kernel(client, "add");
    client_launch(client->queue, add, buffer, 1, 4 * COUNT);
    OK(clFinish(client->queue));
    int zero = open("/dev/zero", O_RDONLY);
    bool takes = read(zero, mapped, 4096) == 4096;
    close(zero);
    OK(clReleaseKernel(add));
    OK(clReleaseMemObject(buffer));
    free(other);
    return takes;
}

/* No system call may be given the address after the buffer has been unmapped. Then kernels serve
 * its faults, unless it is mapped so often that this does not pay: in the preload's default. */
static void test_unmapped(const struct client *client) {
    static const bool stays_open[] = {false, true, false, true, true, true, false};
    const char *handler = getenv("FARFAULT_HANDLER");
    bool closes = client_is_preloaded() && (!handler || strcmp(handler, "kernels") == 0);
    cl_mem buffer = client_buffer(client, CL_MEM_ALLOC_HOST_PTR, SIZE, NULL);
    for (size_t i = 0; i < sizeof stays_open; i++) {
        char *mapped = (char *)map(client->queue, buffer, CL_MAP_WRITE, 0, SIZE);
        char *part = (char *)map(client->queue, buffer, CL_MAP_READ, MIB, MIB);
        memset(mapped, (int)i, SIZE);
        CHECK(takes_system_calls(client, mapped));
        unmap(client->queue, buffer, part);
        CHECK(takes_system_calls(client, mapped));
        unmap(client->queue, buffer, mapped);
        OK(clFinish(client->queue));
        CHECK(takes_system_calls(client, mapped) == (stays_open[i] || !closes));
        CHECK(mapped[4096] == (char)i && mapped[SIZE - 1] == (char)i);
    }
    OK(clReleaseMemObject(buffer));
}

int main(void) {
    struct client client;
    client_open(&client, 0);
    cl_command_queue unordered =
        client_queue(&client, client.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    test_round_trips(&client);
    test_errors(&client);
    test_twice(&client);
    test_events(&client, client.queue);
    test_events(&client, unordered);
    test_sub_buffer(&client);
    test_system_calls(&client);
    test_unmapped(&client);
    OK(clReleaseCommandQueue(unordered));
    client_close(&client);
    return 0;
}
