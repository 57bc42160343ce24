/* Launches behind one that waits, and that begins while others are being enqueued; on a queue
 * without an order they need not wait. */
#include "client.h"

#include <pthread.h>
#include <unistd.h>

#define SIZE     MIB
#define COUNT    (SIZE / sizeof(cl_int))
#define ROUNDS   20
#define LAUNCHES 8

struct gate {
    cl_event event;
    unsigned microseconds; /* until it opens */
};

static void *open_gate(void *argument) {
    const struct gate *gate = argument;
    usleep(gate->microseconds);
    OK(clSetUserEventStatus(gate->event, CL_COMPLETE));
    return NULL;
}

/* Each has a part of the buffer, so that their order makes no difference. */
static void enqueue_all(cl_command_queue queue, cl_kernel kernel, const cl_event *gate) {
    const size_t items = COUNT / LAUNCHES;
    for (unsigned i = 0; i < LAUNCHES; i++) {
        const size_t first = i * items;
        OK(clEnqueueNDRangeKernel(queue, kernel, 1, &first, &items, NULL, i == 0, i ? NULL : gate,
                                  NULL));
    }
}

static void test_opened_meanwhile(const struct client *client, cl_command_queue queue) {
    cl_kernel kernel = client_kernel(client, "add");
    cl_mem buffer = client_buffer(client, 0, SIZE, NULL);
    cl_int zero = 0, one = 1, status;
    OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    OK(clSetKernelArg(kernel, 1, sizeof one, &one));
    OK(clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, SIZE, 0, NULL, NULL));
    OK(clFinish(queue));
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct gate gate = {clCreateUserEvent(client->context, &status), 200 * round};
        pthread_t thread;
        OK(status);
        CHECK(pthread_create(&thread, NULL, open_gate, &gate) == 0);
        enqueue_all(queue, kernel, &gate.event);
        CHECK(pthread_join(thread, NULL) == 0);
        OK(clReleaseEvent(gate.event));
        OK(clFinish(queue));
    }
    CHECK(client_buffer_is_series(queue, buffer, COUNT, ROUNDS, 0));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
}

int main(void) {
    struct client client;
    client_open(&client, 0);
    cl_command_queue unordered =
        client_queue(&client, client.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    test_opened_meanwhile(&client, client.queue);
    test_opened_meanwhile(&client, unordered);
    OK(clReleaseCommandQueue(unordered));
    client_close(&client);
    return 0;
}
