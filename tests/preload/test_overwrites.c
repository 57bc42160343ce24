/* Commands that replace a buffer's content, again and again on a device that holds one buffer of
 * two: what they replace must not matter, and (test_summary.c looks at that) need not be moved. */
#include "client.h"

#define SIZE   (4 * MIB)
#define COUNT  (SIZE / sizeof(cl_int))
#define ROUNDS 4

static void write_by_mapping(cl_command_queue queue, cl_mem buffer, const cl_int *numbers) {
    cl_int status;
    void *mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0,
                                      SIZE, 0, NULL, NULL, &status);
    OK(status);
    memcpy(mapped, numbers, SIZE);
    OK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
}

static void test_replaced(const struct client *client, cl_command_queue queue) {
    cl_mem a = client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL),
           b = client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL);
    cl_int *numbers = client_numbers(COUNT, 0, 1), value = 7;
    for (int round = 0; round < ROUNDS; round++) {
        OK(clEnqueueWriteBuffer(queue, a, CL_TRUE, 0, SIZE, numbers, 0, NULL, NULL));
        OK(clEnqueueFillBuffer(queue, b, &value, sizeof value, 0, SIZE, 0, NULL, NULL));
        OK(clFinish(queue));
        write_by_mapping(queue, a, numbers);
        OK(clFinish(queue));
        OK(clEnqueueMigrateMemObjects(queue, 1, &b, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 0,
                                      NULL, NULL));
        OK(clEnqueueFillBuffer(queue, b, &value, sizeof value, 0, SIZE, 0, NULL, NULL));
        OK(clFinish(queue));
    }
    CHECK(client_buffer_is_series(queue, a, COUNT, 0, 1));
    CHECK(client_buffer_is_series(queue, b, COUNT, 7, 0));
    OK(clReleaseMemObject(a));
    OK(clReleaseMemObject(b));
    free(numbers);
}

/* What lies beside the part that is replaced stays, also on pages that it shares with it. */
static void test_neighbours(const struct client *client, cl_command_queue queue) {
    size_t offset = MIB + 12, size = MIB + 5000;
    cl_int *numbers = client_numbers(COUNT, 0, 1), *back = client_numbers(COUNT, 0, 0), zero = 0;
    cl_mem buffer = client_buffer(client, CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    memset((char *)numbers + offset, 0x11, size);
    cl_mem other = client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL);
    OK(clEnqueueFillBuffer(queue, other, &zero, sizeof zero, 0, SIZE, 0, NULL, NULL));
    OK(clFinish(queue)); /* `buffer` is on the host now */
    OK(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, offset, size, (char *)numbers + offset, 0,
                            NULL, NULL));
    OK(clFinish(queue));
    OK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, SIZE, back, 0, NULL, NULL));
    CHECK(memcmp(back, numbers, SIZE) == 0);
    OK(clReleaseMemObject(other));
    OK(clReleaseMemObject(buffer));
    free(back);
    free(numbers);
}

/* A command that has not begun replaces nothing yet, and one that never begins, nothing at all. */
static void test_order(const struct client *client, cl_command_queue queue) {
    cl_int *numbers = client_numbers(COUNT, 5, 1), status, value = 1;
    cl_mem buffer = client_buffer(client, CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    cl_event late = clCreateUserEvent(client->context, &status), filled;
    OK(status);
    OK(clEnqueueFillBuffer(queue, buffer, &value, sizeof value, 0, SIZE, 1, &late, &filled));
    cl_command_queue other = client_queue(client, client->device, 0);
    CHECK(client_buffer_is_series(other, buffer, COUNT, 5, 1));
    OK(clSetUserEventStatus(late, CL_COMPLETE));
    OK(clWaitForEvents(1, &filled));
    CHECK(client_buffer_is_series(other, buffer, COUNT, 1, 0));
    OK(clReleaseCommandQueue(other));
    OK(clReleaseEvent(late));
    OK(clReleaseEvent(filled));

    OK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, SIZE, numbers, 0, NULL, NULL));
    EXPECT(CL_INVALID_VALUE,
           clEnqueueWriteBuffer(queue, buffer, CL_TRUE, MIB, SIZE, numbers, 0, NULL, NULL));
    EXPECT(CL_INVALID_EVENT_WAIT_LIST,
           clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, SIZE, numbers, 1, NULL, NULL));
    CHECK(client_buffer_is_series(queue, buffer, COUNT, 5, 1));
    OK(clReleaseMemObject(buffer));
    free(numbers);
}

/* A buffer in shared virtual memory may be written from itself. */
static void test_from_itself(const struct client *client, cl_command_queue queue) {
    cl_int *memory = clSVMAlloc(client->context, CL_MEM_READ_WRITE, SIZE, 0);
    CHECK(memory);
    for (size_t i = 0; i < COUNT; i++)
        memory[i] = (cl_int)i;
    cl_mem buffer = client_buffer(client, CL_MEM_USE_HOST_PTR, SIZE, memory);
    OK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, SIZE, memory, 0, NULL, NULL));
    CHECK(client_buffer_is_series(queue, buffer, COUNT, 0, 1));
    OK(clReleaseMemObject(buffer));
    clSVMFree(client->context, memory);
}

int main(void) {
    struct client client;
    client_open(&client, 0);
    cl_command_queue unordered =
        client_queue(&client, client.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    test_replaced(&client, client.queue);
    if (!getenv("TEST_TRAFFIC")) {
        test_replaced(&client, unordered);
        test_neighbours(&client, client.queue);
        test_order(&client, client.queue);
        test_order(&client, unordered);
        test_from_itself(&client, client.queue);
    }
    OK(clReleaseCommandQueue(unordered));
    client_close(&client);
    return 0;
}
