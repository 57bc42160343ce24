/* Matrices with vectors, triangles and sums of matrices. */
#include "cuda/blas/internal.h"
#include "cuda/blas/product.h"
#include "cuda/blas/sum.h"
#include "cuda/blas/triangle.h"

/* ---- products ---- */

struct single {
    struct ff__blas_product product;
    struct ff__blas_scalar alpha, beta;
};

static int run_product(void *argument) {
    const struct single *single = argument;
    return ff__blas_multiply(&single->product, ff__blas_number(&single->alpha),
                             ff__blas_number(&single->beta));
}

/* What is no parameter of a call; NULL, as alpha and beta: INVALID_VALUE. */
static const double one = 1;

static cublasStatus_t multiply(cublasHandle_t handle, const char *name, enum ff__blas_type scalar,
                               const struct ff__blas_product *product, const void *alpha,
                               const void *beta) {
    struct single single = {.product = *product};
    if (product->m == 0 || product->n == 0)
        return CUBLAS_STATUS_SUCCESS;
    cublasStatus_t status = ff__blas_scalar(handle, scalar, alpha, &single.alpha);
    if (beta == &one)
        single.beta = ff__blas_constant(one);
    else if (status == CUBLAS_STATUS_SUCCESS)
        status = ff__blas_scalar(handle, scalar, beta, &single.beta);
    single.product.wide = ff__blas_is_wide(product->c.type);
    return status == CUBLAS_STATUS_SUCCESS
               ? ff__blas_launch(handle, name, run_product, &single, sizeof single)
               : status;
}

static cublasStatus_t gemv(cublasHandle_t handle, const char *name, enum ff__blas_type type,
                           cublasOperation_t trans, int64_t m, int64_t n, const void *alpha,
                           const void *a, int64_t lda, const void *x, int64_t incx,
                           const void *beta, void *y, int64_t incy) {
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!ff__blas_is_operation(trans) || m < 0 || n < 0 || incx == 0 || incy == 0 ||
        !ff__blas_fits(m, n, CUBLAS_OP_N, lda))
        return CUBLAS_STATUS_INVALID_VALUE;
    int64_t rows = ff__blas_turns(trans) ? n : m, columns = ff__blas_turns(trans) ? m : n;
    if (columns == 0)
        return CUBLAS_STATUS_SUCCESS;
    return multiply(handle, name, type,
                    &(struct ff__blas_product){.m = rows,
                                               .n = 1,
                                               .k = columns,
                                               .a = ff__blas_of(a, type, lda, trans),
                                               .b = ff__blas_vector(x, type, columns, incx),
                                               .c = ff__blas_vector(y, type, rows, incy)},
                    alpha, beta);
}

static cublasStatus_t ger(cublasHandle_t handle, const char *name, enum ff__blas_type type,
                          bool conjugate, int64_t m, int64_t n, const void *alpha, const void *x,
                          int64_t incx, const void *y, int64_t incy, void *a, int64_t lda) {
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (m < 0 || n < 0 || incx == 0 || incy == 0 || !ff__blas_fits(m, n, CUBLAS_OP_N, lda))
        return CUBLAS_STATUS_INVALID_VALUE;
    struct ff__blas_matrix column = ff__blas_vector(y, type, n, incy);
    column.conjugate = conjugate;
    return multiply(handle, name, type,
                    &(struct ff__blas_product){.m = m,
                                               .n = n,
                                               .k = 1,
                                               .a = ff__blas_vector(x, type, m, incx),
                                               .b = ff__blas_transposed(&column),
                                               .c = ff__blas_of(a, type, lda, CUBLAS_OP_N)},
                    alpha, &one);
}

/* ---- with triangles ---- */

static bool is_fill(cublasFillMode_t fill) {
    return fill == CUBLAS_FILL_MODE_LOWER || fill == CUBLAS_FILL_MODE_UPPER;
}

/* A square matrix of which a triangle is stored, op() of it. */
static struct ff__blas_matrix triangle(const void *data, enum ff__blas_type type, int64_t ld,
                                       cublasFillMode_t fill, cublasOperation_t operation,
                                       enum ff__blas_form form) {
    struct ff__blas_matrix matrix = ff__blas_of(data, type, ld, operation);
    matrix.form = form;
    matrix.is_upper = (fill == CUBLAS_FILL_MODE_UPPER) != ff__blas_turns(operation);
    return matrix;
}

