/* launches [COUNT]: what a launch of a kernel that does next to nothing takes, in us: enqueued one after the other, and each alone.
 * launches.sh compares it with and without farfault. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WARM_UP 1000

static void require(cl_int status, const char *what) {
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "launches: %s: error %d\n", what, status);
    exit(1);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Returns us a launch; `alone`: each is waited for. */
static double time_launches(cl_command_queue queue, cl_kernel kernel, int count, int alone) {
    const size_t items = 1;
    double start = seconds();
    for (int i = 0; i < count; i++) {
        require(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL),
                "clEnqueueNDRangeKernel");
        if (alone)
            require(clFinish(queue), "clFinish");
    }
    require(clFinish(queue), "clFinish");
    return (seconds() - start) / count * 1e6;
}

int main(int argc, char **argv) {
    const char *source = "__kernel void add(__global int *a) { a[get_global_id(0)] += 1; }";
    int count = argc > 1 ? atoi(argv[1]) : 20000;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status = CL_SUCCESS;
    require(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    require(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    require(status, "clCreateCommandQueue");
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    require(status, "clCreateProgramWithSource");
    require(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "add", &status);
    require(status, "clCreateKernel");
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &status);
    require(status, "clCreateBuffer");
    require(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");

    time_launches(queue, kernel, WARM_UP, 0);
    double queued = time_launches(queue, kernel, count, 0);
    printf("%.3f %.3f\n", queued, time_launches(queue, kernel, count / 4 + 1, 1));

    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
