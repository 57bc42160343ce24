/* Products of matrices against a naive one: types, transposes, sizes, leading dimensions, batches,
 * factors, and what is refused. */
#include "cuda/blas.h"

/* ---- what is called ---- */

enum form { ONE, BATCHED, STRIDED, BY_TYPES };

struct product {
    enum form form;
    bool is_64; /* sizes */
    cublasOperation_t transa, transb;
    int m, n, k, lda, ldb, ldc, count;
    cudaDataType ab, result, scalar;
    cublasComputeType_t compute;
    const void *alpha, *beta;
    void *a, *b, *c;       /* of a batch one behind the other */
    void **as, **bs, **cs; /* and pointers to them */
    long long stridea, strideb, stridec;
};

#define HEAD handle, p->transa, p->transb, p->m, p->n, p->k, p->alpha
#define CALL(type, name)                                                                           \
    static cublasStatus_t call_##type(const struct product *p) {                                   \
        if (p->form == ONE)                                                                        \
            return p->is_64 ? cublas##name##gemm_64(HEAD, p->a, p->lda, p->b, p->ldb, p->beta,     \
                                                    p->c, p->ldc)                                  \
                            : cublas##name##gemm(HEAD, p->a, p->lda, p->b, p->ldb, p->beta, p->c,  \
                                                 p->ldc);                                          \
        if (p->form == BATCHED)                                                                    \
            return p->is_64 ? cublas##name##gemmBatched_64(HEAD, (void *)p->as, p->lda,            \
                                                           (void *)p->bs, p->ldb, p->beta,         \
                                                           (void *)p->cs, p->ldc, p->count)        \
                            : cublas##name##gemmBatched(HEAD, (void *)p->as, p->lda,               \
                                                        (void *)p->bs, p->ldb, p->beta,            \
                                                        (void *)p->cs, p->ldc, p->count);          \
        return p->is_64 ? cublas##name##gemmStridedBatched_64(HEAD, p->a, p->lda, p->stridea,      \
                                                              p->b, p->ldb, p->strideb, p->beta,   \
                                                              p->c, p->ldc, p->stridec, p->count)  \
                        : cublas##name##gemmStridedBatched(HEAD, p->a, p->lda, p->stridea, p->b,   \
                                                           p->ldb, p->strideb, p->beta, p->c,      \
                                                           p->ldc, p->stridec, p->count);          \
    }
CALL(16f, H)
CALL(32f, S)
CALL(64f, D)
CALL(32c, C)
CALL(64c, Z)

#define OF(matrix)        p->matrix, p->ab, p->ld##matrix
#define OF_STRIDE(matrix) OF(matrix), p->stride##matrix
#define OF_MANY(matrix)   (void *)p->matrix##s, p->ab, p->ld##matrix
#define TAIL              p->compute, CUBLAS_GEMM_DEFAULT

static cublasStatus_t call_by_types(const struct product *p) {
    if (p->form == ONE)
        return p->is_64
                   ? cublasGemmEx_64(HEAD, OF(a), OF(b), p->beta, p->c, p->result, p->ldc, TAIL)
                   : cublasGemmEx(HEAD, OF(a), OF(b), p->beta, p->c, p->result, p->ldc, TAIL);
    if (p->form == BATCHED)
        return p->is_64 ? cublasGemmBatchedEx_64(HEAD, OF_MANY(a), OF_MANY(b), p->beta,
                                                 (void *)p->cs, p->result, p->ldc, p->count, TAIL)
                        : cublasGemmBatchedEx(HEAD, OF_MANY(a), OF_MANY(b), p->beta, (void *)p->cs,
                                              p->result, p->ldc, p->count, TAIL);
    return p->is_64 ? cublasGemmStridedBatchedEx_64(HEAD, OF_STRIDE(a), OF_STRIDE(b), p->beta, p->c,
                                                    p->result, p->ldc, p->stridec, p->count, TAIL)
                    : cublasGemmStridedBatchedEx(HEAD, OF_STRIDE(a), OF_STRIDE(b), p->beta, p->c,
                                                 p->result, p->ldc, p->stridec, p->count, TAIL);
}

/* Sums in float of other types. */
static cublasStatus_t call_sgemm_ex(const struct product *p) {
    return p->is_64 ? cublasSgemmEx_64(HEAD, OF(a), OF(b), p->beta, p->c, p->result, p->ldc)
                    : cublasSgemmEx(HEAD, OF(a), OF(b), p->beta, p->c, p->result, p->ldc);
}