static cublasStatus_t symm(cublasHandle_t handle, const char *name, enum ff__blas_type type,
                           enum ff__blas_form form, cublasSideMode_t side, cublasFillMode_t fill,
                           int64_t m, int64_t n, const void *alpha, const void *a, int64_t lda,
                           const void *b, int64_t ldb, const void *beta, void *c, int64_t ldc) {
    bool left = side == CUBLAS_SIDE_LEFT;
    int64_t size = left ? m : n;
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if ((unsigned)side > CUBLAS_SIDE_RIGHT || !is_fill(fill) || m < 0 || n < 0 ||
        !ff__blas_fits(size, size, CUBLAS_OP_N, lda) || !ff__blas_fits(m, n, CUBLAS_OP_N, ldb) ||
        !ff__blas_fits(m, n, CUBLAS_OP_N, ldc))
        return CUBLAS_STATUS_INVALID_VALUE;
    struct ff__blas_matrix square = triangle(a, type, lda, fill, CUBLAS_OP_N, form);
    struct ff__blas_matrix other = ff__blas_of(b, type, ldb, CUBLAS_OP_N);
    return multiply(handle, name, type,
                    &(struct ff__blas_product){.m = m,
                                               .n = n,
                                               .k = size,
                                               .a = left ? square : other,
                                               .b = left ? other : square,
                                               .c = ff__blas_of(c, type, ldc, CUBLAS_OP_N)},
                    alpha, beta);
}

/* With the transposed, or of Hermitian matrices with the conjugate transposed. */
static cublasStatus_t syrk(cublasHandle_t handle, const char *name, enum ff__blas_type type,
                           enum ff__blas_form form, cublasFillMode_t fill, cublasOperation_t trans,
                           int64_t n, int64_t k, const void *alpha, const void *a, int64_t lda,
                           const void *beta, void *c, int64_t ldc) {
    bool hermitian = form == FF_BLAS_HERMITIAN;
    bool is_complex = (type & FF_BLAS_COMPLEX) != 0;
    enum ff__blas_type scalar = hermitian ? type & 7 : type;
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!is_fill(fill) || (unsigned)trans > CUBLAS_OP_C || n < 0 || k < 0 ||
        (is_complex && trans == (hermitian ? CUBLAS_OP_T : CUBLAS_OP_C)) ||
        !ff__blas_fits(n, k, trans, lda) || !ff__blas_fits(n, n, CUBLAS_OP_N, ldc))
        return CUBLAS_STATUS_INVALID_VALUE;
    struct ff__blas_matrix first = ff__blas_of(a, type, lda, trans);
    struct ff__blas_matrix second = ff__blas_transposed(&first);
    second.conjugate = hermitian != first.conjugate;
    return multiply(
        handle, name, scalar,
        &(struct ff__blas_product){.m = n,
                                   .n = n,
                                   .k = k,
                                   .a = first,
                                   .b = second,
                                   .c = triangle(c, type, ldc, fill, CUBLAS_OP_N, form)},
        alpha, beta);
}

struct two_products {
    struct ff__blas_product first, second;
    struct ff__blas_scalar alpha, beta;
};

static int run_two_products(void *argument) {
    const struct two_products *both = argument;
    struct ff__blas_number alpha = ff__blas_number(&both->alpha);
    int code = ff__blas_multiply(&both->first, alpha, ff__blas_number(&both->beta));
    return code != 0 ? code
                     : ff__blas_multiply(&both->second, alpha, (struct ff__blas_number){1, 0});
}

