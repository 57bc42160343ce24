/* live_client WHAT [SIZE]: an OpenCL program that does one of a few things, for tests of what
 * farfault says of it. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static cl_context context;
static cl_command_queue queue;
static cl_device_id device;
static size_t size = (size_t)4 << 20;

static void ok(cl_int status, const char *call) {
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "live_client: %s: %d\n", call, status);
    exit(EXIT_FAILURE);
}

static void open_device(void) {
    cl_platform_id platform;
    cl_int status;
    ok(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    ok(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    ok(status, "clCreateContext");
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    ok(status, "clCreateCommandQueueWithProperties");
}

static cl_mem make_buffer(void) {
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);
    ok(status, "clCreateBuffer");
    return buffer;
}

static cl_kernel make_kernel(void) {
    const char *source = "kernel void add(global int *data) { data[get_global_id(0)] += 1; }";
    cl_int status;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    ok(status, "clCreateProgramWithSource");
    ok(clBuildProgram(program, 1, &device, NULL, NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "add", &status);
    ok(status, "clCreateKernel");
    return kernel;
}

static void launch(cl_kernel kernel) {
    const size_t items = size / sizeof(cl_int);
    ok(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), "launch");
    ok(clFinish(queue), "clFinish");
}

static void use_buffer(void) {
    cl_kernel kernel = make_kernel();
    cl_mem buffer = make_buffer();
    ok(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
    launch(kernel);
}

/* Ten buffers, one after the other, each released as soon as its launch and a read are enqueued.
 * The first waits for an event, so that none has ended when the last is made. `keeps`: one
 * reference to each, or a part of each, stays. */
enum keeps { NOTHING, REFERENCES, PARTS };

static void use_buffers_in_turn(enum keeps keeps) {
    const size_t items = size / sizeof(cl_int);
    const cl_buffer_region half = {0, size / 2};
    char *host = calloc(1, size);
    cl_kernel kernel = make_kernel();
    cl_int status;
    cl_event start = clCreateUserEvent(context, &status);
    ok(status, "clCreateUserEvent");
    for (int i = 0; i < 10; i++) {
        cl_mem buffer = make_buffer();
        cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &status);
        ok(status, "clCreateSubBuffer");
        ok(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
        ok(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, i == 0, i ? NULL : &start,
                                  NULL),
           "launch");
        ok(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, size, host, 0, NULL, NULL), "read");
        ok(clRetainMemObject(buffer), "clRetainMemObject");
        ok(clReleaseMemObject(buffer), "clReleaseMemObject");
        if (keeps != REFERENCES)
            ok(clReleaseMemObject(buffer), "clReleaseMemObject");
        if (keeps != PARTS)
            ok(clReleaseMemObject(part), "clReleaseMemObject");
    }
    ok(clSetUserEventStatus(start, CL_COMPLETE), "clSetUserEventStatus");
    ok(clFinish(queue), "clFinish");
    free(host);
}

static void make_image(void) {
    const cl_image_format format = {CL_RGBA, CL_FLOAT};
    const cl_image_desc about = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 64, .image_height = 64};
    cl_int status;
    clCreateImage(context, CL_MEM_READ_WRITE, &format, &about, NULL, &status);
    ok(status, "clCreateImage");
}

/* Which memory the kernel uses is for PoCL alone to know. */
static void use_malloc(void) {
    void *memory = calloc(1, size);
    cl_kernel kernel = make_kernel();
    ok(clSetKernelArgSVMPointer(kernel, 0, memory), "clSetKernelArgSVMPointer");
    launch(kernel);
    free(memory);
}

static void show_kind(void) {
    cl_platform_id platform;
    cl_device_type type = 0;
    cl_uint gpus = 0;
    ok(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL), "platform");
    ok(clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL), "type");
    cl_int status = clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 0, NULL, &gpus);
    printf("%s, %s\n", type & CL_DEVICE_TYPE_GPU ? "a GPU" : "a CPU",
           status == CL_SUCCESS && gpus ? "found as a GPU" : "not found as a GPU");
}

/* The child has a buffer of its own, which is none of ours. */
static void use_child(void) {
    pid_t child = fork();
    if (child == 0) {
        make_buffer();
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static volatile sig_atomic_t asked;

static void ask(int number) {
    (void)number;
    asked = 1;
}

/* For ever, unless the program has a handler of its own. */
static void wait_for_signal(void) {
    sigset_t term, before;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, &before);
    puts("ready");
    fflush(stdout);
    while (!asked)
        sigsuspend(&before);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (argc > 2)
        size = (size_t)strtoul(argv[2], NULL, 10) << 20;
    if (strcmp(what, "handler") == 0)
        signal(SIGTERM, ask);
    open_device();
    if (strcmp(what, "image") == 0)
        make_image();
    else if (strcmp(what, "malloc") == 0)
        use_malloc();
    else if (strcmp(what, "kind") == 0)
        show_kind();
    else if (strcmp(what, "turns") == 0)
        use_buffers_in_turn(NOTHING);
    else if (strcmp(what, "references") == 0)
        use_buffers_in_turn(REFERENCES);
    else if (strcmp(what, "parts") == 0)
        use_buffers_in_turn(PARTS);
    else if (strcmp(what, "devices") != 0)
        use_buffer();
    if (strcmp(what, "wait") == 0 || strcmp(what, "handler") == 0)
        wait_for_signal();
    if (strcmp(what, "fork") == 0)
        use_child();
    if (strcmp(what, "crash") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(what, "fail") == 0)
        return 3;
    return asked ? 7 : EXIT_SUCCESS;
}
