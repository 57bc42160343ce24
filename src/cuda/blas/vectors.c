/* Vectors: what is computed of them from one end to the other. */
#include "cuda/blas/internal.h"

#include <math.h>

/* Elements that are computed with at a time; ours. */
#define CHUNK 512

struct vectors {
    int64_t n;
    struct ff__blas_matrix x, y;
    struct ff__blas_scalar alpha;
    void *result;
    bool is_64; /* of a place: it has 64 bits */
};

struct vector_chunk {
    int64_t at, count;
    double x[2 * CHUNK], y[2 * CHUNK];
};

static bool next(const struct vectors *vectors, struct vector_chunk *chunk) {
    chunk->at += chunk->count;
    int64_t left = vectors->n - chunk->at;
    chunk->count = left < CHUNK ? left : CHUNK;
    return left > 0;
}

static void load(const struct ff__blas_matrix *vector, const struct vector_chunk *chunk,
                 double *numbers) {
    ff__blas_load(vector, chunk->at, 0, chunk->count, true, numbers);
}
static void store(const struct ff__blas_matrix *vector, const struct vector_chunk *chunk,
                  const double *numbers) {
    ff__blas_store(vector, chunk->at, 0, chunk->count, true, numbers);
}

/* ---- kernels that write vectors ---- */

/* to = alpha x, or to += alpha x. A factor without imaginary part is a real one. */
static void multiply(struct ff__blas_number alpha, int64_t count, int64_t parts, const double *x,
                     double *to, bool adds) {
    if (alpha.im == 0)
        for (int64_t i = 0; i < count * parts; i++)
            to[i] = adds ? to[i] + alpha.re * x[i] : alpha.re * x[i];
    else
        for (int64_t i = 0; i < 2 * count; i += 2) {
            double re = alpha.re * x[i] - alpha.im * x[i + 1];
            double im = alpha.re * x[i + 1] + alpha.im * x[i];
            to[i] = adds ? to[i] + re : re;
            to[i + 1] = adds ? to[i + 1] + im : im;
        }
}

static int run_axpy(void *argument) {
    const struct vectors *vectors = argument;
    struct ff__blas_number alpha = ff__blas_number(&vectors->alpha);
    struct vector_chunk chunk = {0};
    while (next(vectors, &chunk)) {
        load(&vectors->x, &chunk, chunk.x);
        load(&vectors->y, &chunk, chunk.y);
        multiply(alpha, chunk.count, ff__blas_parts(vectors->x.type), chunk.x, chunk.y, true);
        store(&vectors->y, &chunk, chunk.y);
    }
    return 0;
}

static int run_scal(void *argument) {
    const struct vectors *vectors = argument;
    struct ff__blas_number alpha = ff__blas_number(&vectors->alpha);
    struct vector_chunk chunk = {0};
    while (next(vectors, &chunk)) {
        load(&vectors->x, &chunk, chunk.x);
        multiply(alpha, chunk.count, ff__blas_parts(vectors->x.type), chunk.x, chunk.y, false);
        store(&vectors->x, &chunk, chunk.y);
    }
    return 0;
}

static int run_copy(void *argument) {
    const struct vectors *vectors = argument;
    struct vector_chunk chunk = {0};
    while (next(vectors, &chunk)) {
        load(&vectors->x, &chunk, chunk.x);
        store(&vectors->y, &chunk, chunk.x);
    }
    return 0;
}

static int run_swap(void *argument) {
    const struct vectors *vectors = argument;
    struct vector_chunk chunk = {0};
    while (next(vectors, &chunk)) {
        load(&vectors->x, &chunk, chunk.x);
        load(&vectors->y, &chunk, chunk.y);
        store(&vectors->x, &chunk, chunk.y);
        store(&vectors->y, &chunk, chunk.x);
    }
    return 0;
}

/* ---- kernels that write a number ---- */

static void give(const struct vectors *vectors, enum ff__blas_type type, double re, double im) {
    struct ff__blas_matrix result = {.data = vectors->result, .row = 1, .type = type};
    const double numbers[] = {re, im};
    ff__blas_store(&result, 0, 0, 1, true, numbers);
}

