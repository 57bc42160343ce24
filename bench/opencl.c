#include "opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void require(cl_int status, const char *what) {
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: error %d\n", what, status);
    exit(1);
}

double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void opencl_start(struct opencl *opencl) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int status = CL_SUCCESS;
    require(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    opencl->context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    require(status, "clCreateContext");
    opencl->queue = clCreateCommandQueue(opencl->context, device, 0, &status);
    require(status, "clCreateCommandQueue");
}

cl_program opencl_program(const struct opencl *opencl, const char *source) {
    cl_int status = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(opencl->context, 1, &source, NULL, &status);
    require(status, "clCreateProgramWithSource");
    require(clBuildProgram(program, 0, NULL, "", NULL, NULL), "clBuildProgram");
    return program;
}

void opencl_open(struct opencl *opencl) {
    cl_int status = CL_SUCCESS;
    opencl_start(opencl);
    opencl->program =
        opencl_program(opencl, "__kernel void add(__global int *a) { a[get_global_id(0)] += 1; }");
    opencl->kernel = clCreateKernel(opencl->program, "add", &status);
    require(status, "clCreateKernel");
}

void opencl_close(struct opencl *opencl) {
    clReleaseKernel(opencl->kernel);
    clReleaseProgram(opencl->program);
    clReleaseCommandQueue(opencl->queue);
    clReleaseContext(opencl->context);
}
