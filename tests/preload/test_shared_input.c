/* A queue on each device, kernels at the same time, one input for all of them.
 *
 * TEST_REPEATS sets how many iterations (default: 40). */
#include "client.h"

#include <unistd.h>

#define SIZE             (4 * MIB)
#define COUNT            (SIZE / sizeof(cl_int))
#define LAUNCHES         4 /* of each queue in a round */
#define DEADLINE_SECONDS 60

static int rounds(void) {
    const char *text = getenv("TEST_REPEATS");
    return text ? atoi(text) : 40;
}

/* A user of the input for each device, with an output of its own. */
struct user {
    cl_command_queue queue;
    cl_kernel sum;
    cl_mem output;
};

static void enqueue(const struct user *user, cl_mem input, cl_mem terms) {
    size_t items = COUNT;
    OK(clSetKernelArg(user->sum, 0, sizeof input, &input));
    OK(clSetKernelArg(user->sum, 1, sizeof terms, &terms));
    OK(clSetKernelArg(user->sum, 2, sizeof user->output, &user->output));
    OK(clEnqueueNDRangeKernel(user->queue, user->sum, 1, NULL, &items, NULL, 0, NULL, NULL));
    OK(clFlush(user->queue));
}

int main(void) {
    struct client client;
    struct user users[8];
    alarm(DEADLINE_SECONDS); /* two that wait for each other would never end */
    client_open(&client, 0);
    cl_int *numbers = client_numbers(COUNT, 5, 3);
    cl_mem input = client_buffer(&client, CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    free(numbers);
    for (cl_uint i = 0; i < client.device_count; i++) {
        users[i].queue = client_queue(&client, client.devices[i], 0);
        users[i].sum = client_kernel(&client, "sum");
        users[i].output = client_buffer(&client, CL_MEM_READ_WRITE, SIZE, NULL);
    }
    for (int round = 0; round < rounds(); round++) {
        for (int launch = 0; launch < LAUNCHES; launch++)
            for (cl_uint i = 0; i < client.device_count; i++)
                enqueue(&users[i], input, input);
        for (cl_uint i = 0; i < client.device_count; i++)
            OK(clFinish(users[i].queue));
        for (cl_uint i = 0; round % 8 == 0 && i < client.device_count; i++)
            CHECK(client_buffer_is_series(users[i].queue, users[i].output, COUNT, 10, 6));
    }
    for (cl_uint i = 0; i < client.device_count; i++) {
        CHECK(client_buffer_is_series(users[i].queue, users[i].output, COUNT, 10, 6));
        OK(clReleaseMemObject(users[i].output));
        OK(clReleaseKernel(users[i].sum));
        OK(clReleaseCommandQueue(users[i].queue));
    }
    OK(clReleaseMemObject(input));
    client_close(&client);
    return 0;
}