static int run_dot(void *argument) {
    const struct vectors *vectors = argument;
    int64_t parts = ff__blas_parts(vectors->x.type);
    struct vector_chunk chunk = {0};
    double re = 0, im = 0;
    while (next(vectors, &chunk)) {
        load(&vectors->x, &chunk, chunk.x);
        load(&vectors->y, &chunk, chunk.y);
        for (int64_t i = 0; i < chunk.count * parts; i += parts) {
            const double *x = chunk.x + i, *y = chunk.y + i;
            re += x[0] * y[0];
            if (parts == 2) {
                re -= x[1] * y[1];
                im += x[0] * y[1] + x[1] * y[0];
            }
        }
    }
    give(vectors, vectors->x.type, re, im);
    return 0;
}

/* The sum of squares over that of the largest: no square is too large or too small for a double. */
static int run_nrm2(void *argument) {
    const struct vectors *vectors = argument;
    int64_t parts = ff__blas_parts(vectors->x.type);
    struct vector_chunk chunk = {0};
    double largest = 0, sum = 1;
    while (next(vectors, &chunk)) {
        load(&vectors->x, &chunk, chunk.x);
        for (int64_t i = 0; i < chunk.count * parts; i++) {
            double size = fabs(chunk.x[i]);
            if (size > largest) {
                sum = 1 + sum * (largest / size) * (largest / size);
                largest = size;
            } else if (size != 0) {
                sum += isinf(size) ? 0 : (size / largest) * (size / largest);
            }
        }
    }
    give(vectors, vectors->x.type & 7, largest * sqrt(sum), 0);
    return 0;
}

static double size_of(const double *number, int64_t parts) {
    return parts == 1 ? fabs(number[0]) : fabs(number[0]) + fabs(number[1]);
}

static int run_asum(void *argument) {
    const struct vectors *vectors = argument;
    int64_t parts = ff__blas_parts(vectors->x.type);
    struct vector_chunk chunk = {0};
    double sum = 0;
    while (next(vectors, &chunk)) {
        load(&vectors->x, &chunk, chunk.x);
        for (int64_t i = 0; i < chunk.count * parts; i += parts)
            sum += size_of(chunk.x + i, parts);
    }
    give(vectors, vectors->x.type & 7, sum, 0);
    return 0;
}

/* The first of the largest, or smallest, counted from 1; 0: there is none. */
static void find(const struct vectors *vectors, double sign) {
    int64_t parts = ff__blas_parts(vectors->x.type), found = 0;
    struct vector_chunk chunk = {0};
    double best = 0;
    while (next(vectors, &chunk)) {
        load(&vectors->x, &chunk, chunk.x);
        for (int64_t i = 0; i < chunk.count; i++) {
            double size = sign * size_of(chunk.x + i * parts, parts);
            if (found == 0 || size > best)
                found = chunk.at + i + 1, best = size;
        }
    }
    if (vectors->is_64)
        *(int64_t *)vectors->result = found;
    else
        *(int *)vectors->result = (int)found;
}

static int run_amax(void *argument) {
    find(argument, 1);
    return 0;
}
static int run_amin(void *argument) {
    find(argument, -1);
    return 0;
}

/* ---- calls ---- */

/* One or two vectors that are written. */
static cublasStatus_t change(cublasHandle_t handle, const char *name, int (*run)(void *argument),
                             const struct vectors *vectors) {
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    return vectors->n <= 0 ? CUBLAS_STATUS_SUCCESS
                           : ff__blas_launch(handle, name, run, vectors, sizeof *vectors);
}

static cublasStatus_t scale(cublasHandle_t handle, const char *name, int (*run)(void *argument),
                            struct vectors *vectors, const void *alpha, enum ff__blas_type type) {
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    cublasStatus_t status = ff__blas_scalar(handle, type, alpha, &vectors->alpha);
    return status == CUBLAS_STATUS_SUCCESS ? change(handle, name, run, vectors) : status;
}

