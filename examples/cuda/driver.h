/*
 * What the programs in C that use the driver API share beside host/work.h: a context with the
 * kernels, arrays on the device, and launches. The build makes PTX of a program's kernels and names
 * the file as KERNELS.
 */
#ifndef CUDA_EXAMPLES_DRIVER_H
#define CUDA_EXAMPLES_DRIVER_H

#include "host/work.h"

#include <cuda.h>

#define CHECK(call) check(call, #call)

/* Exits with "PROGRAM: CALL: NAME" unless the call succeeded. */
void check(CUresult result, const char *call);

struct device {
    CUdevice device;
    CUcontext context;
    CUmodule module;
};

void device_open(struct device *device);
void device_close(struct device *device);
CUfunction device_kernel(const struct device *device, const char *name);

/* Device memory, which counts for the footprint; to be released with cuMemFree(). */
CUdeviceptr device_array(struct work *work, size_t bytes);
/* A fresh host array, to be released with free(). */
void *download(CUdeviceptr from, size_t bytes);

enum { THREADS = 256 };

/* LAUNCH(kernel, blocks, &a, &b): with blocks of THREADS threads, and pointers to the arguments. */
#define LAUNCH(kernel, blocks, ...)                                                                \
    CHECK(cuLaunchKernel(kernel, (unsigned)(blocks), 1, 1, THREADS, 1, 1, 0, NULL,                 \
                         (void *[]){__VA_ARGS__}, NULL))

/* With --times, waits for the device and prints how long the iteration took. */
void end_iteration(struct work *work);
void stop_clock(struct work *work);

#endif
