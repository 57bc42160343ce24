/* Products of matrices: one, or many at a time, of all types. */
#include "cuda/blas/internal.h"
#include "cuda/blas/product.h"

/* What a program asks for; a batch's matrices are pointed to by arrays in the device's memory, or
 * lie `stride` elements apart. */
struct operand {
    const void *data;
    enum ff__blas_type type;
    int64_t ld;
    long long stride;
};
struct gemm_call {
    cublasOperation_t transa, transb;
    int64_t m, n, k, count;
    struct operand a, b, c;
    const void *alpha, *beta;
    enum ff__blas_type scalar; /* of alpha and beta */
    bool is_array;
};

struct gemm_batch {
    struct ff__blas_product product; /* the first; data: of arrays these */
    struct ff__blas_scalar alpha, beta;
    int64_t count;
    long long stride[3];
    bool is_array;
};

/* ---- the kernel ---- */

static void move_on(struct ff__blas_matrix *matrix, const struct gemm_batch *batch, int which,
                    int64_t number) {
    if (batch->is_array)
        matrix->data = ((char **)(void *)matrix->data)[number];
    else
        matrix->data = ff__blas_shift(matrix->data, matrix->type, number * batch->stride[which]);
}

static int run(void *argument) {
    const struct gemm_batch *batch = argument;
    struct ff__blas_number alpha = ff__blas_number(&batch->alpha);
    struct ff__blas_number beta = ff__blas_number(&batch->beta);
    int code = 0;
    for (int64_t i = 0; i < batch->count && code == 0; i++) {
        struct ff__blas_product product = batch->product;
        move_on(&product.a, batch, 0, i);
        move_on(&product.b, batch, 1, i);
        move_on(&product.c, batch, 2, i);
        code = ff__blas_multiply(&product, alpha, beta);
    }
    return code;
}

/* ---- calls ---- */

static bool is_valid(const struct gemm_call *call) {
    return ff__blas_is_operation(call->transa) && ff__blas_is_operation(call->transb) &&
           call->m >= 0 && call->n >= 0 && call->k >= 0 && call->count >= 0 &&
           ff__blas_fits(call->m, call->k, call->transa, call->a.ld) &&
           ff__blas_fits(call->k, call->n, call->transb, call->b.ld) &&
           ff__blas_fits(call->m, call->n, CUBLAS_OP_N, call->c.ld);
}

/* As launches show it: by the type of what is multiplied. */
static const char *name_of(enum ff__blas_type type) {
    static const char *const names[] = {"hgemm", "bfgemm", "sgemm", "dgemm", "igemm"};
    if ((type & FF_BLAS_COMPLEX) != 0)
        return type == (FF_BLAS_32F | FF_BLAS_COMPLEX) ? "cgemm" : "zgemm";
    return names[type];
}

static cublasStatus_t multiply(cublasHandle_t handle, const struct gemm_call *call) {
    struct gemm_batch batch = {.count = call->count,
                               .stride = {call->a.stride, call->b.stride, call->c.stride},
                               .is_array = call->is_array};
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!is_valid(call))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (call->m == 0 || call->n == 0 || call->count == 0)
        return CUBLAS_STATUS_SUCCESS;
    cublasStatus_t status = ff__blas_scalar(handle, call->scalar, call->alpha, &batch.alpha);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = ff__blas_scalar(handle, call->scalar, call->beta, &batch.beta);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    batch.product = (struct ff__blas_product){
        .m = call->m,
        .n = call->n,
        .k = call->k,
        .a = ff__blas_of(call->a.data, call->a.type, call->a.ld, call->transa),
        .b = ff__blas_of(call->b.data, call->b.type, call->b.ld, call->transb),
        .c = ff__blas_of(call->c.data, call->c.type, call->c.ld, CUBLAS_OP_N),
        .wide = ff__blas_is_wide(call->a.type)};
    return ff__blas_launch(handle, name_of(call->a.type), run, &batch, sizeof batch);
}

/* ---- one type ---- */