static const struct kind {
    cublasStatus_t (*call)(const struct product *p);
    cudaDataType ab, result, scalar;
    cublasComputeType_t compute;
} kinds[] = {
    {call_16f, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, 0},
    {call_32f, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, 0},
    {call_64f, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, 0},
    {call_32c, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, 0},
    {call_64c, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, 0},
    {call_by_types, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F},
    {call_by_types, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F_PEDANTIC},
    {call_by_types, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
    {call_by_types, CUDA_R_16F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
    {call_by_types, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F},
    {call_by_types, CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_16BF},
    {call_by_types, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32},
    {call_by_types, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F},
    {call_by_types, CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I},
    {call_by_types, CUDA_R_8I, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC},
    {call_by_types, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F},
    {call_by_types, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F_PEDANTIC},
    {call_sgemm_ex, CUDA_R_16F, CUDA_R_32F, CUDA_R_32F, 0},
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* ---- the naive product ---- */

static number element(const struct product *p, const void *data, cublasOperation_t operation,
                      int ld, size_t offset, int i, int j) {
    bool turned = operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
    size_t at = turned ? (size_t)j + (size_t)i * (size_t)ld : (size_t)i + (size_t)j * (size_t)ld;
    number value = get(p->ab, data, offset + at);
    return operation >= CUBLAS_OP_C ? conj(value) : value;
}

static number expected(const struct product *p, int batch, int i, int j, number alpha, number beta,
                       number before) {
    size_t a = (size_t)(batch * p->stridea), b = (size_t)(batch * p->strideb);
    number sum = 0;
    if (alpha != 0)
        for (int l = 0; l < p->k; l++)
            sum += element(p, p->a, p->transa, p->lda, a, i, l) *
                   element(p, p->b, p->transb, p->ldb, b, l, j);
    return (alpha != 0 ? alpha * sum : 0) + (beta != 0 ? beta * before : 0);
}

static void check(const struct product *p, const void *before, number alpha, number beta) {
    for (int batch = 0; batch < p->count; batch++)
        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < p->ldc; i++) {
                size_t at = (size_t)(batch * p->stridec) + (size_t)i + (size_t)j * (size_t)p->ldc;
                number got = get(p->result, p->c, at), old = get(p->result, before, at);
                number wanted = i < p->m ? expected(p, batch, i, j, alpha, beta, old) : old;
                if (got == wanted || (i >= p->m && isnan(creal(old)) && isnan(creal(got))))
                    continue;
                print_error("types %d, %d: op %d, %d: %d x %d x %d: batch %d, (%d, %d): %g + %gi "
                            "instead of %g + %gi\n",
                            p->ab, p->result, p->transa, p->transb, p->m, p->n, p->k, batch, i, j,
                            creal(got), cimag(got), creal(wanted), cimag(wanted));
                fail();
            }
}

/* ---- random cases ---- */

static struct ff__random random_of(uint64_t seed) {
    return ff__random_seeded(seed);
}

static void *matrices(struct ff__random *random, cudaDataType type, int rows, int ld, int columns,
                      int count, bool is_wrong) {
    size_t all = (size_t)ld * (size_t)(columns > 0 ? columns : 1) * (size_t)count;
    void *data = case_memory(all * size_of(type));
    for (size_t i = 0; i < all; i++)
        put(type, data, i, is_wrong || (int)(i % (size_t)ld) >= rows ? NAN : whole(random, type));
    return data;
}

static void **pointers(void *data, cudaDataType type, long long stride, int count) {
    void **list = case_memory((size_t)count * sizeof *list);
    for (int i = 0; i < count; i++)
        list[i] = (char *)data + (size_t)(i * stride) * size_of(type);
    return list;
}

struct factors {
    number alpha, beta;
};

/* Factors in the host's memory, which may change after the call, or in the device's. */
static void call(const struct kind *kind, struct product *p, struct factors factors,
                 bool on_device) {
    char host[2][16];
    void *alpha = on_device ? case_memory(16) : host[0];
    void *beta = on_device ? case_memory(16) : host[1];
    put(p->scalar, alpha, 0, factors.alpha);
    put(p->scalar, beta, 0, factors.beta);
    p->alpha = alpha;
    p->beta = beta;
    OK(cublasSetPointerMode(handle,
                            on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST));
    OK(kind->call(p));
    OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    memset(host, 0x7f, sizeof host);
    wait_for_all();
}

static void run_case(const struct kind *kind, struct product p, struct factors factors,
                     struct ff__random *random, int slack) {
    bool turned_a = p.transa == CUBLAS_OP_T || p.transa == CUBLAS_OP_C;
    bool turned_b = p.transb == CUBLAS_OP_T || p.transb == CUBLAS_OP_C;
    int rows_a = turned_a ? p.k : p.m, columns_a = turned_a ? p.m : p.k;
    int rows_b = turned_b ? p.n : p.k, columns_b = turned_b ? p.k : p.n;
    p.ab = kind->ab, p.result = kind->result, p.scalar = kind->scalar, p.compute = kind->compute;
    p.lda = rows_a + slack + (rows_a + slack == 0);
    p.ldb = rows_b + slack + (rows_b + slack == 0);
    p.ldc = p.m + slack + (p.m + slack == 0);
    p.stridea = (long long)p.lda * (columns_a > 0 ? columns_a : 1);
    p.strideb = (long long)p.ldb * (columns_b > 0 ? columns_b : 1);
    p.stridec = (long long)p.ldc * (p.n > 0 ? p.n : 1);
    p.a = matrices(random, p.ab, rows_a, p.lda, columns_a, p.count, factors.alpha == 0);
    p.b = matrices(random, p.ab, rows_b, p.ldb, columns_b, p.count, factors.alpha == 0);
    p.c = matrices(random, p.result, p.m, p.ldc, p.n, p.count, factors.beta == 0);
    p.as = pointers(p.a, p.ab, p.stridea, p.count);
    p.bs = pointers(p.b, p.ab, p.strideb, p.count);
    p.cs = pointers(p.c, p.result, p.stridec, p.count);
    size_t size = (size_t)p.stridec * (size_t)p.count * size_of(p.result);
    void *before = memcpy(malloc(size), p.c, size);
    call(kind, &p, factors, ff__random_below(random, 2) != 0);
    check(&p, before, factors.alpha, factors.beta);
    free(before);
    case_end();
}

static const int sizes[] = {0, 1, 2, 3, 5, 8, 17};
#define SIZES (sizeof sizes / sizeof *sizes)

static void agrees_with_a_naive_product(void **state) {
    (void)state;
    struct ff__random random = random_of(1);
    unsigned long cases = scaled_cases(100, 10);
    for (size_t kind = 0; kind < KINDS; kind++)
        for (unsigned long i = 0; i < cases; i++) {
            struct product p = {
                .form = kinds[kind].call == call_sgemm_ex ? ONE : i % 3,
                .is_64 = i % 2 != 0,
                .transa = ff__random_below(&random, 4),
                .transb = ff__random_below(&random, 4),
                .m = sizes[ff__random_below(&random, SIZES)],
                .n = sizes[ff__random_below(&random, SIZES)],
                .k = sizes[ff__random_below(&random, SIZES)],
            };
            p.count = p.form == ONE ? 1 : 1 + (int)ff__random_below(&random, 3);
            struct factors factors = {ff__random_below(&random, 3), ff__random_below(&random, 3)};
            run_case(&kinds[kind], p, factors, &random, (int)ff__random_below(&random, 3));
        }
}

static void complex_factors(void **state) {
    (void)state;
    struct ff__random random = random_of(2);
    for (size_t kind = 3; kind < 5; kind++)
        run_case(&kinds[kind], (struct product){.m = 3, .n = 4, .k = 5, .count = 1},
                 (struct factors){complex_of(1, 2), complex_of(0, -1)}, &random, 1);
}

/* More than a block of each matrix. */
static void blocks_meet(void **state) {
    static const int large[][3] = {{130, 7, 5}, {1100, 2, 600}, {3, 700, 800}, {1100, 500, 2}};
    (void)state;
    struct ff__random random = random_of(3);
    for (size_t kind = 0; kind < KINDS; kind += SANITIZED ? 5 : 2)
        for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
            struct product p = {.transa = (cublasOperation_t)(i % 3),
                                .transb = (cublasOperation_t)((kind + i) % 3),
                                .m = large[i][0],
                                .n = large[i][1],
                                .k = large[i][2],
                                .count = 1};
            bool short_sums = size_of(kinds[kind].result) == 2;
            if (short_sums && p.k > 100)
                continue; /* sums that need more digits than they have */
            run_case(&kinds[kind], p, (struct factors){1, (double)(i % 3)}, &random, 1);
        }
}

/* 2048 + 1 + 1 in 11 digits: rounded after each block, the ones would be lost. */
static void halves_are_rounded_once(void **state) {
    enum { K = 1536 };
    (void)state;
    uint16_t *a = device_memory(K * sizeof *a), *b = device_memory(K * sizeof *b);
    uint16_t *c = device_memory(sizeof *c);
    const float one = 1;
    for (int i = 0; i < K; i++) {
        put(CUDA_R_16F, a, (size_t)i, i < 512 ? 4 : i == 600 || i == 1100);
        put(CUDA_R_16F, b, (size_t)i, 1);
    }
    put(CUDA_R_16F, c, 0, 4);
    OK(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, K, &one, a, CUDA_R_16F, K, b,
                    CUDA_R_16F, K, &one, c, CUDA_R_16F, 1, CUBLAS_COMPUTE_32F,
                    CUBLAS_GEMM_DEFAULT));
    wait_for_all();
    assert_int_equal((int)creal(get(CUDA_R_16F, c, 0)), 2054);
    device_free(a);
    device_free(b);
    device_free(c);
}

