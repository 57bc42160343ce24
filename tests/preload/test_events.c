/* Order: in one queue, across queues, by events, callbacks and user events. */
#include "client.h"

#include <pthread.h>
#include <unistd.h>

#define SIZE  (5 * MIB)
#define COUNT (SIZE / sizeof(cl_int))

static cl_int status_of(cl_event event) {
    cl_int status = 99;
    OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    return status;
}

static cl_mem zeros(const struct client *client) {
    cl_int zero = 0;
    cl_mem buffer = client_buffer(client, CL_MEM_READ_WRITE, SIZE, NULL);
    OK(clEnqueueFillBuffer(client->queue, buffer, &zero, sizeof zero, 0, SIZE, 0, NULL, NULL));
    OK(clFinish(client->queue));
    return buffer;
}

static cl_event add(cl_command_queue queue, cl_kernel kernel, cl_mem buffer, cl_int value,
                    cl_uint count, const cl_event *list) {
    size_t items = COUNT;
    cl_event event;
    OK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    OK(clSetKernelArg(kernel, 1, sizeof value, &value));
    OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, count, list, &event));
    return event;
}

/* Without any event of the program's. */
static void test_in_order(const struct client *client) {
    cl_kernel kernel = client_kernel(client, "add");
    cl_mem buffer = zeros(client);
    for (cl_int i = 1; i <= 20; i++)
        client_launch(client->queue, kernel, buffer, i, COUNT);
    CHECK(client_buffer_is_series(client->queue, buffer, COUNT, 210, 0));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
}

/* Nothing runs before the user event at the head of the chain, everything after. */
static void test_chain(const struct client *client, cl_command_queue queue) {
    cl_kernel kernel = client_kernel(client, "add"), double_it = client_kernel(client, "sum");
    cl_mem buffer = zeros(client), doubled = zeros(client);
    cl_int status;
    size_t items = COUNT;
    cl_event events[5];
    events[0] = clCreateUserEvent(client->context, &status);
    OK(status);
    events[1] = add(queue, kernel, buffer, 3, 1, &events[0]);
    events[2] = add(queue, kernel, buffer, 4, 1, &events[1]);
    OK(clSetKernelArg(double_it, 0, sizeof buffer, &buffer));
    OK(clSetKernelArg(double_it, 1, sizeof buffer, &buffer));
    OK(clSetKernelArg(double_it, 2, sizeof doubled, &doubled));
    OK(clEnqueueNDRangeKernel(queue, double_it, 1, NULL, &items, NULL, 2, &events[1], &events[3]));
    events[4] = add(queue, kernel, doubled, 1, 1, &events[3]);
    usleep(2000);
    for (int i = 1; i < 5; i++)
        CHECK(status_of(events[i]) > CL_RUNNING);
    OK(clSetUserEventStatus(events[0], CL_COMPLETE));
    OK(clWaitForEvents(1, &events[4]));
    for (int i = 0; i < 5; i++)
        CHECK(status_of(events[i]) == CL_COMPLETE);
    CHECK(client_buffer_is_series(queue, doubled, COUNT, 15, 0));
    OK(clFinish(queue));
    for (int i = 0; i < 5; i++)
        OK(clReleaseEvent(events[i]));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseMemObject(doubled));
    OK(clReleaseKernel(kernel));
    OK(clReleaseKernel(double_it));
}

static void test_info(const struct client *client) {
    cl_kernel kernel = client_kernel(client, "add");
    cl_mem buffer = zeros(client);
    cl_event event = add(client->queue, kernel, buffer, 1, 0, NULL);
    cl_command_type type = 0;
    cl_command_queue queue = NULL;
    cl_context context = NULL;
    OK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
    CHECK(type == CL_COMMAND_NDRANGE_KERNEL);
    OK(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL));
    CHECK(queue == client->queue);
    OK(clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof context, &context, NULL));
    CHECK(context == client->context);
    OK(clWaitForEvents(1, &event));
    OK(clReleaseEvent(event));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
}

static void test_profiling(const struct client *client) {
    cl_command_queue queue = client_queue(client, client->device, CL_QUEUE_PROFILING_ENABLE);
    cl_kernel kernel = client_kernel(client, "add");
    cl_mem buffer = zeros(client);
    cl_event event = add(queue, kernel, buffer, 1, 0, NULL);
    const cl_profiling_info stages[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                        CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    cl_ulong before = 1, time = 0;
    OK(clFinish(queue));
    for (int i = 0; i < 4; i++, before = time) {
        OK(clGetEventProfilingInfo(event, stages[i], sizeof time, &time, NULL));
        CHECK(time >= before);
    }
    OK(clReleaseEvent(event));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
    OK(clReleaseCommandQueue(queue));
}

/* ---- callbacks ---- */

struct calls {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    cl_int seen[16];
    int count;
};

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *user) {
    struct calls *calls = user;
    (void)event;
    pthread_mutex_lock(&calls->lock);
    if (calls->count < 16)
        calls->seen[calls->count++] = status;
    pthread_cond_signal(&calls->changed);
    pthread_mutex_unlock(&calls->lock);
}

