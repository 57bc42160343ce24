/* Matrices with vectors, triangles and sums against naive loops, in each type. What may not be read
 * is not a number. */
#include "cuda/blas.h"

static bool is_64; /* sizes */
#define EITHER(name, ...) (is_64 ? name##_64(handle, __VA_ARGS__) : name(handle, __VA_ARGS__))

/* ---- the functions by type ---- */

struct api {
    cudaDataType type, part;
    cublasStatus_t (*gemv)(cublasOperation_t trans, int m, int n, const void *alpha, const void *a,
                           int lda, const void *x, int incx, const void *beta, void *y, int incy);
    cublasStatus_t (*ger)(int m, int n, const void *alpha, const void *x, int incx, const void *y,
                          int incy, void *a, int lda);
    cublasStatus_t (*gerc)(int m, int n, const void *alpha, const void *x, int incx, const void *y,
                           int incy, void *a, int lda);
    cublasStatus_t (*symm)(cublasSideMode_t side, cublasFillMode_t fill, int m, int n,
                           const void *alpha, const void *a, int lda, const void *b, int ldb,
                           const void *beta, void *c, int ldc);
    cublasStatus_t (*hemm)(cublasSideMode_t side, cublasFillMode_t fill, int m, int n,
                           const void *alpha, const void *a, int lda, const void *b, int ldb,
                           const void *beta, void *c, int ldc);
    cublasStatus_t (*syrk)(cublasFillMode_t fill, cublasOperation_t trans, int n, int k,
                           const void *alpha, const void *a, int lda, const void *beta, void *c,
                           int ldc);
    cublasStatus_t (*syr2k)(cublasFillMode_t fill, cublasOperation_t trans, int n, int k,
                            const void *alpha, const void *a, int lda, const void *b, int ldb,
                            const void *beta, void *c, int ldc);
    cublasStatus_t (*dgmm)(cublasSideMode_t side, int m, int n, const void *a, int lda,
                           const void *x, int incx, void *c, int ldc);
    cublasStatus_t (*herk)(cublasFillMode_t fill, cublasOperation_t trans, int n, int k,
                           const void *alpha, const void *a, int lda, const void *beta, void *c,
                           int ldc);
    cublasStatus_t (*trmm)(cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t trans,
                           cublasDiagType_t diagonal, int m, int n, const void *alpha,
                           const void *a, int lda, const void *b, int ldb, void *c, int ldc);
    cublasStatus_t (*trsm)(cublasSideMode_t side, cublasFillMode_t fill, cublasOperation_t trans,
                           cublasDiagType_t diagonal, int m, int n, const void *alpha,
                           const void *a, int lda, void *b, int ldb);
    cublasStatus_t (*trsm_batched)(cublasSideMode_t side, cublasFillMode_t fill,
                                   cublasOperation_t trans, cublasDiagType_t diagonal, int m, int n,
                                   const void *alpha, const void *a, int lda, const void *b,
                                   int ldb, int count);
    cublasStatus_t (*geam)(cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                           const void *alpha, const void *a, int lda, const void *beta,
                           const void *b, int ldb, void *c, int ldc);
};

