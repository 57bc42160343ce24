/* Kernels that are functions of the processor: how libraries on this driver (src/cuda/blas) launch
 * them. cuGetExportTable() gives the table to whoever knows its name; another driver has none. */
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
};

#define FF_CUDA_NATIVE_TABLE                                                                       \
    {                                                                                              \
        { 'f', 'a', 'r', 'f', 'a', 'u', 'l', 't', '-', 'n', 'a', 't', 'i', 'v', 'e', '1' }         \
    }

#endif
