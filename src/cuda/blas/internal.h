/* libcublas: the cuBLAS API for the software device, over its driver, whose kernels here are
 * functions of the processor, and a BLAS for blocks of matrices. Names that programs see are in
 * cublas_v2.h; a function with sizes is written once, for those of 64 bits. */
#ifndef FF_BLAS_INTERNAL_H
#define FF_BLAS_INTERNAL_H

#include <cublas_v2.h>
#include <cuda.h>

#include "cuda/blas/elements.h"
#include "cuda/driver/native.h"

struct cublasContext {
    const struct ff__cuda_native_table *driver;
    CUcontext context;
    CUdevice device;
    bool is_retained; /* the context is the device's primary one, which this keeps */
    CUstream stream;
    cublasPointerMode_t pointer_mode;
    cublasAtomicsMode_t atomics;
    cublasMath_t math;
    int processors;
};

cublasStatus_t ff__blas_status(CUresult result);

/* Launches a kernel on the handle's stream; the argument is copied. */
cublasStatus_t ff__blas_launch(cublasHandle_t handle, const char *name, int (*run)(void *argument),
                               const void *argument, size_t size);

/* What alpha or beta points to, in the host's memory or the device's as the handle says. NULL:
 * CUBLAS_STATUS_INVALID_VALUE. */
cublasStatus_t ff__blas_scalar(cublasHandle_t handle, enum ff__blas_type type, const void *at,
                               struct ff__blas_scalar *out);

static inline bool ff__blas_is_operation(cublasOperation_t operation) {
    return (unsigned)operation <= CUBLAS_OP_CONJG;
}
static inline bool ff__blas_turns(cublasOperation_t operation) {
    return operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}
/* Whether matrices of so many rows and columns, of which op() is meant, may lie so. */
static inline bool ff__blas_fits(int64_t rows, int64_t columns, cublasOperation_t operation,
                                 int64_t ld) {
    return ld >= 1 && ld >= (ff__blas_turns(operation) ? columns : rows);
}

/* One that begins at its end where its step is negative. */
static inline struct ff__blas_matrix ff__blas_vector(const void *data, enum ff__blas_type type,
                                                     int64_t n, int64_t step) {
    int64_t before = step < 0 && n > 0 ? (1 - n) * step : 0;
    return (struct ff__blas_matrix){
        .data = ff__blas_shift(data, type, before), .row = step, .type = type};
}

/* A matrix stored by columns, of which op() is meant. */
static inline struct ff__blas_matrix ff__blas_of(const void *data, enum ff__blas_type type,
                                                 int64_t ld, cublasOperation_t operation) {
    bool turned = ff__blas_turns(operation);
    return (struct ff__blas_matrix){.data = (char *)(uintptr_t)data,
                                    .row = turned ? ld : 1,
                                    .column = turned ? 1 : ld,
                                    .type = type,
                                    .conjugate =
                                        operation >= CUBLAS_OP_C && (type & FF_BLAS_COMPLEX) != 0};
}

#endif
