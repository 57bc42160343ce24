/* Many threads that each do a bit of everything, with objects of their own and with a shared
 * context. */
#include "client.h"

#include <pthread.h>

#define SIZE    (2 * MIB)
#define COUNT   (SIZE / sizeof(cl_int))
#define THREADS 4
#define ROUNDS  6

static struct client client;

static void use_buffers(cl_command_queue queue, cl_kernel add, cl_int value) {
    cl_int *host = client_numbers(COUNT, 0, 1), status;
    cl_mem buffer =
        client_buffer(&client, value % 2 ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR, SIZE, host);
    const cl_buffer_region region = {0, MIB};
    cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    OK(status);
    client_launch(queue, add, buffer, value, COUNT);
    client_launch(queue, add, part, 1, COUNT / 2);
    cl_int *mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, SIZE,
                                        0, NULL, NULL, &status);
    OK(status);
    CHECK(client_is_series(mapped, COUNT / 2, value + 1, 1));
    CHECK(client_is_series(mapped + COUNT / 2, COUNT / 2, value + (cl_int)(COUNT / 2), 1));
    mapped[0] = -1;
    OK(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
    OK(clFinish(queue));
    OK(clReleaseMemObject(part));
    OK(clReleaseMemObject(buffer));
    free(host);
}

static void use_svm(cl_command_queue queue, cl_kernel add, cl_int value) {
    size_t items = COUNT;
    cl_int *data = clSVMAlloc(client.context, CL_MEM_READ_WRITE, SIZE, 0), zero = 0;
    CHECK(data);
    OK(clEnqueueSVMMemFill(queue, data, &zero, sizeof zero, SIZE, 0, NULL, NULL));
    OK(clSetKernelArgSVMPointer(add, 0, data));
    OK(clSetKernelArg(add, 1, sizeof value, &value));
    OK(clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, NULL));
    OK(clFinish(queue));
    CHECK(client_is_series(data, COUNT, value, 0));
    clSVMFree(client.context, data);
}

static void *thread(void *argument) {
    cl_int number = *(cl_int *)argument;
    cl_command_queue queue = client_queue(&client, client.device, 0);
    cl_kernel original = client_kernel(&client, "add");
    for (cl_int round = 0; round < ROUNDS; round++) {
        cl_int status;
        cl_kernel add = clCloneKernel(original, &status);
        OK(status);
        use_buffers(queue, add, number * ROUNDS + round);
        use_svm(queue, add, round);
        OK(clReleaseKernel(add));
    }
    OK(clReleaseKernel(original));
    OK(clReleaseCommandQueue(queue));
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    cl_int numbers[THREADS];
    client_open(&client, 0);
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, thread, &numbers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    client_close(&client);
    return 0;
}