#define GER(L, name)                                                                               \
    static cublasStatus_t L##_##name(int m, int n, const void *alpha, const void *x, int incx,     \
                                     const void *y, int incy, void *a, int lda) {                  \
        return EITHER(cublas##L##name, m, n, alpha, x, incx, y, incy, a, lda);                     \
    }
#define SYMM(L, name)                                                                              \
    static cublasStatus_t L##_##name(cublasSideMode_t side, cublasFillMode_t fill, int m, int n,   \
                                     const void *alpha, const void *a, int lda, const void *b,     \
                                     int ldb, const void *beta, void *c, int ldc) {                \
        return EITHER(cublas##L##name, side, fill, m, n, alpha, a, lda, b, ldb, beta, c, ldc);     \
    }
#define SYRK(L, name)                                                                              \
    static cublasStatus_t L##_##name(cublasFillMode_t fill, cublasOperation_t trans, int n, int k, \
                                     const void *alpha, const void *a, int lda, const void *beta,  \
                                     void *c, int ldc) {                                           \
        return EITHER(cublas##L##name, fill, trans, n, k, alpha, a, lda, beta, c, ldc);            \
    }
#define TYPE(L)                                                                                    \
    static cublasStatus_t L##_gemv(cublasOperation_t trans, int m, int n, const void *alpha,       \
                                   const void *a, int lda, const void *x, int incx,                \
                                   const void *beta, void *y, int incy) {                          \
        return EITHER(cublas##L##gemv, trans, m, n, alpha, a, lda, x, incx, beta, y, incy);        \
    }                                                                                              \
    static cublasStatus_t L##_trmm(cublasSideMode_t side, cublasFillMode_t fill,                   \
                                   cublasOperation_t trans, cublasDiagType_t diagonal, int m,      \
                                   int n, const void *alpha, const void *a, int lda,               \
                                   const void *b, int ldb, void *c, int ldc) {                     \
        return EITHER(cublas##L##trmm, side, fill, trans, diagonal, m, n, alpha, a, lda, b, ldb,   \
                      c, ldc);                                                                     \
    }                                                                                              \
    static cublasStatus_t L##_trsm(cublasSideMode_t side, cublasFillMode_t fill,                   \
                                   cublasOperation_t trans, cublasDiagType_t diagonal, int m,      \
                                   int n, const void *alpha, const void *a, int lda, void *b,      \
                                   int ldb) {                                                      \
        return EITHER(cublas##L##trsm, side, fill, trans, diagonal, m, n, alpha, a, lda, b, ldb);  \
    }                                                                                              \
    static cublasStatus_t L##_trsm_batched(cublasSideMode_t side, cublasFillMode_t fill,           \
                                           cublasOperation_t trans, cublasDiagType_t diagonal,     \
                                           int m, int n, const void *alpha, const void *a,         \
                                           int lda, const void *b, int ldb, int count) {           \
        return EITHER(cublas##L##trsmBatched, side, fill, trans, diagonal, m, n, alpha, a, lda,    \
                      (void *)(uintptr_t)b, ldb, count);                                           \
    }                                                                                              \
    static cublasStatus_t L##_geam(cublasOperation_t transa, cublasOperation_t transb, int m,      \
                                   int n, const void *alpha, const void *a, int lda,               \
                                   const void *beta, const void *b, int ldb, void *c, int ldc) {   \
        return EITHER(cublas##L##geam, transa, transb, m, n, alpha, a, lda, beta, b, ldb, c, ldc); \
    }                                                                                              \
    static cublasStatus_t L##_syr2k(cublasFillMode_t fill, cublasOperation_t trans, int n, int k,  \
                                    const void *alpha, const void *a, int lda, const void *b,      \
                                    int ldb, const void *beta, void *c, int ldc) {                 \
        return EITHER(cublas##L##syr2k, fill, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc);   \
    }                                                                                              \
    static cublasStatus_t L##_dgmm(cublasSideMode_t side, int m, int n, const void *a, int lda,    \
                                   const void *x, int incx, void *c, int ldc) {                    \
        return EITHER(cublas##L##dgmm, side, m, n, a, lda, x, incx, c, ldc);                       \
    }                                                                                              \
    SYMM(L, symm)                                                                                  \
    SYRK(L, syrk)
TYPE(S)
TYPE(D)
TYPE(C)
TYPE(Z)
GER(S, ger)
GER(D, ger)
GER(C, geru)
GER(C, gerc)
GER(Z, geru)
GER(Z, gerc)
SYMM(C, hemm)
SYMM(Z, hemm)
SYRK(C, herk)
SYRK(Z, herk)

#define API(L, type, part, ger, gerc, hemm, herk)                                                  \
    {                                                                                              \
        type, part, L##_gemv, ger, gerc, L##_symm, hemm, L##_syrk, L##_syr2k, L##_dgmm, herk,      \
            L##_trmm, L##_trsm, L##_trsm_batched, L##_geam                                         \
    }
static const struct api apis[] = {
    API(S, CUDA_R_32F, CUDA_R_32F, S_ger, NULL, NULL, NULL),
    API(D, CUDA_R_64F, CUDA_R_64F, D_ger, NULL, NULL, NULL),
    API(C, CUDA_C_32F, CUDA_R_32F, C_geru, C_gerc, C_hemm, C_herk),
    API(Z, CUDA_C_64F, CUDA_R_64F, Z_geru, Z_gerc, Z_hemm, Z_herk),
};
#define APIS (sizeof apis / sizeof *apis)

/* ---- matrices ---- */

/* In the memory of a program, and as it was before: rows x columns numbers. */
struct matrix {
    cudaDataType type;
    int rows, columns, ld;
    void *data;
    number *before;
};

static number *at(const struct matrix *matrix, int i, int j) {
    return &matrix->before[i + j * matrix->rows];
}

static void put_at(const struct matrix *matrix, int i, int j, number value) {
    put(matrix->type, matrix->data, (size_t)i + (size_t)j * (size_t)matrix->ld, value);
    *at(matrix, i, j) = value;
}

static struct matrix matrix_of(struct ff__random *random, cudaDataType type, int rows,
                               int columns) {
    struct matrix matrix = {type, rows, columns, rows + (int)ff__random_below(random, 3),
                            NULL, NULL};
    if (matrix.ld == 0)
        matrix.ld = 1;
    matrix.data = case_memory((size_t)matrix.ld * (size_t)columns * size_of(type));
    matrix.before = calloc((size_t)rows * (size_t)columns + 1, sizeof *matrix.before);
    for (int j = 0; j < columns; j++) {
        for (int i = rows; i < matrix.ld; i++)
            put(type, matrix.data, (size_t)i + (size_t)j * (size_t)matrix.ld, NAN);
        for (int i = 0; i < rows; i++)
            put_at(&matrix, i, j, whole(random, type));
    }
    return matrix;
}

static number *numbers(int rows, int columns) {
    return calloc((size_t)rows * (size_t)columns + 1, sizeof(number));
}

static void check(const struct matrix *matrix, const number *expected, const char *what) {
    for (int j = 0; j < matrix->columns; j++)
        for (int i = 0; i < matrix->ld; i++) {
            number got =
                get(matrix->type, matrix->data, (size_t)i + (size_t)j * (size_t)matrix->ld);
            number wanted = i < matrix->rows ? expected[i + j * matrix->rows] : NAN;
            if (got == wanted || (isnan(creal(got)) && isnan(creal(wanted))))
                continue;
            fail_msg("%s: type %d, %d x %d: (%d, %d): %g + %gi instead of %g + %gi", what,
                     matrix->type, matrix->rows, matrix->columns, i, j, creal(got), cimag(got),
                     creal(wanted), cimag(wanted));
        }
}

/* op() of what is stored. */
static number element(const struct matrix *matrix, cublasOperation_t operation, int i, int j) {
    number value = operation == CUBLAS_OP_T || operation == CUBLAS_OP_C ? *at(matrix, j, i)
                                                                        : *at(matrix, i, j);
    return operation >= CUBLAS_OP_C ? conj(value) : value;
}

static bool turns(cublasOperation_t operation) {
    return operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

/* Factors: in the host's memory, or the device's. */
static char host_factors[2][16];
static void *factor(cudaDataType type, int which, number value, bool on_device) {
    void *at = on_device ? case_memory(16) : host_factors[which];
    put(type, at, 0, value);
    OK(cublasSetPointerMode(handle,
                            on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST));
    return at;
}

struct test_case {
    const struct api *api;
    struct ff__random *random;
    int m, n, k;
    cublasOperation_t transa, transb;
    cublasSideMode_t side;
    cublasFillMode_t fill;
    cublasDiagType_t diagonal;
    number alpha, beta;
    bool on_device;
};

#define FACTOR(which, value) factor(c->api->type, which, c->value, c->on_device)
#define FREE(...)                                                                                  \
    do {                                                                                           \
        void *all[] = {__VA_ARGS__};                                                               \
        for (size_t f = 0; f < sizeof all / sizeof *all; f++)                                      \
            free(all[f]);                                                                          \
        case_end();                                                                                \
    } while (0)

/* ---- with vectors ---- */

/* A vector is a matrix of one row, whose columns are its steps apart. */
static struct matrix vector_of(const struct test_case *c, int n, int step) {
    struct matrix vector = matrix_of(c->random, c->api->type, 1, n * abs(step) + 1);
    if (vector.ld != 1) {
        free(vector.before);
        return vector_of(c, n, step);
    }
    return vector;
}

static int place(int n, int step, int i) {
    return (step > 0 ? i : i + 1 - n) * step;
}

static int any_step(const struct test_case *c) {
    static const int steps[] = {1, 2, -1, -3};
    return steps[ff__random_below(c->random, 4)];
}

static void check_gemv(const struct test_case *c) {
    int incx = any_step(c), incy = any_step(c);
    int rows = turns(c->transa) ? c->n : c->m, columns = turns(c->transa) ? c->m : c->n;
    struct matrix a = matrix_of(c->random, c->api->type, c->m, c->n);
    struct matrix x = vector_of(c, columns, incx), y = vector_of(c, rows, incy);
    number *expected = numbers(1, y.columns);
    memcpy(expected, y.before, (size_t)y.columns * sizeof *expected);
    for (int i = 0; i < rows && columns != 0; i++) {
        number *out = &expected[place(rows, incy, i)], sum = 0;
        for (int j = 0; j < columns; j++)
            sum += element(&a, c->transa, i, j) * x.before[place(columns, incx, j)];
        *out = c->alpha * sum + (c->beta != 0 ? c->beta * *out : 0);
    }
    OK(c->api->gemv(c->transa, c->m, c->n, FACTOR(0, alpha), a.data, a.ld, x.data, incx,
                    FACTOR(1, beta), y.data, incy));
    wait_for_all();
    check(&y, expected, "gemv");
    FREE(a.before, x.before, y.before, expected);
}

static void check_ger(const struct test_case *c) {
    for (int conjugate = 0; conjugate <= (c->api->gerc != NULL); conjugate++) {
        int incx = any_step(c), incy = any_step(c);
        struct matrix a = matrix_of(c->random, c->api->type, c->m, c->n);
        struct matrix x = vector_of(c, c->m, incx), y = vector_of(c, c->n, incy);
        number *expected = numbers(c->m, c->n);
        for (int j = 0; j < c->n; j++)
            for (int i = 0; i < c->m; i++) {
                number other = y.before[place(c->n, incy, j)];
                expected[i + j * c->m] = *at(&a, i, j) + c->alpha * x.before[place(c->m, incx, i)] *
                                                             (conjugate ? conj(other) : other);
            }
        OK((conjugate ? c->api->gerc : c->api->ger)(c->m, c->n, FACTOR(0, alpha), x.data, incx,
                                                    y.data, incy, a.data, a.ld));
        wait_for_all();
        check(&a, expected, conjugate ? "gerc" : "ger");
        FREE(a.before, x.before, y.before, expected);
    }
}

/* ---- with triangles ---- */

static bool is_stored(cublasFillMode_t fill, int i, int j) {
    return fill == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j;
}

/* What is not stored is not a number, in memory alone. */
static void spoil(const struct matrix *a, cublasFillMode_t fill, bool diagonal) {
    for (int j = 0; j < a->columns; j++)
        for (int i = 0; i < a->rows; i++)
            if (!is_stored(fill, i, j) || (diagonal && i == j))
                put(a->type, a->data, (size_t)i + (size_t)j * (size_t)a->ld, NAN);
}

static void check_symm(const struct test_case *c) {
    bool left = c->side == CUBLAS_SIDE_LEFT;
    int size = left ? c->m : c->n;
    for (int hermitian = 0; hermitian <= (c->api->hemm != NULL); hermitian++) {
        struct matrix a = matrix_of(c->random, c->api->type, size, size);
        struct matrix b = matrix_of(c->random, c->api->type, c->m, c->n);
        struct matrix out = matrix_of(c->random, c->api->type, c->m, c->n);
        for (int j = 0; j < size; j++)
            for (int i = 0; i < size; i++)
                if (!is_stored(c->fill, i, j))
                    *at(&a, i, j) = hermitian ? conj(*at(&a, j, i)) : *at(&a, j, i);
                else if (hermitian && i == j)
                    *at(&a, i, j) = creal(*at(&a, i, j));
        spoil(&a, c->fill, false);
        number *expected = numbers(c->m, c->n);
        for (int j = 0; j < c->n; j++)
            for (int i = 0; i < c->m; i++) {
                number sum = 0;
                for (int l = 0; l < size; l++)
                    sum += left ? *at(&a, i, l) * *at(&b, l, j) : *at(&b, i, l) * *at(&a, l, j);
                expected[i + j * c->m] = c->alpha * sum + c->beta * *at(&out, i, j);
            }
        OK((hermitian ? c->api->hemm : c->api->symm)(c->side, c->fill, c->m, c->n, FACTOR(0, alpha),
                                                     a.data, a.ld, b.data, b.ld, FACTOR(1, beta),
                                                     out.data, out.ld));
        wait_for_all();
        check(&out, expected, hermitian ? "hemm" : "symm");
        FREE(a.before, b.before, out.before, expected);
    }
}

static void check_syrk(const struct test_case *c) {
    for (int hermitian = 0; hermitian <= (c->api->herk != NULL); hermitian++) {
        bool turned = turns(c->transa);
        cublasOperation_t trans = !turned ? CUBLAS_OP_N : hermitian ? CUBLAS_OP_C : CUBLAS_OP_T;
        struct matrix a =
            matrix_of(c->random, c->api->type, turned ? c->k : c->n, turned ? c->n : c->k);
        struct matrix out = matrix_of(c->random, c->api->type, c->n, c->n);
        number *expected = numbers(c->n, c->n);
        cudaDataType scalar = hermitian ? c->api->part : c->api->type;
        number alpha = hermitian ? creal(c->alpha) : c->alpha;
        number beta = hermitian ? creal(c->beta) : c->beta;
        for (int j = 0; j < c->n; j++)
            for (int i = 0; i < c->n; i++) {
                number sum = 0, old = *at(&out, i, j);
                for (int l = 0; l < c->k; l++) {
                    number other = element(&a, trans, j, l);
                    sum += element(&a, trans, i, l) * (hermitian ? conj(other) : other);
                }
                if (hermitian && i == j)
                    old = creal(old);
                expected[i + j * c->n] =
                    is_stored(c->fill, i, j) ? alpha * sum + (beta != 0 ? beta * old : 0) : NAN;
            }
        spoil(&out, c->fill, false);
        OK((hermitian ? c->api->herk : c->api->syrk)(
            c->fill, trans, c->n, c->k, factor(scalar, 0, alpha, c->on_device), a.data, a.ld,
            factor(scalar, 1, beta, c->on_device), out.data, out.ld));
        wait_for_all();
        check(&out, expected, hermitian ? "herk" : "syrk");
        FREE(a.before, out.before, expected);
    }
}

static void check_syr2k(const struct test_case *c) {
    cublasOperation_t trans = turns(c->transa) ? CUBLAS_OP_T : CUBLAS_OP_N;
    int rows = turns(trans) ? c->k : c->n, columns = turns(trans) ? c->n : c->k;
    struct matrix a = matrix_of(c->random, c->api->type, rows, columns);
    struct matrix b = matrix_of(c->random, c->api->type, rows, columns);
    struct matrix out = matrix_of(c->random, c->api->type, c->n, c->n);
    number *expected = numbers(c->n, c->n);
    for (int j = 0; j < c->n; j++)
        for (int i = 0; i < c->n; i++) {
            number sum = 0, old = *at(&out, i, j);
            for (int l = 0; l < c->k; l++)
                sum += element(&a, trans, i, l) * element(&b, trans, j, l) +
                       element(&b, trans, i, l) * element(&a, trans, j, l);
            expected[i + j * c->n] = is_stored(c->fill, i, j)
                                         ? c->alpha * sum + (c->beta != 0 ? c->beta * old : 0)
                                         : NAN;
        }
    spoil(&out, c->fill, false);
    OK(c->api->syr2k(c->fill, trans, c->n, c->k, FACTOR(0, alpha), a.data, a.ld, b.data, b.ld,
                     FACTOR(1, beta), out.data, out.ld));
    wait_for_all();
    check(&out, expected, "syr2k");
    FREE(a.before, b.before, out.before, expected);
}

/* A triangle whose equations are solved exactly: divided by 1, -1 or 2, and few others. */
static struct matrix triangle_of(const struct test_case *c, int size) {
    struct matrix a = matrix_of(c->random, c->api->type, size, size);
    for (int j = 0; j < size; j++)
        for (int i = 0; i < size; i++) {
            if (!is_stored(c->fill, i, j))
                *at(&a, i, j) = 0;
            else if (i == j)
                put_at(&a, i, j, (number[]){1, -1, 2}[ff__random_below(c->random, 3)]);
            else if (size > 20 && ff__random_below(c->random, 50) != 0)
                put_at(&a, i, j, 0);
            if (i == j && c->diagonal == CUBLAS_DIAG_UNIT)
                *at(&a, i, j) = 1;
        }
    spoil(&a, c->fill, c->diagonal == CUBLAS_DIAG_UNIT);
    return a;
}

/* alpha op(a) x, or on the other side. */
static number *applied(const struct test_case *c, const struct matrix *a, const struct matrix *x,
                       number alpha) {
    number *out = numbers(c->m, c->n);
    bool left = c->side == CUBLAS_SIDE_LEFT;
    for (int j = 0; j < c->n; j++)
        for (int i = 0; i < c->m; i++) {
            number sum = 0;
            for (int l = 0; l < (left ? c->m : c->n); l++)
                sum += left ? element(a, c->transa, i, l) * *at(x, l, j)
                            : *at(x, i, l) * element(a, c->transa, l, j);
            out[i + j * c->m] = alpha * sum;
        }
    return out;
}

static void check_trmm(const struct test_case *c) {
    for (int in_place = 0; in_place < 2; in_place++) {
        struct matrix a = triangle_of(c, c->side == CUBLAS_SIDE_LEFT ? c->m : c->n);
        struct matrix b = matrix_of(c->random, c->api->type, c->m, c->n);
        struct matrix out = matrix_of(c->random, c->api->type, c->m, c->n);
        struct matrix *to = in_place ? &b : &out;
        number *expected = applied(c, &a, &b, c->alpha);
        OK(c->api->trmm(c->side, c->fill, c->transa, c->diagonal, c->m, c->n, FACTOR(0, alpha),
                        a.data, a.ld, b.data, b.ld, to->data, to->ld));
        wait_for_all();
        check(to, expected, "trmm");
        FREE(a.before, b.before, out.before, expected);
    }
}

/* What a solution gives, with a factor that is its own inverse. */
static void check_trsm(const struct test_case *c) {
    number alpha = creal(c->alpha) < 0 ? -1 : 1;
    struct matrix a = triangle_of(c, c->side == CUBLAS_SIDE_LEFT ? c->m : c->n);
    struct matrix x = matrix_of(c->random, c->api->type, c->m, c->n);
    number *b = applied(c, &a, &x, alpha);
    for (int j = 0; j < c->n; j++)
        for (int i = 0; i < c->m; i++)
            put(c->api->type, x.data, (size_t)i + (size_t)j * (size_t)x.ld, b[i + j * c->m]);
    OK(c->api->trsm(c->side, c->fill, c->transa, c->diagonal, c->m, c->n,
                    factor(c->api->type, 0, alpha, c->on_device), a.data, a.ld, x.data, x.ld));
    wait_for_all();
    check(&x, x.before, "trsm");
    FREE(a.before, x.before, b);
}

static void check_trsm_batched(const struct test_case *c) {
    struct matrix a = triangle_of(c, c->side == CUBLAS_SIDE_LEFT ? c->m : c->n);
    struct matrix x[2] = {matrix_of(c->random, c->api->type, c->m, c->n), {0}};
    x[1] = x[0];
    x[1].data = case_memory((size_t)(x[0].ld * c->n) * size_of(c->api->type));
    number *b = applied(c, &a, &x[0], 1);
    void **as = case_memory(2 * sizeof *as), **xs = case_memory(2 * sizeof *xs);
    for (int i = 0; i < 2; i++) {
        as[i] = a.data;
        xs[i] = x[i].data;
        memcpy(x[i].data, x[0].data, (size_t)(x[0].ld * c->n) * size_of(c->api->type));
        for (int e = 0; e < c->m * c->n; e++)
            put(c->api->type, x[i].data, (size_t)(e % c->m) + (size_t)(e / c->m) * (size_t)x[i].ld,
                b[e]);
    }
    OK(c->api->trsm_batched(c->side, c->fill, c->transa, c->diagonal, c->m, c->n,
                            factor(c->api->type, 0, 1, c->on_device), as, a.ld, xs, x[0].ld, 2));
    wait_for_all();
    check(&x[0], x[0].before, "trsmBatched");
    check(&x[1], x[0].before, "trsmBatched");
    FREE(a.before, x[0].before, b);
}

/* ---- diagonal matrices and sums ---- */

static void check_dgmm(const struct test_case *c) {
    bool left = c->side == CUBLAS_SIDE_LEFT;
    int size = left ? c->m : c->n, step = any_step(c);
    struct matrix a = matrix_of(c->random, c->api->type, c->m, c->n);
    struct matrix x = vector_of(c, size, step);
    struct matrix out = matrix_of(c->random, c->api->type, c->m, c->n);
    number *expected = numbers(c->m, c->n);
    for (int j = 0; j < c->n; j++)
        for (int i = 0; i < c->m; i++)
            expected[i + j * c->m] = *at(&a, i, j) * x.before[place(size, step, left ? i : j)];
    OK(c->api->dgmm(c->side, c->m, c->n, a.data, a.ld, x.data, step, out.data, out.ld));
    wait_for_all();
    check(&out, expected, "dgmm");
    OK(c->api->dgmm(c->side, c->m, c->n, a.data, a.ld, x.data, step, a.data, a.ld));
    wait_for_all();
    check(&a, expected, "dgmm in place");
    FREE(a.before, x.before, out.before, expected);
}

static void check_geam(const struct test_case *c) {
    bool turned_a = turns(c->transa), turned_b = turns(c->transb);
    struct matrix a =
        matrix_of(c->random, c->api->type, turned_a ? c->n : c->m, turned_a ? c->m : c->n);
    struct matrix b =
        matrix_of(c->random, c->api->type, turned_b ? c->n : c->m, turned_b ? c->m : c->n);
    struct matrix out = matrix_of(c->random, c->api->type, c->m, c->n);
    number *expected = numbers(c->m, c->n);
    for (int j = 0; j < c->n; j++)
        for (int i = 0; i < c->m; i++)
            expected[i + j * c->m] =
                c->alpha * element(&a, c->transa, i, j) + c->beta * element(&b, c->transb, i, j);
    OK(c->api->geam(c->transa, c->transb, c->m, c->n, FACTOR(0, alpha),
                    c->alpha != 0 ? a.data : NULL, a.ld, FACTOR(1, beta),
                    c->beta != 0 ? b.data : NULL, b.ld, out.data, out.ld));
    wait_for_all();
    check(&out, expected, "geam");
    if (c->transa == CUBLAS_OP_N) { /* in place */
        OK(c->api->geam(CUBLAS_OP_N, c->transb, c->m, c->n, FACTOR(0, alpha), a.data, a.ld,
                        FACTOR(1, beta), b.data, b.ld, a.data, a.ld));
        wait_for_all();
        check(&a, expected, "geam in place");
    }
    FREE(a.before, b.before, out.before, expected);
}

/* ---- the tests ---- */

static void run_all(const struct test_case *c) {
    void (*const checks[])(const struct test_case *c) = {
        check_gemv, check_ger,  check_symm,         check_syrk, check_syr2k,
        check_trmm, check_trsm, check_trsm_batched, check_dgmm, check_geam,
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        checks[i](c);
    OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
}

static struct test_case any_case(const struct api *api, struct ff__random *random) {
    static const int sizes[] = {0, 1, 2, 3, 5, 9, 17};
#define ANY(count) ff__random_below(random, count)
    is_64 = ANY(2) != 0;
    return (struct test_case){.api = api,
                              .random = random,
                              .m = sizes[ANY(7)],
                              .n = sizes[ANY(7)],
                              .k = sizes[ANY(7)],
                              .transa = ANY(4),
                              .transb = ANY(4),
                              .side = ANY(2),
                              .fill = ANY(2),
                              .diagonal = ANY(2),
                              .alpha = whole(random, api->type),
                              .beta = whole(random, api->type),
                              .on_device = ANY(2) != 0};
}

static void agree_with_naive_loops(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(1);
    unsigned long cases = scaled_cases(60, 10);
    for (size_t api = 0; api < APIS; api++)
        for (unsigned long i = 0; i < cases; i++) {
            struct test_case c = any_case(&apis[api], &random);
            run_all(&c);
        }
}

/* Triangles of more than a block, on either side and in either direction. */
static void large_triangles(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(2);
    for (unsigned i = 0; i < (SANITIZED ? 2 : 8); i++) {
        struct test_case c = any_case(&apis[i % APIS], &random);
        c.side = i % 2, c.fill = i / 2 % 2;
        c.m = c.side == CUBLAS_SIDE_LEFT ? 400 : 3;
        c.n = c.side == CUBLAS_SIDE_LEFT ? 3 : 400;
        check_trmm(&c);
        check_trsm(&c);
        check_symm(&c);
    }
    struct test_case c = any_case(&apis[0], &random);
    c.m = 2, c.n = 1100, c.side = CUBLAS_SIDE_LEFT; /* columns */
    check_trsm(&c);
    check_trmm(&c);
    c.n = 300, c.k = 3; /* parts of the result that are not stored */
    check_syrk(&c);
    check_syr2k(&c);
    c.m = 300, c.n = 200;
    check_geam(&c);
    c.m = 1100, c.n = 3; /* more rows than are multiplied at a time */
    check_dgmm(&c);
}

static void wrong_parameters(void **state) {
    float x[4] = {1};
    float *none = NULL;
    (void)state;
    REFUSED(cublasSgemv(handle, CUBLAS_OP_N, 2, 1, x, none, 1, none, 1, x, none, 1));
    REFUSED(cublasSgemv(handle, CUBLAS_OP_N, 1, 1, x, none, 1, none, 0, x, none, 1));
    REFUSED(cublasSgemv(handle, 4, 1, 1, x, none, 1, none, 1, x, none, 1));
    REFUSED(cublasSger(handle, 1, 1, x, none, 1, none, 0, none, 1));
    REFUSED(cublasSger(handle, 1, 1, NULL, none, 1, none, 1, none, 1));
    REFUSED(cublasSsymm(handle, 2, 0, 1, 1, x, none, 1, none, 1, x, none, 1));
    REFUSED(cublasSsymm(handle, 0, CUBLAS_FILL_MODE_FULL, 1, 1, x, none, 1, none, 1, x, none, 1));
    REFUSED(cublasSsyrk(handle, 0, 3, 1, 1, x, none, 1, x, none, 1));
    REFUSED(cublasCherk(handle, 0, CUBLAS_OP_T, 1, 1, x, NULL, 1, x, NULL, 1));
    REFUSED(cublasCsyrk(handle, 0, CUBLAS_OP_C, 1, 1, NULL, NULL, 1, NULL, NULL, 1));
    REFUSED(cublasSsyr2k(handle, 2, 0, 1, 1, x, none, 1, none, 1, x, none, 1));
    REFUSED(cublasSsyr2k(handle, 0, 0, 2, 1, x, none, 2, none, 1, x, none, 2));
    REFUSED(cublasSsyr2k(handle, 0, 0, 1, 1, NULL, none, 1, none, 1, x, none, 1));
    REFUSED(cublasCsyr2k(handle, 0, CUBLAS_OP_C, 1, 1, NULL, NULL, 1, NULL, 1, NULL, NULL, 1));
    REFUSED(cublasSdgmm(handle, 2, 1, 1, none, 1, none, 1, none, 1));
    REFUSED(cublasSdgmm(handle, 0, -1, 1, none, 1, none, 1, none, 1));
    REFUSED(cublasSdgmm(handle, 0, 2, 1, none, 1, none, 1, none, 2));
    REFUSED(cublasStrsm(handle, 0, 0, 0, 2, 1, 1, x, none, 1, none, 1));
    REFUSED(cublasStrsm(handle, 0, 0, 0, 0, 2, 1, x, none, 1, none, 2));
    REFUSED(cublasStrsm(handle, 1, 0, 0, 0, 1, 2, x, none, 1, none, 1));
    REFUSED(cublasStrsmBatched(handle, 0, 0, 0, 0, 1, 1, x, NULL, 1, NULL, 1, -1));
    REFUSED(cublasStrmm(handle, 0, 0, 0, 0, 1, 1, NULL, none, 1, x, 1, x, 1));
    REFUSED(cublasSgeam(handle, CUBLAS_OP_T, 0, 2, 2, x, x, 2, x, none, 2, x, 2));
    REFUSED(cublasSgeam(handle, 0, 0, 2, 2, x, none, 2, x, none, 1, x, 2));
    GIVES(NOT_INITIALIZED, cublasSgemv(NULL, 0, 1, 1, x, none, 1, none, 1, x, none, 1));
    GIVES(NOT_INITIALIZED, cublasSger(NULL, 1, 1, x, none, 1, none, 1, none, 1));
    GIVES(NOT_INITIALIZED, cublasSsymm(NULL, 0, 0, 1, 1, x, none, 1, none, 1, x, none, 1));
    GIVES(NOT_INITIALIZED, cublasSsyrk(NULL, 0, 0, 1, 1, x, none, 1, x, none, 1));
    GIVES(NOT_INITIALIZED, cublasSsyr2k(NULL, 0, 0, 1, 1, x, none, 1, none, 1, x, none, 1));
    GIVES(NOT_INITIALIZED, cublasSdgmm(NULL, 0, 1, 1, none, 1, none, 1, none, 1));
    GIVES(NOT_INITIALIZED, cublasStrsm(NULL, 0, 0, 0, 0, 1, 1, x, none, 1, none, 1));
    GIVES(NOT_INITIALIZED, cublasSgeam(NULL, 0, 0, 1, 1, x, none, 1, x, none, 1, none, 1));
    OK(cublasStrsm(handle, 0, 0, 0, 0, 0, 1, x, none, 1, none, 1));
    OK(cublasSsyr2k(handle, 0, 0, 0, 1, x, none, 1, none, 1, x, none, 1));
    OK(cublasSdgmm(handle, 0, 0, 1, none, 1, none, 1, none, 1));
    OK(cublasSgeam(handle, 0, 0, 0, 1, x, none, 1, x, none, 1, none, 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agree_with_naive_loops),
        cmocka_unit_test(large_triangles),
        cmocka_unit_test(wrong_parameters),
    };
    return cmocka_run_group_tests_name("blas.matrices", tests, begin, end);
}
