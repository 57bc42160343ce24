/* launches [COUNT]: what a launch of a kernel that does next to nothing takes, in us: enqueued one
 * after the other, and each alone. launches.sh compares it with and without farfault. */
#include "opencl.h"

#include <stdio.h>
#include <stdlib.h>

#define WARM_UP 1000

/* Returns us a launch; `alone`: each is waited for. */
static double time_launches(const struct opencl *opencl, int count, int alone) {
    const size_t items = 1;
    double start = seconds();
    for (int i = 0; i < count; i++) {
        require(clEnqueueNDRangeKernel(opencl->queue, opencl->kernel, 1, NULL, &items, &items, 0,
                                       NULL, NULL),
                "clEnqueueNDRangeKernel");
        if (alone)
            require(clFinish(opencl->queue), "clFinish");
    }
    require(clFinish(opencl->queue), "clFinish");
    return (seconds() - start) / count * 1e6;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 20000;
    struct opencl opencl;
    cl_int status = CL_SUCCESS;
    opencl_open(&opencl);
    cl_mem buffer = clCreateBuffer(opencl.context, CL_MEM_READ_WRITE, 4096, NULL, &status);
    require(status, "clCreateBuffer");
    require(clSetKernelArg(opencl.kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");

    time_launches(&opencl, WARM_UP, 0);
    double queued = time_launches(&opencl, count, 0);
    printf("%.3f %.3f\n", queued, time_launches(&opencl, count / 4 + 1, 1));

    clReleaseMemObject(buffer);
    opencl_close(&opencl);
    return 0;
}