/* Each of two matrices with the other transposed. */
static cublasStatus_t syr2k(cublasHandle_t handle, const char *name, enum ff__blas_type type,
                            cublasFillMode_t fill, cublasOperation_t trans, int64_t n, int64_t k,
                            const void *alpha, const void *a, int64_t lda, const void *b,
                            int64_t ldb, const void *beta, void *c, int64_t ldc) {
    bool is_complex = (type & FF_BLAS_COMPLEX) != 0;
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!is_fill(fill) || (unsigned)trans > CUBLAS_OP_C || n < 0 || k < 0 ||
        (is_complex && trans == CUBLAS_OP_C) || !ff__blas_fits(n, k, trans, lda) ||
        !ff__blas_fits(n, k, trans, ldb) || !ff__blas_fits(n, n, CUBLAS_OP_N, ldc))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (n == 0)
        return CUBLAS_STATUS_SUCCESS;
    struct ff__blas_matrix first = ff__blas_of(a, type, lda, trans);
    struct ff__blas_matrix second = ff__blas_of(b, type, ldb, trans);
    struct two_products both = {
        .first = {.m = n,
                  .n = n,
                  .k = k,
                  .a = first,
                  .b = ff__blas_transposed(&second),
                  .c = triangle(c, type, ldc, fill, CUBLAS_OP_N, FF_BLAS_TRIANGULAR),
                  .wide = ff__blas_is_wide(type)}};
    both.second = both.first;
    both.second.a = second;
    both.second.b = ff__blas_transposed(&first);
    cublasStatus_t status = ff__blas_scalar(handle, type, alpha, &both.alpha);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = ff__blas_scalar(handle, type, beta, &both.beta);
    return status == CUBLAS_STATUS_SUCCESS
               ? ff__blas_launch(handle, name, run_two_products, &both, sizeof both)
               : status;
}

struct triangles {
    struct ff__blas_matrix a, b, from;
    int64_t m, n, count;
    struct ff__blas_scalar alpha;
    bool solves, is_array, copies; /* from another matrix first */
};

static int run_triangles(void *argument) {
    const struct triangles *all = argument;
    struct ff__blas_number alpha = ff__blas_number(&all->alpha);
    int code = 0;
    for (int64_t i = 0; i < all->count && code == 0; i++) {
        struct ff__blas_matrix a = all->a, b = all->b;
        if (all->is_array) {
            a.data = ((char **)(void *)a.data)[i];
            b.data = ((char **)(void *)b.data)[i];
        }
        if (all->copies)
            ff__blas_add(&(struct ff__blas_sum){
                .m = all->m, .n = all->n, .a = all->from, .b = b, .c = b, .alpha = {1, 0}});
        code = ff__blas_triangle(&a, &b, all->m, all->n, alpha, all->solves);
    }
    return code;
}

struct triangle_call {
    cublasSideMode_t side;
    cublasFillMode_t fill;
    cublasOperation_t trans;
    cublasDiagType_t diagonal;
    int64_t m, n;
    const void *alpha, *a;
    int64_t lda;
    void *b;
    int64_t ldb, count;
    const void *from; /* NULL: what is at b */
    int64_t ld_from;
    bool solves, is_array;
};

static bool is_valid(const struct triangle_call *call) {
    int64_t size = call->side == CUBLAS_SIDE_LEFT ? call->m : call->n;
    return (unsigned)call->side <= CUBLAS_SIDE_RIGHT && is_fill(call->fill) &&
           ff__blas_is_operation(call->trans) && (unsigned)call->diagonal <= CUBLAS_DIAG_UNIT &&
           call->m >= 0 && call->n >= 0 && call->count >= 0 &&
           ff__blas_fits(size, size, CUBLAS_OP_N, call->lda) &&
           ff__blas_fits(call->m, call->n, CUBLAS_OP_N, call->ldb) &&
           (call->from == NULL || ff__blas_fits(call->m, call->n, CUBLAS_OP_N, call->ld_from));
}

/* On the right side it is the transposed equation. */
static cublasStatus_t apply(cublasHandle_t handle, const char *name, enum ff__blas_type type,
                            const struct triangle_call *call) {
    bool left = call->side == CUBLAS_SIDE_LEFT;
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!is_valid(call))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (call->m == 0 || call->n == 0 || call->count == 0)
        return CUBLAS_STATUS_SUCCESS;
    struct triangles all = {
        .a = triangle(call->a, type, call->lda, call->fill, call->trans, FF_BLAS_TRIANGULAR),
        .b = ff__blas_of(call->b, type, call->ldb, CUBLAS_OP_N),
        .from = ff__blas_of(call->from, type, call->ld_from, CUBLAS_OP_N),
        .m = left ? call->m : call->n,
        .n = left ? call->n : call->m,
        .count = call->count,
        .solves = call->solves,
        .is_array = call->is_array,
        .copies = call->from != NULL && call->from != call->b};
    all.a.is_unit = call->diagonal == CUBLAS_DIAG_UNIT;
    if (!left) {
        all.a = ff__blas_transposed(&all.a);
        all.b = ff__blas_transposed(&all.b);
        all.from = ff__blas_transposed(&all.from);
    }
    cublasStatus_t status = ff__blas_scalar(handle, type, call->alpha, &all.alpha);
    return status == CUBLAS_STATUS_SUCCESS
               ? ff__blas_launch(handle, name, run_triangles, &all, sizeof all)
               : status;
}

