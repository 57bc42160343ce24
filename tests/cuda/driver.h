/* What tests of the CUDA driver share: a device, a primary context, the kernels of driver.ptx, and
 * streams that are held up until a test lets them go on. */
#ifndef FF_TESTS_CUDA_DRIVER_H
#define FF_TESTS_CUDA_DRIVER_H

#include "base/cases.h"

#define FF_CUDA_EXACT_NAMES
#include "cuda.h"

#include <semaphore.h>

/* A call gives this result; the error's name is in the message if not. */
static inline void check_result(CUresult got, CUresult expected, const char *call, const char *file,
                                int line) {
    const char *name = "?", *wanted = "?";
    if (got == expected)
        return;
    cuGetErrorName(got, &name);
    cuGetErrorName(expected, &wanted);
    print_error("%s: %s instead of %s\n", call, name, wanted);
    _fail(file, line);
}
#define GIVES(expected, call) check_result(call, CUDA_##expected, #call, __FILE__, __LINE__)
#define OK(call)              GIVES(SUCCESS, call)
#define REFUSED(call)         GIVES(ERROR_INVALID_VALUE, call)

static CUcontext context;
static CUmodule module;

static inline CUfunction function_of(const char *name) {
    CUfunction function;
    OK(cuModuleGetFunction(&function, module, name));
    return function;
}

/* Of one dimension. */
static inline CUresult launch(CUfunction function, unsigned grid, unsigned block, CUstream stream,
                              void **params) {
    return cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, params, NULL);
}

/* *out = 31 * *out + value. */
static inline void mix(CUdeviceptr out, unsigned value, CUstream stream) {
    void *params[] = {&out, &value};
    OK(launch(function_of("mix"), 1, 1, stream, params));
}

static inline uint32_t mixed(const char *values) {
    uint32_t result = 0;
    for (; *values != '\0'; values++)
        result = 31 * result + (uint32_t)(*values - '0');
    return result;
}

static inline uint32_t *words_at(CUdeviceptr address) {
    return (uint32_t *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

static inline CUdeviceptr allocate(size_t size) {
    CUdeviceptr address;
    OK(cuMemAlloc_v2(&address, size));
    OK(cuMemsetD8_v2(address, 0, size));
    return address;
}

/* ---- a stream that is held up ---- */

struct gate {
    sem_t sem;
};

static void wait_at_gate(void *user) {
    struct gate *gate = user;
    while (sem_wait(&gate->sem) != 0)
        ;
}

static inline void close_gate(struct gate *gate, CUstream stream) {
    sem_init(&gate->sem, 0, 0);
    OK(cuLaunchHostFunc(stream, wait_at_gate, gate));
}

static inline void open_gate(struct gate *gate) {
    sem_post(&gate->sem);
}

/* ---- groups of tests ---- */

static inline int begin(void **state) {
    (void)state;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxPushCurrent_v2(context));
    OK(cuModuleLoad(&module, DRIVER_PTX));
    return 0;
}

static inline int end(void **state) {
    (void)state;
    OK(cuCtxSynchronize());
    OK(cuModuleUnload(module));
    OK(cuCtxPopCurrent_v2(NULL));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    return 0;
}

#endif