#define PRODUCTS(letter, T, part, gemm)                                                            \
    cublasStatus_t cublas##letter##gemm##_64(                                                      \
        cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m,      \
        int64_t n, int64_t k, const T *alpha, const T *a, int64_t lda, const T *b, int64_t ldb,    \
        const T *beta, T *c, int64_t ldc) {                                                        \
        return multiply(handle, &(struct gemm_call){transa,                                        \
                                                    transb,                                        \
                                                    m,                                             \
                                                    n,                                             \
                                                    k,                                             \
                                                    1,                                             \
                                                    {a, part, lda, 0},                             \
                                                    {b, part, ldb, 0},                             \
                                                    {c, part, ldc, 0},                             \
                                                    alpha,                                         \
                                                    beta,                                          \
                                                    part,                                          \
                                                    false});                                       \
    }                                                                                              \
    cublasStatus_t cublas##letter##gemmBatched_64(                                                 \
        cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m,      \
        int64_t n, int64_t k, const T *alpha, const T *const a[], int64_t lda, const T *const b[], \
        int64_t ldb, const T *beta, T *const c[], int64_t ldc, int64_t count) {                    \
        return multiply(handle, &(struct gemm_call){transa,                                        \
                                                    transb,                                        \
                                                    m,                                             \
                                                    n,                                             \
                                                    k,                                             \
                                                    count,                                         \
                                                    {a, part, lda, 0},                             \
                                                    {b, part, ldb, 0},                             \
                                                    {c, part, ldc, 0},                             \
                                                    alpha,                                         \
                                                    beta,                                          \
                                                    part,                                          \
                                                    true});                                        \
    }                                                                                              \
    cublasStatus_t cublas##letter##gemmStridedBatched_64(                                          \
        cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m,      \
        int64_t n, int64_t k, const T *alpha, const T *a, int64_t lda, long long stridea,          \
        const T *b, int64_t ldb, long long strideb, const T *beta, T *c, int64_t ldc,              \
        long long stridec, int64_t count) {                                                        \
        return multiply(handle, &(struct gemm_call){transa,                                        \
                                                    transb,                                        \
                                                    m,                                             \
                                                    n,                                             \
                                                    k,                                             \
                                                    count,                                         \
                                                    {a, part, lda, stridea},                       \
                                                    {b, part, ldb, strideb},                       \
                                                    {c, part, ldc, stridec},                       \
                                                    alpha,                                         \
                                                    beta,                                          \
                                                    part,                                          \
                                                    false});                                       \
    }
PRODUCTS(H, __half, FF_BLAS_16F, gemm)
PRODUCTS(S, float, FF_BLAS_32F, gemm_v2)
PRODUCTS(D, double, FF_BLAS_64F, gemm_v2)
PRODUCTS(C, cuComplex, (FF_BLAS_32F | FF_BLAS_COMPLEX), gemm_v2)
PRODUCTS(Z, cuDoubleComplex, (FF_BLAS_64F | FF_BLAS_COMPLEX), gemm_v2)

/* ---- types that are parameters ---- */

/* What may be multiplied, by what it is computed in. */
static const struct {
    cudaDataType ab, c;
    cublasComputeType_t compute;
    enum ff__blas_type type_ab, type_c, scalar;
} supported[] = {
    {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, FF_BLAS_16F, FF_BLAS_16F, FF_BLAS_16F},
    {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, FF_BLAS_8I, FF_BLAS_32I, FF_BLAS_32I},
    {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, FF_BLAS_16BF, FF_BLAS_16BF, FF_BLAS_32F},
    {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, FF_BLAS_16F, FF_BLAS_16F, FF_BLAS_32F},
    {CUDA_R_8I, CUDA_R_32F, CUBLAS_COMPUTE_32F, FF_BLAS_8I, FF_BLAS_32F, FF_BLAS_32F},
    {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, FF_BLAS_16BF, FF_BLAS_32F, FF_BLAS_32F},
    {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, FF_BLAS_16F, FF_BLAS_32F, FF_BLAS_32F},
    {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, FF_BLAS_32F, FF_BLAS_32F, FF_BLAS_32F},
    {CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F, FF_BLAS_32F | FF_BLAS_COMPLEX,
     FF_BLAS_32F | FF_BLAS_COMPLEX, FF_BLAS_32F | FF_BLAS_COMPLEX},
    {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, FF_BLAS_64F, FF_BLAS_64F, FF_BLAS_64F},
    {CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F, FF_BLAS_64F | FF_BLAS_COMPLEX,
     FF_BLAS_64F | FF_BLAS_COMPLEX, FF_BLAS_64F | FF_BLAS_COMPLEX},
};