/* A result in the host's memory is there when the call is back. */
static cublasStatus_t ask(cublasHandle_t handle, const char *name, int (*run)(void *argument),
                          const struct vectors *vectors) {
    if (handle == NULL)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (vectors->result == NULL)
        return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t status = ff__blas_launch(handle, name, run, vectors, sizeof *vectors);
    return status != CUBLAS_STATUS_SUCCESS || handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE
               ? status
               : ff__blas_status(cuStreamSynchronize(handle->stream));
}

static struct vectors two(enum ff__blas_type type, int64_t n, const void *x, int64_t incx,
                          const void *y, int64_t incy) {
    return (struct vectors){
        .n = n, .x = ff__blas_vector(x, type, n, incx), .y = ff__blas_vector(y, type, n, incy)};
}

/* A vector that must go forwards: else it has no elements. */
static struct vectors one(enum ff__blas_type type, int64_t n, const void *x, int64_t incx,
                          void *result) {
    return (struct vectors){
        .n = incx > 0 ? n : 0, .x = ff__blas_vector(x, type, n, incx), .result = result};
}

#define SCAL(symbol, name, T, A, part, part_alpha)                                                 \
    cublasStatus_t symbol(cublasHandle_t handle, int64_t n, const A *alpha, T *x, int64_t incx) {  \
        struct vectors vectors = one(part, n, x, incx, NULL);                                      \
        return scale(handle, name, run_scal, &vectors, alpha, part_alpha);                         \
    }
#define DOT(symbol, name, T, part, is_conjugate)                                                   \
    cublasStatus_t symbol(cublasHandle_t handle, int64_t n, const T *x, int64_t incx, const T *y,  \
                          int64_t incy, T *result) {                                               \
        struct vectors vectors = two(part, n, x, incx, y, incy);                                   \
        vectors.x.conjugate = is_conjugate;                                                        \
        vectors.result = result;                                                                   \
        return ask(handle, name, run_dot, &vectors);                                               \
    }
#define NUMBER(symbol, name, T, R, part, run)                                                      \
    cublasStatus_t symbol(cublasHandle_t handle, int64_t n, const T *x, int64_t incx, R *result) { \
        struct vectors vectors = one(part, n, x, incx, result);                                    \
        return ask(handle, name, run, &vectors);                                                   \
    }
#define PLACE(symbol, name, T, part, run)                                                          \
    cublasStatus_t symbol##_64(cublasHandle_t handle, int64_t n, const T *x, int64_t incx,         \
                               int64_t *result) {                                                  \
        struct vectors vectors = one(part, n, x, incx, result);                                    \
        vectors.is_64 = true;                                                                      \
        return ask(handle, name, run, &vectors);                                                   \
    }                                                                                              \
    cublasStatus_t symbol(cublasHandle_t handle, int n, const T *x, int incx, int *result) {       \
        struct vectors vectors = one(part, n, x, incx, result);                                    \
        return ask(handle, name, run, &vectors);                                                   \
    }

