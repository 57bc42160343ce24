/* The cuBLAS API as far as farfault's libcublas has it (docs/cuda.md), for C and C++. Names and
 * values are the interface's own, of CUDA 12 and 13: a program compiled with this header runs on
 * NVIDIA's library, too. Functions are in farfault/blas.def and farfault/blas_typed.def; those with
 * int64_t in place of int have _64 behind their names. */
#ifndef FF_CUDA_CUBLAS_V2_H
#define FF_CUDA_CUBLAS_V2_H
#define CUBLAS_API_H_ /* by which programs see that it was included */

#include "cuComplex.h"
#include "cuda_fp16.h"
#include "cuda_runtime_api.h"
#include "library_types.h"

#include <stddef.h>
#include <stdint.h>

#define CUBLAS_VER_MAJOR (CUDART_VERSION / 1000)
#define CUBLAS_VER_MINOR (CUDART_VERSION % 1000 / 10)
#define CUBLAS_VER_PATCH 0
#define CUBLAS_VERSION   (CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + CUBLAS_VER_PATCH)

typedef struct cublasContext *cublasHandle_t;

typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_STATUS_LICENSE_ERROR = 16,
} cublasStatus_t;

typedef enum {
    CUBLAS_FILL_MODE_LOWER = 0,
    CUBLAS_FILL_MODE_UPPER = 1,
    CUBLAS_FILL_MODE_FULL = 2,
} cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum {
    CUBLAS_OP_N = 0,
    CUBLAS_OP_T = 1,
    CUBLAS_OP_C = 2,
    CUBLAS_OP_HERMITAN = 2,
    CUBLAS_OP_CONJG = 3,
} cublasOperation_t;
typedef enum {
    CUBLAS_POINTER_MODE_HOST = 0,
    CUBLAS_POINTER_MODE_DEVICE = 1,
} cublasPointerMode_t;
typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 } cublasAtomicsMode_t;

typedef enum {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3,
    CUBLAS_FP32_EMULATED_BF16X9_MATH = 4,
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
} cublasMath_t;

typedef enum {
    CUBLAS_GEMM_DFALT = -1,
    CUBLAS_GEMM_DEFAULT = -1,
    CUBLAS_GEMM_ALGO0 = 0,
    CUBLAS_GEMM_ALGO23 = 23,
    CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
    CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
    CUBLAS_GEMM_ALGO0_TENSOR_OP = 100,
    CUBLAS_GEMM_ALGO15_TENSOR_OP = 115,
} cublasGemmAlgo_t;

typedef enum {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_16F_PEDANTIC = 65,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_64F_PEDANTIC = 71,
    CUBLAS_COMPUTE_32I = 72,
    CUBLAS_COMPUTE_32I_PEDANTIC = 73,
    CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
    CUBLAS_COMPUTE_32F_EMULATED_16BFX9 = 78,
} cublasComputeType_t;

typedef cudaDataType cublasDataType_t;
typedef void (*cublasLogCallback)(const char *message);

/* ---- functions ---- */

#ifdef __cplusplus
extern "C" {
#endif

/* By their symbols; those whose symbol ends in _v2, by the name without it, too. */
#define FF_CUBLAS_NAMES_(name, end, parameters) cublasStatus_t name##end parameters;
#define FF_CUBLAS_NAMES__v2(name, end, parameters)                                                 \
    cublasStatus_t name##_v2##end parameters;                                                      \
    cublasStatus_t name##end parameters __asm__(#name "_v2" #end);
#define FF_CUBLAS_SIZED(name, version, parameters, arguments)                                      \
    FF_CUBLAS_OF_SIZE(name, version, parameters)
#define FF_CUBLAS_PLACE(name, version, parameters) FF_CUBLAS_OF_SIZE(name, version, parameters)

#define FF_CUBLAS(name, version, parameters)         FF_CUBLAS_NAMES_##version(name, , parameters)
#define FF_CUBLAS_OF_SIZE(name, version, parameters) FF_CUBLAS_NAMES_##version(name, , parameters)
#define FF_CUBLAS_INT                                int
#include "farfault/blas.def"
#include "farfault/blas_types.h"
#undef FF_CUBLAS
#undef FF_CUBLAS_OF_SIZE
#undef FF_CUBLAS_INT
#define FF_CUBLAS(name, version, parameters)
#define FF_CUBLAS_OF_SIZE(name, version, parameters)                                               \
    FF_CUBLAS_NAMES_##version(name, _64, parameters)
#define FF_CUBLAS_INT                                int64_t
#include "farfault/blas.def"
#include "farfault/blas_types.h"
#undef FF_CUBLAS
#undef FF_CUBLAS_OF_SIZE
#undef FF_CUBLAS_INT
#undef FF_CUBLAS_SIZED
#undef FF_CUBLAS_PLACE
#undef FF_CUBLAS_NAMES_
#undef FF_CUBLAS_NAMES__v2

const char *cublasGetStatusName(cublasStatus_t status);
const char *cublasGetStatusString(cublasStatus_t status);
size_t cublasGetCudartVersion(void);

#ifdef __cplusplus
}

/* Programs for CUDA 10 name the type that is computed in. */
static inline cublasComputeType_t ff_cublas_compute(cudaDataType type) {
    switch (type) {
    case CUDA_R_16F:
        return CUBLAS_COMPUTE_16F;
    case CUDA_R_32F:
    case CUDA_C_32F:
        return CUBLAS_COMPUTE_32F;
    case CUDA_R_64F:
    case CUDA_C_64F:
        return CUBLAS_COMPUTE_64F;
    case CUDA_R_32I:
        return CUBLAS_COMPUTE_32I;
    default:
        return (cublasComputeType_t)0;
    }
}
static inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k,
                                          const void *alpha, const void *a, cudaDataType typea,
                                          int lda, const void *b, cudaDataType typeb, int ldb,
                                          const void *beta, void *c, cudaDataType typec, int ldc,
                                          cudaDataType compute, cublasGemmAlgo_t algorithm) {
    return cublasGemmEx(handle, transa, transb, m, n, k, alpha, a, typea, lda, b, typeb, ldb, beta,
                        c, typec, ldc, ff_cublas_compute(compute), algorithm);
}
static inline cublasStatus_t
cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                    int m, int n, int k, const void *alpha, const void *const a[],
                    cudaDataType typea, int lda, const void *const b[], cudaDataType typeb, int ldb,
                    const void *beta, void *const c[], cudaDataType typec, int ldc, int count,
                    cudaDataType compute, cublasGemmAlgo_t algorithm) {
    return cublasGemmBatchedEx(handle, transa, transb, m, n, k, alpha, a, typea, lda, b, typeb, ldb,
                               beta, c, typec, ldc, count, ff_cublas_compute(compute), algorithm);
}
static inline cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
    const void *alpha, const void *a, cudaDataType typea, int lda, long long stridea, const void *b,
    cudaDataType typeb, int ldb, long long strideb, const void *beta, void *c, cudaDataType typec,
    int ldc, long long stridec, int count, cudaDataType compute, cublasGemmAlgo_t algorithm) {
    return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, a, typea, lda,
                                      stridea, b, typeb, ldb, strideb, beta, c, typec, ldc, stridec,
                                      count, ff_cublas_compute(compute), algorithm);
}
#endif

#endif