/* Numbers of 16 bits, each of them: as a product with 1, and back. */
static void numbers_of_16_bits(void **state) {
    enum { ALL = 65536 };
    (void)state;
    uint16_t *all = device_memory(ALL * sizeof *all), *back = device_memory(ALL * sizeof *all);
    float *wide = device_memory(ALL * sizeof *wide);
    const float one = 1, none = 0;
    for (int type = 0; type < 2; type++) {
        cudaDataType of = type ? CUDA_R_16BF : CUDA_R_16F;
        uint16_t *unit = device_memory(sizeof *unit);
        put(of, unit, 0, 1);
        for (int i = 0; i < ALL; i++)
            all[i] = (uint16_t)i;
        OK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, ALL, 1, 1, &one, all, of, ALL, unit, of,
                        1, &none, wide, CUDA_R_32F, ALL, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
        OK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, ALL, 1, 1, &one, all, of, ALL, unit, of,
                        1, &none, back, of, ALL, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
        wait_for_all();
        for (int i = 0; i < ALL; i++) {
            double value = small_value((uint16_t)i, type ? 7 : 10);
            if (isnan(value)) {
                assert_true(isnan((double)wide[i]));
                assert_true(isnan(small_value(back[i], type ? 7 : 10)));
                continue;
            }
            assert_true((double)wide[i] == value);
            assert_true(small_value(back[i], type ? 7 : 10) == value);
        }
        device_free(unit);
    }
    device_free(all);
    device_free(back);
    device_free(wide);
}

