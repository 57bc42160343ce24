/* Matrices times diagonal ones, which are vectors. */
#include "cuda/blas/internal.h"

/* Rows that are computed with at a time; ours. */
#define CHUNK 512

struct diagonal {
    int64_t m, n;
    struct ff__blas_matrix a, x, c;
    bool left; /* the diagonal matrix stands before the other: each row has its factor */
};

/* Each number times its factor, or, with no step between factors, all times one. */
static void multiply(int64_t count, int64_t parts, const double *factors, int64_t step,
                     double *numbers) {
    for (int64_t i = 0; i < count; i++) {
        const double *factor = factors + i * step;
        double *number = numbers + i * parts, re = number[0] * factor[0];
        if (parts == 2) {
            re -= number[1] * factor[1];
            number[1] = number[0] * factor[1] + number[1] * factor[0];
        }
        number[0] = re;
    }
}

static int run(void *argument) {
    const struct diagonal *diagonal = argument;
    int64_t parts = ff__blas_parts(diagonal->a.type), step = diagonal->left ? parts : 0;
    double factors[2 * CHUNK], numbers[2 * CHUNK];
    for (int64_t j = 0; j < diagonal->n; j++)
        for (int64_t i = 0; i < diagonal->m; i += CHUNK) {
            int64_t left = diagonal->m - i, count = left < CHUNK ? left : CHUNK;
            ff__blas_load(&diagonal->x, diagonal->left ? i : j, 0, diagonal->left ? count : 1, true,
                          factors);
            ff__blas_load(&diagonal->a, i, j, count, true, numbers);
            multiply(count, parts, factors, step, numbers);
            ff__blas_store(&diagonal->c, i, j, count, true, numbers);
        }
    return 0;
}

static cublasStatus_t dgmm(cublasHandle_t handle, const char *name, enum ff__blas_type type,
                           cublasSideMode_t side, int64_t m, int64_t n, const void *a, int64_t lda,
                           const void *x, int64_t incx, void *c, int64_t ldc) {
    bool left = side == CUBLAS_SIDE_LEFT;
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if ((unsigned)side > CUBLAS_SIDE_RIGHT || m < 0 || n < 0 ||
        !ff__blas_fits(m, n, CUBLAS_OP_N, lda) || !ff__blas_fits(m, n, CUBLAS_OP_N, ldc))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (m == 0 || n == 0)
        return CUBLAS_STATUS_SUCCESS;
    const struct diagonal diagonal = {.m = m,
                                      .n = n,
                                      .a = ff__blas_of(a, type, lda, CUBLAS_OP_N),
                                      .x = ff__blas_vector(x, type, left ? m : n, incx),
                                      .c = ff__blas_of(c, type, ldc, CUBLAS_OP_N),
                                      .left = left};
    return ff__blas_launch(handle, name, run, &diagonal, sizeof diagonal);
}

#define DGMM(l, L, T, part)                                                                        \
    cublasStatus_t cublas##L##dgmm_64(cublasHandle_t handle, cublasSideMode_t side, int64_t m,     \
                                      int64_t n, const T *a, int64_t lda, const T *x,              \
                                      int64_t incx, T *c, int64_t ldc) {                           \
        return dgmm(handle, #l "dgmm", part, side, m, n, a, lda, x, incx, c, ldc);                 \
    }
DGMM(s, S, float, FF_BLAS_32F)
DGMM(d, D, double, FF_BLAS_64F)
DGMM(c, C, cuComplex, FF_BLAS_32F | FF_BLAS_COMPLEX)
DGMM(z, Z, cuDoubleComplex, FF_BLAS_64F | FF_BLAS_COMPLEX)
