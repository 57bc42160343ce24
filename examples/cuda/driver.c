#include "driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* the file, with a byte of 0 behind it */
__asm__(".section .rodata\n"
        "kernels: .incbin \"" KERNELS "\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char kernels[];

void check(CUresult result, const char *call) {
    const char *name = "unknown error";
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, call, name);
    exit(EXIT_FAILURE);
}

void device_open(struct device *device) {
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device->device, 0));
    CHECK(cuCtxCreate(&device->context, 0, device->device));
    CHECK(cuModuleLoadData(&device->module, kernels));
}

void device_close(struct device *device) {
    CHECK(cuModuleUnload(device->module));
    CHECK(cuCtxDestroy(device->context));
}

CUfunction device_kernel(const struct device *device, const char *name) {
    CUfunction kernel = NULL;
    CHECK(cuModuleGetFunction(&kernel, device->module, name));
    return kernel;
}

CUdeviceptr device_array(struct work *work, size_t bytes) {
    CUdeviceptr array = 0;
    CHECK(cuMemAlloc(&array, bytes));
    work->footprint += bytes;
    return array;
}

void *download(CUdeviceptr from, size_t bytes) {
    void *array = host_pages(bytes);
    CHECK(cuMemcpyDtoH(array, from, bytes));
    return array;
}

void end_iteration(struct work *work) {
    if (!work->times)
        return;
    CHECK(cuCtxSynchronize());
    work_end_iteration(work);
}

void stop_clock(struct work *work) {
    CHECK(cuCtxSynchronize());
    work_stop_clock(work);
}
