/* Copies of vectors and matrices between the host and the device. */
#include "cuda/blas/internal.h"

/* Rows of bytes, some bytes apart. */
struct copied_rows {
    const void *from;
    void *to;
    int64_t width, count, from_pitch, to_pitch;
};

static cublasStatus_t copy(const struct copied_rows *rows, bool waits, CUstream stream) {
    const CUDA_MEMCPY2D box = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                               .srcDevice = (uintptr_t)rows->from,
                               .srcPitch = (size_t)rows->from_pitch,
                               .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                               .dstDevice = (uintptr_t)rows->to,
                               .dstPitch = (size_t)rows->to_pitch,
                               .WidthInBytes = (size_t)rows->width,
                               .Height = (size_t)rows->count};
    if (rows->width == 0 || rows->count == 0)
        return CUBLAS_STATUS_SUCCESS;
    CUresult result = waits ? cuMemcpy2DUnaligned(&box) : cuMemcpy2DAsync(&box, stream);
    return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_INITIALIZED ||
                   result == CUDA_ERROR_INVALID_CONTEXT
               ? ff__blas_status(result)
               : CUBLAS_STATUS_MAPPING_ERROR;
}

static cublasStatus_t copy_vector(int64_t n, int64_t size, const void *x, int64_t incx, void *y,
                                  int64_t incy, bool waits, CUstream stream) {
    if (size <= 0 || incx <= 0 || incy <= 0 || n < 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    const struct copied_rows rows = {x, y, size, n, incx * size, incy * size};
    const struct copied_rows one = {x, y, n * size, 1, n * size, n * size};
    return copy(incx == 1 && incy == 1 ? &one : &rows, waits, stream);
}

static cublasStatus_t copy_matrix(int64_t rows, int64_t columns, int64_t size, const void *a,
                                  int64_t lda, void *b, int64_t ldb, bool waits, CUstream stream) {
    if (size <= 0 || rows < 0 || columns < 0 || lda <= 0 || ldb <= 0 || lda < rows || ldb < rows)
        return CUBLAS_STATUS_INVALID_VALUE;
    return copy(&(struct copied_rows){a, b, rows * size, columns, lda * size, ldb * size}, waits,
                stream);
}

/* Either way: addresses say on which side they are. */
#define EITHER_WAY(way)                                                                            \
    cublasStatus_t cublas##way##Vector_64(int64_t n, int64_t size, const void *x, int64_t incx,    \
                                          void *y, int64_t incy) {                                 \
        return copy_vector(n, size, x, incx, y, incy, true, NULL);                                 \
    }                                                                                              \
    cublasStatus_t cublas##way##VectorAsync_64(int64_t n, int64_t size, const void *x,             \
                                               int64_t incx, void *y, int64_t incy,                \
                                               cudaStream_t stream) {                              \
        return copy_vector(n, size, x, incx, y, incy, false, stream);                              \
    }                                                                                              \
    cublasStatus_t cublas##way##Matrix_64(int64_t rows, int64_t columns, int64_t size,             \
                                          const void *a, int64_t lda, void *b, int64_t ldb) {      \
        return copy_matrix(rows, columns, size, a, lda, b, ldb, true, NULL);                       \
    }                                                                                              \
    cublasStatus_t cublas##way##MatrixAsync_64(int64_t rows, int64_t columns, int64_t size,        \
                                               const void *a, int64_t lda, void *b, int64_t ldb,   \
                                               cudaStream_t stream) {                              \
        return copy_matrix(rows, columns, size, a, lda, b, ldb, false, stream);                    \
    }
EITHER_WAY(Set)
EITHER_WAY(Get)
