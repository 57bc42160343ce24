/* cuda_launches [COUNT]: what a launch of a kernel that does nothing takes with libcuda.so.1, in
 * us: the call alone, and with a wait for each. Medians of 15 rounds. */
#include "measure.h"

#include "cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 15

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry empty(.param .u64 out)\n{\n    ret;\n}\n";

static void require(CUresult result, const char *what) {
    const char *name = "?";
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "cuda_launches: %s: %s\n", what, name);
    exit(1);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns us a launch; `alone`: each is waited for. The calls are timed, not the work. */
static double time_launches(CUfunction function, int count, int alone) {
    CUdeviceptr out = 0;
    void *params[] = {&out};
    double start = seconds();
    for (int i = 0; i < count; i++) {
        require(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
                "cuLaunchKernel");
        if (alone)
            require(cuCtxSynchronize(), "cuCtxSynchronize");
    }
    double us = (seconds() - start) / count * 1e6;
    require(cuCtxSynchronize(), "cuCtxSynchronize");
    return us;
}

static double median_of(CUfunction function, int count, int alone) {
    double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        times[i] = time_launches(function, count, alone);
    return median(times, ROUNDS);
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 2000;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    require(cuInit(0), "cuInit");
    require(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    require(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    require(cuModuleLoadData(&module, text), "cuModuleLoadData");
    require(cuModuleGetFunction(&function, module, "empty"), "cuModuleGetFunction");
    time_launches(function, count, 0);
    printf("%.2f %.2f\n", median_of(function, count, 0), median_of(function, count / 4 + 1, 1));
    require(cuDevicePrimaryCtxRelease(0), "cuDevicePrimaryCtxRelease");
    return 0;
}