/* ---- sums ---- */

struct sum_call {
    struct ff__blas_sum sum;
    struct ff__blas_scalar alpha, beta;
};

static int run_addition(void *argument) {
    struct sum_call *addition = argument;
    addition->sum.alpha = ff__blas_number(&addition->alpha);
    addition->sum.beta = ff__blas_number(&addition->beta);
    ff__blas_add(&addition->sum);
    return 0;
}

static cublasStatus_t geam(cublasHandle_t handle, const char *name, enum ff__blas_type type,
                           cublasOperation_t transa, cublasOperation_t transb, int64_t m, int64_t n,
                           const void *alpha, const void *a, int64_t lda, const void *beta,
                           const void *b, int64_t ldb, void *c, int64_t ldc) {
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!ff__blas_is_operation(transa) || !ff__blas_is_operation(transb) || m < 0 || n < 0 ||
        !ff__blas_fits(m, n, transa, lda) || !ff__blas_fits(m, n, transb, ldb) ||
        !ff__blas_fits(m, n, CUBLAS_OP_N, ldc) ||
        (c == a && (lda != ldc || transa != CUBLAS_OP_N)) ||
        (c == b && (ldb != ldc || transb != CUBLAS_OP_N)))
        return CUBLAS_STATUS_INVALID_VALUE;
    struct sum_call addition = {.sum = {.m = m,
                                        .n = n,
                                        .a = ff__blas_of(a, type, lda, transa),
                                        .b = ff__blas_of(b, type, ldb, transb),
                                        .c = ff__blas_of(c, type, ldc, CUBLAS_OP_N)}};
    if (m == 0 || n == 0)
        return CUBLAS_STATUS_SUCCESS;
    cublasStatus_t status = ff__blas_scalar(handle, type, alpha, &addition.alpha);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = ff__blas_scalar(handle, type, beta, &addition.beta);
    return status == CUBLAS_STATUS_SUCCESS
               ? ff__blas_launch(handle, name, run_addition, &addition, sizeof addition)
               : status;
}

/* ---- all of one type ---- */

#define GER(symbol, name, T, part, is_conjugate)                                                   \
    cublasStatus_t symbol(cublasHandle_t handle, int64_t m, int64_t n, const T *alpha, const T *x, \
                          int64_t incx, const T *y, int64_t incy, T *a, int64_t lda) {             \
        return ger(handle, name, part, is_conjugate, m, n, alpha, x, incx, y, incy, a, lda);       \
    }
#define SYMM(symbol, name, T, part, form)                                                          \
    cublasStatus_t symbol(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,     \
                          int64_t m, int64_t n, const T *alpha, const T *a, int64_t lda,           \
                          const T *b, int64_t ldb, const T *beta, T *c, int64_t ldc) {             \
        return symm(handle, name, part, form, side, fill, m, n, alpha, a, lda, b, ldb, beta, c,    \
                    ldc);                                                                          \
    }
#define SYRK(symbol, name, T, A, part, form)                                                       \
    cublasStatus_t symbol(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t trans,   \
                          int64_t n, int64_t k, const A *alpha, const T *a, int64_t lda,           \
                          const A *beta, T *c, int64_t ldc) {                                      \
        return syrk(handle, name, part, form, fill, trans, n, k, alpha, a, lda, beta, c, ldc);     \
    }