/* Sums of floats near the middle between two halves, above the largest and below the smallest. */
static void rounding_to_16_bits(void **state) {
    static const float values[] = {1.00048828f, 1.00146484f, 1.00048840f, 65519.0f, 65520.0f,
                                   -65536.0f,   2.98e-8f,    2.99e-8f,    8.94e-8f, 6.1e-5f,
                                   1.00390625f, 1.01171875f, 3.39e38f,    1e-40f,   -0.0f};
    enum { COUNT = sizeof values / sizeof *values };
    (void)state;
    uint16_t *unit = device_memory(2), *out = device_memory(2 * COUNT);
    float *beta = device_memory(sizeof values);
    memcpy(beta, values, sizeof values);
    for (int type = 0; type < 2; type++) {
        cudaDataType of = type ? CUDA_R_16BF : CUDA_R_16F;
        put(of, unit, 0, 1);
        OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
        for (int i = 0; i < COUNT; i++) /* 1 times the value */
            OK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, beta + i, unit, of, 1, unit,
                            of, 1, beta + COUNT - 1, out + i, of, 1, CUBLAS_COMPUTE_32F,
                            CUBLAS_GEMM_DEFAULT));
        wait_for_all();
        for (int i = 0; i < COUNT; i++)
            assert_true(small_value(out[i], type ? 7 : 10) ==
                        small_value(small_bits((double)values[i], type ? 7 : 10), type ? 7 : 10));
        OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    }
    device_free(unit);
    device_free(out);
    device_free(beta);
}

/* Sums that have no place in 32 bits lose their upper ones. */
static void integers_wrap(void **state) {
    enum { K = 140000 };
    (void)state;
    int8_t *a = device_memory(K), *b = device_memory(K);
    int32_t *c = device_memory(sizeof *c);
    const int32_t one = 1, none = 0;
    memset(a, -128, K);
    memset(b, -128, K);
    OK(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, K, &one, a, CUDA_R_8I, K, b, CUDA_R_8I,
                    K, &none, c, CUDA_R_32I, 1, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT));
    wait_for_all();
    assert_int_equal((uint32_t)*c, (uint32_t)(UINT64_C(16384) * K));
    device_free(a);
    device_free(b);
    device_free(c);
}

/* ---- what is refused ---- */

