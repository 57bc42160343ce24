/* Functions whose sizes have 32 bits. */
#include "cuda/blas/internal.h"

#define FF_CUBLAS_INT int
#define FF_CUBLAS(name, version, parameters)
#define FF_CUBLAS_PLACE(name, version, parameters)
#define FF_CUBLAS_SIZED(name, version, parameters, arguments)                                      \
    FF_CUBLAS_FORWARD(name, version, parameters, arguments)
#define FF_CUBLAS_FORWARD(name, version, parameters, arguments)                                    \
    cublasStatus_t name##version parameters {                                                      \
        return name##version##_64 arguments;                                                       \
    }
#include <farfault/blas.def>
#include <farfault/blas_types.h>