/* All of one type; l and L: its letter, `numbers` and `places`: what names of those begin with. */
#define VECTORS(l, L, T, R, part, numbers, places)                                                 \
    cublasStatus_t cublas##L##axpy_v2_64(cublasHandle_t handle, int64_t n, const T *alpha,         \
                                         const T *x, int64_t incx, T *y, int64_t incy) {           \
        struct vectors vectors = two(part, n, x, incx, y, incy);                                   \
        return scale(handle, #l "axpy", run_axpy, &vectors, alpha, part);                          \
    }                                                                                              \
    cublasStatus_t cublas##L##copy_v2_64(cublasHandle_t handle, int64_t n, const T *x,             \
                                         int64_t incx, T *y, int64_t incy) {                       \
        struct vectors vectors = two(part, n, x, incx, y, incy);                                   \
        return change(handle, #l "copy", run_copy, &vectors);                                      \
    }                                                                                              \
    cublasStatus_t cublas##L##swap_v2_64(cublasHandle_t handle, int64_t n, T *x, int64_t incx,     \
                                         T *y, int64_t incy) {                                     \
        struct vectors vectors = two(part, n, x, incx, y, incy);                                   \
        return change(handle, #l "swap", run_swap, &vectors);                                      \
    }                                                                                              \
    SCAL(cublas##L##scal_v2_64, #l "scal", T, T, part, part)                                       \
    NUMBER(cublas##numbers##nrm2_v2_64, #l "nrm2", T, R, part, run_nrm2)                           \
    NUMBER(cublas##numbers##asum_v2_64, #l "asum", T, R, part, run_asum)                           \
    PLACE(cublas##places##amax_v2, #l "amax", T, part, run_amax)                                   \
    PLACE(cublas##places##amin_v2, #l "amin", T, part, run_amin)

#define COMPLEX_32F (FF_BLAS_32F | FF_BLAS_COMPLEX)
#define COMPLEX_64F (FF_BLAS_64F | FF_BLAS_COMPLEX)
VECTORS(s, S, float, float, FF_BLAS_32F, S, Is)
VECTORS(d, D, double, double, FF_BLAS_64F, D, Id)
VECTORS(c, C, cuComplex, float, COMPLEX_32F, Sc, Ic)
VECTORS(z, Z, cuDoubleComplex, double, COMPLEX_64F, Dz, Iz)
SCAL(cublasCsscal_v2_64, "csscal", cuComplex, float, COMPLEX_32F, FF_BLAS_32F)
SCAL(cublasZdscal_v2_64, "zdscal", cuDoubleComplex, double, COMPLEX_64F, FF_BLAS_64F)
DOT(cublasSdot_v2_64, "sdot", float, FF_BLAS_32F, false)
DOT(cublasDdot_v2_64, "ddot", double, FF_BLAS_64F, false)
DOT(cublasCdotu_v2_64, "cdotu", cuComplex, COMPLEX_32F, false)
DOT(cublasCdotc_v2_64, "cdotc", cuComplex, COMPLEX_32F, true)
DOT(cublasZdotu_v2_64, "zdotu", cuDoubleComplex, COMPLEX_64F, false)
DOT(cublasZdotc_v2_64, "zdotc", cuDoubleComplex, COMPLEX_64F, true)

/* ---- products of vectors whose types are parameters ---- */

static const struct dot_type {
    cudaDataType type, compute;
    enum ff__blas_type of;
    const char *name;
} dot_types[] = {
    {CUDA_R_16F, CUDA_R_32F, FF_BLAS_16F, "hdot"}, {CUDA_R_16BF, CUDA_R_32F, FF_BLAS_16BF, "bfdot"},
    {CUDA_R_32F, CUDA_R_32F, FF_BLAS_32F, "sdot"}, {CUDA_R_64F, CUDA_R_64F, FF_BLAS_64F, "ddot"},
    {CUDA_C_32F, CUDA_C_32F, COMPLEX_32F, "cdot"}, {CUDA_C_64F, CUDA_C_64F, COMPLEX_64F, "zdot"},
};

/* NULL: it is not supported, as two types of vectors are not. */
static const struct dot_type *find_dot_type(cudaDataType x, cudaDataType y, cudaDataType result,
                                            cudaDataType compute) {
    for (size_t i = 0; i < sizeof dot_types / sizeof *dot_types; i++)
        if (dot_types[i].type == x && x == y && result == x && dot_types[i].compute == compute)
            return &dot_types[i];
    return NULL;
}

#define DOT_OF_TYPES(symbol, conjugates)                                                           \
    cublasStatus_t symbol(cublasHandle_t handle, int64_t n, const void *x, cudaDataType typex,     \
                          int64_t incx, const void *y, cudaDataType typey, int64_t incy,           \
                          void *result, cudaDataType type, cudaDataType compute) {                 \
        const struct dot_type *of = find_dot_type(typex, typey, type, compute);                    \
        if (handle == NULL || of == NULL)                                                          \
            return handle == NULL ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_NOT_SUPPORTED;   \
        struct vectors vectors = two(of->of, n, x, incx, y, incy);                                 \
        vectors.x.conjugate = (conjugates) && ff__blas_parts(of->of) == 2;                         \
        vectors.result = result;                                                                   \
        return ask(handle, of->name, run_dot, &vectors);                                           \
    }
DOT_OF_TYPES(cublasDotEx_64, false)
DOT_OF_TYPES(cublasDotcEx_64, true)
