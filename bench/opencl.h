/* What the OpenCL programs of the benchmarks share. They end with one line when something fails. */
#ifndef FF_BENCH_OPENCL_H
#define FF_BENCH_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

struct opencl {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
};

void require(cl_int status, const char *what);
double seconds(void);

/* The first device: context and queue. */
void opencl_start(struct opencl *opencl);
/* Built, with kernels in it. The caller releases it. */
cl_program opencl_program(const struct opencl *opencl, const char *source);

/* The first device, and the kernel `add`, which adds 1 to each int of its only operand. */
void opencl_open(struct opencl *opencl);
void opencl_close(struct opencl *opencl);

#endif