#define MATRICES(l, L, T, part)                                                                    \
    cublasStatus_t cublas##L##gemv_v2_64(                                                          \
        cublasHandle_t handle, cublasOperation_t trans, int64_t m, int64_t n, const T *alpha,      \
        const T *a, int64_t lda, const T *x, int64_t incx, const T *beta, T *y, int64_t incy) {    \
        return gemv(handle, #l "gemv", part, trans, m, n, alpha, a, lda, x, incx, beta, y, incy);  \
    }                                                                                              \
    cublasStatus_t cublas##L##trsm_v2_64(                                                          \
        cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,                       \
        cublasOperation_t trans, cublasDiagType_t diagonal, int64_t m, int64_t n, const T *alpha,  \
        const T *a, int64_t lda, T *b, int64_t ldb) {                                              \
        return apply(handle, #l "trsm", part,                                                      \
                     &(struct triangle_call){side, fill, trans, diagonal, m, n, alpha, a, lda, b,  \
                                             ldb, 1, NULL, 0, true, false});                       \
    }                                                                                              \
    cublasStatus_t cublas##L##trsmBatched_64(                                                      \
        cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,                       \
        cublasOperation_t trans, cublasDiagType_t diagonal, int64_t m, int64_t n, const T *alpha,  \
        const T *const a[], int64_t lda, T *const b[], int64_t ldb, int64_t count) {               \
        return apply(handle, #l "trsm", part,                                                      \
                     &(struct triangle_call){side, fill, trans, diagonal, m, n, alpha, a, lda,     \
                                             (void *)(uintptr_t)b, ldb, count, NULL, 0, true,      \
                                             true});                                               \
    }                                                                                              \
    cublasStatus_t cublas##L##trmm_v2_64(                                                          \
        cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,                       \
        cublasOperation_t trans, cublasDiagType_t diagonal, int64_t m, int64_t n, const T *alpha,  \
        const T *a, int64_t lda, const T *b, int64_t ldb, T *c, int64_t ldc) {                     \
        return apply(handle, #l "trmm", part,                                                      \
                     &(struct triangle_call){side, fill, trans, diagonal, m, n, alpha, a, lda, c,  \
                                             ldc, 1, b, ldb, false, false});                       \
    }                                                                                              \
    cublasStatus_t cublas##L##syr2k_v2_64(cublasHandle_t handle, cublasFillMode_t fill,            \
                                          cublasOperation_t trans, int64_t n, int64_t k,           \
                                          const T *alpha, const T *a, int64_t lda, const T *b,     \
                                          int64_t ldb, const T *beta, T *c, int64_t ldc) {         \
        return syr2k(handle, #l "syr2k", part, fill, trans, n, k, alpha, a, lda, b, ldb, beta, c,  \
                     ldc);                                                                         \
    }                                                                                              \
    cublasStatus_t cublas##L##geam_64(cublasHandle_t handle, cublasOperation_t transa,             \
                                      cublasOperation_t transb, int64_t m, int64_t n,              \
                                      const T *alpha, const T *a, int64_t lda, const T *beta,      \
                                      const T *b, int64_t ldb, T *c, int64_t ldc) {                \
        return geam(handle, #l "geam", part, transa, transb, m, n, alpha, a, lda, beta, b, ldb, c, \
                    ldc);                                                                          \
    }                                                                                              \
    SYMM(cublas##L##symm_v2_64, #l "symm", T, part, FF_BLAS_SYMMETRIC)                             \
    SYRK(cublas##L##syrk_v2_64, #l "syrk", T, T, part, FF_BLAS_TRIANGULAR)

#define COMPLEX_32F (FF_BLAS_32F | FF_BLAS_COMPLEX)
#define COMPLEX_64F (FF_BLAS_64F | FF_BLAS_COMPLEX)
MATRICES(s, S, float, FF_BLAS_32F)
MATRICES(d, D, double, FF_BLAS_64F)
MATRICES(c, C, cuComplex, COMPLEX_32F)
MATRICES(z, Z, cuDoubleComplex, COMPLEX_64F)
GER(cublasSger_v2_64, "sger", float, FF_BLAS_32F, false)
GER(cublasDger_v2_64, "dger", double, FF_BLAS_64F, false)
GER(cublasCgeru_v2_64, "cgeru", cuComplex, COMPLEX_32F, false)
GER(cublasCgerc_v2_64, "cgerc", cuComplex, COMPLEX_32F, true)
GER(cublasZgeru_v2_64, "zgeru", cuDoubleComplex, COMPLEX_64F, false)
GER(cublasZgerc_v2_64, "zgerc", cuDoubleComplex, COMPLEX_64F, true)
SYMM(cublasChemm_v2_64, "chemm", cuComplex, COMPLEX_32F, FF_BLAS_HERMITIAN)
SYMM(cublasZhemm_v2_64, "zhemm", cuDoubleComplex, COMPLEX_64F, FF_BLAS_HERMITIAN)
SYRK(cublasCherk_v2_64, "cherk", cuComplex, float, COMPLEX_32F, FF_BLAS_HERMITIAN)
SYRK(cublasZherk_v2_64, "zherk", cuDoubleComplex, double, COMPLEX_64F, FF_BLAS_HERMITIAN)