/* Faster ones are for the same types; here they are as exact as the others. 0: unknown. */
static cublasComputeType_t plain(cublasComputeType_t compute) {
    switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
        return CUBLAS_COMPUTE_16F;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
        return CUBLAS_COMPUTE_32F;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
        return CUBLAS_COMPUTE_64F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
        return CUBLAS_COMPUTE_32I;
    default:
        return 0;
    }
}

static cublasStatus_t multiply_types(cublasHandle_t handle, struct gemm_call *call, cudaDataType a,
                                     cudaDataType b, cudaDataType c, cublasComputeType_t compute) {
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    compute = plain(compute);
    for (size_t i = 0; i < sizeof supported / sizeof *supported; i++)
        if (supported[i].ab == a && a == b && supported[i].c == c &&
            supported[i].compute == compute) {
            call->a.type = call->b.type = supported[i].type_ab;
            call->c.type = supported[i].type_c;
            call->scalar = supported[i].scalar;
            return multiply(handle, call);
        }
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasSgemmEx_64(cublasHandle_t handle, cublasOperation_t transa,
                                cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                                const float *alpha, const void *a, cudaDataType typea, int64_t lda,
                                const void *b, cudaDataType typeb, int64_t ldb, const float *beta,
                                void *c, cudaDataType typec, int64_t ldc) {
    if (typea == CUDA_C_32F) /* with alpha and beta of one part */
        return handle == NULL ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_NOT_SUPPORTED;
    return cublasGemmEx_64(handle, transa, transb, m, n, k, alpha, a, typea, lda, b, typeb, ldb,
                           beta, c, typec, ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t transa,
                               cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                               const void *alpha, const void *a, cudaDataType typea, int64_t lda,
                               const void *b, cudaDataType typeb, int64_t ldb, const void *beta,
                               void *c, cudaDataType typec, int64_t ldc,
                               cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
    return cublasGemmStridedBatchedEx_64(handle, transa, transb, m, n, k, alpha, a, typea, lda, 0,
                                         b, typeb, ldb, 0, beta, c, typec, ldc, 0, 1, compute,
                                         algorithm);
}

cublasStatus_t cublasGemmBatchedEx_64(cublasHandle_t handle, cublasOperation_t transa,
                                      cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                                      const void *alpha, const void *const a[], cudaDataType typea,
                                      int64_t lda, const void *const b[], cudaDataType typeb,
                                      int64_t ldb, const void *beta, void *const c[],
                                      cudaDataType typec, int64_t ldc, int64_t count,
                                      cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
    struct gemm_call call = {.transa = transa,
                             .transb = transb,
                             .m = m,
                             .n = n,
                             .k = k,
                             .count = count,
                             .a = {.data = a, .ld = lda},
                             .b = {.data = b, .ld = ldb},
                             .c = {.data = c, .ld = ldc},
                             .alpha = alpha,
                             .beta = beta,
                             .is_array = true};
    (void)algorithm; /* all are the same one */
    return multiply_types(handle, &call, typea, typeb, typec, compute);
}

cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m, int64_t n,
    int64_t k, const void *alpha, const void *a, cudaDataType typea, int64_t lda, long long stridea,
    const void *b, cudaDataType typeb, int64_t ldb, long long strideb, const void *beta, void *c,
    cudaDataType typec, int64_t ldc, long long stridec, int64_t count, cublasComputeType_t compute,
    cublasGemmAlgo_t algorithm) {
    struct gemm_call call = {.transa = transa,
                             .transb = transb,
                             .m = m,
                             .n = n,
                             .k = k,
                             .count = count,
                             .a = {.data = a, .ld = lda, .stride = stridea},
                             .b = {.data = b, .ld = ldb, .stride = strideb},
                             .c = {.data = c, .ld = ldc, .stride = stridec},
                             .alpha = alpha,
                             .beta = beta};
    (void)algorithm;
    return multiply_types(handle, &call, typea, typeb, typec, compute);
}
