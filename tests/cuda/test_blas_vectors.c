/* Vectors against naive loops: each function in each type and size, forwards and backwards, in both
 * pointer modes. */
#include "cuda/blas.h"

#include <float.h>

static bool is_64; /* sizes */
#define EITHER(name, ...) (is_64 ? name##_64(__VA_ARGS__) : name(__VA_ARGS__))

/* ---- the functions by type ---- */

struct api {
    cudaDataType type, part;
    cublasStatus_t (*axpy)(int n, const void *alpha, const void *x, int incx, void *y, int incy);
    cublasStatus_t (*scal)(int n, const void *alpha, void *x, int incx);
    cublasStatus_t (*scal_real)(int n, const void *alpha, void *x, int incx);
    cublasStatus_t (*copy)(int n, const void *x, int incx, void *y, int incy);
    cublasStatus_t (*swap)(int n, void *x, int incx, void *y, int incy);
    cublasStatus_t (*dot)(int n, const void *x, int incx, const void *y, int incy, void *result);
    cublasStatus_t (*dotc)(int n, const void *x, int incx, const void *y, int incy, void *result);
    cublasStatus_t (*nrm2)(int n, const void *x, int incx, void *result);
    cublasStatus_t (*asum)(int n, const void *x, int incx, void *result);
    cublasStatus_t (*amax)(int n, const void *x, int incx, void *result);
    cublasStatus_t (*amin)(int n, const void *x, int incx, void *result);
};

#define PLACE(L, name, symbol)                                                                     \
    static cublasStatus_t L##_##name(int n, const void *x, int incx, void *result) {               \
        return is_64 ? symbol##_64(handle, n, x, incx, (int64_t *)result)                          \
                     : symbol(handle, n, x, incx, (int *)result);                                  \
    }
#define NUMBER(L, name, symbol)                                                                    \
    static cublasStatus_t L##_##name(int n, const void *x, int incx, void *result) {               \
        return EITHER(symbol, handle, n, x, incx, result);                                         \
    }