/* Each is called once, in order; one that is set too late is called at once. */
static void test_callbacks(const struct client *client) {
    struct calls calls = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0};
    cl_kernel kernel = client_kernel(client, "add");
    cl_mem buffer = zeros(client);
    cl_int status;
    cl_event gate = clCreateUserEvent(client->context, &status);
    cl_event event = add(client->queue, kernel, buffer, 1, 1, &gate);
    OK(clSetEventCallback(event, CL_COMPLETE, on_event, &calls));
    OK(clSetEventCallback(event, CL_SUBMITTED, on_event, &calls));
    OK(clSetEventCallback(event, CL_RUNNING, on_event, &calls));
    OK(clSetUserEventStatus(gate, CL_COMPLETE));
    pthread_mutex_lock(&calls.lock);
    while (calls.count < 3)
        pthread_cond_wait(&calls.changed, &calls.lock);
    pthread_mutex_unlock(&calls.lock);
    CHECK(calls.seen[0] == CL_SUBMITTED && calls.seen[1] == CL_RUNNING &&
          calls.seen[2] == CL_COMPLETE);
    OK(clFinish(client->queue));
    OK(clSetEventCallback(event, CL_COMPLETE, on_event, &calls));
    CHECK(calls.count == 4);
    EXPECT(CL_INVALID_VALUE, clSetEventCallback(event, CL_COMPLETE, NULL, NULL));
    EXPECT(CL_INVALID_EVENT, clSetEventCallback(NULL, CL_COMPLETE, on_event, &calls));
    OK(clReleaseEvent(gate));
    OK(clReleaseEvent(event));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
}

/* ---- several queues ---- */

static void test_queues(const struct client *client) {
    enum { QUEUES = 4, ROUNDS = 6 };
    cl_kernel kernel = client_kernel(client, "add");
    cl_mem buffer = zeros(client), own[QUEUES];
    cl_command_queue queues[QUEUES];
    cl_event last = NULL;
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = client_queue(client, client->device, 0);
        own[i] = zeros(client);
    }
    for (int i = 0; i < QUEUES * ROUNDS; i++) {
        client_launch(queues[i % QUEUES], kernel, own[i % QUEUES], 1 + i % QUEUES, COUNT);
        cl_event event =
            add(queues[i % QUEUES], kernel, buffer, i, last ? 1 : 0, last ? &last : NULL);
        if (last)
            OK(clReleaseEvent(last));
        last = event;
    }
    OK(clWaitForEvents(1, &last));
    OK(clReleaseEvent(last));
    CHECK(client_buffer_is_series(queues[0], buffer, COUNT, 24 * 23 / 2, 0));
    for (int i = 0; i < QUEUES; i++) {
        CHECK(client_buffer_is_series(queues[i], own[i], COUNT, ROUNDS * (1 + i), 0));
        OK(clReleaseCommandQueue(queues[i]));
        OK(clReleaseMemObject(own[i]));
    }
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
}

static void test_barriers(const struct client *client, cl_command_queue unordered) {
    cl_kernel kernel = client_kernel(client, "add");
    cl_mem buffer = zeros(client);
    cl_event marker;
    for (cl_int i = 0; i < 5; i++) {
        client_launch(unordered, kernel, buffer, 1 << i, COUNT);
        OK(clEnqueueBarrierWithWaitList(unordered, 0, NULL, NULL));
    }
    OK(clEnqueueMarkerWithWaitList(unordered, 0, NULL, &marker));
    OK(clWaitForEvents(1, &marker));
    CHECK(client_buffer_is_series(unordered, buffer, COUNT, 31, 0));
    OK(clReleaseEvent(marker));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
}

/* ---- what goes wrong ---- */

static void test_errors(const struct client *client) {
    cl_kernel kernel = client_kernel(client, "add");
    cl_mem buffer = zeros(client);
    cl_event event = add(client->queue, kernel, buffer, 1, 0, NULL);
    size_t items = COUNT;
    /* PoCL 3.1 crashes on such a wait list if the command is a kernel, as it does on no kernel */
    EXPECT(CL_INVALID_EVENT_WAIT_LIST,
           clEnqueueFillBuffer(client->queue, buffer, &items, 4, 0, SIZE, 1, NULL, NULL));
    EXPECT(CL_INVALID_EVENT_WAIT_LIST,
           clEnqueueFillBuffer(client->queue, buffer, &items, 4, 0, SIZE, 0, &event, NULL));
    EXPECT(CL_INVALID_WORK_DIMENSION,
           clEnqueueNDRangeKernel(client->queue, kernel, 4, NULL, &items, NULL, 0, NULL, NULL));
    EXPECT(CL_INVALID_COMMAND_QUEUE,
           clEnqueueNDRangeKernel(NULL, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    OK(clFinish(client->queue));
    CHECK(client_buffer_is_series(client->queue, buffer, COUNT, 1, 0));
    OK(clReleaseEvent(event));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
}

/* A kernel whose wait list fails does not run, and what waits for it fails too. */
static void test_failure(const struct client *client) {
    cl_command_queue queue =
        client_queue(client, client->device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_kernel kernel = client_kernel(client, "add");
    cl_mem buffer = zeros(client);
    cl_int status;
    cl_event gate = clCreateUserEvent(client->context, &status);
    cl_event first = add(queue, kernel, buffer, 1, 1, &gate);
    OK(clSetUserEventStatus(gate, -5));
    EXPECT(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, clWaitForEvents(1, &first));
    CHECK(status_of(first) < 0);
    CHECK(client_buffer_is_series(client->queue, buffer, COUNT, 0, 0));
    OK(clReleaseEvent(gate));
    OK(clReleaseEvent(first));
    OK(clReleaseCommandQueue(queue));
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
}

int main(void) {
    struct client client;
    client_open(&client, 0);
    cl_command_queue unordered =
        client_queue(&client, client.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    test_in_order(&client);
    test_chain(&client, client.queue);
    test_chain(&client, unordered);
    test_info(&client);
    test_profiling(&client);
    test_callbacks(&client);
    test_queues(&client);
    test_barriers(&client, unordered);
    test_errors(&client);
    test_failure(&client);
    OK(clReleaseCommandQueue(unordered));
    client_close(&client);
    return 0;
}
