/* Shared virtual memory. */
#include "client.h"

#include <pthread.h>

#define SIZE  (5 * MIB)
#define COUNT (SIZE / sizeof(cl_int))

static cl_int *allocate(const struct client *client, size_t size) {
    cl_int *memory = clSVMAlloc(client->context, CL_MEM_READ_WRITE, size, 0);
    CHECK(memory);
    return memory;
}

static void launch(const struct client *client, cl_kernel kernel, void *pointer, cl_int value,
                   size_t items) {
    OK(clSetKernelArgSVMPointer(kernel, 0, pointer));
    OK(clSetKernelArg(kernel, 1, sizeof value, &value));
    OK(clEnqueueNDRangeKernel(client->queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
}

static void test_arguments(const struct client *client) {
    CHECK(!clSVMAlloc(client->context, CL_MEM_READ_WRITE, 0, 0));
    CHECK(!clSVMAlloc(client->context, CL_MEM_READ_WRITE, 64, 3));
    CHECK(!clSVMAlloc(client->context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 64, 0));
    CHECK(!clSVMAlloc(client->context, CL_MEM_SVM_ATOMICS, 64, 0));
    CHECK(!clSVMAlloc(NULL, CL_MEM_READ_WRITE, 64, 0));
    void *fine = clSVMAlloc(client->context,
                            CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS,
                            1000, 128);
    CHECK(fine && (uintptr_t)fine % 128 == 0);
    clSVMFree(client->context, fine);
}

static void test_kernels(const struct client *client) {
    cl_kernel add = client_kernel(client, "add");
    cl_int *data = allocate(client, SIZE);
    OK(clEnqueueSVMMap(client->queue, CL_TRUE, CL_MAP_WRITE, data, SIZE, 0, NULL, NULL));
    for (size_t i = 0; i < COUNT; i++)
        data[i] = (cl_int)i;
    OK(clEnqueueSVMUnmap(client->queue, data, 0, NULL, NULL));
    launch(client, add, data, 10, COUNT);
    launch(client, add, data + COUNT / 2, 1000, COUNT / 2); /* into the middle */
    OK(clEnqueueSVMMap(client->queue, CL_TRUE, CL_MAP_READ, data, SIZE, 0, NULL, NULL));
    CHECK(client_is_series(data, COUNT / 2, 10, 1));
    CHECK(client_is_series(data + COUNT / 2, COUNT / 2, 1010 + (cl_int)(COUNT / 2), 1));
    OK(clEnqueueSVMUnmap(client->queue, data, 0, NULL, NULL));
    OK(clFinish(client->queue));
    clSVMFree(client->context, data);
    OK(clReleaseKernel(add));
}

/* A pointer inside shared virtual memory to more of it. */
static void test_indirect(const struct client *client) {
    cl_kernel chase = client_kernel(client, "chase");
    cl_int *data = allocate(client, SIZE), value = 77;
    cl_int **pointers = clSVMAlloc(client->context, CL_MEM_READ_WRITE, sizeof *pointers, 0);
    size_t items = COUNT;
    CHECK(pointers);
    pointers[0] = data;
    OK(clSetKernelArgSVMPointer(chase, 0, pointers));
    OK(clSetKernelArg(chase, 1, sizeof value, &value));
    OK(clSetKernelExecInfo(chase, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof data, &data));
    OK(clEnqueueNDRangeKernel(client->queue, chase, 1, NULL, &items, NULL, 0, NULL, NULL));
    OK(clFinish(client->queue));
    CHECK(client_is_series(data, COUNT, 77, 1));
    clSVMFree(client->context, data);
    clSVMFree(client->context, pointers);
    OK(clReleaseKernel(chase));
}

static void test_commands(const struct client *client) {
    cl_int *from = allocate(client, SIZE), *to = allocate(client, SIZE), pattern = 6;
    cl_int *host = client_numbers(COUNT, 2, 2);
    cl_event event;
    cl_command_type type;
    OK(clEnqueueSVMMemFill(client->queue, from, &pattern, sizeof pattern, SIZE, 0, NULL, NULL));
    OK(clEnqueueSVMMemcpy(client->queue, CL_FALSE, to, from, SIZE, 0, NULL, &event));
    OK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
    CHECK(type == CL_COMMAND_SVM_MEMCPY);
    OK(clWaitForEvents(1, &event));
    OK(clReleaseEvent(event));
    CHECK(client_is_series(to, COUNT, 6, 0));
    OK(clEnqueueSVMMemcpy(client->queue, CL_TRUE, from, host, SIZE, 0, NULL, NULL));
    CHECK(client_is_series(from, COUNT, 2, 2));
    const void *both[] = {from, to};
    OK(clEnqueueSVMMigrateMem(client->queue, 2, both, NULL, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL,
                              NULL));
    OK(clFinish(client->queue));
    EXPECT(CL_MEM_COPY_OVERLAP,
           clEnqueueSVMMemcpy(client->queue, CL_TRUE, from, from + 1, 64, 0, NULL, NULL));
    clSVMFree(client->context, from);
    clSVMFree(client->context, to);
    free(host);
}

/* Behind the end of what was asked for is no memory of the program's, though it is on the same
 * page. */
static void test_behind_the_end(const struct client *client) {
    char *small = clSVMAlloc(client->context, CL_MEM_READ_WRITE, 1000, 0);
    cl_int status;
    CHECK(small);
    CHECK(!clCreateBuffer(client->context, CL_MEM_USE_HOST_PTR, 64, small + 2000, &status));
    CHECK(status == CL_INVALID_BUFFER_SIZE);
    CHECK(!clCreateBuffer(client->context, CL_MEM_USE_HOST_PTR, 64, small + 960, &status));
    CHECK(status == CL_INVALID_BUFFER_SIZE);
    OK(clReleaseMemObject(client_buffer(client, CL_MEM_USE_HOST_PTR, 40, small + 960)));
    clSVMFree(client->context, small);
}

/* A buffer made of shared virtual memory is that memory. */
static void test_buffer(const struct client *client) {
    cl_kernel add = client_kernel(client, "add");
    cl_int *data = allocate(client, SIZE), status;
    cl_bool svm = CL_FALSE;
    for (size_t i = 0; i < COUNT; i++)
        data[i] = (cl_int)i;
    cl_mem buffer = client_buffer(client, CL_MEM_USE_HOST_PTR, SIZE, data);
    OK(clGetMemObjectInfo(buffer, CL_MEM_USES_SVM_POINTER, sizeof svm, &svm, NULL));
    CHECK(svm == CL_TRUE);
    client_launch(client->queue, add, buffer, 4, COUNT);
    void *mapped = clEnqueueMapBuffer(client->queue, buffer, CL_TRUE, CL_MAP_READ, 0, SIZE, 0, NULL,
                                      NULL, &status);
    OK(status);
    CHECK(mapped == data);
    CHECK(client_is_series(data, COUNT, 4, 1));
    OK(clEnqueueUnmapMemObject(client->queue, buffer, mapped, 0, NULL, NULL));
    OK(clFinish(client->queue));
    OK(clReleaseMemObject(buffer));
    CHECK(!clCreateBuffer(client->context, CL_MEM_USE_HOST_PTR, SIZE + 4096, data, &status));
    CHECK(status == CL_INVALID_BUFFER_SIZE);
    CHECK(client_is_series(data, COUNT, 4, 1));
    clSVMFree(client->context, data);
    OK(clReleaseKernel(add));
}

/* ---- freeing in a queue ---- */

struct freed {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const struct client *client;
    void *pointers[4];
    cl_uint count;
};

static void CL_CALLBACK on_free(cl_command_queue queue, cl_uint count, void *pointers[],
                                void *user) {
    struct freed *freed = user;
    CHECK(queue == freed->client->queue && count == 2);
    pthread_mutex_lock(&freed->lock);
    for (cl_uint i = 0; i < count; i++) {
        freed->pointers[freed->count++] = pointers[i];
        clSVMFree(freed->client->context, pointers[i]);
    }
    pthread_cond_signal(&freed->changed);
    pthread_mutex_unlock(&freed->lock);
}

static void test_enqueued_free(const struct client *client) {
    cl_kernel add = client_kernel(client, "add");
    struct freed freed = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, client, {0}, 0};
    for (int i = 0; i < 10; i++) {
        void *pointers[] = {allocate(client, SIZE), allocate(client, MIB)};
        cl_event event;
        launch(client, add, pointers[0], i, COUNT); /* still to run when it is freed */
        OK(clEnqueueSVMFree(client->queue, 2, pointers, NULL, NULL, 0, NULL, &event));
        OK(clWaitForEvents(1, &event));
        OK(clReleaseEvent(event));
    }
    void *pointers[] = {allocate(client, SIZE), allocate(client, MIB)};
    launch(client, add, pointers[0], 1, COUNT);
    OK(clEnqueueSVMFree(client->queue, 2, pointers, on_free, &freed, 0, NULL, NULL));
    pthread_mutex_lock(&freed.lock);
    while (freed.count < 2)
        pthread_cond_wait(&freed.changed, &freed.lock);
    pthread_mutex_unlock(&freed.lock);
    CHECK(freed.pointers[0] == pointers[0] && freed.pointers[1] == pointers[1]);
    OK(clFinish(client->queue));
    EXPECT(CL_INVALID_VALUE, clEnqueueSVMFree(client->queue, 0, NULL, NULL, NULL, 0, NULL, NULL));
    OK(clReleaseKernel(add));
}

int main(void) {
    struct client client;
    client_open(&client, 0);
    test_arguments(&client);
    test_kernels(&client);
    test_indirect(&client);
    test_commands(&client);
    test_buffer(&client);
    if (client_is_preloaded()) /* PoCL does not look */
        test_behind_the_end(&client);
    test_enqueued_free(&client);
    client_close(&client);
    return 0;
}
