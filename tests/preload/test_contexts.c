/* Several contexts of a process, each with several queues. */
#include "client.h"

#define SIZE     (3 * MIB)
#define COUNT    (SIZE / sizeof(cl_int))
#define CONTEXTS 3
#define QUEUES   3
#define ROUNDS   3

struct group {
    struct client client;
    cl_command_queue queues[QUEUES]; /* every second one is out of order */
    cl_kernel add;
    cl_mem buffer;
};

static void open_group(struct group *group, cl_int first) {
    cl_int *numbers = client_numbers(COUNT, first, 1);
    client_open(&group->client, 0);
    for (int i = 0; i < QUEUES; i++)
        group->queues[i] = client_queue(&group->client, group->client.device,
                                        i % 2 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
    group->add = client_kernel(&group->client, "add");
    group->buffer = client_buffer(&group->client, CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    free(numbers);
}

/* One launch on each queue, each after the one before. */
static cl_event launch_chain(const struct group *group, cl_int value) {
    cl_event before = NULL, event = NULL;
    size_t items = COUNT;
    OK(clSetKernelArg(group->add, 0, sizeof group->buffer, &group->buffer));
    OK(clSetKernelArg(group->add, 1, sizeof value, &value));
    for (int i = 0; i < QUEUES; i++) {
        OK(clEnqueueNDRangeKernel(group->queues[i], group->add, 1, NULL, &items, NULL, i > 0,
                                  i ? &before : NULL, &event));
        OK(clFlush(group->queues[i]));
        if (before)
            OK(clReleaseEvent(before));
        before = event;
    }
    return event;
}

static void test_chains(const struct group *groups) {
    for (int round = 0; round < ROUNDS; round++) {
        cl_event last[CONTEXTS];
        for (int i = 0; i < CONTEXTS; i++)
            last[i] = launch_chain(&groups[i], i + 1);
        for (int i = 0; i < CONTEXTS; i++) {
            OK(clWaitForEvents(1, &last[i]));
            OK(clReleaseEvent(last[i]));
        }
    }
}

/* What is of one context is nothing in another. */
static void test_strangers(const struct group *groups) {
    cl_command_queue queue = groups[0].client.queue;
    cl_mem buffer = groups[1].buffer;
    cl_int zero = 0, status;
    EXPECT(CL_INVALID_CONTEXT,
           clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, SIZE, 0, NULL, NULL));
    EXPECT(CL_INVALID_CONTEXT,
           clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof zero, &zero, 0, NULL, NULL));
    CHECK(!clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0, SIZE, 0,
                              NULL, NULL, &status));
    CHECK(status == CL_INVALID_CONTEXT);
}

/* The context goes first: its objects keep it. */
static void close_group(struct group *group, cl_int first) {
    client_close(&group->client);
    CHECK(client_buffer_is_series(group->queues[0], group->buffer, COUNT, first, 1));
    OK(clReleaseMemObject(group->buffer));
    OK(clReleaseKernel(group->add));
    for (int i = 0; i < QUEUES; i++)
        OK(clReleaseCommandQueue(group->queues[i]));
}

int main(void) {
    struct group groups[CONTEXTS];
    for (int i = 0; i < CONTEXTS; i++)
        open_group(&groups[i], 100 * i);
    test_chains(groups);
    test_strangers(groups);
    for (int i = 0; i < CONTEXTS; i++)
        close_group(&groups[i], 100 * i + ROUNDS * QUEUES * (i + 1));
    return 0;
}