static cublasStatus_t sgemm(cublasHandle_t of, int transa, int transb, int m, int n, int k,
                            const float *alpha, int lda, int ldb, const float *beta, int ldc) {
    float *none = NULL;
    return cublasSgemm(of, (cublasOperation_t)transa, (cublasOperation_t)transb, m, n, k, alpha,
                       none, lda, none, ldb, beta, none, ldc);
}

static void wrong_parameters(void **state) {
    const float one = 1;
    (void)state;
    GIVES(NOT_INITIALIZED, sgemm(NULL, 0, 0, 1, 1, 1, &one, 1, 1, &one, 1));
    REFUSED(sgemm(handle, 4, 0, 1, 1, 1, &one, 1, 1, &one, 1));
    REFUSED(sgemm(handle, 0, -1, 1, 1, 1, &one, 1, 1, &one, 1));
    REFUSED(sgemm(handle, 0, 0, -1, 1, 1, &one, 1, 1, &one, 1));
    REFUSED(sgemm(handle, 0, 0, 1, -1, 1, &one, 1, 1, &one, 1));
    REFUSED(sgemm(handle, 0, 0, 1, 1, -1, &one, 1, 1, &one, 1));
    REFUSED(sgemm(handle, 0, 0, 3, 4, 5, &one, 2, 5, &one, 3));
    REFUSED(sgemm(handle, 1, 0, 3, 4, 5, &one, 4, 5, &one, 3));
    REFUSED(sgemm(handle, 0, 0, 3, 4, 5, &one, 3, 4, &one, 3));
    REFUSED(sgemm(handle, 0, 1, 3, 4, 5, &one, 3, 3, &one, 3));
    REFUSED(sgemm(handle, 0, 0, 3, 4, 5, &one, 3, 5, &one, 2));
    REFUSED(sgemm(handle, 0, 0, 0, 0, 0, &one, 0, 1, &one, 1));
    REFUSED(sgemm(handle, 0, 0, 1, 1, 1, NULL, 1, 1, &one, 1));
    REFUSED(sgemm(handle, 0, 0, 1, 1, 1, &one, 1, 1, NULL, 1));
    OK(sgemm(handle, 0, 0, 0, 1, 1, NULL, 1, 1, NULL, 1));
    REFUSED(cublasSgemmStridedBatched(handle, 0, 0, 1, 1, 1, &one, NULL, 1, 0, NULL, 1, 0, &one,
                                      NULL, 1, 0, -1));
    OK(cublasSgemmStridedBatched(handle, 0, 0, 1, 1, 1, &one, NULL, 1, 0, NULL, 1, 0, &one, NULL, 1,
                                 0, 0));
}

static cublasStatus_t by_types(cublasHandle_t of, cudaDataType a, cudaDataType b, cudaDataType c,
                               int compute) {
    const float one = 1;
    return cublasGemmEx(of, CUBLAS_OP_N, CUBLAS_OP_N, 0, 1, 1, &one, NULL, a, 1, NULL, b, 1, &one,
                        NULL, c, 1, (cublasComputeType_t)compute, CUBLAS_GEMM_DEFAULT);
}

static void types_that_do_not_match(void **state) {
    const float one = 1;
    (void)state;
    OK(by_types(handle, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F));
    GIVES(NOT_INITIALIZED, by_types(NULL, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F));
    GIVES(NOT_SUPPORTED, by_types(handle, CUDA_R_32F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F));
    GIVES(NOT_SUPPORTED, by_types(handle, CUDA_R_32F, CUDA_R_32F, CUDA_R_64F, CUBLAS_COMPUTE_32F));
    GIVES(NOT_SUPPORTED, by_types(handle, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_64F));
    GIVES(NOT_SUPPORTED,
          by_types(handle, CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_COMPUTE_32F));
    GIVES(NOT_SUPPORTED, by_types(handle, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, 66));
    GIVES(NOT_SUPPORTED,
          cublasSgemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, NULL, CUDA_C_32F, 1, NULL,
                        CUDA_C_32F, 1, &one, NULL, CUDA_C_32F, 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_naive_product),
        cmocka_unit_test(complex_factors),
        cmocka_unit_test(blocks_meet),
        cmocka_unit_test(halves_are_rounded_once),
        cmocka_unit_test(numbers_of_16_bits),
        cmocka_unit_test(rounding_to_16_bits),
        cmocka_unit_test(integers_wrap),
        cmocka_unit_test(wrong_parameters),
        cmocka_unit_test(types_that_do_not_match),
    };
    return cmocka_run_group_tests_name("blas.products", tests, begin, end);
}