#define DOT(L, name)                                                                               \
    static cublasStatus_t L##_##name(int n, const void *x, int incx, const void *y, int incy,      \
                                     void *result) {                                               \
        return EITHER(cublas##L##name, handle, n, x, incx, y, incy, result);                       \
    }
#define SCAL(L, name)                                                                              \
    static cublasStatus_t L##_##name(int n, const void *alpha, void *x, int incx) {                \
        return EITHER(cublas##L##name, handle, n, alpha, x, incx);                                 \
    }
#define TYPE(L, numbers, places)                                                                   \
    static cublasStatus_t L##_axpy(int n, const void *alpha, const void *x, int incx, void *y,     \
                                   int incy) {                                                     \
        return EITHER(cublas##L##axpy, handle, n, alpha, x, incx, y, incy);                        \
    }                                                                                              \
    static cublasStatus_t L##_copy(int n, const void *x, int incx, void *y, int incy) {            \
        return EITHER(cublas##L##copy, handle, n, x, incx, y, incy);                               \
    }                                                                                              \
    static cublasStatus_t L##_swap(int n, void *x, int incx, void *y, int incy) {                  \
        return EITHER(cublas##L##swap, handle, n, x, incx, y, incy);                               \
    }                                                                                              \
    SCAL(L, scal)                                                                                  \
    NUMBER(L, nrm2, cublas##numbers##nrm2)                                                         \
    NUMBER(L, asum, cublas##numbers##asum)                                                         \
    PLACE(L, amax, cublasI##places##amax)                                                          \
    PLACE(L, amin, cublasI##places##amin)
TYPE(S, S, s)
TYPE(D, D, d)
TYPE(C, Sc, c)
TYPE(Z, Dz, z)
SCAL(C, sscal)
SCAL(Z, dscal)
DOT(S, dot)
DOT(D, dot)
DOT(C, dotu)
DOT(C, dotc)
DOT(Z, dotu)
DOT(Z, dotc)

#define API(L, type, part, real, dot, dotc)                                                        \
    {                                                                                              \
        type, part, L##_axpy, L##_scal, real, L##_copy, L##_swap, dot, dotc, L##_nrm2, L##_asum,   \
            L##_amax, L##_amin                                                                     \
    }
static const struct api apis[] = {
    API(S, CUDA_R_32F, CUDA_R_32F, NULL, S_dot, NULL),
    API(D, CUDA_R_64F, CUDA_R_64F, NULL, D_dot, NULL),
    API(C, CUDA_C_32F, CUDA_R_32F, C_sscal, C_dotu, C_dotc),
    API(Z, CUDA_C_64F, CUDA_R_64F, Z_dscal, Z_dotu, Z_dotc),
};
#define APIS (sizeof apis / sizeof *apis)

/* ---- vectors ---- */

struct vector {
    cudaDataType type;
    int n, step;
    size_t count; /* elements of its memory, those between its own included */
    void *data, *before;
};

static struct vector vector_of(struct ff__random *random, cudaDataType type, int n, int step) {
    struct vector vector = {.type = type, .n = n, .step = step};
    vector.count = (size_t)n * (size_t)abs(step) + 1;
    vector.data = case_memory(vector.count * size_of(type));
    for (size_t i = 0; i < vector.count; i++)
        put(type, vector.data, i, whole(random, type));
    vector.before =
        memcpy(malloc(vector.count * size_of(type)), vector.data, vector.count * size_of(type));
    return vector;
}

static size_t place(const struct vector *vector, int i) {
    return (size_t)((vector->step > 0 ? i : i + 1 - vector->n) * vector->step);
}
static number before(const struct vector *vector, int i) {
    return get(vector->type, vector->before, place(vector, i));
}

/* Elements are as expected, and what is between them is as it was. */
static void check_vector(struct vector *vector, const number *expected, const char *what) {
    for (int i = 0; i < vector->n; i++)
        put(vector->type, vector->before, place(vector, i), expected[i]);
    for (size_t i = 0; i < vector->count; i++)
        if (get(vector->type, vector->data, i) != get(vector->type, vector->before, i))
            fail_msg("%s: type %d, n %d, step %d", what, vector->type, vector->n, vector->step);
}

static void forget(struct vector *x, struct vector *y) {
    free(x->before);
    free(y->before);
    case_end();
}

/* A number that a call reads or writes, where the mode says. */
static void *cell(bool on_device, char host[16]) {
    return on_device ? case_memory(16) : memset(host, 0, 16);
}

/* ---- cases ---- */

static void writes(const struct api *api, struct ff__random *random, int n, int incx, int incy,
                   bool on_device) {
    char host[16];
    static number expected[1400], other[1400];
    struct vector x = vector_of(random, api->type, n, incx);
    struct vector y = vector_of(random, api->type, n, incy);
    number alpha = whole(random, api->type);
    void *factor = cell(on_device, host);
    put(api->type, factor, 0, alpha);
    OK(api->axpy(n, factor, x.data, incx, y.data, incy));
    wait_for_all();
    for (int i = 0; i < n; i++)
        expected[i] = before(&y, i) + alpha * before(&x, i);
    check_vector(&y, expected, "axpy");
    OK(api->swap(n, x.data, incx, y.data, incy));
    wait_for_all();
    for (int i = 0; i < n; i++)
        other[i] = before(&x, i);
    check_vector(&x, expected, "swap x");
    check_vector(&y, other, "swap y");
    OK(api->copy(n, x.data, incx, y.data, incy));
    wait_for_all();
    check_vector(&y, expected, "copy");
    OK(api->scal(n, factor, x.data, incx));
    wait_for_all();
    for (int i = 0; i < n; i++)
        expected[i] = before(&x, i) * (incx > 0 ? alpha : 1);
    check_vector(&x, expected, "scal");
    if (api->scal_real != NULL) {
        put(api->part, factor, 0, -3);
        OK(api->scal_real(n, factor, y.data, incy));
        wait_for_all();
        for (int i = 0; i < n; i++)
            expected[i] = before(&y, i) * (incy > 0 ? -3 : 1);
        check_vector(&y, expected, "scal_real");
    }
    forget(&x, &y);
}

static void check_number(const struct api *api, cudaDataType type, const void *result,
                         number expected, double error, const char *what) {
    number got = get(type, result, 0);
    if (cabs(got - expected) > error * cabs(expected))
        fail_msg("%s: type %d: %g + %gi instead of %g + %gi", what, api->type, creal(got),
                 cimag(got), creal(expected), cimag(expected));
}

static double size_at(const struct vector *x, int i) {
    return fabs(creal(before(x, i))) + fabs(cimag(before(x, i)));
}

static void check_place(const struct vector *x, const void *result, double sign) {
    long long got = is_64 ? *(const int64_t *)result : *(const int *)result, expected = 0;
    double best = 0;
    for (int i = 0; x->step > 0 && i < x->n; i++)
        if (i == 0 || sign * size_at(x, i) > best)
            expected = i + 1, best = sign * size_at(x, i);
    assert_int_equal(got, expected);
}

static void gives(const struct api *api, struct ff__random *random, int n, int incx, int incy,
                  bool on_device) {
    char host[16];
    struct vector x = vector_of(random, api->type, n, incx);
    struct vector y = vector_of(random, api->type, n, incy);
    number dot = 0, dotc = 0;
    double squares = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        dot += before(&x, i) * before(&y, i);
        dotc += conj(before(&x, i)) * before(&y, i);
        squares += incx > 0 ? creal(before(&x, i) * conj(before(&x, i))) : 0;
        sum += incx > 0 ? size_at(&x, i) : 0;
    }
    void *result = cell(on_device, host);
#define ASK(call)                                                                                  \
    OK(call);                                                                                      \
    if (on_device)                                                                                 \
    wait_for_all()
    ASK(api->dot(n, x.data, incx, y.data, incy, result));
    check_number(api, api->type, result, dot, 0, "dot");
    if (api->dotc != NULL) {
        ASK(api->dotc(n, x.data, incx, y.data, incy, result));
        check_number(api, api->type, result, dotc, 0, "dotc");
    }
    ASK(api->nrm2(n, x.data, incx, result));
    check_number(api, api->part, result, sqrt(squares), 1e-6, "nrm2");
    ASK(api->asum(n, x.data, incx, result));
    check_number(api, api->part, result, sum, 0, "asum");
    ASK(api->amax(n, x.data, incx, result));
    check_place(&x, result, 1);
    ASK(api->amin(n, x.data, incx, result));
    check_place(&x, result, -1);
    forget(&x, &y);
}

static void agree_with_naive_loops(void **state) {
    static const int sizes[] = {0, 1, 2, 7, 511, 512, 1300}, steps[] = {1, 2, 3, -1, -2};
    (void)state;
    struct ff__random random = ff__random_seeded(1);
    for (size_t api = 0; api < APIS; api++)
        for (unsigned i = 0; i < 28; i++) {
            bool on_device = i % 3 == 0;
            int incx = steps[ff__random_below(&random, 5)],
                incy = steps[ff__random_below(&random, 5)];
            is_64 = i % 2 != 0;
            OK(cublasSetPointerMode(handle, on_device ? CUBLAS_POINTER_MODE_DEVICE
                                                      : CUBLAS_POINTER_MODE_HOST));
            writes(&apis[api], &random, sizes[i % 7], incx, incy, on_device);
            gives(&apis[api], &random, sizes[i % 7], incx, incy, on_device);
        }
    OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
}

/* Products of vectors whose type is a parameter, and the two types that go with none. */
static void types_are_parameters(void **state) {
    static const struct {
        cudaDataType type, compute;
    } all[] = {{CUDA_R_16F, CUDA_R_32F}, {CUDA_R_16BF, CUDA_R_32F}, {CUDA_R_32F, CUDA_R_32F},
               {CUDA_R_64F, CUDA_R_64F}, {CUDA_C_32F, CUDA_C_32F},  {CUDA_C_64F, CUDA_C_64F}};
    (void)state;
    struct ff__random random = ff__random_seeded(4);
    for (size_t i = 0; i < 2 * (sizeof all / sizeof *all); i++) {
        cudaDataType type = all[i / 2].type, compute = all[i / 2].compute;
        struct vector x = vector_of(&random, type, 30, 2), y = vector_of(&random, type, 30, -1);
        number dot = 0, dotc = 0;
        char result[16];
        is_64 = i % 2 != 0;
        for (int k = 0; k < 30; k++) {
            dot += before(&x, k) * before(&y, k);
            dotc += conj(before(&x, k)) * before(&y, k);
        }
        OK(EITHER(cublasDotEx, handle, 30, x.data, type, 2, y.data, type, -1, result, type,
                  compute));
        assert_true(get(type, result, 0) == dot);
        OK(EITHER(cublasDotcEx, handle, 30, x.data, type, 2, y.data, type, -1, result, type,
                  compute));
        assert_true(get(type, result, 0) == dotc);
        GIVES(NOT_SUPPORTED, cublasDotEx(handle, 30, x.data, type, 2, y.data, CUDA_R_8I, -1, result,
                                         type, compute));
        GIVES(NOT_SUPPORTED, cublasDotEx(handle, 30, x.data, type, 2, y.data, type, -1, result,
                                         CUDA_R_8I, compute));
        GIVES(NOT_SUPPORTED,
              cublasDotEx(handle, 30, x.data, type, 2, y.data, type, -1, result, type, CUDA_R_16F));
        REFUSED(cublasDotEx(handle, 30, x.data, type, 2, y.data, type, -1, NULL, type, compute));
        GIVES(NOT_INITIALIZED,
              cublasDotcEx(NULL, 30, x.data, type, 2, y.data, type, -1, result, type, compute));
        forget(&x, &y);
    }
}

static void norms_do_not_overflow(void **state) {
    static const struct {
        double x[4], norm;
    } cases[] = {{{3e300, 4e300}, 5e300},
                 {{3e-300, 4e-300}, 5e-300},
                 {{0, 0, 0, 0}, 0},
                 {{1, INFINITY, 2, INFINITY}, INFINITY},
                 {{-DBL_MAX}, DBL_MAX}};
    double *x = device_memory(4 * sizeof *x), norm;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(x, cases[i].x, sizeof cases[i].x);
        OK(cublasDnrm2(handle, 4, x, 1, &norm));
        assert_true(norm == cases[i].norm || fabs(norm / cases[i].norm - 1) < 1e-15);
    }
    x[2] = NAN;
    OK(cublasDnrm2(handle, 4, x, 1, &norm));
    assert_true(isnan(norm));
    device_free(x);
}

/* A thousand ones and a number that floats could not add them to. */
static void sums_are_exact(void **state) {
    enum { N = 1000 };
    float *x = device_memory((N + 2) * sizeof *x), *y = device_memory((N + 2) * sizeof *y), dot;
    (void)state;
    for (int i = 0; i < N + 2; i++)
        x[i] = i == 0 ? 1e9F : i == N + 1 ? -1e9F : 1, y[i] = 1;
    OK(cublasSdot(handle, N + 2, x, 1, y, 1, &dot));
    assert_int_equal((int)dot, N);
    device_free(x);
    device_free(y);
}

static void wrong_parameters(void **state) {
    float x[2] = {0};
    int place;
    (void)state;
    GIVES(NOT_INITIALIZED, cublasSaxpy(NULL, 1, x, x, 1, x, 1));
    GIVES(NOT_INITIALIZED, cublasScopy(NULL, 1, x, 1, x, 1));
    GIVES(NOT_INITIALIZED, cublasSdot(NULL, 1, x, 1, x, 1, x));
    REFUSED(cublasSaxpy(handle, 1, NULL, x, 1, x, 1));
    REFUSED(cublasSscal(handle, 1, NULL, x, 1));
    REFUSED(cublasSdot(handle, 1, x, 1, x, 1, NULL));
    REFUSED(cublasIsamax(handle, 1, x, 1, NULL));
    OK(cublasSaxpy(handle, -1, x, x, 1, x, 1));
    OK(cublasIsamax(handle, -1, x, 1, &place));
    assert_int_equal(place, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agree_with_naive_loops), cmocka_unit_test(types_are_parameters),
        cmocka_unit_test(norms_do_not_overflow),  cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(wrong_parameters),
    };
    return cmocka_run_group_tests_name("blas.vectors", tests, begin, end);
}
