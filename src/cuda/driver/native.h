/* What this driver has beside the interface for farfault's own libraries: kernels that are
 * functions of the processor (src/cuda/blas), and device memory that is managed (src/preload/cuda).
 * cuGetExportTable() gives the table to whoever knows its name; another driver has none. */
#ifndef FF_CUDA_NATIVE_H
#define FF_CUDA_NATIVE_H

#include <cuda.h>
#include <stddef.h>

struct ff__cuda_native {
    const char *name;           /* as launches show it; stays where it is */
    int (*run)(void *argument); /* in a thread of the device's; 0, or a negative errno */
    const void *argument;       /* copied; words that point into managed memory are operands */
    size_t size;
};

struct ff__cuda_native_table {
    size_t size; /* of this structure */
    /* Launches the kernel on a stream of the thread's context, where it is ordered, captured and
     * counted as any other. An access to what is no memory ends it, as with every kernel, by
     * longjmp(): it holds no lock where it may access memory of programs. Results are those of
     * cuLaunchKernel(). */
    CUresult (*launch)(CUstream stream, const struct ff__cuda_native *kernel);
    /* Managed memory that kernels and copies alone use: system calls that meet an absent page of it
     * fail with EFAULT, and its faults cost least. Results are those of cuMemAllocManaged(). */
    CUresult (*allocate)(CUdeviceptr *address, size_t size);
};

#define FF_CUDA_NATIVE_TABLE                                                                       \
    {                                                                                              \
        { 'f', 'a', 'r', 'f', 'a', 'u', 'l', 't', '-', 'n', 'a', 't', 'i', 'v', 'e', '1' }         \
    }

#endif
