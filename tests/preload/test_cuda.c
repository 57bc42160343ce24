/* A program that uses OpenCL and CUDA: each has a farfault of its own, and both are told of faults
 * by SIGBUS, whichever is opened first (TEST_FIRST), and whenever the program sets a handler. */
#include "client.h"

#define FF_CUDA_EXACT_NAMES
#include <cuda.h>

#include <signal.h>

#define SIZE  (12 * MIB) /* three times the device */
#define COUNT (SIZE / sizeof(cl_int))

static struct client client;
static cl_kernel kernel;
static cl_mem buffer;
static CUdeviceptr data;
static cl_int added;
static volatile sig_atomic_t first_met, last_met;

static void note_first(int number) {
    (void)number;
    first_met++;
}

static void note_last(int number) {
    (void)number;
    last_met++;
}

static void open_opencl(void) {
    client_open(&client, 0);
    kernel = client_kernel(&client, "add");
    cl_int *numbers = client_numbers(COUNT, 0, 1);
    buffer = client_buffer(&client, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, SIZE, numbers);
    free(numbers);
}

static void use_opencl(void) {
    client_launch(client.queue, kernel, buffer, 1, COUNT);
    CHECK(client_buffer_is_series(client.queue, buffer, COUNT, ++added, 1));
}

static void open_cuda(void) {
    CUcontext context;
    CHECK(cuInit(0) == CUDA_SUCCESS);
    CHECK(cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    CHECK(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    CHECK(cuMemAlloc_v2(&data, SIZE) == CUDA_SUCCESS);
}

/* In a thread of the device's, and in this one. */
static void use_cuda(void) {
    static unsigned value;
    static unsigned words[COUNT];
    CHECK(cuMemsetD32Async(data, ++value, COUNT, NULL) == CUDA_SUCCESS);
    CHECK(cuMemcpyDtoH_v2(words, data, SIZE) == CUDA_SUCCESS);
    for (size_t i = 0; i < COUNT; i++)
        CHECK(words[i] == value);
    for (size_t i = 0; i < COUNT; i += 1024)
        CHECK(((unsigned *)(uintptr_t)data)[i] == value);
}

static void use_both(void) {
    use_opencl();
    use_cuda();
    use_opencl();
}

int main(void) {
    const char *first = getenv("TEST_FIRST");
    bool is_cuda_first = first && strcmp(first, "cuda") == 0;
    (is_cuda_first ? open_cuda : open_opencl)();
    CHECK(signal(SIGBUS, note_first) != SIG_ERR);
    (is_cuda_first ? use_cuda : use_opencl)();
    CHECK(raise(SIGBUS) == 0 && first_met == 1);
    (is_cuda_first ? open_opencl : open_cuda)();
    use_both();
    if (!is_cuda_first) /* OpenCL has a compiler, which sets one, too */
        CHECK(raise(SIGBUS) == 0 && first_met == 2);
    CHECK(signal(SIGBUS, note_last) != SIG_ERR);
    use_both();
    CHECK(raise(SIGBUS) == 0 && last_met == 1);
    CHECK(cuMemFree_v2(data) == CUDA_SUCCESS);
    OK(clReleaseMemObject(buffer));
    OK(clReleaseKernel(kernel));
    client_close(&client);
    return 0;
}
